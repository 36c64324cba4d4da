//! Business rules in files: they judge every write of every group, look at other items, warn and
//! are published.

use std::fs;
use std::path::PathBuf;
use std::thread;

use serde_json::{Value, json};
use tempfile::TempDir;
use tests::{Answer, Service, Store};

use crate::PROPOSAL;

/// A file of rules that lasts as long as the test.
pub struct RuleFile {
    path: PathBuf,
    _folder: TempDir,
}

impl RuleFile {
    pub fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("rules.yaml");
        fs::write(&path, text).expect("a file");
        Self { path, _folder: folder }
    }

    pub fn change(&self, text: &str) {
        fs::write(&self.path, text).expect("a file");
    }

    pub fn arguments(&self) -> [&str; 2] {
        ["--rules", self.path.to_str().expect("a path of UTF-8")]
    }
}

/// Runs a test on a fresh service with these rules, over each kind of store.
pub fn with_rules(rules: &str, test: impl Fn(&Service)) {
    let file = RuleFile::new(rules);
    for store in [Store::Sqlite, Store::Postgres] {
        println!("on {store:?}:");
        test(&Service::start_with(store, &file.arguments()));
    }
}

pub fn errors(answer: &Answer) -> Vec<(String, String)> {
    let answer = answer.value();
    let errors = answer["errors"].as_array().cloned().unwrap_or_default();
    errors.iter().map(|error| (text(&error["code"]), text(&error["pointer"]))).collect()
}

fn warnings(answer: &Answer) -> Vec<(String, String)> {
    let warnings = answer.value()["_meta"]["warnings"].as_array().cloned().unwrap_or_default();
    warnings.iter().map(|warning| (text(&warning["code"]), text(&warning["pointer"]))).collect()
}

pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

pub fn one(code: &str, pointer: &str) -> Vec<(String, String)> {
    vec![(code.to_owned(), pointer.to_owned())]
}

pub const AMOUNT: &str = r"
rules:
  - id: amount_positive
    group: cashprogram
    on: [create, replace, patch, delete]
    check: has(self.amount) && decimal(self.amount) > decimal('0')
    message: An amount is greater than zero; correct it.
    field: /amount
    description: Cash programmes have amounts.
    source: Memo 7
";

#[test]
fn a_rule_refuses_every_kind_of_write() {
    with_rules(AMOUNT, |service| {
        let bad = r#"{"amount":"0.00"}"#;
        let refused = service.post("/v1/cashprogram").json(bad).send().expect(422);
        assert_eq!(errors(&refused), one("amount_positive", "/amount"));
        let error = &refused.value()["errors"][0];
        assert_eq!(error["detail"], "An amount is greater than zero; correct it.");
        let page = service.get(&path(&text(&error["rule"]))).send().expect(200);
        assert_eq!(page.value()["source"], "Memo 7");
        let item = service.create("/v1/cashprogram", r#"{"amount":"0.01"}"#);
        for (method, target) in [("PUT", &item.path), ("PATCH", &item.path), ("POST", &item.path)] {
            let refused = service.request(method, target).json(bad).send().expect(422);
            assert_eq!(errors(&refused), one("amount_positive", "/amount"), "{method}");
        }
        let elements = format!(r#"[{{"id":"{}","amount":1}},{{"amount":0}}]"#, item.id);
        let refused = service.put("/v1/cashprogram").json(elements).send().expect(422);
        assert_eq!(errors(&refused), one("amount_positive", "/1/amount"));
        assert_eq!(
            service.get(&item.path).send().expect(200).value()["amount"],
            "0.01",
            "nothing was written"
        );
        service.delete(&item.path).send().expect(204);
    });
}

const KEPT: &str = r#"
rules:
  - id: final_is_kept
    group: cashprogram
    on: [replace, patch, delete]
    check: "!has(old.final) || old.final != true"
    message: It is final.
"#;

#[test]
fn what_a_rule_keeps_is_kept_from_every_way_to_remove_it() {
    with_rules(KEPT, |service| {
        let item = service.create("/v1/cashprogram", r#"{"final":true}"#);
        let refused = service.delete(&item.path).send().expect(422);
        assert_eq!(errors(&refused), one("final_is_kept", ""));
        service.patch(&item.path).json(r#"{"final":false}"#).send().expect(422);
        let refused = service.put("/v1/cashprogram").json(r#"[{"n":1}]"#).send().expect(422);
        assert_eq!(
            errors(&refused),
            one("final_is_kept", ""),
            "what a replacement leaves out is removed"
        );
        service
            .put("/v1/cashprogram")
            .json(format!(r#"[{{"id":"{}","final":true}}]"#, item.id))
            .send()
            .expect(422);
        assert_eq!(service.get("/v1/cashprogram").send().expect(200).value()["total_items"], 1);
        let other = service.create("/v1/cashprogram", "{}");
        service.delete(&other.path).send().expect(204);
        service.delete(&format!("{}?dry_run=true", item.path)).send().expect(422);
    });
}

const WORDS: &str = r#"
rules:
  - id: title_words
    group: proposals
    check: words(self.project_title) <= 3
    message_expression: "'the title has ' + string(words(self.project_title)) + ' words'"
    field: /project_title
    severity: warning
  - id: has_description
    group: proposals
    on: [replace]
    check: has(self.project_description)
    message: Describe the project.
    field: /project_description
"#;

#[test]
fn a_warning_is_reported_and_the_write_is_done() {
    with_rules(WORDS, |service| {
        let long = r#"{"proposal_type":"x","project_title":"one two three four"}"#;
        let created = service
            .post("/v1/proposals")
            .header("idempotency-key", "\"w\"")
            .json(long)
            .send()
            .expect(201);
        assert_eq!(warnings(&created), one("title_words", "/project_title"));
        assert_eq!(created.value()["_meta"]["warnings"][0]["message"], "the title has 4 words");
        let again = service
            .post("/v1/proposals")
            .header("idempotency-key", "\"w\"")
            .json(long)
            .send()
            .expect(201);
        assert_eq!(
            again.text(),
            created.text(),
            "what is sent again is answered as the first time"
        );
        let path = format!("/v1/proposals/{}", created.id());
        let patched = service.patch(&path).json(r#"{"end_date":"2030-01-01"}"#).send().expect(200);
        assert_eq!(warnings(&patched), one("title_words", "/project_title"));
        assert!(service.get(&path).send().expect(200).value()["_meta"].get("warnings").is_none());
        let checked = service.get(&format!("{path}?check=true")).send().expect(200);
        assert_eq!(warnings(&checked), one("title_words", "/project_title"));
        assert_eq!(checked.value()["_meta"]["errors"][0]["code"], "has_description");
        let tried = service.put(&format!("{path}?dry_run=true")).json(long).send().expect(422);
        assert_eq!(errors(&tried), one("has_description", "/project_description"));
        let sound = service.create("/v1/files", "{}");
        let checked = service.get(&format!("{}?check=true", sound.path)).send().expect(200).value();
        assert_eq!(
            (&checked["_meta"]["errors"], &checked["_meta"]["warnings"]),
            (&json!([]), &json!([]))
        );
        service.get(&format!("{path}?check=perhaps")).send().expect(400);
        service.get(&format!("{path}?check=true&fields=id")).send().expect(400);
        service.get(&format!("{path}?check=true&as_of=2026-01-01T00:00:00Z")).send().expect(400);
    });
}

const ACROSS: &str = r#"
rules:
  - id: programme_exists
    group: proposals
    when: has(self.program_id)
    lookup: { program: "proposedprograms[self.program_id]" }
    check: program != null && program.open == true
    message: The programme takes no proposals.
    field: /program_id
  - id: amounts_within_budget
    group: lib
    lookup: { others: "lib[parent = parent]", proposal: "proposals[parent]" }
    when: parent != null
    check: sum(others.map(item, item.amount)) + decimal(self.amount) <= decimal('100.00')
    message_expression: "'the items of ' + proposal.project_title + ' come to more than 100.00'"
    field: /amount
"#;

#[test]
fn a_rule_looks_at_other_items() {
    with_rules(ACROSS, |service| {
        let closed = service.create("/v1/proposedprograms", r#"{"open":false}"#);
        let open = service.create("/v1/proposedprograms", r#"{"open":true}"#);
        let of = |program: &str| {
            json!({ "proposal_type": "x", "project_title": "P", "program_id": program }).to_string()
        };
        for program in [closed.id.as_str(), "PRG-1", crate::UNKNOWN_ID] {
            let refused = service.post("/v1/proposals").json(of(program)).send().expect(422);
            assert_eq!(errors(&refused), one("programme_exists", "/program_id"), "{program}");
        }
        let proposal = service.create("/v1/proposals", &of(&open.id));
        service.create("/v1/proposals", PROPOSAL);
        let library = format!("{}/lib", proposal.path);
        let first = service.create(&library, r#"{"amount":"60.10"}"#);
        let refused = service.post(&library).json(r#"{"amount":"39.91"}"#).send().expect(422);
        assert_eq!(
            refused.value()["errors"][0]["detail"],
            "the items of P come to more than 100.00"
        );
        service.create(&library, r#"{"amount":39.90}"#);
        service.put(&first.path).json(r#"{"amount":"60.10"}"#).send().expect(200);
        service.put(&first.path).json(r#"{"amount":"60.11"}"#).send().expect(422);
        service.create("/lib", r#"{"amount":"1000"}"#);
    });
}

const ONE_PER_YEAR: &str = r#"
rules:
  - id: one_per_year
    group: cashprogram
    lookup: { same: "cashprogram[year = self.year]" }
    check: size(same) == 0
    message: There is one for this year already.
    field: /year
"#;

#[test]
fn the_elements_of_a_replacement_are_judged_beside_each_other() {
    with_rules(ONE_PER_YEAR, |service| {
        let doubled = service
            .put("/v1/cashprogram")
            .json(r#"[{"year":2030},{"year":2031},{"year":"2030"}]"#)
            .send()
            .expect(422);
        assert_eq!(
            errors(&doubled),
            [one("one_per_year", "/0/year"), one("one_per_year", "/2/year")].concat()
        );
        let first = service.create("/v1/cashprogram", r#"{"year":2030}"#);
        let second = service.create("/v1/cashprogram", r#"{"year":2031}"#);
        let swapped = format!(
            r#"[{{"id":"{}","year":2031}},{{"id":"{}","year":2030}}]"#,
            first.id, second.id
        );
        service.put("/v1/cashprogram").json(swapped).send().expect(200);
        service.put("/v1/cashprogram").json(r#"[{"year":2030},{"year":2031}]"#).send().expect(200);
        service.post("/v1/cashprogram").json(r#"{"year":2031}"#).send().expect(422);
    });
}

/// A small body asks for much: every element looks up the same items, which are large.
#[test]
fn a_replacement_keeps_little_of_what_it_looks_up() {
    let rules = r#"rules: [{id: r, group: cashprogram, lookup: {all: "files[subject = self.about]"}, check: size(all) < 900, message: m}]"#;
    let file = RuleFile::new(rules);
    let service = Service::start_with(Store::Sqlite, &file.arguments());
    let about = "x".repeat(4_000);
    for number in 0..850 {
        service
            .create("/v1/files", &format!(r#"{{"subject":"{}","about":"{about}"}}"#, number % 2));
    }
    let elements: Vec<_> =
        (0..2_000).map(|number| format!(r#"{{"about":"{}"}}"#, number % 2)).collect();
    service.put("/v1/cashprogram").json(format!("[{}]", elements.join(","))).send().expect(200);
    assert!(service.peak_memory() < 200 << 20, "{} MiB", service.peak_memory() >> 20);
}

#[test]
fn of_many_writes_of_which_a_rule_admits_one_one_is_done() {
    let file = RuleFile::new(ONE_PER_YEAR);
    for store in [Store::Sqlite, Store::Postgres] {
        let first = Service::start_with(store, &file.arguments());
        let second =
            (store == Store::Postgres).then(|| first.start_another_with(&file.arguments()));
        let services = [&first, second.as_ref().unwrap_or(&first)];
        for year in 2020..2025 {
            let done = thread::scope(|scope| {
                let writers: Vec<_> = (0..16)
                    .map(|number| {
                        let service = services[number % 2];
                        scope.spawn(move || {
                            service
                                .post("/v1/cashprogram")
                                .json(format!(r#"{{"year":{year}}}"#))
                                .send()
                                .status
                        })
                    })
                    .collect();
                writers
                    .into_iter()
                    .map(|writer| writer.join().expect("a status"))
                    .collect::<Vec<_>>()
            });
            assert_eq!(
                done.iter().filter(|status| **status == 201).count(),
                1,
                "{store:?} {done:?}"
            );
            assert_eq!(
                done.iter().filter(|status| **status == 422).count(),
                15,
                "{store:?} {done:?}"
            );
        }
    }
}

#[test]
fn rules_are_published() {
    with_rules(AMOUNT, |service| {
        let list = service.get("/rules").send().expect(200);
        let rules = list.value()["_embedded"]["rules"].as_array().cloned().expect("rules");
        let homes: Vec<_> =
            rules.iter().map(|rule| (text(&rule["id"]), text(&rule["home"]))).collect();
        assert!(homes.contains(&("dates_in_order".to_owned(), "rust".to_owned())), "{homes:?}");
        assert!(homes.contains(&("amount_positive".to_owned(), "file".to_owned())), "{homes:?}");
        assert_eq!(list.value()["total_items"], rules.len());
        for rule in &rules {
            let own = service.get(&path(&text(&rule["_links"]["self"]["href"]))).send().expect(200);
            assert_eq!(&own.value(), rule);
        }
        let page = service.get("/rules/amount_positive").accept("text/html").send().expect(200);
        assert!(page.text().contains("Cash programmes have amounts."), "{page}");
        service.get("/rules/none").send().expect(404);
        service.get("/rules?page=1").send().expect(400);
        let document = service.get("/openapi.json").send().expect(200).value();
        for (path, method, expected) in [
            ("/v1/cashprogram", "post", true),
            ("/v1/cashprogram", "put", true),
            ("/v1/cashprogram/{cashprogram_id}", "delete", true),
            ("/v1/cashprogram/{cashprogram_id}", "get", false),
            ("/v1/files", "post", false),
        ] {
            let entries =
                document["paths"][path][method]["x-rules"].as_array().cloned().unwrap_or_default();
            assert_eq!(
                entries.iter().any(|entry| entry["id"] == "amount_positive"),
                expected,
                "{method} {path}"
            );
        }
        assert_eq!(
            document["paths"]["/v1/proposals"]["post"]["x-rules"][0]["id"],
            "dates_in_order"
        );
        let entry = service.get("/").accept("application/json").send().expect(200);
        assert_eq!(path(&text(&entry.value()["_links"]["rules"]["href"])), "/rules");
    });
}

/// The path of a URL.
fn path(url: &str) -> String {
    url.splitn(4, '/').nth(3).map(|rest| format!("/{rest}")).unwrap_or_default()
}
