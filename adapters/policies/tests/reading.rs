//! All errors of policy files are reported at once, each with its location and its fix.

use std::fs;

use language::error::FileErrors;
use policies_adapter::{PolicySet, read_caller};
use tempfile::TempDir;

/// Policy files in a folder of their own.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("a file");
    }
    folder
}

fn lines(errors: &FileErrors, folder: &TempDir) -> Vec<String> {
    let prefix = format!("{}/", folder.path().display());
    errors.to_string().lines().map(|line| line.replace(&prefix, "")).collect()
}

/// The errors of a file: `LINE:COLUMN: REASON` each.
fn errors(text: &str) -> Vec<String> {
    let folder = folder(&[("p.yaml", text)]);
    let errors = PolicySet::load(folder.path()).expect_err(text);
    let lines = lines(&errors, &folder).into_iter();
    lines.map(|line| line.replace("p.yaml:", "").trim_start().to_owned()).collect()
}

/// A policy with some lines more, which begin in line 6.
fn with(lines: &str) -> String {
    format!("policies:\n- id: p\n  group: files\n  allow: [patch]\n  to: [author]\n{lines}")
}

/// A policy whose condition stands in line 6.
fn allowing(operations: &str, to: &str, when: &str) -> String {
    format!("policies:\n- id: p\n  group: files\n  allow: {operations}\n  to: {to}\n  when: {when}")
}

/// A case with these keys in line 3.
fn case(keys: &str) -> String {
    format!("policies: []\ncases:\n- {{name: n, {keys}}}")
}

/// A matrix whose row `expect` is in line 4.
fn matrix(expect: &str) -> String {
    format!(
        "matrix:\n  callers: {{author: 'a:1', nobody: anonymous}}\n  items: {{draft: {{group: files}}, old: {{group: files}}}}\n  expect: {expect}"
    )
}

const OWN: &str = "meta.created_by == caller.id";

/// Files and the one error of each: its place and a part of its reason.
#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn each_error_has_its_location_and_fix() {
    let many: Vec<_> = (0..101).map(|number| format!("r{number}")).collect();
    let table: &[(String, &str, &str)] = &[
        (String::new(), "", "the file is empty; write the list `policies:`"),
        ("policies: [".into(), "1:", "this is not YAML"),
        ("policies:\n- {to: *}".into(), "2:", "this is not YAML"),
        ("- id: p".into(), "1:1:", "a policy file is a mapping of keys to values, not a list"),
        ("policy: []".into(), "1:1:", "did you mean `policies`?"),
        ("roles: {}".into(), "1:1:", "the key `roles` of a policy file is not there yet"),
        ("open: [rules]".into(), "1:1:", "the key `open` of a policy file is not there yet"),
        ("policies: 5".into(), "1:11:", "`policies` is a list, not a number"),
        ("policies: [5]".into(), "1:12:", "a policy is a mapping"),
        ("policies:\n- {group: files, allow: [read], to: [a]}".into(), "2:3:", "needs the key `id`"),
        ("policies:\n- {id: p, allow: [read], to: [a]}".into(), "2:3:", "needs the key `group`"),
        ("policies:\n- {id: p, group: files, to: [a]}".into(), "2:3:", "needs a `allow` or a `deny`"),
        ("policies:\n- {id: p, group: files, allow: [read]}".into(), "2:3:", "needs the key `to`"),
        (with("  deny: [read]"), "6:9:", "has a `allow` or a `deny`; remove one of the two"),
        (with("  id: q"), "6:3:", "a second time, first in line 2"),
        (with("  show: [title]"), "6:3:", "the key `show` of a policy is not there yet"),
        (with("  hide: [title]"), "6:3:", "the key `hide` of a policy is not there yet"),
        (with("  write: [title]"), "6:3:", "the key `write` of a policy is not there yet"),
        (with("  change: 'true'"), "6:3:", "the key `change` of a policy is not there yet"),
        (with("  lookup: {}"), "6:3:", "the key `lookup` of a policy is not there yet"),
        (with("  wen: x"), "6:3:", "a policy has no key `wen`; did you mean `when`?"),
        (with("  description: [a]"), "6:16:", "`description` is a string, not a list"),
        (with("  effective: 2026-01-01"), "6:14:", "`effective` is a mapping"),
        (with("  effective: {from: 2026-02-30}"), "6:21:", "is a date as YYYY-MM-DD"),
        (
            with("  effective: {from: 2026-02-01, until: 2026-01-31}"),
            "6:14:",
            "the policy would end on 2026-01-31, before it begins on 2026-02-01",
        ),
        (
            "policies:\n- {id: P, group: files, allow: [read], to: [a]}".into(),
            "2:8:",
            "lower-case letters",
        ),
        (
            "policies:\n- {id: p, group: file, allow: [read], to: [a]}".into(),
            "2:18:",
            "there is no group `file`; did you mean `files`?",
        ),
        (
            "policies:\n- {id: p, group: [files, status, files], allow: [read], to: [a]}".into(),
            "2:34:",
            "`group` names `files` twice",
        ),
        (
            "policies:\n- {id: p, group: [], allow: [read], to: [a]}".into(),
            "2:18:",
            "`group` names no group",
        ),
        (
            "policies:\n- {id: p, group: {a: b}, allow: [read], to: [a]}".into(),
            "2:18:",
            "`group` is a string, not a mapping",
        ),
        (
            "policies:\n- {id: p, group: files, allow: read, to: [a]}".into(),
            "2:32:",
            "`allow` is a list, not a string",
        ),
        (
            "policies:\n- {id: p, group: files, allow: [], to: [a]}".into(),
            "2:32:",
            "`allow` names no operation",
        ),
        (
            "policies:\n- {id: p, group: files, deny: [raed], to: [a]}".into(),
            "2:32:",
            "there is no operation `raed`; did you mean `read`?",
        ),
        (
            "policies:\n- {id: p, group: files, deny: [read, read], to: [a]}".into(),
            "2:38:",
            "`deny` names `read` twice",
        ),
        (
            "policies:\n- {id: p, group: files, allow: [read], to: []}".into(),
            "2:44:",
            "`to` names nobody",
        ),
        (
            "policies:\n- {id: p, group: files, allow: [read], to: author}".into(),
            "2:44:",
            "`to` is a list, not a string",
        ),
        (
            "policies:\n- {id: p, group: files, allow: [read], to: [a, a]}".into(),
            "2:48:",
            "`to` names `a` twice",
        ),
        (
            format!(
                "policies:\n- {{id: p, group: files, allow: [read], to: [{}]}}",
                many.join(", ")
            ),
            "2:44:",
            "`to` names 101 roles, and at most 100 are read",
        ),
        (
            "policies:\n- {id: p, group: files, allow: [read], to: [a]}\n- {id: p, group: files, allow: [read], to: [b]}".into(),
            "3:3:",
            "there is a policy `p` already, at",
        ),
        (allowing("[patch]", "[a]", "self.title == caller.id"), "6:9:", "may be `meta.created_by == caller.id` in this version"),
        (allowing("[patch]", "[a]", "'meta.created_by != caller.id'"), "6:9:", "and nothing else"),
        (allowing("[patch]", "[a]", "true"), "6:9:", "and nothing else"),
        (allowing("[patch]", "[a]", "meta.created_by =="), "6:", "this is not CEL"),
        (allowing("[patch]", "[a]", "[a]"), "6:9:", "which YAML reads as a list here"),
        (allowing("[patch]", "[anyone]", OWN), "6:9:", "`caller.id` is not there for `anyone`"),
        (allowing("[write]", "[a]", OWN), "6:9:", "not beside create"),
        (allowing("[read, history, patch]", "[a]", OWN), "6:9:", "not beside read, history"),
        (
            case("caller: 'a:1', operation: read, group: files"),
            "3:3:",
            "a case needs the key `expect`",
        ),
        (
            case("operation: read, group: files, expect: deny"),
            "3:3:",
            "a case needs the key `caller`",
        ),
        (
            case("caller: {roles: [a]}, operation: read, group: files, expect: deny"),
            "3:21:",
            "`caller` needs the key `id`",
        ),
        (
            case("caller: {id: 5}, operation: read, group: files, expect: deny"),
            "3:26:",
            "`id` is a string, not a number",
        ),
        (
            case("caller: 'a:1', operation: update, group: files, expect: deny"),
            "3:39:",
            "there is no operation `update`",
        ),
        (
            case("caller: 'a:1', operation: read, group: file, expect: deny"),
            "3:52:",
            "there is no group `file`",
        ),
        (
            case("caller: 'a:1', operation: read, group: files, expect: no"),
            "3:67:",
            "there is no decision `no`; there are `allow`, `deny`",
        ),
        (
            case("caller: 'a:1', operation: read, group: files, expect: deny, self: {}"),
            "3:73:",
            "the key `self` of a case is not there yet",
        ),
        (
            case("caller: 'a:1', operation: read, group: files, expect: deny, meta: {version: 1}"),
            "3:80:",
            "`meta` has no key `version`",
        ),
        (
            case("caller: 'a:1', operation: read, group: files, expect: deny, today: now"),
            "3:80:",
            "`today` is a date as YYYY-MM-DD",
        ),
        ("matrix: {}".into(), "1:9:", "`matrix` needs the key `callers`"),
        (
            matrix("{author: {draft: [], old: []}}"),
            "4:11:",
            "does not say what `nobody` may do; add `nobody: {draft: [], old: []}`",
        ),
        (
            matrix("{author: {draft: []}, nobody: {draft: [], old: []}}"),
            "4:20:",
            "does not say what `author` may do with `old`; add `old: []`",
        ),
        (
            matrix("{author: {draft: [], old: []}, nobody: {draft: [], old: []}, other: {}}"),
            "4:72:",
            "`expect` has no key `other`; there are `author`, `nobody`",
        ),
        (
            matrix("{author: {draft: [], old: [], new: []}, nobody: {draft: [], old: []}}"),
            "4:41:",
            "`expect` has no key `new`",
        ),
        (
            matrix("{author: {draft: [raed], old: []}, nobody: {draft: [], old: []}}"),
            "4:29:",
            "there is no operation `raed`; did you mean `read`?",
        ),
        (
            matrix("{author: {draft: read, old: []}, nobody: {draft: [], old: []}}"),
            "4:28:",
            "`draft` is a list, not a string",
        ),
        (
            "matrix: {callers: {}, items: {draft: {}}, expect: {}}".into(),
            "1:38:",
            "an item needs the key `group`",
        ),
        (
            "matrix: {callers: [], items: {}, expect: {}}".into(),
            "1:19:",
            "`callers` is a mapping",
        ),
    ];
    for (text, place, reason) in table {
        let errors = errors(text);
        let matching: Vec<_> = errors
            .iter()
            .filter(|error| error.starts_with(place) && error.contains(reason))
            .collect();
        assert!(!matching.is_empty(), "{text}\n{place} {reason}\n{errors:#?}");
        // A matrix of nothing lacks three keys.
        assert!(errors.len() == 1 || text == "matrix: {}", "{text}\n{errors:#?}");
    }
}

#[test]
fn the_errors_of_all_files_are_reported_in_their_order() {
    let folder = folder(&[
        ("b.yaml", "policies:\n- {id: p, group: files, allow: [read], to: [a]}\ncases: 5"),
        ("a.yaml", "policies:\n- {id: p, group: files, allow: [red], to: []}\n"),
    ]);
    let errors = PolicySet::load(folder.path()).expect_err("errors");
    let places: Vec<_> = lines(&errors, &folder)
        .iter()
        .map(|line| line.split(": ").next().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(places, ["a.yaml:2:33", "a.yaml:2:43", "b.yaml:2:3", "b.yaml:3:8"]);
}

#[test]
fn the_condition_is_understood_however_it_is_written() {
    for when in [OWN, "caller.id == meta.created_by", "( caller.id==meta.created_by )"] {
        let folder = folder(&[("p.yaml", &allowing("[update, delete]", "[a]", when))]);
        let policies =
            PolicySet::load(folder.path()).unwrap_or_else(|errors| panic!("{when}: {errors}"));
        assert!(policies.published()[0].is_about_own, "{when}");
    }
}

#[test]
fn there_is_a_limit_to_everything() {
    let policy =
        |number: usize| format!("- {{id: p{number}, group: files, allow: [read], to: [a]}}\n");
    let policies: String = (0..1_001).map(policy).collect();
    let found = errors(&format!("policies:\n{policies}"));
    assert!(found[0].contains("more than 1000 policies"), "{found:#?}");
    let case = "- {name: n, caller: anonymous, operation: read, group: files, expect: deny}\n";
    let cases = case.repeat(10_001);
    let found = errors(&format!("cases:\n{cases}"));
    assert!(found[0].contains("more than 10000 cases"), "{found:#?}");
    let named = |form: &str| {
        let names: Vec<_> = (0..101).map(|number| format!("n{number}: {form}")).collect();
        names.join(", ")
    };
    let (callers, items) = (named("anonymous"), named("{group: files}"));
    let found =
        errors(&format!("matrix: {{callers: {{{callers}}}, items: {{{items}}}, expect: {{}}}}"));
    assert!(found[0].contains("more than 10000 cases and cells"), "{found:#?}");
    let attribute = "x".repeat(1_900);
    let attributes: Vec<_> = (0..30).map(|number| format!("a{number}: {attribute}")).collect();
    let caller = format!("{{id: 'a:1', {}}}", attributes.join(", "));
    let again = case.replace("anonymous", "*c").repeat(400);
    let found =
        errors(&format!("cases:\n{}{again}", case.replace("anonymous", &format!("&c {caller}"))));
    assert!(found[0].contains("larger than 16777216 bytes"), "{}", found[0]);
}

#[test]
fn a_file_needs_no_cases() {
    let folder = folder(&[("p.yaml", &with(""))]);
    let policies = PolicySet::load(folder.path()).expect("sound policies");
    assert_eq!((policies.ids(), policies.case_count()), (vec!["p".to_owned()], 0));
}

#[test]
fn a_caller_is_read_from_a_file_of_its_own() {
    let folder = folder(&[
        ("a.json", r#"{"id": "agency:1", "roles": ["reviewer"], "level": 3}"#),
        ("b.json", "anonymous"),
        ("c.json", r#"{"roles": ["reviewer"]}"#),
        ("d.json", ""),
    ]);
    let read = |name: &str| read_caller(&folder.path().join(name));
    let caller = read("a.json").expect("a caller");
    assert_eq!(caller.id(), Some("agency:1"));
    assert!(caller.principal().is_some_and(|caller| caller.has_role("reviewer")));
    assert_eq!(read("b.json").expect("a caller").id(), None);
    for (name, reason) in [
        ("c.json", "`caller` needs the key `id`"),
        ("d.json", "the file is empty"),
        ("e.json", "cannot be read"),
    ] {
        let errors = read(name).expect_err(name).to_string();
        assert!(errors.contains(reason), "{errors}");
    }
    assert!(read_caller(folder.path()).is_err());
}
