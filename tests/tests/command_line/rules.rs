//! Business rules in files, as an operator meets them: errors at the start, and the commands that
//! try rules before they bite.

use std::fs;
use std::process::Output;

use serde_json::{Value, json};
use tempfile::TempDir;
use tests::stores::TestDatabase;

use crate::{Running, command, folder, line_with, text};

/// A rule that warns of files without a title and refuses those that are called `bad`, with its
/// cases.
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

/// A folder with the rules in `rules.yaml`.
fn rules(text: &str) -> TempDir {
    let folder = folder();
    fs::write(folder.path().join("rules.yaml"), text).unwrap();
    folder
}

fn run(folder: &TempDir, arguments: &[&str]) -> Output {
    command(folder, arguments).output().unwrap()
}

/// The output of a command that ended well.
#[track_caller]
fn printed(output: &Output) -> &str {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// The message of a command that failed.
#[track_caller]
fn said(output: &Output) -> &str {
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    text(&output.stderr)
}

#[test]
fn faults_stop_the_start_with_their_file_line_and_reason() {
    for (rule, reason) in [
        ("group: filez, check: 'true'", "there is no group `filez`; did you mean `files`?"),
        (
            "group: files, on: [creat], check: 'true'",
            "there is no operation `creat`; did you mean `create`?",
        ),
        ("group: files, severity: fatal, check: 'true'", "there are `error`, `warning`"),
        ("group: files, check: 'that == null'", "`that`"),
        ("group: files, check: 'nope(self.x)'", "there is no function nope()"),
        ("group: files, check: 'words(self.x)'", "must be a boolean, and is an integer"),
        ("group: files, check: 'self.x =='", ""),
        ("group: files, check: 'true', {", ""),
    ] {
        let folder = rules(&format!("rules:\n- {{id: a, message: m, {rule}}}\n"));
        let starting = run(&folder, &["--listen", "127.0.0.1:0", "--rules", "rules.yaml"]);
        let line = said(&starting);
        assert!(
            line.starts_with("proposal-service: rules.yaml:2:") && line.contains(reason),
            "{rule}: {line}"
        );
        assert!(!folder.path().join("data").exists(), "no store was opened");
        assert_eq!(
            said(&run(&folder, &["rules", "check", "rules.yaml"])),
            line,
            "the check says what the start says"
        );
    }
}

#[test]
fn a_path_without_rules_is_refused() {
    let folder = folder();
    let line =
        said(&run(&folder, &["--listen", "127.0.0.1:0", "--rules", "missing.yaml"])).to_owned();
    assert!(line.contains("missing.yaml"), "{line}");
    let device = said(&run(&folder, &["rules", "check", "/dev/zero"])).to_owned();
    assert!(device.contains("/dev/zero"), "{device}");
}

#[test]
fn a_check_explains_each_rule() {
    let folder = rules(RULES);
    let output = run(&folder, &["rules", "check", "rules.yaml"]);
    let explained = printed(&output);
    for words in [
        "titled (rules.yaml:4)",
        "files",
        "warning",
        "Memo 7",
        "/title",
        "2 rules and 3 cases, all sound",
    ] {
        assert!(explained.contains(words), "no {words} in:\n{explained}");
    }
}

#[test]
fn a_check_warns_of_likely_mistakes_and_fails_of_them_when_it_is_strict() {
    let folder =
        rules(&RULES.replace("has(self.title)\n    message", "has(self.filname)\n    message"));
    let output = run(&folder, &["rules", "check", "rules.yaml"]);
    let explained = printed(&output);
    for words in [
        "\nrules.yaml:7:16: warning: `filname` is not a known member of `files`; did you mean `filename`?",
        "\n2 rules and 3 cases, warnings: 1\n",
    ] {
        assert!(explained.contains(words), "no {words} in:\n{explained}");
    }
    let strict = run(&folder, &["rules", "check", "rules.yaml", "--strict"]);
    assert_eq!(text(&strict.stdout), explained);
    assert_eq!(said(&strict), "proposal-service: warnings: 1, and --strict allows none\n");
    fs::write(folder.path().join("rules.yaml"), RULES).unwrap();
    let sound = run(&folder, &["rules", "check", "rules.yaml", "--strict"]);
    assert!(printed(&sound).ends_with("\n2 rules and 3 cases, all sound\n"));
}

#[test]
fn a_case_that_cannot_be_decided_logs_nothing() {
    let rule = "rules: [{id: r, group: files, check: self.size_bytes > 1, message: m}]\ncases: [{rule: r, name: none, self: {}, expect: fail}]";
    let output = run(&rules(rule), &["rules", "test", "rules.yaml"]);
    assert_eq!(printed(&output), "1 of 1 cases came out as expected\n");
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn cases_are_tried() {
    let folder = rules(RULES);
    assert_eq!(
        printed(&run(&folder, &["rules", "test", "rules.yaml"])),
        "3 of 3 cases came out as expected\n"
    );
    let wrong =
        RULES.replace("self: {title: bad}, expect: fail", "self: {title: bad}, expect: pass");
    fs::write(folder.path().join("rules.yaml"), wrong).unwrap();
    let output = run(&folder, &["rules", "test", "rules.yaml"]);
    assert_eq!(
        said(&output),
        "proposal-service: 1 of the cases came out otherwise than expected\n"
    );
    let shown = text(&output.stdout);
    assert!(
        shown.contains("good")
            && shown.contains("bad")
            && shown.contains("2 of 3 cases came out as expected"),
        "{shown}"
    );
}

#[test]
fn the_document_lists_the_rules_of_a_file() {
    let folder = rules(RULES);
    let output = run(&folder, &["openapi", "--rules", "rules.yaml"]);
    let document: serde_json::Value = serde_json::from_str(printed(&output)).unwrap();
    let listed = &document["paths"]["/v1/files"]["post"]["x-rules"];
    let ids: Vec<_> =
        listed.as_array().unwrap().iter().map(|rule| rule["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["titled", "good"]);
}

/// Stores a file with a title, one that is bad and one without, and audits them while the service
/// goes on.
fn audited(folder: &TempDir, database: &str) {
    let running = Running::start(folder, &["--database-url", database]);
    let stored: Vec<_> = [json!({"title": "x"}), json!({"title": "bad"}), json!({})]
        .iter()
        .map(|file| {
            running.ask("POST", "/v1/files", &file.to_string())["id"].as_str().unwrap().to_owned()
        })
        .collect();
    let audit = ["rules", "audit", "rules.yaml", "--database-url", database];
    let output = run(folder, &audit);
    let lines: Vec<_> = printed(&output).lines().collect();
    let [bad, untitled, looked_at, good, titled] = lines[..] else { panic!("{lines:?}") };
    assert_eq!(bad, format!("files/{}: error good at \"\": No file is bad.", stored[1]));
    assert_eq!(
        untitled,
        format!(
            "files/{}: warning titled at \"/title\": A file, of any kind, has a title.",
            stored[2]
        )
    );
    assert!(looked_at.starts_with("looked at 3 items in "), "{looked_at}");
    assert_eq!(
        [good, titled],
        ["  good applies to 2 of 3, would refuse 1", "  titled applies to 3 of 3, would warn of 1"]
    );
    audited_for_machines(folder, &audit, &stored);
    assert_eq!(running.total_items("/v1/files"), 3, "it serves, and nothing was written");
    assert_eq!(
        running.ask("PUT", &format!("/v1/files/{}", stored[1]), r#"{"title":"bad"}"#)["title"],
        "bad",
        "no rule was put in force"
    );
    drop(running);
    assert_eq!(printed(&run(folder, &audit)).lines().count(), 5, "nobody needs to serve it");
}

/// The same as JSON and as CSV, item by item and rule by rule.
fn audited_for_machines(folder: &TempDir, audit: &[&str], stored: &[String]) {
    let told = |options: &[&str]| printed(&run(folder, &[audit, options].concat())).to_owned();
    let entries: Value = serde_json::from_str(&told(&["--format", "json"])).unwrap();
    assert_eq!(
        entries,
        json!([
            {"group": "files", "id": stored[1], "rule": "good", "severity": "error", "operation": "replace", "pointer": "", "message": "No file is bad.", "items": 1},
            {"group": "files", "id": stored[2], "rule": "titled", "severity": "warning", "operation": "replace", "pointer": "/title", "message": "A file, of any kind, has a title.", "items": 1},
        ])
    );
    assert_eq!(
        told(&["--format", "csv"]),
        format!(
            "group,id,rule,severity,operation,pointer,message,items\nfiles,{},good,error,replace,,No file is bad.,1\nfiles,{},titled,warning,replace,/title,\"A file, of any kind, has a title.\",1\n",
            stored[1], stored[2]
        )
    );
    let rules: Value = serde_json::from_str(&told(&["--format", "json", "--summary"])).unwrap();
    assert_eq!(
        rules,
        json!([
            {"rule": "good", "group": "files", "severity": "error", "operation": "replace", "examined": 3, "applied": 2, "refused": 1, "warned": 0, "undecided": 0},
            {"rule": "titled", "group": "files", "severity": "warning", "operation": "replace", "examined": 3, "applied": 3, "refused": 0, "warned": 1, "undecided": 0},
        ])
    );
    assert_eq!(
        told(&["--format", "csv", "--summary"]),
        "rule,group,severity,operation,examined,applied,refused,warned,undecided\ngood,files,error,replace,3,2,1,0,0\ntitled,files,warning,replace,3,3,0,1,0\n"
    );
    assert_eq!(told(&["--summary"]).lines().count(), 3, "a line, and one for each rule");
}

#[test]
fn an_audit_tells_which_stored_items_would_be_refused() {
    audited(&rules(RULES), "sqlite://items.db?mode=rwc");
    audited(&rules(RULES), TestDatabase::postgres().url());
}

#[test]
fn items_that_a_rule_cannot_be_evaluated_for_are_one_finding_with_their_number() {
    let rule = "rules: [{id: sized, group: files, check: self.size_bytes > 1, message: m}]\n";
    for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
        let folder = rules(rule);
        let running = Running::start(&folder, &["--database-url", database.url()]);
        let create = |body: &str| running.ask("POST", "/v1/files", body)["id"].clone();
        let [first, _, small] = ["{}", "{}", r#"{"size_bytes":0}"#].map(create);
        let [first, small] = [&first, &small].map(|id| id.as_str().unwrap());
        let audit = ["rules", "audit", "rules.yaml", "--database-url", database.url()];
        let output = run(&folder, &audit);
        assert!(!text(&output.stderr).contains("WARN"), "{}", text(&output.stderr));
        let lines: Vec<_> = printed(&output).lines().collect();
        let [refused, undecided, _, summary] = lines[..] else { panic!("{lines:?}") };
        assert_eq!(refused, format!("files/{small}: error sized at \"\": m"));
        let start = format!(
            "files: error sized: 2 items could not be decided, so they count as not passed; the first is {first}: "
        );
        assert!(undecided.starts_with(&start) && undecided.contains("size_bytes"), "{undecided}");
        let counts = "  sized applies to 3 of 3, would refuse 3, of which 2 could not be decided";
        assert_eq!(summary, counts);
        let output = run(&folder, &[&audit[..], &["--format", "json"]].concat());
        let entries: Value = serde_json::from_str(printed(&output)).unwrap();
        assert_eq!(entries[0]["items"], 1);
        assert_eq!((&entries[1]["items"], &entries[1]["id"]), (&json!(2), &json!(first)));
        let output = run(&folder, &[&audit[..], &["--format", "csv", "--summary"]].concat());
        assert!(printed(&output).ends_with("\nsized,files,error,replace,3,3,3,0,2\n"));
    }
}

#[test]
fn a_store_that_is_not_there_is_not_made_by_an_audit() {
    let folder = rules(RULES);
    let output = run(
        &folder,
        &["rules", "audit", "rules.yaml", "--database-url", "sqlite://items.db?mode=rwc"],
    );
    assert!(said(&output).contains("items.db"), "{}", said(&output));
    assert!(!folder.path().join("items.db").exists());
}

/// Farthest east it is tomorrow while it is yesterday farthest west, whatever the time.
#[test]
fn today_is_that_of_the_time_zone() {
    let text =
        "rules: [{id: day, group: files, check: self.today == today, message_expression: today}]";
    let mut days = Vec::new();
    for zone in ["Pacific/Kiritimati", "Pacific/Pago_Pago"] {
        let running = Running::start(&rules(text), &["--rules", "rules.yaml", "--time-zone", zone]);
        let refused = running.ask("POST", "/v1/files", r#"{"today":"?"}"#);
        days.push(refused["errors"][0]["detail"].as_str().unwrap().to_owned());
    }
    assert!(days[0] > days[1], "{days:?}");
}

#[test]
fn a_bad_change_is_told_once_and_the_rules_stay() {
    let folder = rules(RULES);
    let mut running = Running::start(&folder, &["--rules", "rules.yaml"]);
    fs::write(folder.path().join("rules.yaml"), "rules: [{id: x}]").unwrap();
    let line = line_with(&mut running.log, "the rules stay as they were");
    assert!(line.contains("rules.yaml:1:"), "{line}");
    assert_eq!(running.ask("POST", "/v1/files", r#"{"title":"bad"}"#)["errors"][0]["code"], "good");
}
