//! From an element of `cases:` to a case.

use std::sync::Arc;

use domain::{Collection, Found, Item, ItemId, Members, Version, WriteContext, WriteOperation};
use jiff::Timestamp;
use jiff::civil::{Date, date};
use jiff::tz::TimeZone;
use uuid::Uuid;

use super::Case;
use crate::error::FileErrors;
use crate::expectation::Expectation;
use crate::file_format::{CALLER, CASE, CASE_LOOKUP};
use crate::file_rule::FileRule;
use crate::keys::{self, Keys};
use crate::known_rules::KnownRules;
use crate::lookup_target::LookupBy;
use crate::yaml::{Content, Node, write_json};

/// The day of a case that names none, of a rule that is in force on any.
const SOME_DAY: Date = date(2026, 1, 1);

/// How many bytes the items of cases may still have: aliases let a short file stand for long ones.
pub(crate) struct Budget {
    bytes: usize,
}

impl Budget {
    /// Most bytes of the items of all cases together.
    const BYTES: usize = 16 << 20;

    pub const fn new() -> Self {
        Self { bytes: Self::BYTES }
    }
}

/// Reads a case of one of the rules.
pub(crate) fn read(
    node: &Node,
    file: &Arc<str>,
    rules: &KnownRules,
    budget: &mut Budget,
    errors: &mut FileErrors<'_>,
) -> Option<Case> {
    let errors_before = errors.count();
    let rule = named_rule(node, rules, errors);
    // A lookup's value stands under its name, in the case or under `lookup`.
    let variables: Option<Vec<_>> =
        rule.as_ref().map(|rule| rule.variables.iter().map(|(name, _)| name.as_str()).collect());
    let keys = Keys::of(node, &CASE, variables.as_deref(), errors)?;
    let rule = rule.clone()?;
    let name = keys.string("name").unwrap_or_default().into();
    let expected = keys.string("expect").and_then(Expectation::named);
    let mut reader = CaseReader { keys, rule: &rule, budget, errors };
    let after = reader.keys.get("self").and_then(|node| reader.written(node));
    let old = reader.keys.get("old").filter(|node| !node.is_null());
    let before = old.map(|node| reader.written(node));
    let context = reader.context(old.is_some(), after.as_ref());
    let found = reader.found();
    let (context, after) = (context?, after?);
    let before = match before {
        Some(before) => Some(before?.members),
        // What is removed is at once what was there.
        None => (context.operation == WriteOperation::Delete).then(|| after.members.clone()),
    };
    let (expected, found) = (expected?, found?);
    let case = Case {
        file: file.clone(),
        place: node.place,
        rule,
        name,
        context,
        before,
        after: after.members,
        found,
        expected,
    };
    (errors.count() == errors_before).then_some(case)
}

/// The rule that a case is about, if it is there and sound.
fn named_rule(
    node: &Node,
    rules: &KnownRules,
    errors: &mut FileErrors<'_>,
) -> Option<Arc<FileRule>> {
    let Content::Mapping(entries) = &node.content else { return None };
    let scalar = entries.iter().find(|entry| entry.key == "rule")?.value.scalar()?;
    rules.named(&scalar.text).unwrap_or_else(|reason| {
        errors.add(scalar.source.place, reason);
        None
    })
}

/// An item of a case.
struct CaseItem {
    id: Option<ItemId>,
    parent: Option<ItemId>,
    members: Members,
}

struct CaseReader<'a, 'f, 'g> {
    keys: Keys<'a>,
    rule: &'a FileRule,
    budget: &'f mut Budget,
    errors: &'f mut FileErrors<'g>,
}

impl<'a> CaseReader<'a, '_, '_> {
    fn context(&mut self, is_change: bool, after: Option<&CaseItem>) -> Option<WriteContext> {
        let operation = self.operation(is_change)?;
        let (now, today) = self.time();
        let caller = self.caller();
        let parent = match self.keys.get("parent").filter(|node| !node.is_null()) {
            Some(node) => Some(self.id(node, "parent")?),
            None => None,
        };
        let id = after.and_then(|after| after.id).unwrap_or_else(|| made_up_id(0));
        Some(WriteContext { operation, id, parent, caller, now, today })
    }

    /// Returns the operation of the case. If `on` is not written, it is the most likely one among
    /// the operations that the rule judges.
    fn operation(&mut self, is_change: bool) -> Option<WriteOperation> {
        let judged = |candidates: &[WriteOperation]| {
            candidates.iter().copied().find(|operation| self.rule.operations.contains(operation))
        };
        if self.keys.get("on").is_none() {
            let (usual, others) = if is_change {
                (
                    WriteOperation::Replace,
                    &[WriteOperation::Replace, WriteOperation::Patch, WriteOperation::Delete][..],
                )
            } else {
                let only_removals = self.rule.operations == [WriteOperation::Delete];
                (
                    WriteOperation::Create,
                    if only_removals { &[WriteOperation::Delete][..] } else { &[] },
                )
            };
            return Some(judged(others).unwrap_or(usual));
        }
        let scalar = self.keys.scalar("on")?;
        let operation = WriteOperation::named(&scalar.text)?;
        if operation == WriteOperation::Create && is_change {
            self.errors
                .add(scalar.source.place, "a create has no `old`; remove it or write another `on`");
        }
        if matches!(operation, WriteOperation::Replace | WriteOperation::Patch) && !is_change {
            self.errors.add(
                scalar.source.place,
                format!("a {} needs `old`, the item as it was", operation.name()),
            );
        }
        Some(operation)
    }

    /// `now` and `today`: each that is not written follows from the other, or from the rule.
    fn time(&self) -> (Timestamp, Date) {
        let now = self.keys.string("now").and_then(|now| now.parse::<Timestamp>().ok());
        let today = self.keys.date("today").unwrap_or_else(|| match (now, self.rule.effective) {
            (Some(now), _) => TimeZone::UTC.to_datetime(now).date(),
            (None, (Some(day), _) | (None, Some(day))) => day,
            (None, (None, None)) => SOME_DAY,
        });
        let midnight =
            || TimeZone::UTC.to_timestamp(today.at(0, 0, 0, 0)).unwrap_or(Timestamp::UNIX_EPOCH);
        (now.unwrap_or_else(midnight), today)
    }

    /// The caller's name, which may be written as the `id` of a mapping.
    fn caller(&mut self) -> Option<Box<str>> {
        let node = self.keys.get("caller")?;
        let name = match &node.content {
            Content::Mapping(_) => Keys::of(node, &CALLER, Some(&[]), self.errors)?.get("id")?,
            _ => node,
        };
        if name.is_null() {
            return None;
        }
        keys::string(name, "caller", self.errors).map(|name| name.text.as_str().into())
    }

    /// Returns the results of the rule's lookups, in the order of the lookups.
    fn found(&mut self) -> Option<Vec<Found>> {
        let rule = self.rule;
        let variables: Vec<_> = rule.variables.iter().map(|(name, _)| name.as_str()).collect();
        let under = self
            .keys
            .get("lookup")
            .and_then(|node| Keys::of(node, &CASE_LOOKUP, Some(&variables), self.errors));
        let value = |name: &str| {
            under.as_ref().and_then(|keys| keys.get(name)).or_else(|| self.keys.get(name))
        };
        let values: Vec<_> = rule.variables.iter().map(|(name, _)| (name, value(name))).collect();
        let found =
            values.into_iter().map(|(name, value)| Some(Found::Items(self.found_by(name, value)?)));
        // Each is read, so that all errors are told.
        let found: Vec<_> = found.collect();
        found.into_iter().collect()
    }

    fn found_by(&mut self, name: &str, value: Option<&'a Arc<Node>>) -> Option<Vec<Item>> {
        let (lookup, collection, by) = self.rule.lookup(name)?;
        let Some(value) = value else {
            let reason = format!(
                "the rule looks up `{name}`, and the case does not say what it finds; add `{name}:` under `lookup:`"
            );
            self.errors.add(self.keys.place, reason);
            return None;
        };
        let nodes: &[Arc<Node>] = match (&value.content, by) {
            (Content::Mapping(_), LookupBy::Id) => {
                return self.stored(value, collection, lookup, 0).map(|item| vec![item]);
            }
            (_, LookupBy::Id) if value.is_null() => return Some(Vec::new()),
            (_, LookupBy::Id) => {
                self.errors.add(
                    value.place,
                    format!(
                        "`{name}` finds one item by its id: write its members, or null, not {}",
                        value.with_article()
                    ),
                );
                return None;
            }
            (Content::List(nodes), _) => nodes,
            _ => {
                self.errors.add(
                    value.place,
                    format!(
                        "`{name}` finds a list of items: write a list, `[]` for none, not {}",
                        value.with_article()
                    ),
                );
                return None;
            }
        };
        let items: Vec<_> = nodes
            .iter()
            .enumerate()
            .map(|(index, node)| self.stored(node, collection, lookup, index))
            .collect();
        items.into_iter().collect()
    }

    fn stored(
        &mut self,
        node: &Node,
        collection: Collection,
        lookup: usize,
        index: usize,
    ) -> Option<Item> {
        let item = self.item(node, collection, true)?;
        let made_up = || made_up_id(((1 + lookup) << 32) + 1 + index);
        Some(Item {
            id: item.id.unwrap_or_else(made_up),
            version: Version::FIRST,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
            members: item.members.into_encoded(),
            parent: item.parent,
            continues: None,
        })
    }

    /// An item as it is or was written.
    fn written(&mut self, node: &Node) -> Option<CaseItem> {
        self.item(node, self.rule.collection(), false)
    }

    /// The members of an item, without `id` and, where it was looked up, without `parent`, which
    /// are no members.
    fn item(
        &mut self,
        node: &Node,
        collection: Collection,
        is_looked_up: bool,
    ) -> Option<CaseItem> {
        let Content::Mapping(entries) = &node.content else {
            self.errors.add(
                node.place,
                format!("an item is a mapping of its members, not {}", node.with_article()),
            );
            return None;
        };
        let mut json = String::new();
        if let Err((place, reason)) = write_json(node, self.budget.bytes, &mut json) {
            self.errors.add(place, reason);
            return None;
        }
        self.budget.bytes = self.budget.bytes.saturating_sub(json.len());
        let members = match Members::read(json.as_bytes()) {
            Ok(members) => members?,
            Err(error) => {
                self.errors.add(node.place, format!("no item can be so: {}", error.detail));
                return None;
            }
        };
        let mut taken = |name: &str| match entries
            .iter()
            .find(|entry| entry.key == name)
            .filter(|entry| !entry.value.is_null())
        {
            Some(entry) => self.id(&entry.value, name).map(Some),
            None => Some(None),
        };
        let id = taken("id")?;
        let parent = if is_looked_up { taken("parent")? } else { None };
        // What is null is absent in a proposal, and is never stored.
        let drops_nulls = collection == Collection::known("proposals");
        let members = members.retain(|name, value| {
            name != "id" && !(is_looked_up && name == "parent") && !(drops_nulls && value.is_null())
        });
        Some(CaseItem { id, parent, members })
    }

    fn id(&mut self, node: &Node, key: &str) -> Option<ItemId> {
        let id = node.scalar().and_then(|scalar| ItemId::parse(&scalar.text));
        if id.is_none() {
            let reason =
                format!("`{key}` is the id of an item, such as {}, or is left out", made_up_id(0));
            self.errors.add(node.place, reason);
        }
        id
    }
}

/// The id of an item that has none in its case: always the same, and different from the others'.
fn made_up_id(number: usize) -> ItemId {
    const VERSION_7: u128 = 0x0190_0000_0000_7000_8000_0000_0000_0000;
    ItemId::from_uuid(Uuid::from_u128(VERSION_7 + number as u128))
}
