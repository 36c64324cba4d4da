//! Exports and imports: files of items.

use serde_json::{Value, json};
use tests::{Answer, Service, Store, on_each_store};

use crate::PROPOSAL;
use crate::collections::COLLECTIONS;
use crate::queries::{FILES, ODD_NAMES};

/// The formats that are exported, with their media types.
pub const FORMATS: [(&str, &str); 3] = [
    ("csv", "text/csv"),
    ("ndjson", "application/x-ndjson"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
];

/// Strings that a spreadsheet, a page or a parser could take for something else.
const HOSTILE: [&str; 36] = [
    "",
    " ",
    "'",
    "''",
    "=1+1",
    "+63 2",
    "-5",
    "@SUM(A1)",
    "\tx",
    "\rx",
    "\nx",
    "a\r\nb",
    "42",
    "1e5",
    "-0",
    "0042",
    "true",
    "null",
    "[1]",
    "{}",
    "[draft",
    "a,b;c",
    "\"quoted\"",
    "\u{feff}bom",
    "<script>alert(1)</script>",
    "_x0041_",
    "_x000D_",
    "\u{1}\u{1f}",
    "\u{7f}\u{85}\u{2028}",
    "\u{fffe}\u{ffff}",
    "🐟é e\u{301}",
    "x\u{200e}",
    "  spaces  ",
    "12345678901234567890",
    "see ref=\"Annex 3\" and r=\"x\"",
    "<c r=\"ZZZZ1\"/>",
];

const NUMBERS: [&str; 11] = [
    "0",
    "-0",
    "1.50",
    "1e5",
    "1E+2",
    "-1.5e-7",
    "12345678901234567890",
    "0.1234567890123456789",
    "123456789012345",
    "1e300",
    "1e-320",
];

pub fn export(service: &Service, path: &str) -> Answer {
    service.get(&format!("/exports/{path}")).accept("*/*").send().expect(200)
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

/// The counts of an outcome: created, replaced, unchanged, refused.
pub fn counts(answer: &Answer) -> [u64; 4] {
    let value = answer.value();
    ["created", "replaced", "unchanged", "refused"]
        .map(|name| value[name].as_u64().unwrap_or_else(|| panic!("no {name}: {answer}")))
}

/// The errors of a refused import: row, column and code.
pub fn errors(answer: &Answer) -> Vec<String> {
    let errors = answer.value()["errors"].as_array().cloned().unwrap_or_default();
    let text = |error: &Value, name: &str| error[name].to_string().replace('"', "");
    errors
        .iter()
        .map(|error| ["row", "column", "code"].map(|name| text(error, name)).join(" "))
        .collect()
}

pub fn log_length(service: &Service) -> usize {
    service.get("/v1/changes?page_size=250").send().expect(200).embedded("changes").len()
}

/// Items with hostile strings, names and numbers in each group.
fn store_hostile_items(service: &Service) {
    let strings = HOSTILE.iter().map(|string| json!(string).to_string());
    let values: Vec<_> =
        strings.chain(NUMBERS.map(str::to_owned)).chain(["null".into(), "true".into()]).collect();
    let proposal = service.create("/v1/proposals", PROPOSAL);
    for (collection, name) in COLLECTIONS {
        if *name == "proposals" {
            for string in HOSTILE.iter().filter(|string| !string.trim().is_empty()) {
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

#[test]
fn nothing_changes_in_a_round_trip() {
    on_each_store(|service| {
        store_hostile_items(service);
        let before = log_length(service);
        for (_, name) in COLLECTIONS {
            let listed =
                service.get(&list_of(name)).send().expect(200).value()["total_items"].as_u64();
            for (extension, media_type) in FORMATS {
                let file = export(service, &format!("{name}.{extension}"));
                for mode in ["all", "each"] {
                    let target = format!("{name}?upsert=true&mode={mode}");
                    let imported =
                        import(service, &target, media_type, file.body.clone()).expect(200);
                    let expected = [0, 0, listed.unwrap_or_default(), 0];
                    assert_eq!(counts(&imported), expected, "{name}.{extension}: {imported}");
                }
            }
        }
        assert_eq!(log_length(service), before);
    });
}

fn list_of(name: &str) -> String {
    let found = COLLECTIONS.iter().find(|(_, own)| *own == name);
    found.map_or_else(String::new, |(collection, _)| (*collection).to_owned())
}

#[test]
fn no_string_of_a_file_is_a_formula() {
    let service = Service::start(Store::Sqlite);
    store_hostile_items(&service);
    for (_, name) in COLLECTIONS {
        let file = export(&service, &format!("{name}.csv"));
        let cells = cells(file.text());
        let numbers = cells.iter().filter(|cell| serde_json::from_str::<f64>(cell).is_ok()).count();
        let suspect = |cell: &&String| cell.starts_with(['=', '+', '@', '\t', '\r']);
        assert_eq!(cells.iter().find(suspect), None);
        let negative = cells.iter().filter(|cell| cell.starts_with('-'));
        assert!(
            negative.clone().all(|cell| serde_json::from_str::<f64>(cell).is_ok()),
            "numbers alone"
        );
        assert!(*name == "proposals" || numbers > 10);
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

#[test]
fn an_export_has_the_filters_the_order_and_the_fields_of_a_collection() {
    on_each_store(|service| {
        for (n, words) in ["rice", "maize", "rice and maize"].iter().enumerate() {
            service.create(FILES, &json!({ "n": n, "x": words, "y": n }).to_string());
        }
        let file = |query: &str| {
            let answer = export(service, &format!("files.csv?{query}"));
            let lines = answer
                .text()
                .lines()
                .map(|line| line.splitn(3, ',').nth(2).unwrap_or_default().to_owned());
            lines.collect::<Vec<_>>().join("|")
        };
        assert_eq!(file(""), "n,x,y|0,rice,0|1,maize,1|2,rice and maize,2");
        assert_eq!(file("filter[n][gte]=1&sort=-n&fields=x"), "x|rice and maize|maize");
        assert_eq!(file("q=rice&sort=-n&fields=y,x"), "y,x|2,rice and maize|0,rice");
        assert_eq!(file("filter[n]=9"), "");
        assert!(export(service, "files.csv?bom=true").text().starts_with("\u{feff}id,"));
        let lines = export(service, "files.ndjson?fields=x&filter[n]=0");
        let line: Value = serde_json::from_str(lines.text()).expect("one line");
        assert_eq!(
            (&line["x"], &line["_version"], line.get("n")),
            (&json!("rice"), &json!(1), None)
        );
        for query in [
            "page=2",
            "cursor=x",
            "embed=proposal",
            "total=none",
            "as_of=2026-01-01T00:00:00Z",
            "bom=1",
        ] {
            service
                .get(&format!("/exports/files.csv?{query}"))
                .accept("*/*")
                .send()
                .refusing_query(&[]);
        }
    });
}

#[test]
fn a_file_is_named_and_typed() {
    let service = Service::start(Store::Sqlite);
    for (extension, media_type) in FORMATS {
        let answer = export(&service, &format!("proposals.{extension}"));
        assert!(answer.needed_header("content-type").starts_with(media_type), "{answer}");
        let name = answer.needed_header("content-disposition");
        assert!(name.starts_with("attachment; filename=\"proposals-20"), "{name}");
        assert!(name.ends_with(&format!(".{extension}\"")), "{name}");
        assert_eq!(answer.needed_header("cache-control"), "no-store");
    }
    service.get("/exports/nothing.csv").accept("*/*").send().expect(404);
    service.get("/exports/proposals.pdf").accept("*/*").send().expect(404);
    service.post("/exports/proposals.csv").send().expect(405);
    service.get("/imports/proposals").send().expect(405);
}

#[test]
fn rows_become_items_with_their_types() {
    on_each_store(|service| {
        let file = "n,x,list,when,empty,'=odd\r\n1.50,'42,\"[1, \"\"a\"\"]\",2026-01-01,,true\r\n,=no formula,,,,\r\n";
        let answer = import_csv(service, "files", file).expect(200);
        assert_eq!(counts(&answer), [2, 0, 0, 0]);
        let listed = service.list(FILES, "");
        let members = |item: &Value| {
            ["n", "x", "list", "when", "empty", "=odd"].map(|name| item.get(name).cloned())
        };
        let items = listed.items();
        let number: Value = serde_json::from_str("1.50").expect("a number");
        assert_eq!(
            members(&items[0]),
            [
                Some(number),
                Some(json!("42")),
                Some(json!([1, "a"])),
                Some(json!("2026-01-01")),
                None,
                Some(json!(true))
            ]
        );
        assert!(listed.text().contains("1.50"), "as it was written");
        assert_eq!(members(&items[1]), [None, Some(json!("=no formula")), None, None, None, None]);
        for (row, item) in answer.value()["rows"].as_array().expect("rows").iter().zip(&items) {
            assert_eq!(
                (&row["id"], &row["status"], &row["version"]),
                (&item["id"], &json!("created"), &json!(1))
            );
        }
        let proposals = "project_title,proposal_type\r\n2024,7\r\n";
        let answer = import_csv(service, "proposals", proposals).expect(200);
        let id = answer.value()["rows"][0]["id"].as_str().expect("an id").to_owned();
        let stored = service.get(&format!("/v1/proposals/{id}")).send().expect(200).value();
        assert_eq!(
            (&stored["project_title"], &stored["proposal_type"]),
            (&json!("2024"), &json!(7))
        );
        for body in [r#"[{"x":1.0},{"x":2}]"#, "{\"x\":1.0}\n\n{\"x\":2}\n"] {
            let media_type =
                if body.starts_with('[') { "application/json" } else { "application/x-ndjson" };
            let answer = import(service, "statuses", media_type, body).expect(200);
            assert_eq!(counts(&answer), [2, 0, 0, 0]);
        }
        assert_eq!(service.list("/v1/statuses", "filter[x]=2").value()["total_items"], 2);
    });
}

#[test]
fn a_row_changes_its_columns_and_nothing_else() {
    on_each_store(|service| {
        let item = service.create(FILES, r#"{"a":1.50,"b":"x","c":[1, 2],"d":"keep"}"#);
        let row = |columns: &str, cells: &str| {
            import_csv(
                service,
                "files?upsert=true",
                &format!("id,_version,{columns}\r\n{},{cells}\r\n", item.id),
            )
        };
        assert_eq!(counts(&row("a,c", "1,1.5,\"[1,2]\"").expect(200)), [0, 0, 1, 0]);
        assert_eq!(
            counts(&row("a,b,new", "1,1.51,,\"{\"\"y\"\":2.0}\"").expect(200)),
            [0, 1, 0, 0]
        );
        let stored = service.get(&item.path).send().expect(200);
        assert!(
            stored.text().contains(r#""a":1.51,"c":[1,2],"d":"keep","new":{"y":2.0}"#),
            "{stored}"
        );
        assert_eq!(errors(&row("a", "1,2").expect(422)), ["1 _version stale_version"]);
        assert_eq!(counts(&row("a", "1,1.51").expect(200)), [0, 0, 1, 0], "nothing is overwritten");
        assert_eq!(errors(&row("a", "x,2").expect(422)), ["1 _version malformed_version"]);
        assert_eq!(counts(&row("a", ",2").expect(200)), [0, 1, 0, 0], "whatever there is");
    });
}

#[test]
fn one_refused_row_keeps_all_out_unless_each_is_by_itself() {
    on_each_store(|service| {
        let file = "project_title,proposal_type,start_date,bogus\r\nfirst,A,,\r\n,,not a day,\r\nthird,A,,x\r\nfourth,A,2026-01-01,\r\n";
        let refused = import_csv(service, "proposals", file).expect(422);
        let expected = [
            "2 start_date invalid_date",
            "2 project_title required",
            "2 proposal_type required",
            "3 bogus unknown_field",
        ];
        let mut found = errors(&refused);
        found.sort();
        let mut sorted = expected.map(str::to_owned);
        sorted.sort();
        assert_eq!(found, sorted, "{refused}");
        assert_eq!(service.list("/v1/proposals", "").value()["total_items"], 0);
        let checked = import_csv(service, "proposals?mode=each&dry_run=true", file).expect(200);
        assert_eq!(counts(&checked), [2, 0, 0, 2]);
        assert_eq!(log_length(service), 0);
        let done = import_csv(service, "proposals?mode=each", file).expect(200);
        assert_eq!(counts(&done), [2, 0, 0, 2]);
        let titles = service.list("/v1/proposals", "").each("project_title");
        assert_eq!(titles, ["first", "fourth"]);
        let row = &done.value()["rows"][1];
        assert_eq!((&row["status"], &row["id"]), (&json!("refused"), &Value::Null));
        assert_eq!(row["errors"].as_array().map(Vec::len), Some(3), "{done}");
    });
}

#[test]
fn rows_are_identified_without_guessing() {
    on_each_store(|service| {
        let item = service.create(FILES, r#"{"a":1}"#);
        let unknown = "01890a5d-ac96-774b-bcce-b302099a8050";
        let file = format!(
            "id,_version,a\r\n{},,2\r\n{},,3\r\n{unknown},,4\r\nx,,5\r\n,7,6\r\n",
            item.id, item.id
        );
        let refused = import_csv(service, "files?upsert=true", &file).expect(422);
        let expected = [
            "2 id duplicate_id",
            "3 id unknown_id",
            "4 id unknown_id",
            "5 _version version_without_id",
        ];
        assert_eq!(errors(&refused), expected);
        assert_eq!(errors(&import_csv(service, "files", &file).expect(422)).len(), 5, "no upsert");
        let done = import_csv(service, "files?upsert=true&mode=each", &file).expect(200);
        assert_eq!(counts(&done), [0, 1, 0, 4]);
        assert_eq!(service.get(&item.path).send().expect(200).value()["a"], 2);
    });
}

#[test]
fn library_items_have_a_proposal() {
    on_each_store(|service| {
        let [first, second] = [(); 2].map(|()| service.create("/v1/proposals", PROPOSAL));
        let file = format!("proposal,title\r\n{},a\r\n,b\r\n{},c\r\n", first.id, second.id);
        assert_eq!(counts(&import_csv(service, "lib", &file).expect(200)), [3, 0, 0, 0]);
        let titles = |proposal: &str| service.list(&format!("{proposal}/lib"), "").each("title");
        assert_eq!(
            (titles(&first.path), titles(&second.path)),
            (vec![json!("a")], vec![json!("c")])
        );
        let moved = export(service, "lib.csv").text().replacen(&first.id, &second.id, 1);
        let refused = import_csv(service, "lib?upsert=true", &moved).expect(422);
        assert_eq!(errors(&refused), ["1 proposal parent_mismatch"]);
        let gone = "proposal,title\r\n01890a5d-ac96-774b-bcce-b302099a8050,d\r\n";
        assert_eq!(
            errors(&import_csv(service, "lib", gone).expect(422)),
            ["1 proposal unknown_parent"]
        );
    });
}

#[test]
fn an_import_that_is_sent_again_is_done_once() {
    on_each_store(|service| {
        let item = service.create(FILES, r#"{"a":1}"#);
        let file = format!("id,_version,a\r\n{},1,2\r\n,,3\r\n", item.id);
        for (key, mode) in [("k", "all"), ("l", "each")] {
            let file = if mode == "all" { file.clone() } else { file.replace(",1,2", ",2,4") };
            let send = |target: &str, body: &str| {
                let request = service.post(&format!("/imports/files?upsert=true&mode={target}"));
                request
                    .header("idempotency-key", format!("\"{key}\""))
                    .body("text/csv", body)
                    .send()
            };
            let first = send(mode, &file).expect(200);
            assert_eq!(counts(&first), [1, 1, 0, 0]);
            let length = log_length(service);
            assert_eq!(send(mode, &file).expect(200).value(), first.value());
            assert_eq!(
                send(mode, &file.replace(",3", ",5")).expect(422).value()["code"],
                "idempotency-key-reused"
            );
            let other = if mode == "all" { "each" } else { "all" };
            assert_eq!(send(other, &file).expect(422).value()["code"], "idempotency-key-reused");
            assert_eq!(log_length(service), length);
        }
    });
}

#[test]
fn a_key_is_of_one_body_whatever_of_it_was_done() {
    on_each_store(|service| {
        let send = |mode: &str, body: &str| {
            let request = service.post(&format!("/imports/proposals?mode={mode}"));
            let request = request.header("idempotency-key", format!("\"{mode}\""));
            request.body("application/x-ndjson", body).send()
        };
        let good =
            |title: &str| json!({ "project_title": title, "proposal_type": "A" }).to_string();
        // The first row is refused, so the second claims the key.
        let first = send("each", &format!("{{}}\n{}\n{}\n", good("b"), good("c"))).expect(200);
        assert_eq!(counts(&first), [2, 0, 0, 1]);
        let corrected = format!("{}\n{}\n{}\n", good("a"), good("b"), good("c"));
        let refused = send("each", &corrected).expect(422);
        assert_eq!(refused.value()["code"], "idempotency-key-reused");
        let again = send("each", &format!("{{}}\n{}\n{}\n", good("b"), good("c"))).expect(200);
        assert_eq!(again.value(), first.value());
        assert_eq!(counts(&send("all", &format!("\n{}\n", good("d"))).expect(200)), [1, 0, 0, 0]);
        let refused = send("all", &format!("{}\n", good("e"))).expect(422);
        assert_eq!(refused.value()["code"], "idempotency-key-reused");
        assert_eq!(service.list("/v1/proposals", "").value()["total_items"], 3);
        // A key that a client chose is not that of another import's row.
        for (key, body) in
            [("load#2", good("f")), ("load", format!("{}\n{}", good("g"), good("h")))]
        {
            let request = service.post("/imports/proposals?mode=each");
            let request = request.header("idempotency-key", format!("\"{key}\""));
            let count = body.lines().count() as u64;
            let done = request.body("application/x-ndjson", body).send().expect(200);
            assert_eq!(counts(&done), [count, 0, 0, 0]);
        }
        assert_eq!(service.list("/v1/proposals", "").value()["total_items"], 6);
    });
}
