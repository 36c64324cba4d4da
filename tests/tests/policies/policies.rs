//! The policies under test: their files, and their rights to read.

use std::fmt::Write as _;

use fastrand::Rng;
use tests::random_query::one;

use crate::model::{Audience, Condition, HidePolicy, ItemPolicy, Lookup};
use crate::world::GROUPS;

const APPLICANTS: &str = include_str!("../../../docs/examples/policies/applicants.yaml");
const REVIEWERS: &str = include_str!("../../../docs/examples/policies/reviewers.yaml");
const PUBLIC: &str = include_str!("../../../docs/examples/policies/public.yaml");

/// The builders of the store may do everything in each set.
const STAFF: &str = "policies:
  - id: test_staff
    group: [proposedprograms, statuses, proposals, lib, files, cashprogram, gadscores, status]
    allow: [read, history, write]
    to: [staff]
";

/// In generated sets, callers write all that they see.
const WRITERS: &str = "policies:
  - id: test_writers
    group: [proposedprograms, statuses, proposals, lib, files, cashprogram, gadscores, status]
    allow: [write]
    to: [signed_in]
";

/// With this file alone, applicants create items too.
pub const BUILDING: &str = "policies:
  - id: all_build
    group: [proposedprograms, statuses, proposals, lib, files, cashprogram, gadscores, status]
    allow: [read, history, write]
    to: [signed_in]
";

/// In a list of hidden members: the names of callers.
pub const CALLERS_HIDDEN: &str = "meta.created_by";

const STEPS: Lookup = Lookup { group: "status", member: "subject", by: "id" };
const STEPS_OF_OWNER: Lookup = Lookup { by: "proposal_id", ..STEPS };
const SHEETS: Lookup = Lookup { group: "gadscores", member: "proposal_id", by: "id" };
const SHEETS_OF_OWNER: Lookup = Lookup { by: "proposal_id", ..SHEETS };

pub struct PolicySet {
    pub name: String,
    pub files: Vec<(&'static str, String)>,
    pub reading: Vec<ItemPolicy>,
    pub hiding: Vec<HidePolicy>,
    /// Policies about updates that look up items which their callers may not read.
    pub updating: Vec<ItemPolicy>,
    /// True if callers may see the history of every item that they may read, or no history.
    pub has_history_of_all: bool,
}

impl PolicySet {
    fn of(name: &str, files: &[(&'static str, &str)], reading: Vec<ItemPolicy>) -> Self {
        let files = [&[("staff", STAFF)], files].concat();
        let files: Vec<_> = files.into_iter().map(|(name, text)| (name, text.to_owned())).collect();
        // An author sees the history of a proposal, and the public does not.
        let has_history_of_all = files.len() < 4;
        Self {
            name: name.to_owned(),
            files,
            reading,
            hiding: Vec::new(),
            updating: Vec::new(),
            has_history_of_all,
        }
    }

    /// The example files alone, then all together, and a set with conditions on members.
    pub fn fixed() -> Vec<Self> {
        let all = [applicants(), reviewers(), public()].concat();
        let [one, two, three] =
            [("applicants", APPLICANTS), ("reviewers", REVIEWERS), ("public", PUBLIC)];
        vec![
            Self::of("applicants", &[one], applicants()),
            Self { updating: evaluators(), ..Self::of("reviewers", &[two], reviewers()) },
            Self::of("public", &[three], public()),
            Self { updating: evaluators(), ..Self::of("all examples", &[one, two, three], all) },
            Self::by_members(),
            Self::blind(),
        ]
    }

    /// Reviewers see proposals, and each other's sheets, without members, until these are decided.
    fn blind() -> Self {
        let is_open = |steps| Condition::Not(Box::new(Condition::LatestCode(steps, "approved")));
        let hides = |group, members: &[&'static str], when| HidePolicy {
            group,
            members: members.to_vec(),
            to: Audience::SignedIn,
            when,
        };
        let hiding = vec![
            hides("proposals", &["project_title", "program_id"], is_open(STEPS)),
            hides("proposals", &["start_date"], Condition::Always),
            hides("gadscores", &["remarks", "rating", CALLERS_HIDDEN], is_open(STEPS_OF_OWNER)),
            hides("files", &["name"], Condition::Has("color")),
        ];
        let all = GROUPS.map(|group| policy(&[group], Audience::Anyone, Condition::Always));
        let mut text = "policies:\n".to_owned();
        for group in GROUPS {
            write_policy(&mut text, 0, group, false, Audience::Anyone, &Condition::Always);
        }
        Self::of("blind", &[("writers", WRITERS), ("blind", &text)], all.to_vec()).hiding(hiding)
    }

    fn hiding(mut self, hiding: Vec<HidePolicy>) -> Self {
        let mut text = "policies:\n".to_owned();
        for (number, HidePolicy { group, members, to, when }) in hiding.iter().enumerate() {
            let effect = format!("hide: [{}]", members.join(", "));
            write_effect(&mut text, &format!("hide_{number}"), group, &effect, *to, when);
        }
        // A file without policies is refused.
        if !hiding.is_empty() {
            self.files.push(("hiding", text));
        }
        Self { hiding, ..self }
    }

    /// An item is seen by its own members, without those that it is linked to.
    fn by_members() -> Self {
        let mut text = "policies:\n".to_owned();
        let policy_of = |group| {
            let when = match group {
                "proposals" => Condition::Has("research_type"),
                _ => Condition::Is("color", "red"),
            };
            write_policy(&mut text, 0, group, false, Audience::Anyone, &when);
            policy(&[group], Audience::Anyone, when)
        };
        let reading = GROUPS.into_iter().map(policy_of).collect();
        Self::of("by members", &[("writers", WRITERS), ("members", &text)], reading)
    }

    pub fn random(random: &mut Rng) -> Self {
        let mut reading = Vec::new();
        let mut text = "policies:\n".to_owned();
        for group in GROUPS {
            for number in 0..random.usize(1..4) {
                let to = *one(
                    random,
                    &[
                        &Audience::Anyone,
                        &Audience::SignedIn,
                        &Audience::SignedIn,
                        &Audience::Role("applicant"),
                    ],
                );
                let denies = number > 0 && random.bool();
                let when = condition(random, group, to != Audience::Anyone, 2);
                write_policy(&mut text, number, group, denies, to, &when);
                reading.push(ItemPolicy { groups: vec![group], denies, to, when });
            }
        }
        let set = Self::of("generated", &[("writers", WRITERS), ("generated", &text)], reading);
        let hiding = GROUPS.iter().filter_map(|group| hide(random, group)).collect();
        set.hiding(hiding)
    }
}

/// Hides members of a group that no condition reads.
fn hide(random: &mut Rng, group: &'static str) -> Option<HidePolicy> {
    let hideable: &[&str] = match group {
        "proposals" => &["project_title", "start_date", "program_id"],
        "proposedprograms" => &["title"],
        "statuses" => &["label", "code"],
        "status" => &["message"],
        "gadscores" => &["remarks"],
        "files" => &["name", "document_type"],
        "lib" => &["item", "expense_class"],
        _ => &["note", "jan_amount", "year"],
    };
    if random.bool() {
        return None;
    }
    let hideable = [hideable, &[CALLERS_HIDDEN]].concat();
    let members = hideable.iter().copied().filter(|_| random.bool()).collect::<Vec<_>>();
    let members = if members.is_empty() { vec![hideable[0]] } else { members };
    let to = *one(random, &[&Audience::Anyone, &Audience::SignedIn, &Audience::Role("applicant")]);
    let when = condition(random, group, to != Audience::Anyone, 1);
    Some(HidePolicy { group, members, to, when })
}

fn policy(groups: &[&'static str], to: Audience, when: Condition) -> ItemPolicy {
    ItemPolicy { groups: groups.to_vec(), denies: false, to, when }
}

fn applicants() -> Vec<ItemPolicy> {
    let of_author = Condition::OfOwner(Box::new(Condition::CreatedByCaller));
    vec![
        policy(&["proposedprograms", "statuses"], Audience::Anyone, Condition::Always),
        policy(&["proposals"], Audience::SignedIn, Condition::CreatedByCaller),
        policy(&["lib", "files", "cashprogram", "status"], Audience::SignedIn, of_author),
    ]
}

fn reviewers() -> Vec<ItemPolicy> {
    let is_assigned = Condition::Both(
        Box::new(Condition::SomeIsCaller(SHEETS, "evaluator_id")),
        Box::new(Condition::LatestCode(STEPS, "in_review")),
    );
    let of_assigned = Condition::OfOwner(Box::new(is_assigned.clone()));
    vec![
        policy(&["proposals"], Audience::SignedIn, is_assigned),
        policy(&["lib", "files"], Audience::SignedIn, of_assigned),
        policy(&["gadscores"], Audience::SignedIn, Condition::IsCaller("evaluator_id")),
    ]
}

/// Evaluators fill in their sheets until a step that they do not see ends the review.
fn evaluators() -> Vec<ItemPolicy> {
    let is_own = Box::new(Condition::IsCaller("evaluator_id"));
    let is_in_review = Box::new(Condition::LatestCode(STEPS_OF_OWNER, "in_review"));
    vec![policy(&["gadscores"], Audience::SignedIn, Condition::Both(is_own, is_in_review))]
}

fn public() -> Vec<ItemPolicy> {
    let approved = |steps| Condition::LatestCode(steps, "approved");
    vec![
        policy(&["proposedprograms", "statuses"], Audience::Anyone, Condition::Always),
        policy(&["proposals"], Audience::Anyone, approved(STEPS)),
        policy(&["files"], Audience::Anyone, approved(STEPS_OF_OWNER)),
    ]
}

/// A random condition on items of a group.
fn condition(random: &mut Rng, group: &'static str, has_caller: bool, depth: usize) -> Condition {
    if depth > 0 && random.u8(..3) == 0 {
        let mut part = || Box::new(condition(random, group, has_caller, depth - 1));
        let (one, other) = (part(), part());
        return match random.u8(..3) {
            0 => Condition::Both(one, other),
            1 => Condition::Not(one),
            _ => Condition::Either(one, other),
        };
    }
    let (steps, sheets) = match group {
        "proposals" => (STEPS, SHEETS),
        _ => (STEPS_OF_OWNER, SHEETS_OF_OWNER),
    };
    let is_about_proposals = ["proposals", "files", "cashprogram"].contains(&group);
    let of_caller = [
        Condition::CreatedByCaller,
        Condition::IsCaller("evaluator_id"),
        Condition::SomeIsCaller(sheets, "evaluator_id"),
    ];
    let of_related = [
        Condition::LatestCode(steps, "approved"),
        Condition::LatestCode(steps, "in_review"),
        Condition::SomeHas(steps, "to_code"),
        Condition::SomeHas(sheets, "rating"),
    ];
    let text = if group == "proposals" { "research_type" } else { "color" };
    let own = [
        Condition::Always,
        Condition::Is(text, "red"),
        Condition::Has(text),
        Condition::AtLeast(if group == "proposals" { "researcher_id" } else { "level" }, 3),
    ];
    match random.u8(..3) {
        0 if has_caller && group == "gadscores" => of_caller[random.usize(..2)].clone(),
        0 if has_caller && is_about_proposals => of_caller[[0, 2][random.usize(..2)]].clone(),
        0 if has_caller => of_caller[0].clone(),
        1 if is_about_proposals => of_related[random.usize(..4)].clone(),
        _ => own[random.usize(..4)].clone(),
    }
}

fn write_policy(
    text: &mut String,
    number: usize,
    group: &str,
    denies: bool,
    to: Audience,
    when: &Condition,
) {
    let effect = if denies { "deny: [read]" } else { "allow: [read, history]" };
    write_effect(text, &format!("{group}_{number}"), group, effect, to, when);
}

fn write_effect(
    text: &mut String,
    id: &str,
    group: &str,
    effect: &str,
    to: Audience,
    when: &Condition,
) {
    let to = match to {
        Audience::Anyone => "anyone",
        Audience::SignedIn => "signed_in",
        Audience::Role(role) => role,
    };
    let mut lookups = Vec::new();
    let when = when.text(&mut lookups);
    write!(text, "  - id: {id}\n    group: {group}\n    {effect}\n    to: [{to}]\n").unwrap();
    let lookups = lookups.iter().enumerate();
    let lookups: Vec<_> =
        lookups.map(|(index, target)| format!("found{index}: '{target}'")).collect();
    if !lookups.is_empty() {
        writeln!(text, "    lookup: {{{}}}", lookups.join(", ")).unwrap();
    }
    writeln!(text, "    when: '{when}'").unwrap();
}
