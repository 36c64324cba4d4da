//! Summaries of policies, and warnings of likely mistakes.

use jiff::civil::date;

use crate::files::{folder, load, plain, rows};

fn check(text: &str) -> (Vec<String>, Vec<String>) {
    let folder = folder(&[("p.yaml", text)]);
    let (policies, today) = (load(folder.path()), date(2026, 6, 1));
    let plain = |lines: Vec<String>| lines.iter().map(|line| plain(line, &folder)).collect();
    (plain(policies.summaries(today)), plain(policies.warnings(today)))
}

const SUMMARIES: &str = "
group: files, allow: [read], to: [anyone] => Anyone may read items of files.
group: [files, lib, status], deny: [write], to: [signed_in]
    => Every known caller may not create, replace, patch or delete items of files, lib and status.
group: files, allow: [update], to: [a, b], when: meta.created_by == caller.id
    => Callers with the role `a` or `b` may replace and patch items of files, if `meta.created_by == caller.id`.
group: files, allow: [read], to: [a], effective: {from: 2026-05-01}
    => Callers with the role `a` may read items of files, from 2026-05-01.
group: files, allow: [read], to: [a], effective: {from: 2026-07-01, until: 2026-07-31}
    => Callers with the role `a` may read items of files, from 2026-07-01 until 2026-07-31, not in force today.
";

#[test]
fn a_summary_is_one_sentence() {
    for (keys, sentence) in rows(SUMMARIES) {
        let (summaries, _) = check(&format!("policies:\n- {{id: p, {keys}}}\n"));
        let sentence = sentence.strip_suffix('.').expect("a sentence");
        assert_eq!(summaries, [format!("p (p.yaml:2): {sentence} [index].")]);
    }
}

const SOUND: &str = "
policies:
- {id: reads, group: files, allow: [read], to: [signed_in]}
- {id: writes, group: files, allow: [write], to: [author]}
- {id: suspended, group: files, deny: [read], to: [suspended]}
matrix:
  callers: {author: {id: 'a:1', roles: [author]}, suspended: {id: 'a:2', roles: [suspended]}}
  items: {file: {group: files, self: {sampled: {deep: 1}}}}
  expect: {author: {file: [read, write]}, suspended: {file: []}}
";

#[test]
fn sound_policies_are_not_warned_of() {
    assert_eq!(check(SOUND).1, [""; 0]);
}

/// Policies, and the beginnings of the warnings about each.
const MISTAKES: &str = "
id: x, group: lib, allow: [read], to: [author]
    => `x` decides no case and no cell of a matrix; add one to `cases` or `matrix`
id: x, group: files, allow: [create, update, delete], to: [author]
    => `x` does the same as `writes`; remove one
id: x, group: files, deny: [create], to: [autor]
    => no policy allows the role `autor` an operation; did you mean `author`? & `x` decides no case
id: x, group: files, allow: [write], to: [author], effective: {until: 2026-05-31}
    => the policy has expired: it was in force until 2026-05-31
id: x, group: files, allow: [read], to: [everyone]
    => `everyone` is read as the name of a role; did you mean `anyone`? & `x` decides
id: x, group: files, allow: [read], to: [signed_in, author]
    => `signed_in` makes the other names in `to` redundant; remove them
id: x, group: files, allow: [update], to: [clerk], when: 'self.proposal_id == caller.project', change: has(self.title)
    => callers can give themselves the right by `x`, which depends on `proposal_id` of `files`; add `change: self.proposal_id == old.proposal_id` & `x` decides
id: x, group: files, allow: [write], to: [clerk], when: 'self.proposal_id == caller.project'
    => `x` decides
id: x, group: proposals, allow: [read], to: [clerk], when: self.created_by == caller.id || self.reserch_type == 'a'
    => `proposals` have no field `created_by`: it is always absent; did you mean `meta.created_by`? & `proposals` have no field `reserch_type`: it is always absent; did you mean `research_type`? & databases read & `x` decides
id: x, group: proposals, hide: [created_by], to: [author]
    => `proposals` have no field `created_by`: it is always absent & `x` decides
id: x, group: files, hide: [file_name, /sampled/deep], to: [author]
    => `file_name` is not a usual member, and no item of a case has it; did you mean `filename`?; correct it, or add it to a case
id: x, group: files, allow: [read], to: [clerk], when: 'self.document_type == \"cv\"'
    => databases read the members of every item for it & `x` decides
";

#[test]
fn likely_mistakes_are_warned_of() {
    for (policy, reasons) in rows(MISTAKES) {
        let (_, warnings) = check(&SOUND.replace("matrix:", &format!("- {{{policy}}}\nmatrix:")));
        let reasons: Vec<_> = reasons.split(" & ").collect();
        assert_eq!(warnings.len(), reasons.len(), "{warnings:#?}");
        for (warning, reason) in warnings.iter().zip(reasons) {
            let text = warning.strip_prefix("p.yaml:6:3: warning: ").expect("a place");
            assert!(text.starts_with(reason), "{warning}");
        }
    }
}

const ASSIGNED: &str = "
policies:
- {id: reads, group: proposals, allow: [read], to: [signed_in], lookup: {sheets: 'gadscores[proposal_id = self.id]'}, when: 'size(sheets) > 0'}
- {id: assigns, group: gadscores, allow: [OPERATIONS], to: [signed_in]}
";

#[test]
fn a_warning_of_a_right_names_what_its_policy_can_do() {
    for (operations, fix) in [
        ("create", "let other roles create it"),
        (
            "update",
            "add `change: self.proposal_id == old.proposal_id`, or let other roles write it",
        ),
        (
            "create, update",
            "let other roles create it, and allow changes in a policy with `change: self.proposal_id == old.proposal_id`",
        ),
    ] {
        let (_, warnings) = check(&ASSIGNED.replace("OPERATIONS", operations));
        let found =
            warnings.iter().any(|warning| warning.ends_with(&format!("`gadscores`; {fix}")));
        assert!(found, "{operations}: {warnings:#?}");
    }
}
