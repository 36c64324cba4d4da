//! Cases of files, run as the service would judge the writes.

use application::CaseReport;

use crate::files::{folder, load, plain};

fn run(case: &str) -> CaseReport {
    let folder = folder(&[("rules.yaml", &format!("{RULES}- {{name: n, {case}}}"))]);
    let mut reports = load(folder.path()).run_cases();
    assert_eq!(reports.len(), 1, "{case}");
    let report = reports.remove(0);
    CaseReport { line: plain(&report.line, &folder), ..report }
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
- id: chain
  group: files
  lookup: {proposal: 'proposals[self.proposal_id]', programme: 'proposedprograms[proposal.program_id]'}
  check: programme == null || programme.open
  message: is closed
cases:
";

#[test]
fn cases_are_judged_as_writes() {
    for case in [
        "rule: open, self: {status: open}, expect: pass",
        "rule: open, self: {status: closed}, expect: fail",
        // The guard does not apply: a member that is null is absent in a proposal.
        "rule: open, self: {status: null}, expect: pass",
        "rule: frozen, self: {a: 1}, expect: pass",
        "rule: frozen, self: {a: 1}, old: null, expect: pass",
        "rule: frozen, self: {a: 1}, old: {a: 2}, expect: fail",
        "rule: frozen, self: {a: 1}, old: {a: 2}, on: delete, expect: pass",
        "rule: kept, self: {a: 2}, expect: pass",
        "rule: kept, self: {a: 1}, expect: fail",
        "rule: kept, self: {a: 1}, old: {a: 1}, on: replace, expect: pass",
        "rule: dated, self: {}, expect: pass",
        "rule: dated, self: {}, today: 2026-02-28, expect: pass",
        "rule: dated, self: {}, today: 2026-03-02, expect: fail",
        "rule: dated, self: {}, now: '2026-03-01T00:30:00+01:00', expect: pass",
        "rule: mine, self: {}, caller: ann, now: '2026-01-01T10:00:00Z', expect: pass",
        "rule: mine, self: {}, caller: {id: ann}, now: '2026-01-01T10:00:00Z', expect: pass",
        "rule: mine, self: {}, caller: null, now: '2026-01-01T10:00:00Z', expect: fail",
        "rule: exact, self: {n: 0.10, m: 3}, expect: pass",
        "rule: cross, self: {}, parent: ID, lookup: {one: {id: ID}, MANY}, expect: pass",
        "rule: cross, self: {}, parent: ID, one: {id: ID}, MANY, expect: pass",
        "rule: cross, self: {}, parent: ID, one: null, MANY, expect: fail",
        "rule: chain, self: {proposal_id: ID}, proposal: {program_id: ID}, programme: {open: true}, expect: pass",
        "rule: chain, self: {proposal_id: ID}, proposal: {program_id: ID}, programme: {open: false}, expect: fail",
        "rule: chain, self: {proposal_id: ID}, proposal: {program_id: ID}, programme: null, expect: pass",
        "rule: chain, self: {proposal_id: ID}, proposal: null, programme: null, expect: pass",
        // The key cannot be evaluated.
        "rule: chain, self: {proposal_id: ID}, proposal: {}, programme: null, expect: fail",
    ] {
        let case = case.replace("MANY", "many: [{parent: ID}, {}]");
        let report = run(&case.replace("ID", "01980000-0000-7000-8000-000000000001"));
        assert!(report.passed, "{case}: {}", report.line);
    }
}

#[test]
fn a_report_has_the_place_and_the_message_of_its_case() {
    let report = run("rule: open, self: {status: closed}, expect: pass");
    assert!(!report.passed);
    assert_eq!(report.line, "WRONG rules.yaml:20: open: n: fail, expected pass: must be open");
}
