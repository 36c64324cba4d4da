//! The commands about policies in files: what is printed, and the exit status.

use tempfile::TempDir;

use crate::{command, folder, refused, text};

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
const AUTHOR: &str = r#"{"id": "agency:1", "roles": ["author"]}"#;

fn policies(text: &str) -> TempDir {
    let folder = folder();
    std::fs::write(folder.path().join("p.yaml"), text).unwrap();
    std::fs::write(folder.path().join("author.json"), AUTHOR).unwrap();
    std::fs::write(folder.path().join("nobody.json"), "\"anonymous\"").unwrap();
    folder
}

/// The exit status of a command and what it printed.
fn run(folder: &TempDir, arguments: &[&str]) -> (Option<i32>, String) {
    let output = command(folder, arguments).output().unwrap();
    (output.status.code(), text(&output.stdout).to_owned())
}

#[test]
fn a_check_says_what_each_policy_does() {
    let (status, printed) = run(&policies(POLICIES), &["policies", "check", "p.yaml", "--strict"]);
    assert_eq!(status, Some(0));
    for words in [
        "members_read (p.yaml:3): Every known caller may read items of files.\n",
        "\n2 policies and 2 cases, all sound\n",
    ] {
        assert!(printed.contains(words), "no {words} in:\n{printed}");
    }
    let untested = POLICIES.split("cases:").next().unwrap();
    let (status, printed) = run(&policies(untested), &["policies", "check", "p.yaml", "--strict"]);
    assert_eq!(status, Some(1));
    assert!(printed.ends_with("2 policies and 0 cases, warnings: 2\n"), "{printed}");
    assert_eq!(run(&policies(untested), &["policies", "check", "p.yaml"]).0, Some(0));
}

#[test]
fn a_test_shows_what_came_out_otherwise() {
    let (status, printed) = run(&policies(POLICIES), &["policies", "test", "p.yaml"]);
    assert_eq!((status, printed.as_str()), (Some(0), "2 of 2 cases came out as expected\n"));
    let wrong = POLICIES.replace("expect: deny", "expect: allow");
    let (status, printed) = run(&policies(&wrong), &["policies", "test", "p.yaml"]);
    assert_eq!(status, Some(1));
    assert!(
        printed.starts_with("WRONG p.yaml:6: a stranger: deny where allow was expected"),
        "{printed}"
    );
}

#[test]
fn access_is_explained() {
    let folder = policies(POLICIES);
    for (caller, operation, group, status, printed) in [
        ("author.json", "read", "files", 0, "allowed by members_read\n"),
        (
            "author.json",
            "patch",
            "files",
            0,
            "items that the caller created: allowed by own\nother items: denied: no policy allows it\n",
        ),
        ("author.json", "read", "lib", 1, "denied: no policy allows it\n"),
        ("nobody.json", "read", "files", 1, "denied: no policy allows it\n"),
    ] {
        let question = ["--as", caller, "--operation", operation, "--group", group];
        let command = [&["access", "check", "--policies", "p.yaml"][..], &question].concat();
        assert_eq!(run(&folder, &command), (Some(status), printed.to_owned()), "{question:?}");
    }
}

#[test]
fn access_to_an_item_is_explained_by_who_created_it() {
    let folder = policies(POLICIES);
    let database = "sqlite://items.db?mode=rwc";
    let (status, _) = run(&folder, &["seed", "--proposals", "1", "--database-url", database]);
    assert_eq!(status, Some(0));
    let (_, exported) = run(&folder, &["export", "--database-url", database]);
    let line = exported.lines().find(|line| line.contains("\"group\":\"proposals\"")).unwrap();
    let change: serde_json::Value = serde_json::from_str(line).unwrap();
    let id = change["item_id"].as_str().unwrap();
    let question = ["--as", "author.json", "--operation", "patch", "--group", "proposals"];
    let of = |item: &str| {
        let place = ["--item", item, "--database-url", database];
        let words = [&["access", "check", "--policies", "p.yaml"][..], &question, &place].concat();
        command(&folder, &words).output().unwrap()
    };
    let denied = of(id);
    assert_eq!(denied.status.code(), Some(1));
    assert_eq!(text(&denied.stdout), "denied: no policy allows it\n");
    let line = refused(&of("nothing"), 1);
    assert!(line.contains("no item nothing in `proposals`"), "{line}");
}

#[test]
fn errors_are_told_with_their_file_and_line() {
    let folder = policies("policies:\n- {id: p, group: filez, allow: [read], to: [a]}\n");
    for words in [
        &["policies", "check", "p.yaml"][..],
        &["policies", "test", "p.yaml"],
        &[
            "access",
            "check",
            "--policies",
            "p.yaml",
            "--as",
            "author.json",
            "--operation",
            "read",
            "--group",
            "files",
        ],
    ] {
        let line = refused(&command(&folder, words).output().unwrap(), 1);
        assert!(
            line.contains("p.yaml:2:18: there is no group `filez`; did you mean `files`?"),
            "{line}"
        );
    }
}
