//! All errors of rule files are reported at once, each with its location and its fix.

use std::fmt::Write as _;
use std::fs;

use crate::files::{assert_error, assert_errors, errors, errors_of, folder, load, load_text, rows};
use crate::read;

#[test]
fn each_error_of_a_file_has_its_location_and_fix() {
    for (text, expected) in [
        ("rules: [", "1: this is not YAML"),
        ("rules:\n\t- id: x", "2:2: tabs"),
        ("rules:\n- check: a: b", "2:11: in the lines below `|`"),
        ("rules:\n- check: !has(self.x)", "2: `|`"),
        ("- id: x", "1:1: a rule file must be a mapping of keys to values, not a list"),
        ("rules: []\n---\nrules: []", "2:1: one YAML document"),
        ("rules: []\nrule: 1", "2:1: did you mean `rules`?"),
        ("rules: 5", "1:8: `rules` must be a list, not a number"),
        ("rules: [5]", "1:9: a rule must be a mapping"),
        ("rules:\n- &a [*a]", "2:7: the alias is inside"),
    ] {
        assert_error(text, expected);
    }
}

/// Lines after those of a sound rule.
const FAULTS_OF_RULES: &str = r#"
checks: x => 8:3: a rule has no key `checks`; did you mean `check`?
id: y => 8:3: more than once, first in line 2
severity: errror => 8:13: did you mean `error`? known: `error`, `warning`
severity: 5 => 8:13: `severity` must be a string, not a number
field: title => 8:10: write `/title`
field: /a~2 => 8:10: `~` is written `~0`
description: [a] => 8:16: `description` must be a string, not a list
source: => 8: `source` is empty
when: [self.x] => 8:9: but YAML reads it as a list
effective: 2026-01-01 => 8:14: `effective` must be a mapping
effective: {from: 2026-02-30} => 8:21: a date as YYYY-MM-DD, not `2026-02-30`
effective: {from: 2026-01-01T00:00:00} => 8:21: must be a date as
effective: {since: 2026-01-01} => 8:15: known: `from`, `until`
effective: {from: 2026-02-01, until: 2026-01-31} => 8:14: would end on 2026-01-31, before it begins on 2026-02-01
message_expression: '"x"' => 8:23: a `message` and a `message_expression`; keep one
lookup: [a] => 8:11: `lookup` must be a mapping
lookup: {a: files} => 8:15: `files` is not a lookup; write `COLLECTION[ID]`
lookup: {a: 'file[self.x]'} => 8:15: no collection `file`; did you mean `files`?
lookup: {self: 'files[self.x]'} => 8:12: cannot be named `self`
lookup: {expect: 'files[self.x]'} => 8:12: cannot be named `expect`
lookup: {a-b: 'files[self.x]'} => 8:12: `a-b` cannot name a lookup
lookup: {a: 'files[id = self.x]'} => 8:22: write `files[ID]`
lookup: {a: 'files[parent = self.x]'} => 8:22: have no parent
lookup: {a: 'proposals[program = self.x]'} => 8:26: no field `program`; did you mean `program_id`?
lookup: {proposal: 'proposals[self.x]', b: 'files[propsal.x]'} => 8:53: no variable `propsal`; did you mean `proposal`?
lookup: {a: 'files[a.x]'} => 8:22: the key of `a` uses `a` itself
lookup: {a: 'files[has(b.x) ? b.x : null]', b: 'files[self.x]'} => 8:26: move `b` before `a`
lookup: {a: 'files[b.x]', b: 'files[a.x]'} => 8:22: `a` needs `b`, which needs `a`; change one of their keys
lookup: {a: 'files[c.x]', b: 'files[a.x]', c: 'files[b.x]'} => 8:22: `a` needs `c`, which needs `a`
lookup: {a: 'files[x = self.x]', b: 'files[a.x]'} => 8:46: must be a map, not a list
"#;

#[test]
fn each_error_of_a_rule_has_its_location_and_fix() {
    assert_errors(
        "rules:\n- {id: r, group: files, on: [create], check: 'true', message: no}",
        &[
            ("id: r, ", "", "2:3: needs the key `id`"),
            ("group: files, ", "", "2:3: needs the key `group`"),
            ("check: 'true', ", "", "2:3: needs the key `check`"),
            (", message: no", "", "2:3: needs a `message` or a `message_expression`"),
            ("id: r", "id: Big", "2:8: lower-case letters"),
            ("id: r", "id: dates_in_order", "2:3: the id `dates_in_order` is reserved"),
            ("files", "proposal", "2:18: did you mean `proposals`?"),
            ("[create]", "create", "2:29: `on` must be a list, not a string"),
            ("[create]", "[]", "2:29: `on` is empty"),
            ("[create]", "[create, remove]", "2:38: `delete`"),
        ],
    );
    let sound =
        "rules:\n- id: r\n  group: files\n  check: 'true'\n  message: no\n  on:\n  - create\n";
    for (line, expected) in rows(FAULTS_OF_RULES) {
        assert_error(&format!("{sound}  {line}"), &expected);
    }
    let nine: Vec<_> = (1..=9).map(|number| format!("a{number}: 'files[self.x]'")).collect();
    let nine = format!("{sound}  lookup: {{{}}}", nine.join(", "));
    assert_error(&nine, "8:180: at most 8 lookups");
}

#[test]
fn each_error_of_a_case_has_its_location_and_fix() {
    let rule = "rules:\n- {id: r, group: files, check: 'true', message: no, lookup: {one: 'lib[self.x]', many: 'lib[parent = self.x]'}}\ncases:\n";
    let case = "- {rule: r, name: n, self: {}, one: null, many: [], expect: pass}";
    assert_errors(
        &format!("{rule}{case}"),
        &[
            (case, "- {name: n, self: {}, expect: pass}", "4:3: needs the key `rule`"),
            (case, "- {rule: s, name: n, self: {}, expect: pass}", "4:10: there is no rule `s`"),
            (" name: n,", "", "4:3: needs the key `name`"),
            (" self: {},", "", "4:3: needs the key `self`"),
            (", expect: pass", "", "4:3: needs the key `expect`"),
            ("expect: pass", "expect: passes", "4:61: did you mean `pass`?"),
            ("self: {}", "self: []", "4:28: an item must be a mapping of its members, not a list"),
            (" one: null,", "", "4:3: has no result for the lookup `one`; add `one:`"),
            ("one: null", "one: []", "4:37: `one` finds one item"),
            ("one: null, many: []", "lookup: {one: null, many: null}", "4:58: `many` finds a list"),
            ("one: null, many: []", "lookup: {one: null, many: [], more: []}", "4:62: `more`"),
            ("one: null", "one: {id: x}", "4:42: `id` must be the id of an item"),
            ("self: {}", "self: {a: 0x1F}", "4:32: `0x1F` is not a JSON number"),
            ("{},", "{}, today: 1.1.2026,", "4:39: a date as YYYY-MM-DD"),
            ("{},", "{}, now: noon,", "4:37: `now` must be a time such as 2026-01-31T12:00:00Z"),
            ("{},", "{}, on: replace,", "4:36: needs `old`"),
            ("{},", "{}, old: {}, on: create,", "4:45: a create has no `old`"),
            ("{},", "{}, caller: {name: x},", "4:40: `caller` needs the key `id`"),
        ],
    );
}

#[test]
fn all_errors_of_all_files_are_reported_at_once() {
    let folder = folder(&[
        ("a.yaml", "rules:\n- {id: r, group: fils, check: 'true', message: no, severity: bad}"),
        ("b.yml", "rules: ["),
        (
            "c.json",
            r#"{"rules": [{"id": "r", "group": "files", "check": "true", "message": "no"}], "cases": [{"rule": "s"}]}"#,
        ),
    ]);
    let errors = errors_of(&folder);
    let places: Vec<_> = errors.iter().filter_map(|line| line.split(": ").next()).collect();
    let expected = "a.yaml:2:18 a.yaml:2:62 b.yml:1:8 c.json:1:12 c.json:1:88 c.json:1:88 c.json:1:88 c.json:1:97";
    assert_eq!(places.join(" "), expected, "{errors:#?}");
}

#[test]
fn only_rule_files_of_the_folder_itself_are_read() {
    let rule = |id: &str| {
        format!(
            r#"{{"rules": [{{"id": "{id}", "group": "files", "check": "true", "message": "no"}}]}}"#
        )
    };
    let folder = folder(&[
        ("b.yaml", &rule("second")),
        ("a.yml", &rule("first")),
        ("c.json", &rule("third")),
        (".hidden.yaml", "rules: ["),
        ("notes.txt", "rules: ["),
    ]);
    fs::create_dir(folder.path().join("d.yaml")).expect("a folder");
    fs::write(folder.path().join("d.yaml/e.yaml"), "rules: [").expect("a file");
    assert_eq!(load(folder.path()).ids(), ["first", "second", "third"]);
}

#[test]
fn unreadable_files_are_reported() {
    let folder =
        folder(&[("large.yaml", &"#".repeat((1 << 20) + 1)), ("empty.yaml", "# nothing\n")]);
    fs::write(folder.path().join("latin.yaml"), b"rules: \xe9").expect("a file");
    std::os::unix::fs::symlink("missing", folder.path().join("link.yaml")).expect("a link");
    let errors = errors_of(&folder).join("\n");
    for reason in [
        "large.yaml: cannot be read: it is larger than",
        "empty.yaml: the file is empty",
        "latin.yaml: is not UTF-8 from byte 7",
        "link.yaml: cannot be read",
    ] {
        assert!(errors.contains(reason), "{reason}: {errors}");
    }
    let errors = read(&folder.path().join("missing.yaml")).err().expect("errors").to_string();
    assert!(errors.contains("missing.yaml: cannot be read: No such file"), "{errors}");
}

#[test]
fn hostile_yaml_is_refused() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let mut bomb = format!("a: &a [{}]\n", ["x"; 9].join(", "));
    for pair in names.windows(2) {
        let of = vec![format!("*{}", pair[0]); 8].join(", ");
        writeln!(bomb, "{name}: &{name} [{of}]", name = pair[1]).expect("a string");
    }
    let case = "rules: [{id: r, group: files, check: 'true', message: no}]\ncases: [{rule: r, name: n, expect: pass, self: {x: *h}}]";
    assert!(errors(&format!("{bomb}{case}")).iter().any(|error| error.contains("bytes in total")));
    let deep_aliases: Vec<_> =
        (1..200).map(|number| format!("a{number}: &a{number} [*a{}]", number - 1)).collect();
    for (text, reason) in [
        (format!("a0: &a0 x\n{}", deep_aliases.join("\n")), "nested more than 128 deep"),
        ("[".repeat(100_000), "this is not YAML"),
        ("- ".repeat(100_000), "this is not YAML"),
        (format!("rules: [{}]", "x,".repeat(310_000)), "more than 300000 YAML values"),
    ] {
        assert!(errors(&text)[0].contains(reason), "{reason}");
    }
    let many = errors(&format!("rules:\n{}", "- {}\n".repeat(1_000)));
    assert_eq!((many.len(), many[100].as_str()), (101, "and 3900 more"));
}

#[test]
fn the_summary_of_a_lookup_shows_whether_its_member_has_an_index() {
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
        let rules = load_text(&text);
        let summary = rules.rules().next().expect("a rule").summary(jiff::civil::date(2026, 1, 1));
        let how = if is_indexed { "indexed" } else { "scans the whole collection" };
        let line = format!("  looks up   x: {collection} by `{member}`, {how}\n");
        assert!(summary.contains(&line), "{line}\n{summary}");
    }
}

#[test]
fn a_lookup_in_one_line_is_quoted() {
    let rule = |lookups: &str| {
        let start = format!("rules:\n- id: r\n  group: proposals\n  lookup: {lookups}\n");
        start + "  check: 'true'\n  message: m\n"
    };
    let quoted = "{program: 'proposedprograms[self.program_id]', lib: 'lib[parent = self.id]', same: 'proposals[program_id = self.program_id]'}";
    let rules = load_text(&rule(quoted));
    let summary = rules.rules().next().expect("a rule").summary(jiff::civil::date(2026, 1, 1));
    let lookups: Vec<_> =
        summary.lines().filter_map(|line| line.strip_prefix("  looks up   ")).collect();
    assert_eq!(
        lookups,
        [
            "program: proposedprograms by id",
            "lib: lib by parent",
            "same: proposals by `program_id`, indexed",
        ]
    );
    for (lookups, place) in [
        ("{program: proposedprograms[self.program_id]}", "4:37:"),
        ("{lib: lib[parent = self.id], same: proposals[program_id = self.program_id]}", "4:20:"),
    ] {
        assert_error(&rule(lookups), &format!("{place} put a lookup within `{{…}}` in quotes"));
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

  # Of no rule.
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
    let rules = load_text(file);
    let first = rules.written("first").expect("the rule");
    assert_eq!(
        first.definition,
        "id: first\ngroup: files\ncheck: | # of the first\n  self.a > 1\n    && self.b == ' # no comment'\nmessage: | # two lines\n  wrong\n  indeed"
    );
    let cases: Vec<_> = first.cases.iter().map(|case| (&*case.name, &*case.definition)).collect();
    let list = "rule: first\nname: list\nself: &item\n  a: 2\n  b: [x, {y: 1}]\nexpect: pass";
    let same = "{rule: first, name: same, self: *item, expect: fail}";
    let new = "rule: first\nname: new\nexpect: fail\nself: {b: ü}\nold:   # none";
    assert_eq!(cases, [("list", list), ("same", same), ("new", new)]);
    let second = rules.written("second").expect("the rule");
    let short = "{id: second, group: files, check: self.c, message: 'a } b'} # short";
    assert_eq!(second.definition, short);
    let third = rules.written("third").expect("the rule");
    assert!(third.definition.ends_with("on: [create,\n  patch]"), "{}", third.definition);
    assert_eq!((second.cases.len(), rules.written("fourth")), (0, None));
}

#[test]
fn rules_of_one_line_are_distinguished() {
    let file = r#"{"rules": [{"id": "a", "group": "files", "check": "self.x", "message": "m"}, {"id": "b", "group": "files", "check": "self.y", "message": "m"}]}"#;
    let rules = load(folder(&[("rules.json", file)]).path());
    let second = r#"{"id": "b", "group": "files", "check": "self.y", "message": "m"}"#;
    assert_eq!(rules.written("b").expect("the rule").definition, second);
}
