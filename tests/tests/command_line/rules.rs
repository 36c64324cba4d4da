//! The commands that check rules in files, and errors at the start.

use serde_json::{Value, json};
use tempfile::TempDir;
use tests::Store;
use tests::stores::TestDatabase;

use crate::{ON_FREE_PORT, Running, command, folder_with, lines_to, result};

/// A rule that warns of files without a title, and one that refuses the title `bad`, with cases.
const RULES: &str = r"
members: {files: [title]}
rules:
  - id: titled
    group: files
    severity: warning
    check: has(self.title)
    message: A file, of any kind, has a title.
    field: /title
    source: Memo 7
  - id: good
    group: files
    when: has(self.title)
    check: self.title != 'bad'
    message: No file is bad.
cases:
  - {rule: titled, name: with a title, self: {title: x}, expect: pass}
  - {rule: titled, name: without, self: {}, expect: fail}
  - {rule: good, name: bad, self: {title: bad}, expect: fail}
";

const FUTURE: &str = "rules: [{id: later, group: files, check: 'has(self.title)', message: m, effective: {from: 2099-01-01}}]";

/// Rules for library items with a number.
const SIZED: &str = "rules: [{id: sized, group: lib, check: self.number > 1, message: m}]\n";

fn rules(text: &str) -> TempDir {
    folder_with(&[("rules.yaml", text)])
}

/// The output of a command that succeeds.
#[track_caller]
fn printed(folder: &TempDir, arguments: &[&str]) -> String {
    let (code, out, error) = result(&mut command(folder, arguments));
    assert_eq!(code, Some(0), "{error}");
    out
}

#[test]
fn faults_stop_the_start_with_their_file_line_and_reason() {
    for (rule, reason) in [
        ("group: filez, check: 'true'", "there is no group `filez`; did you mean `files`?"),
        (
            "group: files, on: [creat], check: 'true'",
            "there is no operation `creat`; did you mean `create`?",
        ),
        ("group: files, severity: fatal, check: 'true'", "known: `error`, `warning`"),
        ("group: files, check: 'that == null'", "`that`"),
        ("group: files, check: 'nope(self.x)'", "there is no function nope()"),
        ("group: files, check: 'words(self.x)'", "must be a boolean, not an integer"),
        ("group: files, check: 'self.x =='", ""),
        ("group: files, check: 'true', {", ""),
    ] {
        let folder = rules(&format!("rules:\n- {{id: a, message: m, {rule}}}\n"));
        let serve = [&ON_FREE_PORT[..], &["--rules", "rules.yaml"]].concat();
        let [started, checked] = [&serve[..], &["rules", "check", "rules.yaml"]]
            .map(|arguments| command(&folder, arguments).output().unwrap());
        let said = tests::tool::error_of(&started, 1);
        let is_named = said.starts_with("proposal-service: rules.yaml:2:");
        assert!(is_named && said.contains(reason), "{rule}: {said}");
        assert!(!folder.path().join("data").exists(), "no store was opened");
        assert_eq!(tests::tool::error_of(&checked, 1), said);
    }
}

#[test]
fn a_check_explains_each_rule_and_warns_of_likely_mistakes() {
    let check = ["rules", "check", "rules.yaml", "--strict"];
    let folder = rules(RULES);
    let explained = printed(&folder, &check);
    for words in [
        "titled (rules.yaml:4)",
        "files",
        "warning",
        "Memo 7",
        "/title",
        "2 rules and 3 cases, no problems",
    ] {
        assert!(explained.contains(words), "no {words} in:\n{explained}");
    }
    let misspelled =
        RULES.replace("has(self.title)\n    message", "has(self.filname)\n    message");
    let folder = rules(&misspelled);
    let explained = printed(&folder, &check[..3]);
    for words in [
        "\nrules.yaml:7:16: warning: `filname` is not a known member of `files`; did you mean `filename`?",
        "\n2 rules and 3 cases, warnings: 1\n",
    ] {
        assert!(explained.contains(words), "no {words} in:\n{explained}");
    }
    let error = "proposal-service: warnings: 1; --strict allows no warnings\n";
    assert_eq!(result(&mut command(&folder, &check)), (Some(1), explained, error.to_owned()));
}

#[test]
fn cases_are_tested() {
    let test = ["rules", "test", "rules.yaml"];
    // A case that cannot be decided logs nothing.
    let undecided = "rules: [{id: r, group: files, check: self.size_bytes > 1, message: m}]\ncases: [{rule: r, name: none, self: {}, expect: fail}]";
    for (text, passed) in [(RULES, "3 of 3 cases passed\n"), (undecided, "1 of 1 cases passed\n")] {
        let found = result(&mut command(&rules(text), &test));
        assert_eq!(found, (Some(0), passed.to_owned(), String::new()));
    }
    let wrong = RULES.replace("{title: bad}, expect: fail", "{title: bad}, expect: pass");
    let (code, out, error) = result(&mut command(&rules(&wrong), &test));
    let failed = "proposal-service: 1 of the cases failed\n";
    assert_eq!((code, &*error), (Some(1), failed));
    assert!(["good", "bad", "2 of 3 cases passed"].iter().all(|it| out.contains(it)), "{out}");
}

#[test]
fn the_document_lists_the_rules_of_a_file() {
    let document = printed(&rules(RULES), &["openapi", "--rules", "rules.yaml"]);
    let document: Value = serde_json::from_str(&document).unwrap();
    let listed = document["paths"]["/v1/files"]["post"]["x-rules"].as_array().unwrap();
    let ids: Vec<_> = listed.iter().map(|rule| rule["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["titled", "good"]);
}

#[test]
fn an_audit_reports_the_stored_items_that_would_be_refused() {
    for store in [Store::Sqlite, Store::Postgres] {
        let database = TestDatabase::of(store);
        let folder =
            folder_with(&[("rules.yaml", RULES), ("sized.yaml", SIZED), ("future.yaml", FUTURE)]);
        let running = Running::start(&folder, &["--database-url", database.url()]);
        let audit = |file| ["rules", "audit", file, "--database-url", database.url()];
        let rules = audit("rules.yaml");
        is_audited(&running, &folder, &rules);
        a_future_rule_is_audited_for_its_first_day(&folder, &audit("future.yaml"));
        items_without_a_result_are_one_entry(&running, &folder, &audit("sized.yaml"));
        drop(running);
        assert_eq!(printed(&folder, &rules).lines().count(), 5, "without a service");
    }
}

/// Stores a file with a title, one with the title `bad` and one without, and audits them while the
/// service runs.
fn is_audited(running: &Running, folder: &TempDir, audit: &[&str]) {
    let bad = r#"{"title":"bad","filename":"a \"bad\" plan\n.pdf"}"#;
    let files = [r#"{"title":"x"}"#, bad, "{}"];
    let stored = files.map(|file| running.create("/v1/files", file));
    let output = printed(folder, audit);
    let lines: Vec<_> = output.lines().collect();
    let [bad, untitled, checked, good, titled] = lines[..] else { panic!("{lines:?}") };
    let named = format!(r#"files/{} "a \"bad\" plan\n.pdf""#, stored[1]);
    assert_eq!(bad, format!("{named}: error good at \"\": No file is bad."));
    let warning = "warning titled at \"/title\": A file, of any kind, has a title.";
    assert_eq!(untitled, format!("files/{}: {warning}", stored[2]));
    assert!(checked.starts_with("checked 3 items in "), "{checked}");
    assert_eq!(
        [good, titled],
        ["  good applies to 2 of 3, would refuse 1", "  titled applies to 3 of 3, would warn of 1"]
    );
    is_audited_for_machines(folder, audit, &stored);
    assert_eq!(running.total_items("/v1/files"), 3, "an audit writes nothing");
    let replaced = running.ask("PUT", &format!("/v1/files/{}", stored[1]), files[1]);
    assert_eq!(replaced["title"], "bad", "an audit puts no rule in force");
}

/// The audit as JSON and as CSV, with entries and with `--summary`.
fn is_audited_for_machines(folder: &TempDir, audit: &[&str], stored: &[String]) {
    let printed = |options: &[&str]| printed(folder, &[audit, options].concat());
    let entries: Value = serde_json::from_str(&printed(&["--format", "json"])).unwrap();
    assert_eq!(
        entries,
        json!([
            {"group": "files", "id": stored[1], "rule": "good", "severity": "error", "operation": "replace", "pointer": "", "message": "No file is bad.", "items": 1, "title": "a \"bad\" plan\n.pdf"},
            {"group": "files", "id": stored[2], "rule": "titled", "severity": "warning", "operation": "replace", "pointer": "/title", "message": "A file, of any kind, has a title.", "items": 1, "title": null},
        ])
    );
    assert_eq!(
        printed(&["--format", "csv"]),
        format!(
            "group,id,rule,severity,operation,pointer,message,items,title\nfiles,{},good,error,replace,,No file is bad.,1,\"a \"\"bad\"\" plan\n.pdf\"\nfiles,{},titled,warning,replace,/title,\"A file, of any kind, has a title.\",1,\n",
            stored[1], stored[2]
        )
    );
    let rules: Value = serde_json::from_str(&printed(&["--format", "json", "--summary"])).unwrap();
    assert_eq!(
        rules,
        json!([
            {"rule": "good", "group": "files", "severity": "error", "operation": "replace", "examined": 3, "applied": 2, "refused": 1, "warned": 0, "undecided": 0},
            {"rule": "titled", "group": "files", "severity": "warning", "operation": "replace", "examined": 3, "applied": 3, "refused": 0, "warned": 1, "undecided": 0},
        ])
    );
    assert_eq!(
        printed(&["--format", "csv", "--summary"]),
        "rule,group,severity,operation,examined,applied,refused,warned,undecided\ngood,files,error,replace,3,2,1,0,0\ntitled,files,warning,replace,3,3,0,1,0\n"
    );
    assert_eq!(printed(&["--summary"]).lines().count(), 3);
}

fn a_future_rule_is_audited_for_its_first_day(folder: &TempDir, audit: &[&str]) {
    let summary = printed(folder, &[audit, &["--summary"]].concat());
    assert!(summary.contains("  later applies to 3 of 3, would refuse 1\n"), "{summary}");
}

fn items_without_a_result_are_one_entry(running: &Running, folder: &TempDir, audit: &[&str]) {
    let [first, _, small] =
        ["{}", "{}", r#"{"number":0}"#].map(|body| running.create("/lib", body));
    let (_, out, error) = result(&mut command(folder, audit));
    assert!(!error.contains("WARN"), "{error}");
    let lines: Vec<_> = out.lines().collect();
    let [refused, undecided, _, summary] = lines[..] else { panic!("{lines:?}") };
    assert_eq!(refused, format!("lib/{small}: error sized at \"\": m"));
    let start = format!(
        "lib: error sized: 2 items could not be evaluated and count as failed; the first one is {first}: "
    );
    assert!(undecided.starts_with(&start) && undecided.contains("number"), "{undecided}");
    let counts = "  sized applies to 3 of 3, would refuse 3; 2 could not be evaluated";
    assert_eq!(summary, counts);
    let entries = printed(folder, &[audit, &["--format", "json"]].concat());
    let entries: Value = serde_json::from_str(&entries).unwrap();
    assert_eq!(entries[0]["items"], 1);
    assert_eq!((&entries[1]["items"], &entries[1]["id"]), (&json!(2), &json!(first)));
    let summary = printed(folder, &[audit, &["--format", "csv", "--summary"]].concat());
    assert!(summary.ends_with("\nsized,lib,error,replace,3,3,3,0,2\n"), "{summary}");
}

/// At any time, the date in the first zone is later than in the second.
#[test]
fn today_is_the_date_of_the_time_zone() {
    let text =
        "rules: [{id: day, group: files, check: self.today == today, message_expression: today}]";
    let days = ["Pacific/Kiritimati", "Pacific/Pago_Pago"].map(|zone| {
        let running = Running::start(&rules(text), &["--rules", "rules.yaml", "--time-zone", zone]);
        let refused = running.ask("POST", "/v1/files", r#"{"today":"?"}"#);
        refused["errors"][0]["detail"].as_str().unwrap().to_owned()
    });
    assert!(days[0] > days[1], "{days:?}");
}

#[test]
fn an_invalid_change_is_logged_and_the_rules_stay() {
    let folder = rules(RULES);
    let mut running = Running::start(&folder, &["--rules", "rules.yaml"]);
    std::fs::write(folder.path().join("rules.yaml"), "rules: [{id: x}]").unwrap();
    let log = lines_to(&mut running.log, "the rules are not reloaded");
    assert!(log.contains("rules.yaml:1:"), "{log}");
    assert_eq!(running.ask("POST", "/v1/files", r#"{"title":"bad"}"#)["errors"][0]["code"], "good");
}
