//! Files that are small and become large.

use std::io::{Cursor, Write as _};

use tests::{Answer, Service, Store};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::attack::withstands;

pub const WORKBOOK: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

const NAMES: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";

/// A workbook with one sheet, of these rows and shared strings.
pub fn workbook(rows: &str, strings: &str) -> Vec<u8> {
    workbook_of(rows, NAMES, strings)
}

/// The same with attributes of the shared strings, behind which stands a quotation mark.
fn workbook_of(rows: &str, attributes: &str, strings: &str) -> Vec<u8> {
    let relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let packages = "http://schemas.openxmlformats.org/package/2006";
    let kinds = "application/vnd.openxmlformats-officedocument.spreadsheetml";
    let parts = [
        (
            "[Content_Types].xml",
            format!(
                r#"<Types xmlns="{packages}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="{kinds}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="{kinds}.worksheet+xml"/><Override PartName="/xl/sharedStrings.xml" ContentType="{kinds}.sharedStrings+xml"/></Types>"#
            ),
        ),
        (
            "_rels/.rels",
            format!(
                r#"<Relationships xmlns="{packages}/relationships"><Relationship Id="r1" Type="{relations}/officeDocument" Target="xl/workbook.xml"/></Relationships>"#
            ),
        ),
        (
            "xl/workbook.xml",
            format!(
                r#"<workbook xmlns="{NAMES}" xmlns:r="{relations}"><sheets><sheet name="s" sheetId="1" r:id="r1"/></sheets></workbook>"#
            ),
        ),
        (
            "xl/_rels/workbook.xml.rels",
            format!(
                r#"<Relationships xmlns="{packages}/relationships"><Relationship Id="r1" Type="{relations}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="r2" Type="{relations}/sharedStrings" Target="sharedStrings.xml"/></Relationships>"#
            ),
        ),
        (
            "xl/worksheets/sheet1.xml",
            format!(r#"<worksheet xmlns="{NAMES}"><sheetData>{rows}</sheetData></worksheet>"#),
        ),
        ("xl/sharedStrings.xml", format!(r#"<sst xmlns="{attributes}">{strings}</sst>"#)),
    ];
    let mut file = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in parts {
        file.start_file(name, SimpleFileOptions::default()).unwrap();
        file.write_all(content.as_bytes()).unwrap();
    }
    file.finish().unwrap().into_inner()
}

fn import(service: &Service, media_type: &str, body: Vec<u8>) -> Answer {
    service.post("/imports/files").body(media_type, body).send()
}

#[test]
fn cells_that_share_one_large_string_are_refused() {
    let service = Service::start(Store::Sqlite);
    let strings = format!("<si><t>a</t></si><si><t>{}</t></si>", "x".repeat(1 << 20));
    let row = |row| format!(r#"<row r="{row}"><c r="A{row}" t="s"><v>1</v></c></row>"#);
    let rows = (2..2_000).map(row).collect::<Vec<_>>().concat();
    let file =
        workbook(&format!(r#"<row r="1"><c r="A1" t="s"><v>0</v></c></row>{rows}"#), &strings);
    assert!(file.len() < 64 << 10, "{}", file.len());
    withstands(&service, || {
        let refused = import(&service, WORKBOOK, file.clone()).expect(413);
        assert_eq!(refused.value()["code"], "body-too-large");
    });
}

#[test]
fn rows_that_go_backwards_are_refused() {
    let service = Service::start(Store::Sqlite);
    let row = |row: u32| format!(r#"<row r="{row}"><c r="A{row}" t="s"><v>0</v></c></row>"#);
    for rows in [[5, 2, 1], [1, 3, 2]] {
        let file = workbook(&rows.map(row).concat(), "<si><t>a</t></si>");
        assert_eq!(import(&service, WORKBOOK, file).expect(400).value()["code"], "malformed-file");
    }
    let file = workbook(&[1, 2, 9].map(row).concat(), "<si><t>a</t></si>");
    let rows = import(&service, WORKBOOK, file).expect(200).value()["rows"].clone();
    let numbers: Vec<_> = rows.as_array().unwrap().iter().map(|row| row["row"].as_u64()).collect();
    assert_eq!(numbers, [Some(1), Some(8)]);
}

#[test]
fn a_workbook_is_not_believed_what_it_says_of_itself() {
    let service = Service::start(Store::Sqlite);
    let head = r#"<row r="1"><c r="A1" t="s"><v>0</v></c></row>"#;
    for (rows, strings) in [
        (String::new(), r#"" uniqueCount="1000000000000000"#),
        (String::new(), r#"" uniqueCount="18446744073709551615"#),
        (r#"<row r="2"><c r="ZZZZZZZZZZ1"><v>1</v></c></row>"#.to_owned(), ""),
        (r#"<row r="2"><c r="A99999999999"><v>1</v></c></row>"#.to_owned(), ""),
        (r#"<row r="99999999999999999999"><c><v>1</v></c></row>"#.to_owned(), ""),
        (r#"<row r="4294967295"><c><v>1</v></c></row>"#.to_owned(), ""),
        (r#"<row r="2"><c r="A2"><v>1e400</v></c></row>"#.to_owned(), ""),
        (r#"<dimension ref="XFD1048576:A1"/>"#.to_owned(), ""),
    ] {
        let file = workbook_of(
            &format!("{head}{rows}"),
            &format!("{NAMES}{strings}"),
            "<si><t>a</t></si>",
        );
        let refused = import(&service, WORKBOOK, file).expect(400);
        assert_eq!(refused.value()["code"], "malformed-file", "{rows} {strings}");
    }
    assert!(!service.log().contains("panicked"), "{}", service.log());
}

#[test]
fn tables_of_many_columns_and_rows_take_little_memory() {
    let service = Service::start(Store::Sqlite);
    let names: Vec<_> = (0..1_000).map(|column| format!("c{column}")).collect();
    let narrow = format!("{}\n{}", names.join(","), "1\n".repeat(50_000));
    let wide = format!("{}\n{}", names.join(","), format!("{}1\n", ",".repeat(999)).repeat(20_000));
    withstands(&service, || {
        import(&service, "text/csv", wide.clone().into_bytes()).expect(413);
        let checked = service.post("/imports/files?dry_run=true").body("text/csv", narrow.clone());
        assert_eq!(checked.send().expect(200).value()["created"], 50_000);
    });
}

#[test]
fn cells_whose_value_is_not_known_are_refused() {
    let service = Service::start(Store::Sqlite);
    let head = r#"<row r="1"><c r="A1" t="s"><v>0</v></c></row>"#;
    for cell in [
        r#"<c r="A2"><f>A1*2</f><v></v></c>"#,
        r#"<c r="A2"><f>A1*2</f></c>"#,
        r#"<c r="A2"><v>1234567890123456789</v></c>"#,
        r#"<c r="A2"><v>1</v></c><c r="A2"><v>2</v></c>"#,
        r#"<c r="A2" t="e"><v>#N/A</v></c>"#,
    ] {
        let file = workbook(&format!(r#"{head}<row r="2">{cell}</row>"#), "<si><t>a</t></si>");
        let refused = import(&service, WORKBOOK, file).expect(400);
        assert_eq!(refused.value()["code"], "malformed-file", "{cell}");
    }
    let computed = r#"<c r="A2"><f>1+1</f><v>2</v></c>"#;
    let file = workbook(&format!(r#"{head}<row r="2">{computed}</row>"#), "<si><t>a</t></si>");
    assert_eq!(import(&service, WORKBOOK, file).expect(200).value()["created"], 1);
}

#[test]
fn a_container_in_front_of_a_workbook_is_not_followed() {
    let service = Service::start(Store::Sqlite);
    let mut file = vec![0; 1536];
    file[..8].copy_from_slice(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1");
    (file[26], file[30], file[32]) = (3, 9, 6);
    (file[44], file[48]) = (1, 1);
    file[516] = 1;
    file.extend(workbook("", "<si><t>a</t></si>"));
    withstands(&service, || {
        let refused = import(&service, WORKBOOK, file.clone()).expect(400);
        assert_eq!(refused.value()["code"], "malformed-file");
    });
}

#[test]
fn files_that_become_large_as_items_are_refused() {
    let service = Service::start(Store::Sqlite);
    let rows = "1\n".repeat(100_000);
    let long_name = format!("{}\n{rows}", "x".repeat(700_000));
    let commas = ",".repeat(16 << 20);
    for file in [long_name, commas.clone(), format!("a\n{commas}")] {
        for mode in ["all", "each"] {
            withstands(&service, || {
                let request = service.post(&format!("/imports/files?mode={mode}"));
                let refused = request.body("text/csv", file.clone()).send().expect(413);
                assert_eq!(refused.value()["code"], "body-too-large");
            });
        }
    }
    let strings = "<si/>".repeat(2_000_001);
    withstands(&service, || {
        import(&service, WORKBOOK, workbook("", &strings)).expect(413);
    });
}
