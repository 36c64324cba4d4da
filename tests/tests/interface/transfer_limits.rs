//! Names, limits and rules of imported and exported files.

use serde_json::{Value, json};
use tests::{Service, Store};

use crate::queries::FILES;
use crate::rules::RuleFile;
use crate::transfers::{FORMATS, done, end_of_log, export, import, import_csv, refused};

const UNIQUE_NAME: &str = "
rules:
  - id: unique_name
    group: files
    when: has(self.name)
    lookup: {same: 'files[name = self.name]'}
    check: size(same) == 0
    message: Another file has this name.
    field: /name
";

tests::cases![
    what_an_export_may_hold_an_import_takes,
    what_is_too_long_for_a_cell_is_truncated_and_stays_as_it_is,
    a_truncated_cell_is_the_text_that_is_stored_or_an_error_of_its_row,
    a_name_that_is_too_long_for_a_sheet_refuses_the_export,
    errors_name_the_row_and_the_cell_of_the_sheet,
    members_have_their_own_names_in_ndjson,
];

#[test]
fn rules_conditions_and_limits_apply_to_rows_and_files() {
    let rules = RuleFile::new(UNIQUE_NAME);
    let arguments =
        [&rules.arguments()[..], &["--require-if-match", "--max-import", "100KiB"]].concat();
    let service = &Service::start_with(Store::Sqlite, &arguments);
    rules_judge_the_rows_of_a_file_together(service);
    conditions_that_are_required_are_required_of_rows(service);
    files_that_cannot_be_read_are_refused_as_a_whole(service);
    files_that_are_too_large_are_refused(service);
}

fn rules_judge_the_rows_of_a_file_together(service: &Service) {
    let doubled = import_csv(service, "files", "name\r\na\r\nb\r\na\r\n");
    refused(doubled, &["1 name unique_name", "3 name unique_name"]);
    done(import_csv(service, "files", "name\r\na\r\nb\r\n"), [2, 0, 0, 0]);
    refused(import_csv(service, "files", "name\r\nc\r\nb\r\n"), &["2 name unique_name"]);
    // Two items may exchange their names: both are judged in their new state.
    let file = export(service, "files.csv").text().replace(",a\r", ",?\r");
    let file = file.replace(",b\r", ",a\r").replace(",?\r", ",b\r");
    done(import_csv(service, "files?upsert=true", &file), [0, 2, 0, 0]);
}

fn conditions_that_are_required_are_required_of_rows(service: &Service) {
    let id = service.create(FILES, r#"{"a":1}"#).id;
    let send = |file: String| import_csv(service, "files?upsert=true", &file);
    refused(send(format!("id,a\r\n{id},2\r\n")), &["1 _version version_required"]);
    done(send(format!("id,_version,a\r\n{id},1,2\r\n")), [0, 1, 0, 0]);
}

fn files_that_cannot_be_read_are_refused_as_a_whole(service: &Service) {
    let before = end_of_log(service);
    let [csv, json, xlsx] = ["text/csv", "application/json", FORMATS[2].1];
    for (media_type, body) in [
        (csv, &b""[..]),
        (csv, b"a\xff\n1\n"),
        (csv, b"a,a\n1,2\n"),
        (csv, b",a\n1,2\n"),
        (csv, b"\n\n"),
        (csv, b"x,'x\n1,2\n"),
        (csv, b"x,y\n1,\"a\n2,b\n"),
        (csv, b"x,y\n\"a,1\n\"b,2\n"),
        (csv, b"x,y\n\"a\" ,1\n"),
        (json, b"{}"),
        (json, b"[{]"),
        (xlsx, b"no workbook"),
        (xlsx, b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
    ] {
        let answer = import(service, "files", media_type, body).expect(400);
        assert_eq!(answer.value()["code"], "malformed-file", "{}", body.escape_ascii());
    }
    import(service, "files", "application/pdf", "x").expect(415);
    service.post("/imports/files").untyped_body("x").expect(415);
    let ndjson = "{\"a\":1}\n{\n[1]\n";
    let odd = r#"[{"id":["x"]},{"x":1,"'x":2}]"#;
    for (media_type, body, expected) in [
        (FORMATS[1].1, ndjson, &["2  malformed_json", "3  not_an_object"][..]),
        (json, r#"[{"a":1},7]"#, &["2  not_an_object"]),
        (csv, "a\n1\n1,2\n", &["2  too_many_cells"]),
        (json, odd, &["1 id malformed_reference", "2  malformed_row"]),
    ] {
        refused(import(service, "files", media_type, body), expected);
    }
    for query in ["mode=some", "upsert=yes", "page=1", "dry_run"] {
        import_csv(service, &format!("files?{query}"), "a\n1\n").refusing_query(&[]);
    }
    assert_eq!(end_of_log(service), before);
}

fn files_that_are_too_large_are_refused(service: &Service) {
    let columns = (0..1_010).map(|n| format!("c{n}")).collect::<Vec<_>>().join(",");
    for _ in 0..3 {
        let items: Vec<_> = (0..1_000).map(|n| json!({ "a": n, "t": "x".repeat(20) })).collect();
        import(service, "files", "application/json", json!(items).to_string()).expect(200);
    }
    let workbook = export(service, "files.xlsx").body;
    assert!(workbook.len() < 100 << 10, "only its unpacked size is too large: {}", workbook.len());
    for (media_type, body) in [
        ("text/csv", columns.into_bytes()),
        ("text/csv", "a\n".repeat(60_000).into_bytes()),
        (FORMATS[2].1, workbook.to_vec()),
    ] {
        let answer = import(service, "files?upsert=true", media_type, body).expect(413);
        assert_eq!(answer.value()["code"], "body-too-large", "{answer}");
    }
}

fn what_an_export_may_hold_an_import_takes(service: &Service) {
    let members: Vec<_> = (0..1_000).map(|n| format!("\"c{n}\":{n}")).collect();
    import(service, "files", "application/x-ndjson", format!("{{{}}}\n", members.join(",")))
        .expect(200);
    for (extension, media_type) in FORMATS {
        let file = export(service, &format!("files.{extension}")).body;
        done(import(service, "files?upsert=true", media_type, file), [0, 0, 1, 0]);
    }
}

/// Texts that are too long for a cell of a workbook, a text that ends with the mark of a truncated
/// one, and a text of the greatest length.
fn long_texts() -> [String; 6] {
    [
        "x".repeat(41_203),
        format!("first\r\n{}", "\"🐟\" ".repeat(20_000)),
        format!("={}", "1+".repeat(30_000)),
        format!("{}… [truncated: 41,203 characters]", "y".repeat(50_000)),
        "whole… [truncated: 41,203 characters]".to_owned(),
        "z".repeat(32_767),
    ]
}

fn what_is_too_long_for_a_cell_is_truncated_and_stays_as_it_is(service: &Service) {
    let list: Vec<_> = (0..9_000).map(|n| n + 1_000_000).collect();
    service.create(FILES, &json!({ "n": 0, "text": list }).to_string());
    for (n, text) in (1..).zip(long_texts()) {
        service.create(FILES, &json!({ "n": n, "text": text }).to_string());
    }
    let before = service.contents(FILES);
    let file = export(service, "files.xlsx").body;
    let end = end_of_log(service);
    done(import(service, "files?upsert=true", FORMATS[2].1, file), [0, 0, 7, 0]);
    assert_eq!((end_of_log(service), service.contents(FILES)), (end, before));
}

fn a_truncated_cell_is_the_text_that_is_stored_or_an_error_of_its_row(service: &Service) {
    let long = service.create(FILES, &json!({ "a": "x".repeat(41_203), "b": 1 }).to_string());
    let short = service.create(FILES, r#"{"a":"x"}"#);
    let own = service.create(FILES, r#"{"a":"x… [truncated: 41,203 characters]","b":1}"#);
    let row = |id: &str, cell: &str| {
        import_csv(service, "files?upsert=true", &format!("id,a,b\r\n{id},{cell},2\r\n"))
    };
    let cell = |text: &str, length: &str| format!("\"{text}… [truncated: {length} characters]\"");
    done(row(&long.id, &cell("xxx", "41,203")), [0, 1, 0, 0]);
    let stored = service.read(&long.path).value();
    assert_eq!(stored["a"].as_str().map(str::len), Some(41_203), "the whole text is kept");
    assert_eq!(stored["b"], 2);
    for (id, cell) in [
        (&*long.id, cell("xxx", "41,204")),
        (&long.id, cell("xxy", "41,203")),
        (&short.id, cell("xxx", "1")),
        (&short.id, cell("xxx", "41,203")),
        (&own.id, cell("xxx", "41,203")),
        ("", cell("xxx", "41,203")),
    ] {
        refused(row(id, &cell), &["1 a truncated_text"]);
    }
    done(row(&own.id, &cell("x", "41,203")), [0, 1, 0, 0]);
    let stored = service.read(&own.path).value();
    assert_eq!(stored["a"], "x… [truncated: 41,203 characters]");
    let each = format!("a\r\n{}\r\nwhole\r\n", cell("xxx", "41,203"));
    done(import_csv(service, "files?mode=each", &each), [1, 0, 0, 1]);
}

fn a_name_that_is_too_long_for_a_sheet_refuses_the_export(service: &Service) {
    service.create(FILES, &format!(r#"{{"a":1,"{}":2}}"#, "x".repeat(32_768)));
    let refused = service.get("/exports/files.xlsx").accept("*/*").expect(422);
    let detail = refused.value()["detail"].to_string();
    assert!(detail.contains("`xxx") && detail.len() < 300, "{detail}");
    export(service, "files.xlsx?fields=a");
}

/// The places of the errors of an import: row, line and cell.
fn places(entries: &Value) -> Vec<String> {
    let text = |error: &Value, name: &str| error[name].to_string().replace('"', "");
    let entries = entries.as_array().into_iter().flatten();
    entries.map(|error| ["row", "line", "cell"].map(|name| text(error, name)).join(" ")).collect()
}

fn errors_name_the_row_and_the_cell_of_the_sheet(service: &Service) {
    let [xlsx, csv] = [FORMATS[2].1, "text/csv"];
    for n in 0..3 {
        let members = json!({ "project_title": n.to_string(), "proposal_type": "A" });
        service.create("/v1/proposals", &members.to_string());
    }
    // The file as it was exported: the third row of the sheet is the second of its items.
    let sheet = export(service, "proposals.xlsx?fields=project_title,start_date").body;
    let refused = |group: &str, media_type: &str, file: &[u8], expected: &[&str]| {
        let answer = import(service, group, media_type, file).expect(422);
        assert_eq!(places(&answer.value()["errors"]), expected, "{answer}");
    };
    refused("proposals", xlsx, &sheet, &["1 2 A2", "2 3 A3", "3 4 A4"]);
    let each = import(service, "proposals?mode=each", xlsx, sheet).expect(200);
    let row = &each.value()["rows"][2];
    assert_eq!((&row["row"], &row["line"]), (&json!(3), &json!(4)));
    assert_eq!(places(&row["errors"]), ["null 4 A4"]);
    let file = "project_title,proposal_type,start_date\r\n\"two\r\nlines\",A,\r\n\r\nx,A,soon\r\n";
    refused("proposals", csv, file.as_bytes(), &["2 5 null"]);
    refused("files", "application/x-ndjson", b"{}\n\n[]\n", &["3 3 null"]);
    refused("files", "application/json", b"[{},[]]", &["2 null null"]);
}

fn members_have_their_own_names_in_ndjson(service: &Service) {
    let members = json!({ "=1+2": 1, "@x": 2, "": 3, "'quoted": 4, "proposal": 5, "_version": 6 });
    service.create("/lib", &members.to_string());
    service.create(FILES, r#"{"proposal":1,"+x":2}"#);
    let line = |file: &str| -> Value {
        serde_json::from_str(export(service, file).text()).expect("one line")
    };
    let item = line("lib.ndjson");
    let expected =
        [("=1+2", 1), ("@x", 2), ("", 3), ("''quoted", 4), ("'proposal", 5), ("'_version", 6)];
    for (name, value) in expected {
        assert_eq!(item[name], value, "{name:?} in {item}");
    }
    let item = line("files.ndjson?fields=%2Bx,proposal");
    assert_eq!((&item["+x"], &item["proposal"]), (&json!(2), &json!(1)), "{item}");
    for name in ["lib", "files"] {
        let file = export(service, &format!("{name}.ndjson")).text().to_owned();
        let media_type = "application/x-ndjson";
        let target = format!("{name}?upsert=true");
        done(import(service, &target, media_type, &*file), [0, 0, 1, 0]);
        // Without its id and version a line is another item with the same members.
        let version = line(&format!("{name}.ndjson"))["_version"].as_str().map(str::to_owned);
        let version = version.expect("a version");
        assert!(version.starts_with("1@"), "{version}");
        let (id, version) = (r#""id":""#, &*format!(r#""_version":"{version}","#));
        let begin = file.find(id).expect("an id");
        let copy = format!("{}{}", &file[..begin], &file[begin + id.len() + 38..]);
        let copy = copy.replacen(version, "", 1);
        done(import(service, name, media_type, copy), [1, 0, 0, 0]);
        let both = export(service, &format!("{name}.ndjson"));
        let mut members = both.text().lines().map(|line| line.split_once(version).expect("one").1);
        assert_eq!(members.next(), members.next());
    }
}
