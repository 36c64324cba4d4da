//! Files that are refused as a whole, and what rules and limits say of rows.

use serde_json::json;
use tests::{Answer, Service, Store};

use crate::queries::FILES;
use crate::rules::RuleFile;
use crate::transfers::{FORMATS, counts, errors, export, import, import_csv, log_length};

#[test]
fn files_that_cannot_be_read_are_refused_as_a_whole() {
    let service = Service::start_with(Store::Sqlite, &["--max-import", "100KiB"]);
    let code = |answer: Answer| answer.value()["code"].as_str().unwrap_or_default().to_owned();
    let xlsx = FORMATS[2].1;
    for (media_type, body) in [
        ("text/csv", b"".to_vec()),
        ("text/csv", b"a\xff\n1\n".to_vec()),
        ("text/csv", b"a,a\n1,2\n".to_vec()),
        ("text/csv", b",a\n1,2\n".to_vec()),
        ("text/csv", b"\n\n".to_vec()),
        ("text/csv", b"x,'x\n1,2\n".to_vec()),
        ("text/csv", b"x,y\n1,\"a\n2,b\n".to_vec()),
        ("text/csv", b"x,y\n\"a,1\n\"b,2\n".to_vec()),
        ("text/csv", b"x,y\n\"a\" ,1\n".to_vec()),
        ("application/json", b"{}".to_vec()),
        ("application/json", b"[{]".to_vec()),
        (xlsx, b"no workbook".to_vec()),
        (xlsx, b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec()),
    ] {
        let answer = import(&service, "files", media_type, body.clone()).expect(400);
        assert_eq!(code(answer), "malformed-file", "{}", String::from_utf8_lossy(&body));
    }
    let too_many_columns = (0..1_010).map(|n| format!("c{n}")).collect::<Vec<_>>().join(",");
    let answer = import(&service, "files", "text/csv", too_many_columns).expect(413);
    assert_eq!(code(answer), "body-too-large");
    let large = "a\n".repeat(60_000);
    assert_eq!(code(import(&service, "files", "text/csv", large).expect(413)), "body-too-large");
    import(&service, "files", "application/pdf", "x").expect(415);
    service.post("/imports/files").untyped_body("x").send().expect(415);
    for (media_type, body, expected) in [
        (
            "application/x-ndjson",
            "{\"a\":1}\n{\n[1]\n",
            &["2  malformed_json", "3  not_an_object"][..],
        ),
        ("application/json", r#"[{"a":1},7]"#, &["2  not_an_object"]),
        ("text/csv", "a\n1\n1,2\n", &["2  too_many_cells"]),
        (
            "application/json",
            r#"[{"id":["x"]},{"x":1,"'x":2}]"#,
            &["1 id malformed_reference", "2  malformed_row"],
        ),
    ] {
        assert_eq!(errors(&import(&service, "files", media_type, body).expect(422)), expected);
    }
    for query in ["mode=some", "upsert=yes", "page=1", "dry_run"] {
        import_csv(&service, &format!("files?{query}"), "a\n1\n").refusing_query(&[]);
    }
    assert_eq!(log_length(&service), 0);
    // A workbook that unpacks to more than it says, or than may be, is not read.
    let items: Vec<_> = (0..3_000).map(|n| json!({ "a": n, "t": "x".repeat(20) })).collect();
    let bodies: Vec<_> = items.chunks(1_000).map(|items| json!(items).to_string()).collect();
    for body in bodies {
        import(&service, "files", "application/json", body).expect(200);
    }
    let workbook = export(&service, "files.xlsx");
    assert!(workbook.body.len() < 100 << 10, "{}", workbook.body.len());
    let answer = import(&service, "files?upsert=true", xlsx, workbook.body.clone()).expect(413);
    assert_eq!(code(answer), "body-too-large");
}

#[test]
fn what_an_export_may_hold_an_import_takes() {
    let service = Service::start(Store::Sqlite);
    let members: Vec<_> = (0..1_000).map(|n| format!("\"c{n}\":{n}")).collect();
    import(&service, "files", "application/x-ndjson", format!("{{{}}}\n", members.join(",")))
        .expect(200);
    for (extension, media_type) in FORMATS {
        let file = export(&service, &format!("files.{extension}")).body;
        let answer = import(&service, "files?upsert=true", media_type, file).expect(200);
        assert_eq!(counts(&answer), [0, 0, 1, 0], "{extension}");
    }
}

#[test]
fn rules_judge_rows_beside_each_other() {
    let rules = RuleFile::new(
        "rules:\n  - id: unique_name\n    group: files\n    lookup: {same: 'files[name = self.name]'}\n    check: size(same) == 0\n    message: Another file has this name.\n    field: /name\n",
    );
    let service = Service::start_with(Store::Sqlite, &rules.arguments());
    let refused = import_csv(&service, "files", "name\r\na\r\nb\r\na\r\n").expect(422);
    assert_eq!(errors(&refused), ["1 name unique_name", "3 name unique_name"]);
    assert_eq!(
        counts(&import_csv(&service, "files", "name\r\na\r\nb\r\n").expect(200)),
        [2, 0, 0, 0]
    );
    assert_eq!(
        errors(&import_csv(&service, "files", "name\r\nc\r\nb\r\n").expect(422)),
        ["2 name unique_name"]
    );
    // Two items may change their names with each other: both are judged as they will be.
    let file = export(&service, "files.csv")
        .text()
        .replace(",a\r", ",?\r")
        .replace(",b\r", ",a\r")
        .replace(",?\r", ",b\r");
    assert_eq!(counts(&import_csv(&service, "files?upsert=true", &file).expect(200)), [0, 2, 0, 0]);
}

#[test]
fn a_cell_that_is_too_long_for_a_sheet_refuses_the_export() {
    let service = Service::start(Store::Sqlite);
    service.create(FILES, r#"{"a":"short"}"#);
    service.create(FILES, &json!({ "long": "x".repeat(32_768) }).to_string());
    let refused = service.get("/exports/files.xlsx").accept("*/*").send().expect(422);
    let detail = refused.value()["detail"].to_string();
    assert!(detail.contains("Row 2") && detail.contains("`long`"), "{detail}");
    export(&service, "files.xlsx?fields=a");
    assert!(export(&service, "files.csv").body.len() > 32_768);
}

#[test]
fn conditions_that_are_required_are_required_of_rows() {
    let service = Service::start_with(Store::Sqlite, &["--require-if-match"]);
    let item = service.create(FILES, r#"{"a":1}"#);
    let file = format!("id,a\r\n{},2\r\n", item.id);
    let refused = import_csv(&service, "files?upsert=true", &file).expect(422);
    assert_eq!(errors(&refused), ["1 _version version_required"]);
    let file = format!("id,_version,a\r\n{},1,2\r\n", item.id);
    assert_eq!(counts(&import_csv(&service, "files?upsert=true", &file).expect(200)), [0, 1, 0, 0]);
}
