//! The commands that check policies in files: output and exit codes.

use serde_json::{Value, json};
use tempfile::TempDir;
use tests::Store;
use tests::stores::TestDatabase;

use crate::{command, folder_with, refused, result};

const POLICIES: &str = "
policies:
- {id: members_read, group: files, allow: [read], to: [signed_in]}
- {id: own, group: files, allow: [patch], to: [author], when: meta.created_by == caller.id}
cases:
- {name: a stranger, caller: anonymous, operation: read, group: files, expect: deny}
matrix:
  callers: {author: {id: 'agency:1', roles: [author]}}
  items: {file: {group: files, meta: {created_by: 'agency:1'}}}
  expect: {author: {file: [read, patch]}}
";

fn policies(text: &str) -> TempDir {
    folder_with(&[
        ("p.yaml", text),
        ("author.json", r#"{"id": "agency:1", "roles": ["author"]}"#),
        ("stranger.json", "\"anonymous\""),
    ])
}

#[test]
fn policies_are_checked_and_tested() {
    let untested = POLICIES.split("cases:").next().unwrap();
    let wrong = POLICIES.replace("expect: deny", "expect: allow");
    let check = ["policies", "check", "p.yaml", "--strict"];
    let test = ["policies", "test", "p.yaml"];
    let explained =
        "members_read (p.yaml:3): Every known caller may read items of files [index].\n";
    for (policies_text, arguments, code, expected) in [
        (POLICIES, &check[..], 0, &[explained, "\n2 policies and 2 cases, no problems\n"][..]),
        (untested, &check, 1, &["2 policies and 0 cases, warnings: 2\n"]),
        (untested, &check[..3], 0, &[]),
        (POLICIES, &test, 0, &["2 of 2 cases passed\n"]),
        (&wrong, &test, 1, &["WRONG p.yaml:6: a stranger: deny, expected allow"]),
    ] {
        let folder = policies(policies_text);
        let (found, printed, _) = result(&mut command(&folder, arguments));
        assert_eq!(found, Some(code), "{arguments:?}: {printed}");
        assert!(expected.iter().all(|words| printed.contains(words)), "{expected:?}: {printed}");
    }
}

const QUESTION: [&str; 10] = [
    "access",
    "check",
    "--policies",
    "p.yaml",
    "--as",
    "author.json",
    "--operation",
    "patch",
    "--group",
    "files",
];

#[test]
fn access_is_explained() {
    let all = "files: allowed on all items\n  members_read allows all items\n";
    let own = "files: depends on the item; name one with --item\n  own allows some items\n";
    let folder = policies(POLICIES);
    for (caller, operation, group, code, expected) in [
        ("author.json", "read", "files", 0, all),
        ("author.json", "patch", "files", 0, own),
        ("author.json", "read", "lib", 1, "lib: denied on all items\n"),
        ("stranger.json", "read", "files", 1, "files: denied on all items\n"),
    ] {
        let mut question = QUESTION;
        [question[5], question[7], question[9]] = [caller, operation, group];
        let (found, printed, _) = result(&mut command(&folder, &question));
        assert_eq!((found, &*printed), (Some(code), expected), "{question:?}");
    }
    let database = ["--database-url", "sqlite://items.db?mode=rwc"];
    let seed = [&["seed", "--proposals", "1"], &database[..]].concat();
    assert!(command(&folder, &seed).output().unwrap().status.success());
    let export = [&["export"], &database[..]].concat();
    let (_, exported, _) = result(&mut command(&folder, &export));
    let line = exported.lines().find(|line| line.contains("\"group\":\"proposals\"")).unwrap();
    let change: Value = serde_json::from_str(line).unwrap();
    let of = |item| {
        let words = [&QUESTION[..9], &["proposals", "--item", item], &database].concat();
        command(&folder, &words)
    };
    let (code, printed, _) = result(&mut of(change["item_id"].as_str().unwrap()));
    assert_eq!((code, &*printed), (Some(1), "denied\n"));
    let line = refused(&of("nothing").output().unwrap(), 1);
    assert!(line.contains("no item nothing in `proposals`"), "{line}");
}

const IN_FORCE: &str = "policies:
- {id: all, group: proposals, allow: [read], to: [signed_in]}
- {id: blind, group: proposals, hide: [project_title, meta.created_by], to: [reviewer]}
";
const PLANNED: &str = "policies:
- {id: own, group: proposals, allow: [read], to: [signed_in], when: meta.created_by == caller.id}
- {id: reviewers, group: proposals, allow: [read], to: [reviewer]}
- {id: blind, group: proposals, hide: [project_title], to: [reviewer]}
";

#[test]
fn stored_items_are_listed_as_a_caller_sees_them_and_compared_by_role() {
    for store in [Store::Sqlite, Store::Postgres] {
        let database = TestDatabase::of(store);
        let folder = folder_with(&[
            ("old.yaml", IN_FORCE),
            ("new.yaml", PLANNED),
            ("reviewer.json", r#"{"id": "agency:1", "roles": ["reviewer"]}"#),
            ("creator.json", r#"{"id": "service:seed"}"#),
            ("stranger.json", "\"anonymous\""),
        ]);
        let printed = |words: &[&str]| {
            let words = [words, &["--database-url", database.url()]].concat();
            let (code, printed, error) = result(&mut command(&folder, &words));
            assert_eq!(code, Some(0), "{words:?}: {error}");
            printed
        };
        printed(&["seed", "--proposals", "1"]);
        let list = |caller: &str, format: &str| {
            let policies = ["--policies", "old.yaml", "--as", caller, "--format", format];
            printed(&[&["access", "list", "--group", "proposals"][..], &policies].concat())
        };
        let listed: Value = serde_json::from_str(&list("reviewer.json", "json")).unwrap();
        let id = listed[0]["id"].as_str().unwrap();
        let hidden = json!(["meta.created_by", "project_title"]);
        assert_eq!(listed, json!([{ "group": "proposals", "id": id, "hidden": hidden }]));
        for (caller, expected) in [
            (
                "reviewer.json",
                format!(
                    "proposals/{id} without meta.created_by, project_title\nthe caller sees 1 of 1 items\n"
                ),
            ),
            ("creator.json", format!("proposals/{id}\nthe caller sees 1 of 1 items\n")),
            ("stranger.json", "the caller sees 0 of 1 items\n".to_owned()),
        ] {
            assert_eq!(list(caller, "text"), expected, "{caller}");
        }
        let diff = |words: &[&str]| printed(&[&["policies", "diff"][..], words].concat());
        let lines = |words: &[&str]| {
            let mut lines: Vec<_> = diff(words).lines().map(ToOwned::to_owned).collect();
            let summary = lines.pop().unwrap();
            assert!(summary.ends_with(&format!(" items: {} changes", lines.len())), "{summary}");
            lines
        };
        let item = format!("proposals/{id}");
        for (words, expected) in [
            (
                &["old.yaml", "new.yaml"][..],
                vec![
                    format!("{item} is hidden from signed_in"),
                    format!("{item} meta.created_by is shown to reviewer"),
                ],
            ),
            (
                &["new.yaml", "old.yaml"],
                vec![
                    format!("{item} meta.created_by is hidden from reviewer"),
                    format!("{item} is shown to signed_in"),
                ],
            ),
            (&["old.yaml", "old.yaml"], Vec::new()),
            (&["old.yaml", "new.yaml", "--as", "creator.json"], Vec::new()),
            (
                &["old.yaml", "new.yaml", "--as", "reviewer.json"],
                vec![format!("{item} meta.created_by is shown to agency:1")],
            ),
        ] {
            let mut expected = expected;
            let mut found = lines(words);
            expected.sort();
            found.sort();
            assert_eq!(found, expected, "{words:?}");
        }
        let table = diff(&["old.yaml", "new.yaml", "--format", "csv"]);
        let expected = format!("group,id,member,caller,change\nproposals,{id},,signed_in,hidden\n");
        assert!(table.starts_with(&expected), "{table}");
    }
}

#[test]
fn errors_are_reported_with_their_file_and_line() {
    let folder = policies("policies:\n- {id: p, group: filez, allow: [read], to: [a]}\n");
    let check = ["policies", "check", "p.yaml"];
    for words in [&check[..], &["policies", "test", "p.yaml"], &QUESTION] {
        let line = refused(&command(&folder, words).output().unwrap(), 1);
        let error = "p.yaml:2:18: there is no group `filez`; did you mean `files`?";
        assert!(line.contains(error), "{line}");
    }
}
