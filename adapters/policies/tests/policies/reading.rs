//! All errors of policy files are reported at once, each with its location and its fix.

use policies_adapter::read_caller;

use crate::files::{assert_error, assert_errors, errors, errors_of, folder, load_text};

/// A policy with some lines more, which begin in line 6.
fn with(lines: &str) -> String {
    format!("policies:\n- id: p\n  group: files\n  allow: [patch]\n  to: [author]\n{lines}")
}

const POLICY: &str = "policies:\n- {id: p, group: files, allow: [read], to: [a]}";

const NO_PUBLIC: &str =
    "4:11: `expect` has no entry for `public`; add `public: {draft: [], old: []}`";
const NO_OLD: &str = "4:20: `expect` has no entry for `author` and `old`; add `old: []`";

const OWN: &str = "meta.created_by == caller.id";

#[test]
fn each_error_of_a_file_has_its_location_and_fix() {
    let empty = "the file is empty; write the list `policies:`, with `cases:` or `matrix:`";
    assert_eq!(errors(""), [empty]);
    for (text, expected) in [
        ("policies: [", "1: this is not YAML"),
        ("policies:\n- {to: *}", "2: this is not YAML"),
        ("- id: p", "1:1: a policy file must be a mapping of keys to values, not a list"),
        ("policy: []", "1:1: did you mean `policies`?"),
        ("roles: {a: {when: 'true'}}", "1:12: a role needs the key `group`"),
        ("roles: {anyone: {group: files, when: 'true'}}", "1:9: rename the role"),
        ("open: [rules]", "1:1: the key `open` of a policy file is not supported"),
        ("policies: 5", "1:11: `policies` must be a list, not a number"),
        ("policies: [5]", "1:12: a policy must be a mapping"),
    ] {
        assert_error(text, expected);
    }
    for (line, expected) in [
        ("deny: [read]", "6:9: has a `allow` and a `deny`; keep one of them"),
        ("id: q", "6:3: more than once, first in line 2"),
        ("wen: x", "6:3: a policy has no key `wen`; did you mean `when`?"),
        (
            "effective: {from: 2026-02-01, until: 2026-01-31}",
            "6:14: the policy would end on 2026-01-31, before it begins on 2026-02-01",
        ),
    ] {
        assert_error(&with(&format!("  {line}")), expected);
    }
}

#[test]
fn each_error_of_a_list_of_members_has_its_location_and_fix() {
    let policy = "policies:\n- {id: p, group: files, allow: [read, patch], to: [a], show: [title]}";
    assert_errors(
        policy,
        &[
            ("[title]", "[]", "2:62: `show` is empty; list members, such as `show: [title]`"),
            ("[title]", "title", "2:62: `show` must be a list, not a string"),
            ("[title]", "[a, /b/c, a]", "2:72: `show` names `a` more than once"),
            ("[title]", "[/a~b]", "2:63: in a JSON Pointer `~` is written `~0`"),
            ("[title]", "[id]", "2:63: `id` is not a member"),
            (
                "[title]",
                "[/_meta/version]",
                "2:63: for the names of callers write `meta.created_by`",
            ),
            ("read, ", "", "2:56: `show` needs `allow` with read; add it, or remove `show`"),
            ("show", "hide", "2:62: has a `allow` and a `hide`; keep one of them"),
            (
                "read, patch], to: [a], show",
                "read], to: [a], write",
                "2:56: `write` needs `allow` with create, replace or patch",
            ),
            ("show: [title]", "write: [meta.created_by]", "2:64: but it cannot be written"),
        ],
    );
}

#[test]
fn each_error_of_a_policy_has_its_location_and_fix() {
    assert_errors(
        POLICY,
        &[
            ("id: p, ", "", "2:3: needs the key `id`"),
            ("group: files, ", "", "2:3: needs the key `group`"),
            ("allow: [read], ", "", "2:3: needs a `allow` or a `deny`"),
            (", to: [a]", "", "2:3: needs the key `to`"),
            ("id: p", "id: P", "2:8: lower-case letters"),
            ("files", "file", "2:18: there is no group `file`; did you mean `files`?"),
            ("files", "[files, status, files]", "2:34: `group` names `files` more than once"),
            ("files", "[]", "2:18: `group` is empty"),
            ("files", "{a: b}", "2:18: `group` must be a string, not a mapping"),
            ("[read]", "read", "2:32: `allow` must be a list, not a string"),
            ("[read]", "[]", "2:32: `allow` is empty"),
            ("allow: [read]", "deny: [raed]", "2:32: no operation `raed`; did you mean `read`?"),
            ("allow: [read]", "deny: [read, read]", "2:38: `deny` names `read` more than once"),
            ("[a]", "[]", "2:44: `to` is empty"),
            ("[a]", "author", "2:44: `to` must be a list, not a string"),
            ("[a]", "[a, a]", "2:48: `to` names `a` more than once"),
        ],
    );
    let many: Vec<_> = (0..101).map(|number| format!("r{number}")).collect();
    let many = POLICY.replace("[a]", &format!("[{}]", many.join(", ")));
    assert_error(&many, "2:44: `to` names 101 roles; at most 100 are allowed");
    let twice = format!("{POLICY}\n- {{id: p, group: files, allow: [read], to: [b]}}");
    assert_error(&twice, "3:3: duplicate policy `p`, first at");
    let conditional =
        "policies:\n- id: p\n  group: files\n  allow: [patch]\n  to: [a]\n  when: WHEN";
    assert_errors(
        conditional,
        &[
            ("WHEN", "meta.created_by ==", "6: this is not CEL"),
            ("WHEN", "[a]", "6:9: but YAML reads it as a list"),
        ],
    );
    assert_errors(
        &conditional.replace("WHEN", OWN),
        &[
            ("[a]", "[anyone]", "6:9: `caller` may not be used with `to: [anyone]`"),
            (OWN, "self.title.size() == 3", "6:9: "),
            (OWN, "old.title == self.title", "6:9: there is no variable `old`"),
            (OWN, "'true'\n  lookup: {meta: 'files[self.id]'}", "7:12: cannot name a lookup"),
            (
                OWN,
                "'true'\n  lookup: {a: 'files[b.x]', b: 'files[self.x]'}",
                "7:22: move `b` before `a`",
            ),
            (
                OWN,
                "'true'\n  lookup: {a: 'files[x = self.x]', b: 'files[latest(a).x]'}",
                "7:53: `latest` cannot be used on items in this way in a policy",
            ),
            ("[patch]", "[read, patch]\n  change: 'true'", "5:11: not of read"),
        ],
    );
}

#[test]
fn each_error_of_a_case_or_matrix_has_its_location_and_fix() {
    assert_errors(
        "policies: []\ncases:\n- {name: n, caller: 'a:1', operation: read, group: files, expect: deny}",
        &[
            (", expect: deny", "", "3:3: a case needs the key `expect`"),
            ("caller: 'a:1', ", "", "3:3: a case needs the key `caller`"),
            ("'a:1'", "{roles: [a]}", "3:21: `caller` needs the key `id`"),
            ("'a:1'", "{id: 5}", "3:26: `id` must be a string, not a number"),
            ("read", "update", "3:39: there is no operation `update`"),
            ("files", "file", "3:52: there is no group `file`"),
            ("deny", "no", "3:67: there is no decision `no`; known: `allow`, `deny`"),
            ("deny", "deny, self: 5", "3:79: an item must be a mapping of its members"),
            ("deny", "deny, self: {id: 5}", "3:84: `id` must be the id of an item"),
            ("deny", "deny, lookup: {fils: []}", "3:82: there is no group `fils`"),
            ("deny", "deny, meta: {version: 1}", "3:80: `meta` has no key `version`"),
            ("deny", "deny, today: now", "3:80: `today` must be a date as YYYY-MM-DD"),
        ],
    );
    let missing = errors("matrix: {}");
    let is_first = missing[0].starts_with("1:9: `matrix` needs the key `callers`");
    assert!(is_first && missing.len() == 3, "{missing:#?}");
    assert_errors(
        "matrix: {callers: {}, items: {}, expect: {}}",
        &[
            ("items: {}", "items: {draft: {}}", "1:38: an item needs the key `group`"),
            ("callers: {}", "callers: []", "1:19: `callers` must be a mapping"),
        ],
    );
    assert_errors(
        "matrix:\n  callers: {author: 'a:1', public: anonymous}\n  items: {draft: {group: files}, old: {group: files}}
  expect: {author: {draft: [], old: []}, public: {draft: [], old: []}}",
        &[
            (", public: {draft: [], old: []}", "", NO_PUBLIC),
            (", old: []}, p", "}, p", NO_OLD),
            ("[]}}", "[]}, other: {}}", "4:72: no key `other`; known: `author`, `public`"),
            ("[]}, p", "[], new: []}, p", "4:41: `expect` has no key `new`"),
            ("[]", "[raed]", "4:29: there is no operation `raed`; did you mean `read`?"),
            ("[]", "read", "4:28: `draft` must be a list, not a string"),
        ],
    );
}

#[test]
fn the_errors_of_all_files_are_reported_in_their_order() {
    let errors = errors_of(&folder(&[
        ("b.yaml", &format!("{POLICY}\ncases: 5")),
        ("a.yaml", "policies:\n- {id: p, group: files, allow: [red], to: []}\n"),
    ]));
    let places: Vec<_> = errors.iter().filter_map(|line| line.split(": ").next()).collect();
    assert_eq!(places, ["a.yaml:2:33", "a.yaml:2:43", "b.yaml:2:3", "b.yaml:3:8"]);
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
    assert!(found[0].contains("more than 16777216 bytes"), "{}", found[0]);
}

#[test]
fn a_file_needs_no_cases() {
    let policies = load_text(&with(""));
    assert_eq!((policies.ids(), policies.case_count()), (vec!["p".to_owned()], 0));
}

#[test]
fn a_caller_is_read_from_a_file() {
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
