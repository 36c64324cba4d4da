//! Business rules in files: they judge every write of every group, look at other items, warn and
//! are published.

use std::fs;
use std::path::PathBuf;
use std::thread;

use serde_json::{Value, json};
use tempfile::TempDir;
use tests::{Answer, Item, Service, Store, run_cases};

use crate::PROPOSAL;
use crate::preferences::{minimal, without_body};

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

/// The rules of all tests here; `when` separates their subjects.
pub const RULES: &str = r#"
rules:
  - id: amount_positive
    group: cashprogram
    on: [create, replace, patch, delete]
    when: has(self.amount)
    check: decimal(self.amount) > decimal('0')
    message: An amount is greater than zero; correct it.
    field: /amount
    description: Cash programmes have amounts.
    source: Memo 7
  - id: final_is_kept
    group: cashprogram
    on: [replace, patch, delete]
    check: "!has(old.final) || old.final != true"
    message: It is final.
  - id: few_words
    group: cashprogram
    when: has(self.title)
    check: words(self.title) <= 2
    message: Use two words.
    field: /title
    severity: warning
  - id: one_per_year
    group: cashprogram
    when: has(self.year)
    lookup: { same: "cashprogram[year = self.year]" }
    check: size(same) == 0
    message: There is one for this year already.
    field: /year
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
  - id: files_while_open
    group: files
    when: has(self.of)
    lookup:
      proposal: proposals[self.of]
      program: "proposedprograms[has(proposal.program_id) ? proposal.program_id : null]"
    check: program == null || program.open
    message: The programme takes no files.
    field: /of
"#;

#[test]
fn every_case_holds() {
    let file = RuleFile::new(RULES);
    // The last case leaves an item that no request deletes.
    run_cases(
        &file.arguments(),
        &[
            ("writes", a_rule_refuses_every_kind_of_write),
            ("warnings", a_warning_is_reported_and_the_write_is_done),
            ("minimal", warnings_are_never_lost),
            ("other items", a_rule_looks_at_other_items),
            ("chains", a_rule_follows_a_chain_of_items),
            ("elements", the_elements_of_a_replacement_are_judged_together),
            ("published", rules_are_published),
            ("removals", what_a_rule_keeps_is_kept_from_every_way_to_remove_it),
        ],
    );
}

/// The code and the pointer of each error.
pub fn errors(answer: &Answer) -> Vec<(String, String)> {
    codes(&answer.value()["errors"])
}

/// The code and the pointer of each warning.
fn warnings(answer: &Answer) -> Vec<(String, String)> {
    codes(&answer.value()["_meta"]["warnings"])
}

fn codes(entries: &Value) -> Vec<(String, String)> {
    let entries = entries.as_array().into_iter().flatten();
    entries.map(|entry| (text(&entry["code"]), text(&entry["pointer"]))).collect()
}

pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

pub fn one(code: &str, pointer: &str) -> Vec<(String, String)> {
    vec![(code.to_owned(), pointer.to_owned())]
}

/// Asserts that a write was refused by one rule.
#[track_caller]
fn refused(answer: Answer, code: &str, pointer: &str) -> Answer {
    let answer = answer.expect(422);
    assert_eq!(errors(&answer), one(code, pointer), "{answer}");
    answer
}

fn a_rule_refuses_every_kind_of_write(service: &Service) {
    let amount = |answer| refused(answer, "amount_positive", "/amount");
    let bad = r#"{"amount":"0.00"}"#;
    let error = &amount(service.post("/v1/cashprogram").json(bad).send()).value()["errors"][0];
    assert_eq!(error["detail"], "An amount is greater than zero; correct it.");
    assert_eq!(service.read(&path(&text(&error["rule"]))).value()["source"], "Memo 7");
    let Item { path, id, .. } = service.create("/v1/cashprogram", r#"{"amount":"0.01"}"#);
    for method in ["PUT", "PATCH", "POST"] {
        amount(service.request(method, &path).json(bad).send());
    }
    let elements = format!(r#"[{{"id":"{id}","amount":1}},{{"amount":0}}]"#);
    let replaced = service.put("/v1/cashprogram").json(elements).send();
    refused(replaced, "amount_positive", "/1/amount");
    assert_eq!(service.read(&path).value()["amount"], "0.01", "no write was done");
    service.remove(&path);
}

fn what_a_rule_keeps_is_kept_from_every_way_to_remove_it(service: &Service) {
    let Item { path, id, .. } = service.create("/v1/cashprogram", r#"{"final":true}"#);
    refused(service.delete(&path).send(), "final_is_kept", "");
    service.patch(&path).json(r#"{"final":false}"#).expect(422);
    // A replacement removes the items that it leaves out.
    refused(service.put("/v1/cashprogram").json(r#"[{"n":1}]"#).send(), "final_is_kept", "");
    let elements = format!(r#"[{{"id":"{id}","final":true}}]"#);
    service.put("/v1/cashprogram").json(elements).expect(422);
    assert_eq!(service.read("/v1/cashprogram").value()["total_items"], 1);
    service.remove(&service.create("/v1/cashprogram", "{}").path);
    service.delete(&format!("{path}?dry_run=true")).expect(422);
}

fn a_warning_is_reported_and_the_write_is_done(service: &Service) {
    let long = r#"{"proposal_type":"x","project_title":"one two three four"}"#;
    let warned = |answer: Answer| {
        assert_eq!(warnings(&answer), one("title_words", "/project_title"), "{answer}");
        answer
    };
    let post =
        || service.post("/v1/proposals").header("idempotency-key", "\"w\"").json(long).expect(201);
    let created = warned(post());
    assert_eq!(created.value()["_meta"]["warnings"][0]["message"], "the title has 4 words");
    assert_eq!(post().text(), created.text(), "a repeated request has the first response");
    let path = format!("/v1/proposals/{}", created.id());
    warned(service.change(&path, r#"{"end_date":"2030-01-01"}"#));
    assert!(service.read(&path).value()["_meta"].get("warnings").is_none());
    let checked = warned(service.read(&format!("{path}?check=true")));
    assert_eq!(checked.value()["_meta"]["errors"][0]["code"], "has_description");
    let tried = service.put(&format!("{path}?dry_run=true")).json(long).send();
    refused(tried, "has_description", "/project_description");
    let sound = service.create("/v1/files", "{}");
    let meta = service.read(&format!("{}?check=true", sound.path)).value()["_meta"].clone();
    assert_eq!((&meta["errors"], &meta["warnings"]), (&json!([]), &json!([])));
    for query in ["perhaps", "true&fields=id", "true&as_of=2026-01-01T00:00:00Z"] {
        service.get(&format!("{path}?check={query}")).expect(400);
    }
}

/// A response with warnings has a body for every preference.
fn warnings_are_never_lost(service: &Service) {
    let (long, short) = (r#"{"title":"one two three"}"#, r#"{"title":"one two"}"#);
    let post = || service.post("/v1/cashprogram").header("idempotency-key", "\"m\"").json(long);
    let put = |body: String| minimal(service.put("/v1/cashprogram").json(body));
    let list = format!("[{short},{long}]");
    for (answer, status) in [(minimal(post()), 201), (minimal(post()), 201), (put(list), 200)] {
        let warned = answer.expect(status);
        assert_eq!(warned.header("preference-applied"), None, "{warned}");
        assert_eq!(warned.value()["_meta"]["warnings"][0]["code"], "few_words", "{warned}");
    }
    without_body(put(format!("[{short}]")), 204);
}

fn a_rule_looks_at_other_items(service: &Service) {
    let program = |body: &str| service.create("/v1/proposedprograms", body).id;
    let closed = program(r#"{"open":false}"#);
    let open = program(r#"{"open":true}"#);
    let of = |program: &str| {
        json!({ "proposal_type": "x", "project_title": "P", "program_id": program }).to_string()
    };
    for program in [closed.as_str(), "PRG-1", crate::UNKNOWN_ID] {
        let answer = service.post("/v1/proposals").json(of(program)).send();
        refused(answer, "programme_exists", "/program_id");
    }
    let proposal = service.create("/v1/proposals", &of(&open));
    service.create("/v1/proposals", PROPOSAL);
    let library = format!("{}/lib", proposal.path);
    let first = service.create(&library, r#"{"amount":"60.10"}"#).path;
    let above = service.post(&library).json(r#"{"amount":"39.91"}"#).expect(422);
    assert_eq!(above.value()["errors"][0]["detail"], "the items of P come to more than 100.00");
    service.create(&library, r#"{"amount":39.90}"#);
    service.replace(&first, r#"{"amount":"60.10"}"#);
    service.put(&first).json(r#"{"amount":"60.11"}"#).expect(422);
    service.create("/lib", r#"{"amount":"1000"}"#);
}

fn a_rule_follows_a_chain_of_items(service: &Service) {
    let program = service.create("/v1/proposedprograms", r#"{"open":true}"#);
    let of_program =
        json!({ "proposal_type": "x", "project_title": "P", "program_id": program.id });
    let proposal = service.create("/v1/proposals", &of_program.to_string()).id;
    let alone = service.create("/v1/proposals", PROPOSAL).id;
    let file = |of: &str| json!({ "of": of }).to_string();
    let post = |of: &str| service.post("/v1/files").json(file(of)).send();
    let stored = service.create("/v1/files", &file(&proposal)).path;
    service.replace(&program.path, r#"{"open":false}"#);
    refused(post(&proposal), "files_while_open", "/of");
    refused(service.put(&stored).json(file(&proposal)).send(), "files_while_open", "/of");
    let dry = service.post("/v1/files?dry_run=true").json(file(&proposal));
    refused(dry.send(), "files_while_open", "/of");
    let rows = format!("[{},{}]", file(&alone), file(&proposal));
    let imported = service.post("/imports/files").json(rows).expect(422);
    assert!(imported.text().contains("files_while_open"), "{imported}");
    // A chain ends with a proposal without a programme, and with one that does not exist.
    for of in [alone.as_str(), crate::UNKNOWN_ID, "none"] {
        post(of).expect(201);
    }
}

fn the_elements_of_a_replacement_are_judged_together(service: &Service) {
    let put = |body: &str| service.put("/v1/cashprogram").json(body).send();
    let doubled = put(r#"[{"year":2030},{"year":2031},{"year":"2030"}]"#).expect(422);
    let both = [one("one_per_year", "/0/year"), one("one_per_year", "/2/year")];
    assert_eq!(errors(&doubled), both.concat());
    let [first, second] = [2030, 2031]
        .map(|year| service.create("/v1/cashprogram", &format!(r#"{{"year":{year}}}"#)).id);
    let kept = put(&format!(r#"[{{"id":"{first}","year":2030}},{{"year":"2030"}}]"#)).expect(422);
    let both = [one("one_per_year", "/0/year"), one("one_per_year", "/1/year")];
    assert_eq!(errors(&kept), both.concat());
    put(&format!(r#"[{{"id":"{first}","year":2031}},{{"id":"{second}","year":2030}}]"#))
        .expect(200);
    put(r#"[{"year":2030},{"year":2031}]"#).expect(200);
    service.post("/v1/cashprogram").json(r#"{"year":2031}"#).expect(422);
}

/// A small body asks for much: every element looks up the same items, which are large.
#[test]
fn a_replacement_keeps_little_of_what_it_looks_up() {
    let rules = r#"rules: [{id: r, group: cashprogram, lookup: {all: "files[subject = self.about]"}, check: size(all) < 900, message: m}]"#;
    let file = RuleFile::new(rules);
    let service = Service::start_with(Store::Sqlite, &file.arguments());
    let about = "x".repeat(4_000);
    let items =
        (0..850).map(|number| format!(r#"{{"subject":"{}","about":"{about}"}}"#, number % 2));
    let items = format!("[{}]", items.collect::<Vec<_>>().join(","));
    service.post("/imports/files").json(items).expect(200);
    let elements: Vec<_> =
        (0..2_000).map(|number| format!(r#"{{"about":"{}"}}"#, number % 2)).collect();
    service.replace("/v1/cashprogram", format!("[{}]", elements.join(",")));
    assert!(service.peak_memory() < 200 << 20, "{} MiB", service.peak_memory() >> 20);
}

#[test]
fn a_rule_that_admits_one_write_admits_one_of_many() {
    let file = RuleFile::new(RULES);
    for store in [Store::Sqlite, Store::Postgres] {
        let first = Service::start_with(store, &file.arguments());
        let second =
            (store == Store::Postgres).then(|| first.start_another_with(&file.arguments()));
        let services = [&first, second.as_ref().unwrap_or(&first)];
        for year in 2020..2025 {
            let body = format!(r#"{{"year":{year}}}"#);
            let mut statuses = thread::scope(|scope| {
                let post = |number: usize| {
                    services[number % 2].post("/v1/cashprogram").json(&*body).send().status
                };
                let writers: Vec<_> = (0..16).map(|n| scope.spawn(move || post(n))).collect();
                writers.into_iter().map(|writer| writer.join().unwrap()).collect::<Vec<_>>()
            });
            statuses.sort_unstable();
            assert_eq!(statuses, [&[201][..], &[422; 15]].concat(), "{store:?}");
        }
    }
}

fn rules_are_published(service: &Service) {
    let list = service.read("/rules").value();
    let rules = list["_embedded"]["rules"].as_array().expect("rules");
    for (id, home) in [("dates_in_order", "rust"), ("amount_positive", "file")] {
        assert!(rules.iter().any(|rule| rule["id"] == id && rule["home"] == home), "{rules:?}");
    }
    assert_eq!(list["total_items"], rules.len());
    for rule in rules {
        let own = service.read(&path(&text(&rule["_links"]["self"]["href"])));
        assert_eq!(&own.value(), rule);
    }
    let page = service.get("/rules/amount_positive").accept("text/html").expect(200);
    assert!(page.text().contains("Cash programmes have amounts."), "{page}");
    service.get("/rules/none").expect(404);
    service.get("/rules?page=1").expect(400);
    let paths = service.read("/openapi.json").value()["paths"].clone();
    for (path, method, expected) in [
        ("/v1/cashprogram", "post", true),
        ("/v1/cashprogram", "put", true),
        ("/v1/cashprogram/{cashprogram_id}", "delete", true),
        ("/v1/cashprogram/{cashprogram_id}", "get", false),
        ("/v1/files", "post", false),
    ] {
        let mut entries = paths[path][method]["x-rules"].as_array().into_iter().flatten();
        let is_listed = entries.any(|entry| entry["id"] == "amount_positive");
        assert_eq!(is_listed, expected, "{method} {path}");
    }
    assert_eq!(paths["/v1/proposals"]["post"]["x-rules"][0]["id"], "dates_in_order");
    let entry = service.get("/").accept("application/json").expect(200);
    assert_eq!(path(&text(&entry.value()["_links"]["rules"]["href"])), "/rules");
}

/// The path of a URL.
fn path(url: &str) -> String {
    url.splitn(4, '/').nth(3).map(|rest| format!("/{rest}")).unwrap_or_default()
}
