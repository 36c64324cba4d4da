//! Exports and imports: files of items.

use serde_json::{Value, json};
use tests::{Answer, Service};

use crate::PROPOSAL;
use crate::collections::COLLECTIONS;
use crate::queries::{FILES, ODD_NAMES};

/// The formats that are exported, with their media types.
pub const FORMATS: [(&str, &str); 3] = [
    ("csv", "text/csv"),
    ("ndjson", "application/x-ndjson"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
];

/// Strings that a spreadsheet, a page or a parser could take for something else, with `|` between
/// them.
const HOSTILE: &str = "| |'|''|=1+1|+63 2|-5|@SUM(A1)|\tx|\rx|\nx|a\r\nb|42|1e5|-0|0042|true|null|\
    [1]|{}|[draft|a,b;c|\"quoted\"|\u{feff}bom|<script>alert(1)</script>|_x0041_|_x000D_|\
    \u{1}\u{1f}|\u{7f}\u{85}\u{2028}|\u{fffe}\u{ffff}|🐟é e\u{301}|x\u{200e}|  spaces  |\
    12345678901234567890|see ref=\"Annex 3\" and r=\"x\"|<c r=\"ZZZZ1\"/>";

const NUMBERS: &str = "0 -0 1.50 1e5 1E+2 -1.5e-7 12345678901234567890 0.1234567890123456789 \
    123456789012345 1e300 1e-320";

tests::cases![
    nothing_changes_in_a_round_trip,
    an_export_has_the_filters_the_order_and_the_fields_of_a_collection,
    a_file_is_named_and_typed,
    rows_become_items_with_their_types,
    a_row_changes_its_columns_and_nothing_else,
    one_refused_row_keeps_all_out_unless_each_is_by_itself,
    rows_are_identified_without_guessing,
    library_items_have_a_proposal,
    an_import_that_is_sent_again_is_done_once,
    a_key_is_of_one_body_even_if_rows_were_refused,
    a_dry_run_shows_what_would_change,
];

fn a_dry_run_shows_what_would_change(service: &Service) {
    let item = service.create("/v1/files", r#"{"filename":"a.pdf","size_bytes":1.50,"note":"x"}"#);
    let rows = format!(
        "id,filename,size_bytes,note,docment_type\n{},b.pdf,,x,plan\n,new.pdf,3,y,\n",
        item.id
    );
    let tried = import_csv(service, "files?upsert=true&dry_run=true", &rows);
    let tried = done(tried, [1, 1, 0, 0]).value();
    assert_eq!(
        tried["rows"][0]["changes"],
        json!([
            { "member": "filename", "before": "a.pdf", "after": "b.pdf" },
            { "member": "docment_type", "before": null, "after": "plan" },
            { "member": "size_bytes", "before": "1.50", "after": null },
        ])
    );
    assert_eq!(tried["rows"][1].get("changes"), None, "{tried}");
    let new = json!([
        { "name": "docment_type", "did_you_mean": "document_type" },
        { "name": "note", "did_you_mean": null },
    ]);
    assert_eq!(tried["new_members"], new);
    let imported = import_csv(service, "files?upsert=true", &rows);
    let imported = done(imported, [1, 1, 0, 0]).value();
    assert!(imported.get("new_members").is_none(), "{imported}");
    assert_eq!(imported["rows"][0].get("changes"), None, "{imported}");
    // At most 200 changes are listed.
    let members: Vec<_> = (0..300).map(|number| format!("\"m{number}\":1")).collect();
    let row = format!("[{{\"id\":\"{}\",{}}}]", item.id, members.join(","));
    let target = "files?upsert=true&dry_run=true";
    let tried = import(service, target, "application/json", row).expect(200).value();
    assert_eq!(tried["rows"][0]["changes"].as_array().map(Vec::len), Some(200));
    assert_eq!(tried["new_members"].as_array().map(Vec::len), Some(50));
}

pub fn export(service: &Service, path: &str) -> Answer {
    service.get(&format!("/exports/{path}")).accept("*/*").expect(200)
}

pub fn import(
    service: &Service,
    target: &str,
    media_type: &str,
    body: impl Into<Vec<u8>>,
) -> Answer {
    service.post(&format!("/imports/{target}")).body(media_type, body).send()
}

pub fn import_csv(service: &Service, target: &str, body: &str) -> Answer {
    import(service, target, "text/csv", body)
}

/// Asserts that an import was done, and how many rows were created, replaced, unchanged, refused.
#[track_caller]
pub fn done(answer: Answer, expected: [u64; 4]) -> Answer {
    let answer = answer.expect(200);
    let value = answer.value();
    let counts = ["created", "replaced", "unchanged", "refused"].map(|name| value[name].as_u64());
    assert_eq!(counts, expected.map(Some), "{answer}");
    answer
}

/// Asserts that an import was refused with these errors: row, column and code.
#[track_caller]
pub fn refused(answer: Answer, expected: &[&str]) {
    let answer = answer.expect(422);
    let errors = answer.value()["errors"].as_array().cloned().unwrap_or_default();
    let text = |error: &Value, name: &str| error[name].to_string().replace('"', "");
    let found = errors
        .iter()
        .map(|error| ["row", "column", "code"].map(|name| text(error, name)).join(" "));
    assert_eq!(found.collect::<Vec<_>>(), expected, "{answer}");
}

/// The end of the change log; equal ends mean that no change was written in between.
pub fn end_of_log(service: &Service) -> String {
    let mut target = "/v1/changes?page_size=250".to_owned();
    loop {
        match service.read(&target).link("next") {
            Some(next) if next != target => target = next,
            _ => return target,
        }
    }
}

/// Items with hostile strings, names and numbers in each group.
fn store_hostile_items(service: &Service) {
    let strings = HOSTILE.split('|').map(|string| json!(string).to_string());
    let numbers = NUMBERS.split_whitespace().chain(["null", "true"]).map(str::to_owned);
    let values: Vec<_> = strings.chain(numbers).collect();
    let proposal = service.create("/v1/proposals", PROPOSAL);
    for (collection, name) in COLLECTIONS {
        if *name == "proposals" {
            for string in HOSTILE.split('|').filter(|string| !string.trim().is_empty()) {
                let list = json!([string, "b"]);
                let members = json!({
                    "project_title": string, "proposal_type": string, "researcher_id": string,
                    "specific_objectives": list, "implementation_sites": string, "project_id": 42,
                });
                service.create(collection, &members.to_string());
            }
            continue;
        }
        let members = values.iter().enumerate().map(|(n, value)| format!("\"m{n}\":{value}"));
        service.create(collection, &format!("{{{}}}", members.collect::<Vec<_>>().join(",")));
        let odd = ODD_NAMES.iter().chain(&["_version", "proposal", "=f", "@g", "", "\u{feff}x"]);
        let odd = odd.map(|name| format!("{}:{{\"a\":[1.0,null]}}", json!(name)));
        service.create(collection, &format!("{{{}}}", odd.collect::<Vec<_>>().join(",")));
        if *name == "lib" {
            service.create(&format!("{}/lib", proposal.path), r#"{"proposal":"its own","x":1}"#);
        }
    }
}

fn nothing_changes_in_a_round_trip(service: &Service) {
    store_hostile_items(service);
    no_string_of_a_file_is_a_formula(service);
    let before = end_of_log(service);
    for (collection, name) in COLLECTIONS {
        let listed = service.read(collection).value()["total_items"].as_u64().expect("a number");
        for (extension, media_type) in FORMATS {
            let file = export(service, &format!("{name}.{extension}"));
            for mode in ["all", "each"] {
                let target = format!("{name}?upsert=true&mode={mode}");
                done(import(service, &target, media_type, file.body.clone()), [0, 0, listed, 0]);
            }
        }
    }
    assert_eq!(end_of_log(service), before);
}

fn no_string_of_a_file_is_a_formula(service: &Service) {
    for (_, name) in COLLECTIONS {
        let file = export(service, &format!("{name}.csv"));
        let cells = cells(file.text());
        let is_number = |cell: &&String| serde_json::from_str::<f64>(cell).is_ok();
        let suspect = |cell: &&String| {
            cell.starts_with(['=', '+', '@', '\t', '\r'])
                || cell.starts_with('-') && !is_number(cell)
        };
        assert_eq!(cells.iter().find(suspect), None);
        assert!(*name == "proposals" || cells.iter().filter(is_number).count() > 10);
    }
}

/// All cells of a file, by the grammar of RFC 4180.
fn cells(text: &str) -> Vec<String> {
    let (mut cells, mut cell, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, is_quoted) {
            ('"', true) if letters.peek() == Some(&'"') => {
                letters.next();
                cell.push('"');
            }
            ('"', _) => is_quoted = !is_quoted,
            (',', false) => cells.push(std::mem::take(&mut cell)),
            ('\r', false) if letters.peek() == Some(&'\n') => {
                letters.next();
                cells.push(std::mem::take(&mut cell));
            }
            _ => cell.push(letter),
        }
    }
    cells
}

fn an_export_has_the_filters_the_order_and_the_fields_of_a_collection(service: &Service) {
    for (n, words) in ["rice", "maize", "rice and maize"].iter().enumerate() {
        service.create(FILES, &json!({ "n": n, "x": words, "y": n }).to_string());
    }
    for (query, expected) in [
        ("", "n,x,y|0,rice,0|1,maize,1|2,rice and maize,2"),
        ("filter[n][gte]=1&sort=-n&fields=x", "x|rice and maize|maize"),
        ("q=rice&sort=-n&fields=y,x", "y,x|2,rice and maize|0,rice"),
        ("filter[n]=9", ""),
    ] {
        let answer = export(service, &format!("files.csv?{query}"));
        let lines = answer.text().lines();
        let lines: Vec<_> =
            lines.map(|line| line.splitn(3, ',').nth(2).unwrap_or_default()).collect();
        assert_eq!(lines.join("|"), expected, "{query}");
    }
    assert!(export(service, "files.csv?bom=true").text().starts_with("\u{feff}id,"));
    let lines = export(service, "files.ndjson?fields=x&filter[n]=0");
    let line: Value = serde_json::from_str(lines.text()).expect("one line");
    assert_eq!((&line["x"], line.get("n")), (&json!("rice"), None));
    assert!(line["_version"].as_str().is_some_and(|version| version.starts_with("1@")), "{line}");
    let past = "as_of=2026-01-01T00:00:00Z";
    for query in ["page=2", "cursor=x", "embed=proposal", "total=none", past, "bom=1"] {
        let request = service.get(&format!("/exports/files.csv?{query}")).accept("*/*");
        request.send().refusing_query(&[]);
    }
}

fn a_file_is_named_and_typed(service: &Service) {
    for (extension, media_type) in FORMATS {
        let answer = export(service, &format!("proposals.{extension}"));
        assert!(answer.needed_header("content-type").starts_with(media_type), "{answer}");
        let name = answer.needed_header("content-disposition");
        assert!(name.starts_with("attachment; filename=\"proposals-20"), "{name}");
        assert!(name.ends_with(&format!(".{extension}\"")), "{name}");
        assert_eq!(answer.needed_header("cache-control"), "no-store");
    }
    service.get("/exports/nothing.csv").accept("*/*").expect(404);
    service.get("/exports/proposals.pdf").accept("*/*").expect(404);
    service.post("/exports/proposals.csv").expect(405);
    service.get("/imports/proposals").expect(405);
}

fn rows_become_items_with_their_types(service: &Service) {
    let file = "n,x,list,when,empty,'=odd\r\n1.50,'42,\"[1, \"\"a\"\"]\",2026-01-01,,true\r\n,=no formula,,,,\r\n";
    let answer = done(import_csv(service, "files", file), [2, 0, 0, 0]);
    let listed = service.list(FILES, "");
    let items = listed.items();
    let members = ["n", "x", "list", "when", "empty", "=odd"];
    let number: Value = serde_json::from_str("1.50").expect("a number");
    let typed =
        [number, json!("42"), json!([1, "a"]), json!("2026-01-01"), Value::Null, json!(true)];
    assert_eq!(members.map(|name| items[0][name].clone()), typed);
    assert!(listed.text().contains("1.50"), "as it was written");
    let present = |item: &Value| members.map(|name| item.get(name).is_some());
    assert_eq!(present(&items[0]), [true, true, true, true, false, true]);
    assert_eq!(
        (&items[1]["x"], present(&items[1])),
        (&json!("=no formula"), [false, true, false, false, false, false])
    );
    for (row, item) in answer.value()["rows"].as_array().expect("rows").iter().zip(&items) {
        let found = (&row["id"], &row["status"], &row["version"]);
        assert_eq!(found, (&item["id"], &json!("created"), &json!(1)));
    }
    let proposals = "project_title,proposal_type\r\n2024,7\r\n";
    let answer = import_csv(service, "proposals", proposals).expect(200);
    let id = answer.value()["rows"][0]["id"].as_str().expect("an id").to_owned();
    let stored = service.read(&format!("/v1/proposals/{id}")).value();
    assert_eq!((&stored["project_title"], &stored["proposal_type"]), (&json!("2024"), &json!(7)));
    for (media_type, body) in [
        ("application/json", r#"[{"x":1.0},{"x":2}]"#),
        ("application/x-ndjson", "{\"x\":1.0}\n\n{\"x\":2}\n"),
    ] {
        done(import(service, "statuses", media_type, body), [2, 0, 0, 0]);
    }
    assert_eq!(service.list("/v1/statuses", "filter[x]=2").value()["total_items"], 2);
}

fn a_row_changes_its_columns_and_nothing_else(service: &Service) {
    let item = service.create(FILES, r#"{"a":1.50,"b":"x","c":[1, 2],"d":"keep"}"#);
    let row = |columns: &str, cells: &str| {
        let file = format!("id,_version,{columns}\r\n{},{cells}\r\n", item.id);
        import_csv(service, "files?upsert=true", &file)
    };
    done(row("a,c", "1,1.5,\"[1,2]\""), [0, 0, 1, 0]);
    done(row("a,b,new", "1,1.51,,\"{\"\"y\"\":2.0}\""), [0, 1, 0, 0]);
    let stored = service.read(&item.path);
    assert!(stored.text().contains(r#""a":1.51,"c":[1,2],"d":"keep","new":{"y":2.0}"#), "{stored}");
    refused(row("a", "1,2"), &["1 _version stale_version"]);
    // An old version is no error if the row changes nothing.
    done(row("a", "1,1.51"), [0, 0, 1, 0]);
    for malformed in ["x", "x@h", "@h", "01@h"] {
        refused(row("a", &format!("{malformed},2")), &["1 _version malformed_version"]);
    }
    // An exported version names its history.
    refused(row("a", "2@other,2"), &["1 _version stale_version"]);
    let file = export(service, "files.csv?fields=a&filter[a]=1.51").text().to_owned();
    let file = file.replace(",1.51\r", ",1.52\r");
    assert!(file.contains(",2@"), "{file}");
    done(import_csv(service, "files?upsert=true", &file), [0, 1, 0, 0]);
    refused(
        import_csv(service, "files?upsert=true", &file.replace("1.52", "1.53")),
        &["1 _version stale_version"],
    );
    // Without a version the row replaces any version.
    done(row("a", ",2"), [0, 1, 0, 0]);
}

fn one_refused_row_keeps_all_out_unless_each_is_by_itself(service: &Service) {
    let file = "project_title,proposal_type,start_date,bogus\r\nfirst,A,,\r\n,,not a day,\r\nthird,A,,x\r\nfourth,A,2026-01-01,\r\n";
    let before = end_of_log(service);
    let expected = [
        "2 start_date invalid_date",
        "2 proposal_type required",
        "2 project_title required",
        "3 bogus unknown_field",
    ];
    refused(import_csv(service, "proposals", file), &expected);
    done(import_csv(service, "proposals?mode=each&dry_run=true", file), [2, 0, 0, 2]);
    assert_eq!(end_of_log(service), before);
    let done = done(import_csv(service, "proposals?mode=each", file), [2, 0, 0, 2]);
    let titles = service.list("/v1/proposals", "").each("project_title");
    assert_eq!(titles, ["first", "fourth"]);
    let row = &done.value()["rows"][1];
    assert_eq!((&row["status"], &row["id"]), (&json!("refused"), &Value::Null));
    assert_eq!(row["errors"].as_array().map(Vec::len), Some(3), "{done}");
}

fn rows_are_identified_without_guessing(service: &Service) {
    let item = service.create(FILES, r#"{"a":1}"#);
    let unknown = "01890a5d-ac96-774b-bcce-b302099a8050";
    let file = format!(
        "id,_version,a\r\n{},,2\r\n{},,3\r\n{unknown},,4\r\nx,,5\r\n,7,6\r\n",
        item.id, item.id
    );
    let expected = [
        "2 id duplicate_id",
        "3 id unknown_id",
        "4 id unknown_id",
        "5 _version version_without_id",
    ];
    refused(import_csv(service, "files?upsert=true", &file), &expected);
    let without_upsert = import_csv(service, "files", &file).expect(422);
    assert_eq!(without_upsert.value()["errors"].as_array().map(Vec::len), Some(5));
    done(import_csv(service, "files?upsert=true&mode=each", &file), [0, 1, 0, 4]);
    assert_eq!(service.read(&item.path).value()["a"], 2);
}

fn library_items_have_a_proposal(service: &Service) {
    let [first, second] = [(); 2].map(|()| service.create("/v1/proposals", PROPOSAL));
    let file = format!("proposal,title\r\n{},a\r\n,b\r\n{},c\r\n", first.id, second.id);
    done(import_csv(service, "lib", &file), [3, 0, 0, 0]);
    let titles = |proposal: &str| service.list(&format!("{proposal}/lib"), "").each("title");
    assert_eq!((titles(&first.path), titles(&second.path)), (vec![json!("a")], vec![json!("c")]));
    let moved = export(service, "lib.csv").text().replacen(&first.id, &second.id, 1);
    refused(import_csv(service, "lib?upsert=true", &moved), &["1 proposal parent_mismatch"]);
    let gone = "proposal,title\r\n01890a5d-ac96-774b-bcce-b302099a8050,d\r\n";
    refused(import_csv(service, "lib", gone), &["1 proposal unknown_parent"]);
}

fn an_import_that_is_sent_again_is_done_once(service: &Service) {
    let item = service.create(FILES, r#"{"a":1}"#);
    let file = format!("id,_version,a\r\n{},1,2\r\n,,3\r\n", item.id);
    for (key, mode) in [("k", "all"), ("l", "each")] {
        let file = if mode == "all" { file.clone() } else { file.replace(",1,2", ",2,4") };
        let send = |target: &str, body: &str| {
            let request = service.post(&format!("/imports/files?upsert=true&mode={target}"));
            request.header("idempotency-key", format!("\"{key}\"")).body("text/csv", body).send()
        };
        let first = done(send(mode, &file), [1, 1, 0, 0]);
        let end = end_of_log(service);
        assert_eq!(send(mode, &file).expect(200).value(), first.value());
        let other = if mode == "all" { "each" } else { "all" };
        for reused in [send(mode, &file.replace(",3", ",5")), send(other, &file)] {
            assert_eq!(reused.expect(422).value()["code"], "idempotency-key-reused");
        }
        assert_eq!(end_of_log(service), end);
    }
}

fn a_key_is_of_one_body_even_if_rows_were_refused(service: &Service) {
    let send = |mode: &str, key: &str, rows: &[&str]| {
        let row = |title: &&str| match *title {
            "" => "{}".to_owned(),
            title => json!({ "project_title": title, "proposal_type": "A" }).to_string(),
        };
        let body = rows.iter().map(row).collect::<Vec<_>>().join("\n") + "\n";
        let request = service.post(&format!("/imports/proposals?mode={mode}"));
        let request = request.header("idempotency-key", format!("\"{key}\""));
        request.body("application/x-ndjson", body).send()
    };
    let is_reused =
        |answer: Answer| assert_eq!(answer.expect(422).value()["code"], "idempotency-key-reused");
    // The first row is refused, so the second claims the key.
    let first = done(send("each", "each", &["", "b", "c"]), [2, 0, 0, 1]);
    is_reused(send("each", "each", &["a", "b", "c"]));
    assert_eq!(send("each", "each", &["", "b", "c"]).expect(200).value(), first.value());
    done(send("all", "all", &["d"]), [1, 0, 0, 0]);
    is_reused(send("all", "all", &["e"]));
    assert_eq!(service.list("/v1/proposals", "").value()["total_items"], 3);
    // A key that a client chose is not that of another import's row.
    done(send("each", "load#2", &["f"]), [1, 0, 0, 0]);
    is_reused(send("each", "load#2", &["g"]));
    done(send("each", "load", &["g", "h"]), [2, 0, 0, 0]);
    assert_eq!(service.list("/v1/proposals", "").value()["total_items"], 6);
}
