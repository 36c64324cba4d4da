//! The items that a test created, and who may read which version, by a second implementation.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// An item with all its versions.
#[derive(Clone, Debug)]
pub struct Item {
    pub id: String,
    pub group: &'static str,
    pub created_by: String,
    pub parent: Option<String>,
    /// The members of each version; `None` where the item was deleted.
    pub versions: Vec<Option<Value>>,
}

impl Item {
    pub fn current(&self) -> Option<&Value> {
        self.versions.last()?.as_ref()
    }

    /// The id of the proposal that the item belongs or refers to.
    fn owner<'a>(&'a self, members: &'a Value) -> Option<&'a str> {
        match self.group {
            "lib" => self.parent.as_deref(),
            "status" => members["subject"].as_str(),
            _ => members["proposal_id"].as_str(),
        }
    }
}

/// The items by id. The order of ids is that of creations.
#[derive(Clone, Debug, Default)]
pub struct Model {
    pub items: BTreeMap<String, Item>,
}

/// Other items, as a policy looks them up.
#[derive(Clone, Copy, Debug)]
pub struct Lookup {
    pub group: &'static str,
    pub member: &'static str,
    /// The member of the judged item with the value; `id` for its identifier.
    pub by: &'static str,
}

/// A condition of a policy. It is true, false, or an error.
#[derive(Clone, Debug)]
pub enum Condition {
    Always,
    CreatedByCaller,
    IsCaller(&'static str),
    Is(&'static str, &'static str),
    AtLeast(&'static str, i64),
    Has(&'static str),
    /// Some looked-up item has the caller's id as this member.
    SomeIsCaller(Lookup, &'static str),
    /// Some looked-up item has this member.
    SomeHas(Lookup, &'static str),
    /// The newest looked-up item with a `to_code` has this one.
    LatestCode(Lookup, &'static str),
    /// The proposal that the item belongs or refers to exists, and meets a condition.
    OfOwner(Box<Self>),
    Not(Box<Self>),
    Both(Box<Self>, Box<Self>),
    Either(Box<Self>, Box<Self>),
}

/// Who a policy is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    Anyone,
    SignedIn,
    Role(&'static str),
}

/// A policy that allows or denies an operation on items.
#[derive(Clone, Debug)]
pub struct ItemPolicy {
    pub groups: Vec<&'static str>,
    pub denies: bool,
    pub to: Audience,
    pub when: Condition,
}

/// A policy that hides members from readers.
#[derive(Clone, Debug)]
pub struct HidePolicy {
    pub group: &'static str,
    pub members: Vec<&'static str>,
    pub to: Audience,
    pub when: Condition,
}

/// A caller: the name of the key, unless anonymous, and a role.
#[derive(Clone, Copy, Debug)]
pub struct Caller {
    pub name: &'static str,
    pub role: &'static str,
}

impl Caller {
    fn id(self) -> Option<String> {
        (self.name != "anonymous").then(|| format!("key:{}", self.name))
    }

    fn is_in(self, audience: Audience) -> bool {
        match audience {
            Audience::Anyone => true,
            Audience::SignedIn => self.id().is_some(),
            Audience::Role(role) => self.id().is_some() && self.role == role,
        }
    }
}

/// More than an item has versions.
const MANY: usize = 1_000_000;

/// The version of an item, by its id and number.
pub type Sight = BTreeSet<(String, usize)>;

impl Model {
    pub fn living(&self) -> impl Iterator<Item = (&Item, &Value)> {
        self.items.values().filter_map(|item| Some((item, item.current()?)))
    }

    pub fn living_of(&self, group: &str) -> Vec<&Item> {
        self.living().map(|(item, _)| item).filter(|item| item.group == group).collect()
    }

    /// Deletes an item, and those that belong to it.
    pub fn delete(&mut self, id: &str) {
        for item in self.items.values_mut() {
            let is_below = item.parent.as_deref() == Some(id);
            if (item.id == id || is_below) && item.current().is_some() {
                item.versions.push(None);
            }
        }
    }

    pub fn sees(&self, policies: &[ItemPolicy], caller: Caller, item: &Item) -> bool {
        item.current().is_some_and(|members| self.may_read(policies, caller, item, members))
    }

    /// All versions that a caller may read, with the other items as they are now, and the number of
    /// versions of items whose last body they may read: it decides on the item and its history.
    pub fn sight(&self, policies: &[ItemPolicy], caller: Caller) -> Sight {
        let mut sight = Sight::new();
        for item in self.items.values() {
            let bodies = item
                .versions
                .iter()
                .zip(1..)
                .filter_map(|(it, number)| Some((it.as_ref()?, number)));
            let seen = bodies.filter(|(members, _)| self.may_read(policies, caller, item, members));
            let seen: Vec<_> = seen.map(|(_, number)| number).collect();
            let last = item.versions.iter().rposition(Option::is_some).map(|index| index + 1);
            if seen.last().copied() == last {
                sight.insert((item.id.clone(), MANY + item.versions.len()));
            }
            sight.extend(seen.into_iter().map(|number| (item.id.clone(), number)));
        }
        sight
    }

    /// The first versions of the items that a caller created. The answer to a creation that is repeated
    /// shows them, also if the caller may not read the item.
    pub fn created(&self, caller: Caller) -> Sight {
        let is_own = |item: &&Item| caller.id().as_ref() == Some(&item.created_by);
        self.items.values().filter(is_own).map(|item| (item.id.clone(), 1)).collect()
    }

    /// The members of a version that are hidden from a caller, with the other items as they are now.
    pub fn hidden(
        &self,
        policies: &[HidePolicy],
        caller: Caller,
        item: &Item,
        members: &Value,
    ) -> BTreeSet<&'static str> {
        let of_caller = policies.iter().filter(|it| it.group == item.group && caller.is_in(it.to));
        // A member is hidden if it cannot be judged.
        let hiding = of_caller
            .filter(|policy| self.holds(&policy.when, caller, item, members) != Some(false));
        hiding.flat_map(|policy| policy.members.iter().copied()).collect()
    }

    /// The hidden members of each of these versions, in their order.
    pub fn hidden_in(
        &self,
        versions: &Sight,
        policies: &[HidePolicy],
        caller: Caller,
    ) -> Vec<BTreeSet<&'static str>> {
        let hidden = |(id, number): &(String, usize)| {
            let item = &self.items[id];
            let members = item.versions.get(number - 1)?.as_ref()?;
            Some(self.hidden(policies, caller, item, members))
        };
        versions.iter().filter_map(hidden).collect()
    }

    /// The parents of items that are hidden from a caller.
    pub fn with_hidden_children(
        &self,
        policies: &[ItemPolicy],
        caller: Caller,
    ) -> BTreeSet<String> {
        let hidden = self.living().filter(|(item, _)| !self.sees(policies, caller, item));
        hidden.filter_map(|(item, _)| item.parent.clone()).collect()
    }

    fn may_read(
        &self,
        policies: &[ItemPolicy],
        caller: Caller,
        item: &Item,
        members: &Value,
    ) -> bool {
        let of_caller = policies
            .iter()
            .filter(|policy| policy.groups.contains(&item.group) && caller.is_in(policy.to));
        let mut is_allowed = false;
        for policy in of_caller {
            match self.holds(&policy.when, caller, item, members) {
                // A denial that cannot be judged denies.
                Some(true) | None if policy.denies => return false,
                Some(true) => is_allowed = true,
                _ => {}
            }
        }
        is_allowed
    }

    fn holds(
        &self,
        condition: &Condition,
        caller: Caller,
        item: &Item,
        members: &Value,
    ) -> Option<bool> {
        let holds = |condition: &Condition| self.holds(condition, caller, item, members);
        let found = |lookup: &Lookup| self.look_up(*lookup, item, members);
        match condition {
            Condition::Always => Some(true),
            Condition::CreatedByCaller => Some(item.created_by == caller.id()?),
            Condition::IsCaller(member) => Some(*members.get(member)? == *caller.id()?),
            Condition::Is(member, value) => Some(members.get(member)? == value),
            Condition::AtLeast(member, least) => Some(members.get(member)?.as_i64()? >= *least),
            Condition::Has(member) => Some(members.get(member).is_some()),
            Condition::SomeIsCaller(lookup, member) => {
                let (found, id) = (found(lookup)?, caller.id()?);
                some(found.iter().map(|other| Some(*other.get(member)? == *id)))
            }
            Condition::SomeHas(lookup, member) => {
                Some(found(lookup)?.iter().any(|other| other.get(member).is_some()))
            }
            Condition::LatestCode(lookup, code) => {
                let found = found(lookup)?;
                let latest = found.iter().rev().find_map(|step| step.get("to_code"));
                Some(latest? == code)
            }
            Condition::OfOwner(condition) => {
                let owner = item.owner(members).and_then(|id| self.items.get(id));
                let owner = owner.filter(|owner| owner.group == "proposals");
                let Some((owner, members)) = owner.and_then(|it| Some((it, it.current()?))) else {
                    return Some(false);
                };
                self.holds(condition, caller, owner, members)
            }
            Condition::Not(condition) => holds(condition).map(|holds| !holds),
            Condition::Either(one, other) => some([holds(one), holds(other)].into_iter()),
            Condition::Both(one, other) => {
                let not = |holds: Option<bool>| holds.map(|holds| !holds);
                not(some([not(holds(one)), not(holds(other))].into_iter()))
            }
        }
    }

    fn look_up(&self, lookup: Lookup, item: &Item, members: &Value) -> Option<Vec<&Value>> {
        let value = match lookup.by {
            "id" => item.id.as_str(),
            member => members.get(member)?.as_str()?,
        };
        let of_group = self.living().filter(|(other, _)| other.group == lookup.group);
        let found = of_group.filter(|(other, members)| {
            other.id != item.id && members.get(lookup.member).is_some_and(|it| *it == *value)
        });
        Some(found.map(|(_, members)| members).collect())
    }
}

/// True if some is true; else an error if some is one.
fn some(outcomes: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let outcomes: Vec<_> = outcomes.collect();
    let is_some = outcomes.contains(&Some(true));
    (is_some || !outcomes.contains(&None)).then_some(is_some)
}

impl Condition {
    /// The text of the condition, with the lookups that it names.
    pub fn text(&self, lookups: &mut Vec<String>) -> String {
        let mut named = |lookup: &Lookup| {
            let Lookup { group, member, by } = lookup;
            let target = format!("{group}[{member} = self.{by}]");
            let known = lookups.iter().position(|known| *known == target);
            let index = known.unwrap_or_else(|| {
                lookups.push(target);
                lookups.len() - 1
            });
            format!("found{index}")
        };
        match self {
            Self::Always => "true".to_owned(),
            Self::CreatedByCaller => "meta.created_by == caller.id".to_owned(),
            Self::IsCaller(member) => format!("self.{member} == caller.id"),
            Self::Is(member, value) => format!("self.{member} == \"{value}\""),
            Self::AtLeast(member, least) => format!("self.{member} >= {least}"),
            Self::Has(member) => format!("has(self.{member})"),
            Self::SomeIsCaller(lookup, member) => {
                format!("{}.exists(it, it.{member} == caller.id)", named(lookup))
            }
            Self::SomeHas(lookup, member) => {
                format!("{}.exists(it, has(it.{member}))", named(lookup))
            }
            Self::LatestCode(lookup, code) => format!(
                "latest({}.filter(it, has(it.to_code))).to_code == \"{code}\"",
                named(lookup)
            ),
            Self::OfOwner(_) => panic!("a role passes this condition on, not an expression"),
            Self::Not(condition) => format!("!({})", condition.text(lookups)),
            Self::Both(one, other) => {
                let one = one.text(lookups);
                format!("({one} && {})", other.text(lookups))
            }
            Self::Either(one, other) => {
                let one = one.text(lookups);
                format!("({one} || {})", other.text(lookups))
            }
        }
    }
}
