//! Rules that are sound, and likely not what their author meant.

use jiff::civil::date;

use crate::files::{folder, load, plain, rows};

/// The warnings about a file: `LINE:COLUMN: REASON` each.
fn warnings(text: &str) -> Vec<String> {
    let folder = folder(&[("rules.yaml", text)]);
    let warnings = load(folder.path()).warnings(date(2026, 6, 1));
    let plain = |warning: &String| {
        plain(warning, &folder).replace("rules.yaml:", "").replace(" warning:", "")
    };
    warnings.iter().map(plain).collect()
}

const START: &str = "- {id: r, message: m, ";

fn warnings_of(keys: &str) -> Vec<String> {
    let found = [("{p:", "p: null, "), ("{l:", "l: [], ")]
        .map(|(lookup, found)| if keys.contains(lookup) { found } else { "" });
    let case = format!("- {{rule: r, name: n, self: {{}}, {}expect: pass}}", found.concat());
    warnings(&format!("rules:\n{START}{keys}}}\ncases:\n{case}\n"))
}

/// Rules, and the one warning about each: its place, marked `§`, and a part of its reason.
const MISTAKES: &str = r#"
group: files, check: '§self.size > 1'
    => `size` is not a known member of `files`; did you mean `size_bytes`?
    Declare a member of your own with `members: {files: [size]}`
group: files, check: 'has(§self.filname)' => did you mean `filename`?
group: files, check: 'old == null || §old.filname == null' => `filname`
group: files, check: '§self["filname"] == null' => `filname`
group: proposals, check: '§self.project_titel != null'
    => `proposals` have no field `project_titel`: it is always absent; did you mean `project_title`?
group: files, lookup: {p: 'proposals[§self.proposl_id]'}, check: 'p == null' => did you mean `proposal_id`?
group: files, lookup: {p: 'proposals[self.proposal_id]'}, check: 'p == null || §p.titel != null'
    => `proposals` have no field `titel`
group: proposals, lookup: {l: 'lib[parent = self.id]'}, check: 'l.all(x, §x.amout != null && x.parent == self.id)'
    => `amout` is not a known member of `lib`; did you mean `amount`?
group: files, field: §/filname/0, check: 'has(self.filename)' => `field` points to no member: `filname` is not a known member
§group: files, when: 'false', check: 'has(self.filename)' => its `when` is false
§group: files, on: [create], when: 'old != null && has(self.filename)', check: 'has(self.filename)' => the rule never applies
§group: files, on: [create], check: 'old == null || has(self.filename)' => its `check` is true for every write
§group: files, on: [patch], when: 'old == null', check: 'has(self.filename)' => the rule never applies
§group: files, effective: {until: 2026-05-31}, check: 'has(self.filename)'
    => the rule has expired: it was in force until 2026-05-31
group: proposals, check: '§self.start_date > "2026-1-1"' => a date is compared with `2026-1-1`, which is not a date
group: proposedprograms, check: '§self.start_date in ["soon", "2026-01-01"]' => compared with `soon`
group: files, check: 'today < "§2026/01/01" || has(self.filename)' => `2026/01/01`
group: proposals, check: '§self.start_date + 30 < self.end_date' => write add_days(date, n)
"#;

#[test]
fn each_likely_mistake_is_reported_with_its_place() {
    for (marked, reason) in rows(MISTAKES) {
        // A warning about the rule as a whole is at its beginning.
        let column = match marked.split_once('§') {
            Some((before, _)) if !before.is_empty() => START.len() + before.chars().count() + 1,
            _ => 3,
        };
        let found = warnings_of(&marked.replace('§', ""));
        let place = format!("2:{column}: ");
        let is_that = matches!(&found[..], [warning] if warning.starts_with(&place) && warning.contains(&reason));
        assert!(is_that, "{marked}\n{place} {reason}\n{found:#?}");
    }
}

#[test]
fn sound_rules_have_no_warning() {
    for keys in [
        "group: files, field: /filename, check: 'has(self.filename) && self.id != \"\"'",
        "group: proposals, field: /specific_objectives/0, check: 'self.start_date >= \"2026-01-01\"'",
        "group: files, field: /id, effective: {until: 2026-06-01}, check: 'has(self.size_bytes)'",
        "group: files, check: 'old == null || self.filename + \"x\" != \"soon\"'",
        "group: status, check: 'caller.id != null && parent == null && self.to_code != \"x\"'",
    ] {
        assert_eq!(warnings_of(keys), Vec::<String>::new(), "{keys}");
    }
}

#[test]
fn a_file_may_declare_members() {
    let text = "members: {files: [shelf, box], cashprogram: [ledger_no]}\nrules:\n- {id: r, group: files, field: /box, check: 'self.shelf > 1 && self.ledger_no > 1', message: m}\ncases:\n- {rule: r, name: n, self: {}, expect: fail}\n";
    let found = warnings(text);
    assert!(
        matches!(&found[..], [one] if one.contains("`ledger_no` is not a known member of `files`")),
        "{found:#?}"
    );
    let found =
        warnings(&text.replace("self.shelf", "self.shelv").replace("ledger_no > 1", "box > 1"));
    assert!(matches!(&found[..], [one] if one.contains("did you mean `shelf`?")), "{found:#?}");
}

#[test]
fn a_rule_without_a_case_is_reported_at_its_place() {
    let found =
        warnings("rules:\n- {id: r, group: files, check: 'has(self.filename)', message: m}\n");
    assert_eq!(found, ["2:3: `r` has no case; add one to `cases`"]);
}
