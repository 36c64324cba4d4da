//! Files that are small and become large.

use std::io::{Cursor, Write as _};

use tests::{Answer, Service, Store};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::attack::withstands;

pub const WORKBOOK: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

const NAMES: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";

const PACKAGES: &str = "http://schemas.openxmlformats.org/package/2006/relationships";

/// A workbook with one sheet, of these rows and shared strings.
pub fn workbook(rows: &str, strings: &str) -> Vec<u8> {
    workbook_of(rows, NAMES, strings)
}

/// The same with attributes of the shared strings, which end with an open quotation.
fn workbook_of(rows: &str, attributes: &str, strings: &str) -> Vec<u8> {
    let relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let relation = |id: &str, kind: &str, target: &str| {
        format!(r#"<Relationship Id="{id}" Type="{relations}/{kind}" Target="{target}"/>"#)
    };
    let related =
        |all: String| format!(r#"<Relationships xmlns="{PACKAGES}">{all}</Relationships>"#);
    let strings_of_book = relation("r1", "sharedStrings", "sharedStrings.xml");
    let book = format!(
        r#"<workbook xmlns="{NAMES}" xmlns:r="{relations}"><sheets><sheet name="s" sheetId="1" r:id="r0"/></sheets></workbook>"#
    );
    let mut file = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in [
        ("_rels/.rels", related(relation("r0", "officeDocument", "xl/workbook.xml"))),
        ("xl/workbook.xml", book),
        (
            "xl/_rels/workbook.xml.rels",
            related(relation("r0", "worksheet", "worksheets/sheet1.xml") + &strings_of_book),
        ),
        (
            "xl/worksheets/sheet1.xml",
            format!(r#"<worksheet xmlns="{NAMES}"><sheetData>{rows}</sheetData></worksheet>"#),
        ),
        ("xl/sharedStrings.xml", format!(r#"<sst xmlns="{attributes}">{strings}</sst>"#)),
    ] {
        file.start_file(name, SimpleFileOptions::default()).unwrap();
        file.write_all(content.as_bytes()).unwrap();
    }
    file.finish().unwrap().into_inner()
}

fn import(service: &Service, media_type: &str, body: Vec<u8>) -> Answer {
    service.post("/imports/files").body(media_type, body).send()
}

const HEAD: &str = r#"<row r="1"><c r="A1" t="s"><v>0</v></c></row>"#;

const STRING: &str = "<si><t>a</t></si>";

#[test]
fn malformed_workbooks_are_refused() {
    let service = Service::start(Store::Sqlite);
    let row = |row: u32| format!(r#"<row r="{row}"><c r="A{row}" t="s"><v>0</v></c></row>"#);
    let in_row_2 = |cell: &str| format!(r#"{HEAD}<row r="2">{cell}</row>"#);
    // A container in front of a workbook is not followed.
    let mut container = vec![0; 1536];
    container[..8].copy_from_slice(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1");
    for (place, byte) in [(26, 3), (30, 9), (32, 6), (44, 1), (48, 1), (516, 1)] {
        container[place] = byte;
    }
    container.extend(workbook("", STRING));
    let mut files = vec![("a container".to_owned(), container)];
    // The counts that a workbook declares are not trusted.
    for count in ["1000000000000000", "18446744073709551615"] {
        let attributes = format!(r#"{NAMES}" uniqueCount="{count}"#);
        files.push((count.to_owned(), workbook_of(HEAD, &attributes, STRING)));
    }
    for rows in [
        // Rows that go backwards.
        [5, 2, 1].map(row).concat(),
        [1, 3, 2].map(row).concat(),
        // Places that do not exist.
        in_row_2(r#"<c r="ZZZZZZZZZZ1"><v>1</v></c>"#),
        in_row_2(r#"<c r="A99999999999"><v>1</v></c>"#),
        format!(r#"{HEAD}<row r="99999999999999999999"><c><v>1</v></c></row>"#),
        format!(r#"{HEAD}<row r="4294967295"><c><v>1</v></c></row>"#),
        format!(r#"{HEAD}<dimension ref="XFD1048576:A1"/>"#),
        // Cells without a known value.
        in_row_2(r#"<c r="A2"><v>1e400</v></c>"#),
        in_row_2(r#"<c r="A2"><f>A1*2</f><v></v></c>"#),
        in_row_2(r#"<c r="A2"><f>A1*2</f></c>"#),
        in_row_2(r#"<c r="A2"><v>1234567890123456789</v></c>"#),
        in_row_2(r#"<c r="A2"><v>1</v></c><c r="A2"><v>2</v></c>"#),
        in_row_2(r#"<c r="A2" t="e"><v>#N/A</v></c>"#),
    ] {
        let file = workbook(&rows, STRING);
        files.push((rows, file));
    }
    withstands(&service, || {
        for (what, file) in &files {
            let refused = import(&service, WORKBOOK, file.clone()).expect(400);
            assert_eq!(refused.value()["code"], "malformed-file", "{what}");
        }
    });
    let file = workbook(&[1, 2, 9].map(row).concat(), STRING);
    let rows = import(&service, WORKBOOK, file).expect(200).value()["rows"].clone();
    let numbers: Vec<_> = rows.as_array().unwrap().iter().map(|row| row["row"].as_u64()).collect();
    assert_eq!(numbers, [Some(1), Some(8)]);
    let file = workbook(&in_row_2(r#"<c r="A2"><f>1+1</f><v>2</v></c>"#), STRING);
    assert_eq!(import(&service, WORKBOOK, file).expect(200).value()["created"], 1);
}

#[test]
fn files_that_become_large_are_refused_and_take_little_memory() {
    let service = Service::start(Store::Sqlite);
    let too_large = |media_type: &str, mode: &str, file: Vec<u8>| {
        withstands(&service, || {
            let request = service.post(&format!("/imports/files?mode={mode}"));
            let refused = request.body(media_type, file).send().expect(413);
            assert_eq!(refused.value()["code"], "body-too-large");
        });
    };
    // Cells that share one large string.
    let row = |row| format!(r#"<row r="{row}"><c r="A{row}" t="s"><v>1</v></c></row>"#);
    let rows: String = (2..2_000).map(row).collect();
    let strings = format!("{STRING}<si><t>{}</t></si>", "x".repeat(1 << 20));
    let file = workbook(&format!("{HEAD}{rows}"), &strings);
    assert!(file.len() < 64 << 10, "{}", file.len());
    too_large(WORKBOOK, "all", file);
    too_large(WORKBOOK, "all", workbook("", &"<si/>".repeat(2_000_001)));
    // Files that become large as items.
    let long_name = format!("{}\n{}", "x".repeat(700_000), "1\n".repeat(100_000));
    let commas = ",".repeat(16 << 20);
    for file in [long_name, commas.clone(), format!("a\n{commas}")] {
        for mode in ["all", "each"] {
            too_large("text/csv", mode, file.clone().into_bytes());
        }
    }
    // Tables of many columns and rows.
    let names: Vec<_> = (0..1_000).map(|column| format!("c{column}")).collect();
    let wide = format!("{}\n{}", names.join(","), format!("{}1\n", ",".repeat(999)).repeat(20_000));
    too_large("text/csv", "all", wide.into_bytes());
    let narrow = format!("{}\n{}", names.join(","), "1\n".repeat(50_000));
    withstands(&service, || {
        let checked = service.post("/imports/files?dry_run=true").body("text/csv", narrow);
        assert_eq!(checked.send().expect(200).value()["created"], 50_000);
    });
}
