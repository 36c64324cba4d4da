//! Input of a trial: an item before and after the write, and results of lookups.

use application::{RuleTrial, TrialLookup};
use domain::{Collection, Found, ItemId, Members, Pointer, Violation, Violations, nearest};
use language::expression::{Shape, Variable};
use language::sample::made_up_id;

use super::subject::CompiledSubject;
use crate::sample_items::{SampleItem, own_members};

/// Ignored members of a representation, so that a fetched item can be sent back.
const IGNORED: [&str; 3] = ["_links", "_embedded", "_meta"];

pub(super) struct Given {
    pub id: ItemId,
    pub after: Members,
    pub before: Option<Members>,
    pub variables: Vec<(String, Shape)>,
    /// `None` for a lookup without a given result.
    pub found: Vec<Option<Found>>,
}

impl Given {
    pub fn of(trial: &RuleTrial, subject: &CompiledSubject) -> Result<Self, Violations> {
        let mut violations = Violations::default();
        let own =
            |members: &Members| own_members(shown_members(members), Some(trial.collection), false);
        let own_id = trial
            .after
            .as_ref()
            .and_then(|after| id(after, "id", &Pointer::to_member("self"), &mut violations));
        if trial.after.is_none() && subject.uses(Variable::After) {
            let detail = "The expression reads `self`. Send an item as `self`.";
            violations.push(Violation::of_member("self", "required", detail));
        }
        let found = found(trial, subject, &mut violations);
        if !violations.is_empty() {
            return Err(violations);
        }
        Ok(Self {
            id: own_id.unwrap_or_else(|| made_up_id(0)),
            after: trial.after.as_ref().map_or_else(nothing, own),
            before: trial.before.as_ref().map(own),
            variables: subject.variables().to_vec(),
            found,
        })
    }

    /// Returns the lookups without a given result.
    pub fn missing(&self) -> impl Iterator<Item = usize> {
        (0..self.found.len()).filter(|place| self.found[*place].is_none())
    }
}

fn nothing() -> Members {
    Members::from_iter([("", ""); 0])
}

fn shown_members(members: &Members) -> Members {
    members.clone().retain(|name, _| !IGNORED.contains(&name))
}

fn found(
    trial: &RuleTrial,
    subject: &CompiledSubject,
    violations: &mut Violations,
) -> Vec<Option<Found>> {
    let variables = subject.variables();
    let base = Pointer::to_member("lookup");
    let names = || variables.iter().map(|(name, _)| name.as_str());
    for (name, _) in trial.lookups.iter().filter(|(name, _)| !names().any(|known| known == name)) {
        violations.push_with(|| {
            let guess = nearest(name, names()).map(|guess| format!(" Did you mean `{guess}`?"));
            let detail =
                format!("The rule has no lookup of this name.{}", guess.unwrap_or_default());
            Violation::new(base.member(name), "unknown_member", detail)
        });
    }
    let find = |name: &str| trial.lookups.iter().find(|(given, _)| given == name);
    let each = variables.iter().enumerate().map(|(index, (name, shape))| {
        let (_, given) = find(name)?;
        let collection = match subject {
            CompiledSubject::Rule { rule, .. } => {
                rule.targets.get(index).map(|target| target.collection)
            }
            CompiledSubject::Expression { .. } => None,
        };
        let items = match (given, shape) {
            (TrialLookup::One(item), Shape::One) => item.as_slice(),
            (TrialLookup::Many(items), Shape::Many) => items,
            (_, shape) => {
                violations.push(wrong_shape(base.member(name), *shape));
                return None;
            }
        };
        let pointer = base.member(name);
        let items = items.iter().enumerate().map(|(place, members)| {
            let pointer = match shape {
                Shape::One => pointer.clone(),
                Shape::Many => pointer.index(place),
            };
            item(members, collection, &pointer, violations).found_by(index, place)
        });
        Some(Found::of(items.collect()))
    });
    each.collect()
}

fn wrong_shape(pointer: Pointer, shape: Shape) -> Violation {
    let detail = match shape {
        Shape::One => "This lookup returns one item. Send an object, or `null` if there is none.",
        Shape::Many => "This lookup returns a list of items. Send an array; it may be empty.",
    };
    Violation::new(pointer, "wrong_type", detail)
}

fn item(
    members: &Members,
    collection: Option<Collection>,
    pointer: &Pointer,
    violations: &mut Violations,
) -> SampleItem {
    SampleItem {
        id: id(members, "id", pointer, violations),
        parent: id(members, "parent", pointer, violations),
        members: own_members(shown_members(members), collection, true),
    }
}

fn id(
    members: &Members,
    name: &str,
    pointer: &Pointer,
    violations: &mut Violations,
) -> Option<ItemId> {
    let value = members.get(name).filter(|value| !value.is_null())?;
    let id = value.as_string().and_then(|text| ItemId::parse(&text));
    if id.is_none() {
        let detail = format!(
            "`{name}` must be the id of an item, such as {}. Correct or omit it.",
            made_up_id(0)
        );
        violations.push(Violation::new(pointer.member(name), "invalid_id", detail));
    }
    id
}
