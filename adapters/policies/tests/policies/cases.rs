//! Cases and matrices of files, decided as the service would decide on the requests.

use application::CaseReport;

use crate::files::{folder, load, plain};

const POLICIES: &str = "
policies:
- {id: read, group: files, allow: [read], to: [anyone]}
- {id: own, group: files, allow: [update], to: [author], when: meta.created_by == caller.id}
- {id: later, group: files, allow: [delete], to: [author], effective: {from: 2026-02-01}}
- {id: never, group: files, deny: [update], to: [suspended]}
";

fn run(text: &str) -> Vec<CaseReport> {
    let folder = folder(&[("p.yaml", &format!("{POLICIES}{text}"))]);
    let policies = load(folder.path());
    let reports = policies.run_cases();
    assert_eq!(reports.len(), policies.case_count());
    let plain = |report: CaseReport| CaseReport { line: plain(&report.line, &folder), ..report };
    reports.into_iter().map(plain).collect()
}

/// A case, whether it passes, and the policies that decide it.
type Row = (&'static str, bool, &'static [&'static str]);

/// `AUTHOR`, `SUSPENDED` and `ANY` are callers, with a group.
const CASES: &[Row] = &[
    ("ANY, operation: read, expect: allow", true, &["read"]),
    ("caller: null, group: files, operation: read, expect: allow", true, &["read"]),
    ("caller: 'a:1', group: files, operation: read, expect: deny", false, &["read"]),
    ("caller: anonymous, group: lib, operation: read, expect: deny", true, &[]),
    ("caller: anonymous, group: lib, operation: read, expect: allow", false, &[]),
    ("AUTHOR, operation: patch, meta: {created_by: 'a:1'}, expect: allow", true, &["own"]),
    ("AUTHOR, operation: patch, meta: {created_by: 'a:2'}, expect: deny", true, &[]),
    ("AUTHOR, operation: patch, meta: {created_by: null}, expect: deny", true, &[]),
    ("AUTHOR, operation: patch, expect: deny", true, &[]),
    // An anonymous caller is not the creator of an item whose creator is unknown.
    ("ANY, operation: patch, meta: {created_by: null}, expect: deny", true, &[]),
    ("SUSPENDED, operation: patch, meta: {created_by: 'a:1'}, expect: deny", true, &["never"]),
    ("AUTHOR, operation: delete, expect: deny", true, &[]),
    ("AUTHOR, operation: delete, today: 2026-02-01, expect: allow", true, &["later"]),
];

#[test]
fn cases_are_decided_as_requests() {
    for (row, passes, decided_by) in CASES {
        let case = row
            .replace("ANY", "caller: anonymous, group: files")
            .replace("AUTHOR", "caller: {id: 'a:1', roles: [author]}, group: files")
            .replace("SUSPENDED", "caller: {id: 'a:1', roles: [author, suspended]}, group: files");
        let reports = run(&format!("cases:\n- {{name: it, {case}}}\n"));
        let [report] = &reports[..] else { panic!("{case}") };
        assert_eq!(report.passed, *passes, "{case}: {}", report.line);
        assert_eq!(report.decided_by, *decided_by, "{case}");
    }
}

const MATRIX: &str = "
matrix:
  callers: {author: {id: 'a:1', roles: [author]}, public: anonymous}
  items:
    own: {group: files, meta: {created_by: 'a:1'}}
    other: {group: files}
  expect:
    author: {own: [read, update], other: [read]}
    public: {own: [read], other: [read]}
";

#[test]
fn each_cell_of_a_matrix_says_all_that_is_permitted() {
    let reports = run(MATRIX);
    assert_eq!(reports.len(), 4);
    assert!(reports.iter().all(|report| report.passed), "{reports:#?}");
    assert_eq!(reports[0].decided_by, ["own", "read"]);
    let dated = run(&MATRIX.replace("matrix:", "matrix:\n  today: 2026-02-01"));
    let lines: Vec<_> =
        dated.iter().filter(|report| !report.passed).map(|report| report.line.as_str()).collect();
    assert_eq!(
        lines,
        [
            "WRONG p.yaml:15: author, own: [read, replace, patch, delete], expected [read, replace, patch]; decided by later",
            "WRONG p.yaml:15: author, other: [read, delete], expected [read]; decided by later",
        ]
    );
    let more = run(&MATRIX.replace("public: {own: [read]", "public: {own: [read, history]"));
    assert!(
        more[2].line.ends_with("public, own: [read], expected [read, history]; no policy applies"),
        "{}",
        more[2].line
    );
}

#[test]
fn the_line_of_a_case_names_what_decided() {
    let reports = run("cases:
- {name: a write, caller: {id: 'a:1', roles: [suspended]}, operation: patch, group: files, expect: allow}
- {name: a read, caller: anonymous, operation: read, group: files, expect: allow}
");
    assert_eq!(reports[0].line, "WRONG p.yaml:8: a write: deny, expected allow; decided by never");
    assert_eq!(reports[1].line, "ok p.yaml:9: a read: allow");
}

const BLIND: &str = "
policies:
- {id: reads, group: gadscores, allow: [read], to: [anyone], show: [rating, /detail/mean]}
- {id: panel, group: gadscores, allow: [read, update], to: [panel], write: [rating]}
- {id: blind, group: gadscores, hide: [evaluator_id, meta.created_by], to: [panel], when: '!has(self.decided)'}
matrix:
  callers: {panel: {id: 'a:1', roles: [panel]}, public: anonymous}
  items:
    open: {group: gadscores, self: {rating: a, evaluator_id: b, detail: {mean: 1, sum: 2}}, meta: {created_by: 'a:2'}}
    rated: {group: gadscores, self: {rating: c, decided: true}, old: {rating: b, decided: true}}
    moved: {group: gadscores, self: {stage: x}, old: {stage: y, decided: true}}
  expect:
    panel: {open: [read, update], rated: [read, update], moved: [read]}
    public: {open: [read], rated: [read], moved: [read]}
  hidden:
    panel: {open: [evaluator_id, meta.created_by]}
    public: {open: [/detail/sum, evaluator_id, meta.created_by], rated: [decided], moved: [decided, stage]}
";

#[test]
fn a_matrix_says_which_members_are_hidden() {
    let run = |text: &str| {
        let folder = folder(&[("p.yaml", text)]);
        let reports = load(folder.path()).run_cases().into_iter();
        reports.map(|it| (it.passed, plain(&it.line, &folder), it.decided_by)).collect::<Vec<_>>()
    };
    let reports = run(BLIND);
    assert!(reports.iter().all(|(passed, ..)| *passed), "{reports:#?}");
    assert_eq!(reports[0].2, ["blind", "panel", "reads"]);
    let (passed, line, _) =
        &run(&BLIND.replace("panel: {open: [evaluator_id, ", "panel: {open: ["))[0];
    assert!(!passed);
    assert_eq!(
        line,
        "WRONG p.yaml:13: panel, open: [read, replace, patch] without [evaluator_id, meta.created_by], \
         expected [read, replace, patch] without [meta.created_by]; decided by blind"
    );
}
