//! The commands that check policies in files: output and exit codes.

use tempfile::TempDir;

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
    let change: serde_json::Value = serde_json::from_str(line).unwrap();
    let of = |item| {
        let words = [&QUESTION[..9], &["proposals", "--item", item], &database].concat();
        command(&folder, &words)
    };
    let (code, printed, _) = result(&mut of(change["item_id"].as_str().unwrap()));
    assert_eq!((code, &*printed), (Some(1), "denied\n"));
    let line = refused(&of("nothing").output().unwrap(), 1);
    assert!(line.contains("no item nothing in `proposals`"), "{line}");
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
