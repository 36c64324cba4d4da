//! Cases and matrices of files, decided as the service would decide on the requests.

use std::fs;

use application::CaseReport;
use policies_adapter::PolicySet;

const POLICIES: &str = "
policies:
- {id: read, group: files, allow: [read], to: [anyone]}
- {id: own, group: files, allow: [update], to: [author], when: meta.created_by == caller.id}
- {id: later, group: files, allow: [delete], to: [author], effective: {from: 2026-02-01}}
- {id: never, group: files, deny: [update], to: [suspended]}
";

fn run(text: &str) -> Vec<CaseReport> {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("p.yaml"), format!("{POLICIES}{text}")).expect("a file");
    let policies =
        PolicySet::load(folder.path()).unwrap_or_else(|errors| panic!("{text}\n{errors}"));
    let prefix = format!("{}/", folder.path().display());
    let reports = policies.run_cases();
    assert_eq!(reports.len(), policies.case_count());
    let without =
        |report: CaseReport| CaseReport { line: report.line.replace(&prefix, ""), ..report };
    reports.into_iter().map(without).collect()
}

#[test]
fn cases_are_decided_as_requests() {
    let author = "caller: {id: 'a:1', roles: [author]}, group: files";
    let suspended = "caller: {id: 'a:1', roles: [author, suspended]}, group: files";
    for (case, passes, decided_by) in [
        ("caller: anonymous, group: files, operation: read, expect: allow".to_owned(), true, &["read"][..]),
        ("caller: null, group: files, operation: read, expect: allow".into(), true, &["read"]),
        ("caller: 'a:1', group: files, operation: read, expect: deny".into(), false, &["read"]),
        ("caller: anonymous, group: lib, operation: read, expect: deny".into(), true, &[]),
        ("caller: anonymous, group: lib, operation: read, expect: allow".into(), false, &[]),
        (format!("{author}, operation: patch, meta: {{created_by: 'a:1'}}, expect: allow"), true, &["own"]),
        (format!("{author}, operation: patch, meta: {{created_by: 'a:2'}}, expect: deny"), true, &[]),
        (format!("{author}, operation: patch, meta: {{created_by: null}}, expect: deny"), true, &[]),
        (format!("{author}, operation: patch, expect: deny"), true, &[]),
        // Nobody did not create what nobody is known to have created.
        ("caller: anonymous, group: files, operation: patch, meta: {created_by: null}, expect: deny".into(), true, &[]),
        (format!("{suspended}, operation: patch, meta: {{created_by: 'a:1'}}, expect: deny"), true, &["never"]),
        (format!("{author}, operation: delete, expect: deny"), true, &[]),
        (format!("{author}, operation: delete, today: 2026-02-01, expect: allow"), true, &["later"]),
    ] {
        let reports = run(&format!("cases:\n- {{name: it, {case}}}\n"));
        let [report] = &reports[..] else { panic!("{case}") };
        assert_eq!(report.passed, passes, "{case}: {}", report.line);
        assert_eq!(report.decided_by, decided_by, "{case}");
    }
}

const MATRIX: &str = "
matrix:
  callers: {author: {id: 'a:1', roles: [author]}, nobody: anonymous}
  items:
    own: {group: files, meta: {created_by: 'a:1'}}
    other: {group: files}
  expect:
    author: {own: [read, update], other: [read]}
    nobody: {own: [read], other: [read]}
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
            "WRONG p.yaml:15: author, own: [read, replace, patch, delete] where [read, replace, patch] was expected; decided by later",
            "WRONG p.yaml:15: author, other: [read, delete] where [read] was expected; decided by later",
        ]
    );
    let more = run(&MATRIX.replace("nobody: {own: [read]", "nobody: {own: [read, history]"));
    assert!(
        more[2].line.ends_with(
            "nobody, own: [read] where [read, history] was expected; no policy is about it"
        ),
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
    assert_eq!(
        reports[0].line,
        "WRONG p.yaml:8: a write: deny where allow was expected; decided by never"
    );
    assert_eq!(reports[1].line, "ok p.yaml:9: a read: allow");
}
