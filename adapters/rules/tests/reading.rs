//! All errors of rule files are reported at once, each with its location and its fix.

use std::fs;
use std::path::Path;

use language::error::FileErrors;
use rules_adapter::RuleSet;
use tempfile::TempDir;

/// Rule files in a folder of their own.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("a file");
    }
    folder
}

fn load(path: &Path) -> Result<RuleSet, FileErrors> {
    RuleSet::load(path, &["dates_in_order"])
}

/// The errors of a file: `LINE:COLUMN: REASON` each.
fn errors(text: &str) -> Vec<String> {
    let folder = folder(&[("rules.yaml", text)]);
    let path = folder.path().join("rules.yaml");
    let errors = load(&path).err().expect(text);
    let prefix = format!("{}:", path.display());
    errors
        .to_string()
        .lines()
        .map(|line| line.strip_prefix(&prefix).unwrap_or(line).trim_start().to_owned())
        .collect()
}

#[track_caller]
fn assert_one_error(text: &str, place: &str, reason: &str) {
    let errors = errors(text);
    let is_that_one =
        matches!(&errors[..], [error] if error.starts_with(place) && error.contains(reason));
    assert!(is_that_one, "{text}\n{place} {reason}\n{errors:#?}");
}

/// A sound rule with some lines more, which begin in line 8.
fn with(lines: &str) -> String {
    format!(
        "rules:\n- id: r\n  group: files\n  check: 'true'\n  message: no\n  on:\n  - create\n{lines}"
    )
}

/// Files and the one error of each: its place and a part of its reason.
#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn each_error_has_its_location_and_fix() {
    let table: &[(String, &str, &str)] = &[
        ("rules: [".into(), "1:", "this is not YAML"),
        ("rules:\n\t- id: x".into(), "2:2:", "tabs"),
        ("rules:\n- check: a: b".into(), "2:11:", "written in the lines below `|`"),
        ("rules:\n- check: !has(self.x)".into(), "2:", "`|`"),
        ("- id: x".into(), "1:1:", "a rule file is a mapping of keys to values, not a list"),
        ("rules: []\n---\nrules: []".into(), "2:1:", "one YAML document"),
        ("rules: []\nrule: 1".into(), "2:1:", "did you mean `rules`?"),
        ("rules: 5".into(), "1:8:", "`rules` is a list, not a number"),
        ("rules: [5]".into(), "1:9:", "a rule is a mapping"),
        ("rules:\n- &a [*a]".into(), "2:7:", "the alias stands within"),
        (with("  checks: x"), "8:3:", "a rule has no key `checks`; did you mean `check`?"),
        (with("  id: y"), "8:3:", "a second time, first in line 2"),
        (with("  severity: errror"), "8:13:", "did you mean `error`? there are `error`, `warning`"),
        (with("  severity: 5"), "8:13:", "`severity` is a string, not a number"),
        (with("  field: title"), "8:10:", "write `/title`"),
        (with("  field: /a~2"), "8:10:", "`~` is written `~0`"),
        (with("  description: [a]"), "8:16:", "`description` is a string, not a list"),
        (with("  source:"), "8:", "`source` is empty"),
        (with("  when: [self.x]"), "8:9:", "which YAML reads as a list here"),
        (with("  effective: 2026-01-01"), "8:14:", "`effective` is a mapping"),
        (
            with("  effective: {from: 2026-02-30}"),
            "8:21:",
            "is a date as YYYY-MM-DD, which `2026-02-30` is not",
        ),
        (with("  effective: {from: 2026-01-01T00:00:00}"), "8:21:", "is a date as"),
        (with("  effective: {since: 2026-01-01}"), "8:15:", "there are `from`, `until`"),
        (
            with("  effective: {from: 2026-02-01, until: 2026-01-31}"),
            "8:14:",
            "would end on 2026-01-31, before it begins on 2026-02-01",
        ),
        (with("  message_expression: '\"x\"'"), "8:23:", "a `message` or a `message_expression`"),
        (with("  lookup: [a]"), "8:11:", "`lookup` is a mapping"),
        (with("  lookup: {a: files}"), "8:15:", "`files` is not a lookup; write `COLLECTION[ID]`"),
        (
            with("  lookup: {a: 'file[self.x]'}"),
            "8:15:",
            "there is no collection `file`; did you mean `files`?",
        ),
        (with("  lookup: {self: 'files[self.x]'}"), "8:12:", "cannot be named `self`"),
        (with("  lookup: {expect: 'files[self.x]'}"), "8:12:", "cannot be named `expect`"),
        (with("  lookup: {a-b: 'files[self.x]'}"), "8:12:", "`a-b` cannot name a lookup"),
        (with("  lookup: {a: 'files[id = self.x]'}"), "8:22:", "as `files[ID]`"),
        (with("  lookup: {a: 'files[parent = self.x]'}"), "8:22:", "belong to no other"),
        (
            with("  lookup: {a: 'proposals[program = self.x]'}"),
            "8:26:",
            "no field `program`; did you mean `program_id`?",
        ),
        (
            with(&format!(
                "  lookup: {{{}}}",
                (1..=9)
                    .map(|number| format!("a{number}: 'files[self.x]'"))
                    .collect::<Vec<_>>()
                    .join(", ")
            )),
            "8:180:",
            "at most 8 times",
        ),
        (
            "rules:\n- {group: files, check: 'true', message: no}".into(),
            "2:3:",
            "needs the key `id`",
        ),
        ("rules:\n- {id: r, check: 'true', message: no}".into(), "2:3:", "needs the key `group`"),
        ("rules:\n- {id: r, group: files, message: no}".into(), "2:3:", "needs the key `check`"),
        (
            "rules:\n- {id: r, group: files, check: 'true'}".into(),
            "2:3:",
            "needs a `message` or a `message_expression`",
        ),
        (
            "rules:\n- {id: Big, group: files, check: 'true', message: no}".into(),
            "2:8:",
            "lower-case letters",
        ),
        (
            "rules:\n- {id: dates_in_order, group: files, check: 'true', message: no}".into(),
            "2:3:",
            "uses the id `dates_in_order` itself",
        ),
        (
            "rules:\n- {id: r, group: proposal, check: 'true', message: no}".into(),
            "2:18:",
            "did you mean `proposals`?",
        ),
        (
            "rules:\n- {id: r, group: files, on: create, check: 'true', message: no}".into(),
            "2:29:",
            "`on` is a list, not a string",
        ),
        (
            "rules:\n- {id: r, group: files, on: [], check: 'true', message: no}".into(),
            "2:29:",
            "names no operation",
        ),
        (
            "rules:\n- {id: r, group: files, on: [create, remove], check: 'true', message: no}"
                .into(),
            "2:38:",
            "`delete`",
        ),
    ];
    for (text, place, reason) in table {
        assert_one_error(text, place, reason);
    }
}

#[test]
fn errors_of_cases_have_their_places_too() {
    let rule = "rules:\n- {id: r, group: files, check: 'true', message: no, lookup: {one: 'lib[self.x]', many: 'lib[parent = self.x]'}}\ncases:\n";
    for (case, place, reason) in [
        ("- {name: n, self: {}, expect: pass}", "4:3:", "needs the key `rule`"),
        ("- {rule: s, name: n, self: {}, expect: pass}", "4:10:", "there is no rule `s`"),
        (
            "- {rule: r, self: {}, one: null, many: [], expect: pass}",
            "4:3:",
            "needs the key `name`",
        ),
        ("- {rule: r, name: n, one: null, many: [], expect: pass}", "4:3:", "needs the key `self`"),
        ("- {rule: r, name: n, self: {}, one: null, many: []}", "4:3:", "needs the key `expect`"),
        (
            "- {rule: r, name: n, self: {}, one: null, many: [], expect: passes}",
            "4:61:",
            "did you mean `pass`?",
        ),
        (
            "- {rule: r, name: n, self: [], one: null, many: [], expect: pass}",
            "4:28:",
            "an item is a mapping of its members, not a list",
        ),
        (
            "- {rule: r, name: n, self: {}, many: [], expect: pass}",
            "4:3:",
            "does not say what it finds; add `one:`",
        ),
        (
            "- {rule: r, name: n, self: {}, one: [], many: [], expect: pass}",
            "4:37:",
            "`one` finds one item",
        ),
        (
            "- {rule: r, name: n, self: {}, lookup: {one: null, many: null}, expect: pass}",
            "4:58:",
            "`many` finds a list",
        ),
        (
            "- {rule: r, name: n, self: {}, lookup: {one: null, many: [], more: []}, expect: pass}",
            "4:62:",
            "no key `more`",
        ),
        (
            "- {rule: r, name: n, self: {}, one: {id: x}, many: [], expect: pass}",
            "4:42:",
            "`id` is the id of an item",
        ),
        (
            "- {rule: r, name: n, self: {a: 0x1F}, one: null, many: [], expect: pass}",
            "4:32:",
            "JSON does not write a number as `0x1F`",
        ),
        (
            "- {rule: r, name: n, self: {}, today: 1.1.2026, one: null, many: [], expect: pass}",
            "4:39:",
            "a date as YYYY-MM-DD",
        ),
        (
            "- {rule: r, name: n, self: {}, now: noon, one: null, many: [], expect: pass}",
            "4:37:",
            "`now` is a time",
        ),
        (
            "- {rule: r, name: n, self: {}, on: replace, one: null, many: [], expect: pass}",
            "4:36:",
            "needs `old`",
        ),
        (
            "- {rule: r, name: n, self: {}, old: {}, on: create, one: null, many: [], expect: pass}",
            "4:45:",
            "a create has no `old`",
        ),
        (
            "- {rule: r, name: n, self: {}, caller: {name: x}, one: null, many: [], expect: pass}",
            "4:40:",
            "`caller` needs the key `id`",
        ),
    ] {
        assert_one_error(&format!("{rule}{case}"), place, reason);
    }
}

#[test]
fn all_errors_of_all_files_are_told_at_once() {
    let folder = folder(&[
        (
            "a.yaml",
            "rules:\n- {id: r, group: fils, check: 'true', message: no, severity: bad}\n- {id: ok, group: files, check: 'true', message: no}",
        ),
        ("b.yml", "rules: ["),
        (
            "c.json",
            r#"{"rules": [{"id": "r", "group": "files", "check": "true", "message": "no"}], "cases": [{"rule": "s"}]}"#,
        ),
    ]);
    let errors = load(folder.path()).err().expect("errors").to_string();
    let prefix = format!("{}/", folder.path().display());
    let found: Vec<_> =
        errors.lines().filter_map(|line| line.strip_prefix(&prefix)?.split(": ").next()).collect();
    assert_eq!(
        found,
        [
            "a.yaml:2:18",
            "a.yaml:2:62",
            "b.yml:1:8",
            "c.json:1:12",
            "c.json:1:88",
            "c.json:1:88",
            "c.json:1:88",
            "c.json:1:97"
        ],
        "{errors}"
    );
}

#[test]
fn only_rule_files_of_the_folder_itself_are_read() {
    let rule =
        |id: &str| format!("rules: [{{id: {id}, group: files, check: 'true', message: no}}]");
    let folder = folder(&[
        ("b.yaml", &rule("second")),
        ("a.yml", &rule("first")),
        (
            "c.json",
            r#"{"rules": [{"id": "third", "group": "files", "check": "true", "message": "no"}]}"#,
        ),
        (".hidden.yaml", "rules: ["),
        ("notes.txt", "rules: ["),
    ]);
    fs::create_dir(folder.path().join("d.yaml")).expect("a folder");
    fs::write(folder.path().join("d.yaml/e.yaml"), "rules: [").expect("a file");
    let rules = load(folder.path()).expect("sound rules");
    assert_eq!(rules.ids(), ["first", "second", "third"]);
}

#[test]
fn what_cannot_be_read_is_told() {
    let folder =
        folder(&[("large.yaml", &"#".repeat((1 << 20) + 1)), ("empty.yaml", "# nothing\n")]);
    fs::write(folder.path().join("latin.yaml"), b"rules: \xe9").expect("a file");
    std::os::unix::fs::symlink("nowhere", folder.path().join("link.yaml")).expect("a link");
    let errors = load(folder.path()).err().expect("errors").to_string();
    for reason in [
        "large.yaml: cannot be read: it is larger than",
        "empty.yaml: the file is empty",
        "latin.yaml: is not UTF-8 from byte 7",
        "link.yaml: cannot be read",
    ] {
        assert!(errors.contains(reason), "{reason}: {errors}");
    }
    let errors = load(&folder.path().join("missing.yaml")).err().expect("errors").to_string();
    assert!(errors.contains("missing.yaml: cannot be read: No such file"), "{errors}");
}

#[test]
fn hostile_yaml_ends_in_a_error() {
    let bomb = "a: &a [x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b]\n\
                d: &d [*c, *c, *c, *c, *c, *c, *c, *c]\ne: &e [*d, *d, *d, *d, *d, *d, *d, *d]\nf: &f [*e, *e, *e, *e, *e, *e, *e, *e]\n\
                g: &g [*f, *f, *f, *f, *f, *f, *f, *f]\nh: &h [*g, *g, *g, *g, *g, *g, *g, *g]\n";
    let case = "rules: [{id: r, group: files, check: 'true', message: no}]\ncases: [{rule: r, name: n, expect: pass, self: {x: *h}}]";
    assert!(
        errors(&format!("{bomb}{case}"))
            .iter()
            .any(|error| error.contains("together are larger than"))
    );
    let deep_aliases: Vec<_> =
        (1..200).map(|number| format!("a{number}: &a{number} [*a{}]", number - 1)).collect();
    assert!(
        errors(&format!("a0: &a0 x\n{}", deep_aliases.join("\n")))[0]
            .contains("nested more than 128 deep")
    );
    assert!(errors(&"[".repeat(100_000))[0].contains("this is not YAML"));
    assert!(errors(&"- ".repeat(100_000))[0].contains("this is not YAML"));
    assert!(
        errors(&format!("rules: [{}]", "x,".repeat(310_000)))[0]
            .contains("more than 300000 values")
    );
    let many = errors(&format!("rules:\n{}", "- {}\n".repeat(1_000)));
    assert_eq!((many.len(), many[100].as_str()), (101, "and 3900 more"));
}

#[test]
fn a_lookup_says_whether_its_member_has_an_index() {
    for (collection, member, is_indexed) in [
        ("proposals", "researcher_id", true),
        ("proposals", "project_title", false),
        ("files", "proposal_id", true),
        ("files", "subject", false),
        ("gadscores", "proposal_id", true),
        ("cashprogram", "proposal_id", true),
        ("status", "subject", true),
        ("status", "proposal_id", false),
        ("lib", "proposal_id", false),
    ] {
        let text = format!(
            "rules: [{{id: r, group: files, lookup: {{x: '{collection}[{member} = self.x]'}}, check: 'true', message: no}}]"
        );
        let folder = folder(&[("rules.yaml", &text)]);
        let rules = load(folder.path()).expect("sound rules");
        let summary = rules.rules().next().expect("a rule").summary(jiff::civil::date(2026, 1, 1));
        let how = if is_indexed { "indexed" } else { "which looks through the whole collection" };
        let line = format!("  looks up   x: {collection} by `{member}`, {how}\n");
        assert!(summary.contains(&line), "{line}\n{summary}");
    }
}

#[test]
fn a_lookup_in_one_line_is_quoted() {
    let rule = |lookups: &str| {
        format!(
            "rules:\n- id: r\n  group: proposals\n  lookup: {lookups}\n  check: 'true'\n  message: m\n"
        )
    };
    let quoted = "{program: 'proposedprograms[self.program_id]', lib: 'lib[parent = self.id]', same: 'proposals[program_id = self.program_id]'}";
    let folder = folder(&[("rules.yaml", &rule(quoted))]);
    let rules = load(folder.path()).expect("sound rules");
    let summary = rules.rules().next().expect("a rule").summary(jiff::civil::date(2026, 1, 1));
    let lookups: Vec<_> =
        summary.lines().filter_map(|line| line.strip_prefix("  looks up   ")).collect();
    assert_eq!(
        lookups,
        [
            "program: proposedprograms by id",
            "lib: lib by parent",
            "same: proposals by `program_id`, indexed"
        ]
    );
    for (lookups, place) in [
        ("{program: proposedprograms[self.program_id]}", "4:37:"),
        ("{lib: lib[parent = self.id], same: proposals[program_id = self.program_id]}", "4:20:"),
    ] {
        assert_one_error(&rule(lookups), place, "a lookup within `{…}` stands in quotes");
    }
}

#[test]
fn a_rule_and_its_cases_are_kept_as_they_are_written() {
    let file = "\
rules:
  # Not of the first rule.
  - id: first
    group: files
    check: | # of the first
      self.a > 1
        && self.b == ' # no comment'
    message: | # two lines
      wrong
      indeed

  # Of nobody.
  - {id: second, group: files, check: self.c, message: 'a } b'} # short
  - id: third
    group: files
    check: self.d
    message: m
    on: [create,
      patch]

cases:
  - rule: first
    name: list
    self: &item
      a: 2
      b: [x, {y: 1}]
    expect: pass
  - {rule: first, name: same, self: *item, expect: fail}
  - rule: first
    name: new
    expect: fail
    self: {b: ü}
    old:   # none
";
    let folder = folder(&[("rules.yaml", file)]);
    let rules = load(folder.path()).unwrap_or_else(|errors| panic!("{errors}"));
    let first = rules.written("first").expect("the rule");
    assert_eq!(
        first.definition,
        "id: first\ngroup: files\ncheck: | # of the first\n  self.a > 1\n    && self.b == ' # no comment'\nmessage: | # two lines\n  wrong\n  indeed"
    );
    let cases: Vec<_> = first.cases.iter().map(|case| (&*case.name, &*case.definition)).collect();
    assert_eq!(
        cases,
        [
            (
                "list",
                "rule: first\nname: list\nself: &item\n  a: 2\n  b: [x, {y: 1}]\nexpect: pass"
            ),
            ("same", "{rule: first, name: same, self: *item, expect: fail}"),
            ("new", "rule: first\nname: new\nexpect: fail\nself: {b: ü}\nold:   # none")
        ]
    );
    let second = rules.written("second").expect("the rule");
    assert_eq!(
        second.definition,
        "{id: second, group: files, check: self.c, message: 'a } b'} # short"
    );
    let third = rules.written("third").expect("the rule");
    assert!(third.definition.ends_with("on: [create,\n  patch]"), "{}", third.definition);
    assert_eq!((second.cases.len(), rules.written("fourth")), (0, None));
}

#[test]
fn rules_of_one_line_are_told_apart() {
    let file = r#"{"rules": [{"id": "a", "group": "files", "check": "self.x", "message": "m"}, {"id": "b", "group": "files", "check": "self.y", "message": "m"}]}"#;
    let folder = folder(&[("rules.json", file)]);
    let rules = load(folder.path()).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(
        rules.written("b").expect("the rule").definition,
        r#"{"id": "b", "group": "files", "check": "self.y", "message": "m"}"#
    );
}
