//! Converts an element of `cases:` to a case.

use std::sync::Arc;

use application::WrittenCase;
use domain::{Collection, Found, Item, WriteContext, WriteOperation};
use jiff::Timestamp;
use jiff::civil::{Date, date};
use jiff::tz::TimeZone;
use language::caller;
use language::effective::Effective;
use language::error::ErrorCollector;
use language::expression::{LookupBy, LookupTarget};
use language::keys::{ById, Keys, did_you_mean};
use language::sample::{self, made_up_id};
use language::yaml::{Content, Node};

use super::Case;
use crate::file_format::{CASE, CASE_LOOKUP};
use crate::file_rule::FileRule;
use crate::sample_items::{SampleItem, own_members};

/// Default day, if the rule is in force on every day.
const SOME_DAY: Date = date(2026, 1, 1);

/// Limit for the items of all cases together: aliases let a short file expand.
pub(crate) const MOST_BYTES: usize = 16 << 20;

pub(crate) fn read(
    node: &Node,
    rules: &ById<FileRule>,
    bytes_left: &mut usize,
    errors: &mut ErrorCollector<'_>,
) -> Option<Case> {
    let errors_before = errors.count();
    let rule = named_rule(node, rules, errors);
    // The result of a lookup is under its name, in the case or under `lookup`.
    let variables: Option<Vec<_>> =
        rule.as_ref().map(|rule| rule.variables.iter().map(|(name, _)| name.as_str()).collect());
    let keys = Keys::of(node, &CASE, variables.as_deref(), errors)?;
    let rule = rule?;
    let string = |key| keys.string(key).unwrap_or_default().to_owned();
    let (name, expected, definition) = (string("name"), string("expect"), node.written());
    let mut reader = CaseReader { keys, rule: &rule, bytes_left, errors };
    let after = reader.keys.get("self").and_then(|node| reader.written(node));
    let old = reader.keys.get("old").filter(|node| !node.is_null());
    let before = old.map(|node| reader.written(node));
    let context = reader.context(old.is_some(), after.as_ref());
    let found = reader.found();
    let (context, after, found) = (context?, after?, found?);
    let before = match before {
        Some(before) => Some(before?.members),
        // A deleted item is also the state before.
        None => (context.operation == WriteOperation::Delete).then(|| after.members.clone()),
    };
    let case = Case {
        file: errors.file().clone(),
        place: node.place,
        rule,
        written: WrittenCase { name, expected, definition },
        context,
        before,
        after: after.members,
        found,
    };
    (errors.count() == errors_before).then_some(case)
}

fn named_rule(
    node: &Node,
    rules: &ById<FileRule>,
    errors: &mut ErrorCollector<'_>,
) -> Option<Arc<FileRule>> {
    let scalar = node.entry("rule")?.value.scalar()?;
    let id = scalar.text.as_str();
    let Some((rule, _)) = rules.get(id) else {
        let guess = did_you_mean(id, rules.keys().map(|id| &**id));
        errors.add(scalar.place, format!("there is no rule `{id}` in the files{guess}"));
        return None;
    };
    rule.clone()
}

struct CaseReader<'a, 'f, 'g> {
    keys: Keys<'a>,
    rule: &'a FileRule,
    bytes_left: &'f mut usize,
    errors: &'f mut ErrorCollector<'g>,
}

impl CaseReader<'_, '_, '_> {
    fn context(&mut self, is_change: bool, after: Option<&SampleItem>) -> Option<WriteContext> {
        let operation = self.operation(is_change)?;
        let (now, today) = self.time();
        let caller = match self.keys.get("caller") {
            Some(node) => caller::read(node, self.errors)?,
            None => None,
        };
        let parent = self.errors.take(sample::id(self.keys.get("parent"), "parent"))?;
        let id = after.and_then(|after| after.id).unwrap_or_else(|| made_up_id(0));
        Some(WriteContext { operation, id, parent, caller, now, today })
    }

    /// Returns the operation. The default is the most likely operation among those that the rule
    /// judges.
    fn operation(&mut self, is_change: bool) -> Option<WriteOperation> {
        let Some(scalar) = self.keys.scalar("on") else {
            return Some(self.rule.likely_operation(is_change));
        };
        let operation = WriteOperation::named(&scalar.text)?;
        if operation == WriteOperation::Create && is_change {
            let reason = "a create has no `old`; remove it or write another `on`";
            self.errors.add(scalar.place, reason);
        }
        if matches!(operation, WriteOperation::Replace | WriteOperation::Patch) && !is_change {
            let reason = format!("a {} needs `old`, the item as it was", operation.name());
            self.errors.add(scalar.place, reason);
        }
        Some(operation)
    }

    /// Returns `now` and `today`. The default of each is the other, or a time in the period of the
    /// rule.
    fn time(&self) -> (Timestamp, Date) {
        let now = self.keys.string("now").and_then(|now| now.parse::<Timestamp>().ok());
        let Effective { from, until } = self.rule.effective;
        let today = self.keys.date("today").unwrap_or_else(|| match now {
            Some(now) => TimeZone::UTC.to_datetime(now).date(),
            None => from.or(until).unwrap_or(SOME_DAY),
        });
        let midnight =
            || TimeZone::UTC.to_timestamp(today.at(0, 0, 0, 0)).unwrap_or(Timestamp::UNIX_EPOCH);
        (now.unwrap_or_else(midnight), today)
    }

    fn found(&mut self) -> Option<Vec<Found>> {
        let rule = self.rule;
        let names: Vec<_> = rule.variables.iter().map(|(name, _)| name.as_str()).collect();
        let under = self
            .keys
            .get("lookup")
            .and_then(|node| Keys::of(node, &CASE_LOOKUP, Some(&names), self.errors));
        let mut found = Vec::new();
        // Reads all of them, to report all errors.
        for (index, name) in names.iter().enumerate() {
            let value = under.as_ref().and_then(|keys| keys.get(name));
            let value = value.or_else(|| self.keys.get(name));
            found.extend(self.found_by(index, name, value).map(Found::Items));
        }
        (found.len() == names.len()).then_some(found)
    }

    fn found_by(&mut self, lookup: usize, name: &str, value: Option<&Node>) -> Option<Vec<Item>> {
        let LookupTarget { collection, by, .. } = self.rule.targets.get(lookup)?;
        let Some(value) = value else {
            let reason = format!(
                "the case has no result for the lookup `{name}`; add `{name}:` under `lookup:`"
            );
            self.errors.add(self.keys.place, reason);
            return None;
        };
        let items: Vec<_> = match (&value.content, by) {
            (Content::Mapping(_), LookupBy::Id) => {
                vec![self.stored(value, *collection, lookup, 0)]
            }
            (_, LookupBy::Id) if value.is_null() => Vec::new(),
            (Content::List(nodes), LookupBy::Parent | LookupBy::Member(_)) => nodes
                .iter()
                .enumerate()
                .map(|(index, node)| self.stored(node, *collection, lookup, index))
                .collect(),
            _ => {
                let wanted = match by {
                    LookupBy::Id => "one item by its id: write its members, or null",
                    _ => "a list of items: write a list, `[]` for none",
                };
                let reason = format!("`{name}` finds {wanted}, not {}", value.with_article());
                self.errors.add(value.place, reason);
                return None;
            }
        };
        items.into_iter().collect()
    }

    fn stored(
        &mut self,
        node: &Node,
        collection: Collection,
        lookup: usize,
        index: usize,
    ) -> Option<Item> {
        Some(self.item(node, collection, true)?.found_by(lookup, index))
    }

    fn written(&mut self, node: &Node) -> Option<SampleItem> {
        self.item(node, self.rule.collection, false)
    }

    fn item(
        &mut self,
        node: &Node,
        collection: Collection,
        is_looked_up: bool,
    ) -> Option<SampleItem> {
        let most_bytes = *self.bytes_left;
        let too_large =
            format!("the items of all cases have more than {most_bytes} bytes in total");
        let members = sample::members(node, self.bytes_left, &too_large);
        let members = self.errors.take(members)??;
        let mut taken = |name: &str| {
            self.errors.take(sample::id(node.entry(name).map(|entry| &*entry.value), name))
        };
        let id = taken("id")?;
        let parent = if is_looked_up { taken("parent")? } else { None };
        let members = own_members(members, Some(collection), is_looked_up);
        Some(SampleItem { id, parent, members })
    }
}
