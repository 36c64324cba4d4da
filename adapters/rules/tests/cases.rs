//! Cases of files, run as the service would judge the writes.

use std::fs;

use application::CaseReport;
use rules_adapter::RuleSet;

fn run(text: &str) -> Vec<CaseReport> {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("rules.yaml"), text).expect("a file");
    RuleSet::load(folder.path(), &[]).unwrap_or_else(|errors| panic!("{errors}")).run_cases()
}

const RULES: &str = "
rules:
- {id: open, group: proposals, when: has(self.status), check: \"self.status == 'open'\", message: must be open}
- {id: frozen, group: files, check: 'old == null || old.a == self.a', message: a is frozen}
- {id: kept, group: files, on: [delete], check: 'old.a == self.a && self.a != 1', message: is kept}
- {id: dated, group: files, effective: {from: 2026-03-01}, check: \"today == '2026-03-01'\", message_expression: today}
- {id: mine, group: files, check: \"caller.id == 'ann' && now == timestamp('2026-01-01T10:00:00Z')\", message: not mine}
- {id: exact, group: files, check: \"decimal(self.n) == decimal('0.10') && self.m == 3\", message: not exact}
- id: cross
  group: lib
  lookup: {one: 'proposals[parent]', many: 'lib[parent = parent]'}
  check: one != null && one.id == parent && size(many) == 2 && many[0].parent == parent && many[0].id != many[1].id && self.id != many[0].id
  message: does not fit
cases:
";

#[test]
fn cases_are_judged_as_writes() {
    let id = "01980000-0000-7000-8000-000000000001";
    let many = format!("[{{parent: {id}}}, {{}}]");
    for (case, is_as_expected) in [
        ("rule: open, self: {status: open}, expect: pass".to_owned(), true),
        ("rule: open, self: {status: closed}, expect: fail".into(), true),
        ("rule: open, self: {status: closed}, expect: pass".into(), false),
        // The guard does not apply: what is null is absent in a proposal.
        ("rule: open, self: {status: null}, expect: pass".into(), true),
        ("rule: frozen, self: {a: 1}, expect: pass".into(), true),
        ("rule: frozen, self: {a: 1}, old: null, expect: pass".into(), true),
        ("rule: frozen, self: {a: 1}, old: {a: 2}, expect: fail".into(), true),
        ("rule: frozen, self: {a: 1}, old: {a: 2}, on: delete, expect: pass".into(), true),
        ("rule: kept, self: {a: 2}, expect: pass".into(), true),
        ("rule: kept, self: {a: 1}, expect: fail".into(), true),
        ("rule: kept, self: {a: 1}, old: {a: 1}, on: replace, expect: pass".into(), true),
        ("rule: dated, self: {}, expect: pass".into(), true),
        ("rule: dated, self: {}, today: 2026-02-28, expect: pass".into(), true),
        ("rule: dated, self: {}, today: 2026-03-02, expect: fail".into(), true),
        ("rule: dated, self: {}, now: '2026-03-01T00:30:00+01:00', expect: pass".into(), true),
        (
            "rule: mine, self: {}, caller: ann, now: '2026-01-01T10:00:00Z', expect: pass".into(),
            true,
        ),
        (
            "rule: mine, self: {}, caller: {id: ann}, now: '2026-01-01T10:00:00Z', expect: pass"
                .into(),
            true,
        ),
        (
            "rule: mine, self: {}, caller: null, now: '2026-01-01T10:00:00Z', expect: fail".into(),
            true,
        ),
        ("rule: exact, self: {n: 0.10, m: 3}, expect: pass".into(), true),
        (
            format!(
                "rule: cross, self: {{}}, parent: {id}, lookup: {{one: {{id: {id}}}, many: {many}}}, expect: pass"
            ),
            true,
        ),
        (
            format!(
                "rule: cross, self: {{}}, parent: {id}, one: {{id: {id}}}, many: {many}, expect: pass"
            ),
            true,
        ),
        (
            format!("rule: cross, self: {{}}, parent: {id}, one: null, many: {many}, expect: fail"),
            true,
        ),
    ] {
        let outcomes = run(&format!("{RULES}- {{name: n, {case}}}"));
        assert!(
            matches!(&outcomes[..], [outcome] if outcome.passed == is_as_expected),
            "{case}\n{outcomes:#?}"
        );
    }
}

#[test]
fn an_outcome_says_where_the_case_is_and_what_was_said() {
    let outcomes = run(&format!(
        "{RULES}- {{name: a closed one, rule: open, self: {{status: closed}}, expect: pass}}"
    ));
    let shown = &outcomes[0].line;
    let (before, after) = shown.split_once("rules.yaml").expect("the file");
    assert!(before.starts_with("WRONG /"), "{shown}");
    assert_eq!(after, ":15: open: a closed one: fail where pass was expected: must be open");
}
