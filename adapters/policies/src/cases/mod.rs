//! Cases: requests with the expected decision.

mod matrix;
mod read;
mod sample;

use std::fmt::Write as _;
use std::sync::Arc;

use application::{Caller, CaseReport, ConcerningPolicy, Permissions};
use domain::{Collection, Operation, Operations};
use jiff::civil::Date;
use language::error::Location;

use crate::caller_policies::CallerPolicies;
use crate::file_format::{ALLOW, DENY};
use crate::summary::listed;

pub(crate) use read::CaseReader;
use sample::SampleItem;
pub(crate) use sample::caller;

/// Caller, item and expected permissions: an element of `cases`, or a cell of a matrix.
#[derive(Debug)]
pub(crate) struct Case {
    file: Arc<str>,
    place: Location,
    name: Box<str>,
    pub(crate) caller: Caller,
    item: SampleItem,
    pub(crate) today: Date,
    /// `None` in a cell, which covers all operations.
    operation: Option<Operation>,
    expected: Operations,
    /// The members that are hidden from a reader, sorted; `None` if the case does not say.
    hidden: Option<Vec<String>>,
}

impl Case {
    /// The top-level members of its item, each with the group.
    pub fn members(&self) -> impl Iterator<Item = (Collection, String)> {
        let collection = self.item.collection;
        self.item.members().map(move |name| (collection, name))
    }

    /// Compares the decision with the expected one.
    pub fn run(&self, policies: &CallerPolicies<'_>) -> CaseReport {
        let Self { file, place, name, .. } = self;
        let asked: Operations =
            self.operation.map_or(Operations::ALL, |operation| [operation].into_iter().collect());
        let permissions = policies.permissions();
        let is_permitted = |operation: &Operation| self.is_permitted(&permissions, *operation);
        let permitted: Operations = asked.iter().filter(is_permitted).collect();
        let can_read = self.is_permitted(&permissions, Operation::Read);
        let visible = permissions.visible(self.item.collection).filter(|_| can_read);
        let hidden = self.hidden.as_ref().map(|_| self.item.hidden(visible));
        let decides_on =
            |operation| self.deciding(policies, operation, permitted.contains(operation));
        let deciding = |operations: Operations| {
            let mut ids: Vec<_> = operations.iter().flat_map(decides_on).collect();
            if can_read {
                ids.extend(self.hiding(policies));
            }
            ids.sort();
            ids.dedup();
            ids
        };
        let passed = permitted == self.expected && hidden == self.hidden;
        let outcome = if passed { "ok" } else { "WRONG" };
        let described = |permitted, hidden: &Option<Vec<_>>| {
            let hidden = hidden.as_ref().filter(|hidden| !hidden.is_empty());
            let hidden = hidden.map(|hidden| format!(" without [{}]", hidden.join(", ")));
            self.described(permitted) + &hidden.unwrap_or_default()
        };
        let decided = described(permitted, &hidden);
        let mut line = format!("{outcome} {file}:{}: {name}: {decided}", place.line);
        if !passed {
            let differing =
                permitted.union(self.expected).without(permitted.intersection(self.expected));
            let ids = deciding(differing);
            let by = if ids.is_empty() {
                "no policy applies".to_owned()
            } else {
                format!("decided by {}", listed(&ids, "and"))
            };
            let expected = described(self.expected, &self.hidden);
            // Writing to a String cannot fail.
            let _ = write!(line, ", expected {expected}; {by}");
        }
        CaseReport { decided_by: deciding(asked), passed, line }
    }

    fn is_permitted(&self, permissions: &Permissions, operation: Operation) -> bool {
        let collection = self.item.collection;
        let (visible, writable) =
            (permissions.visible(collection), permissions.writable(collection, operation));
        let condition = permissions.change(collection, operation);
        let writes = [Operation::Create, Operation::Replace, Operation::Patch];
        self.item.judge(operation, condition) == Some(true)
            && (!writes.contains(&operation)
                || [visible, writable].iter().all(|mask| self.item.changes_only(*mask, operation)))
    }

    /// Returns the ids of the policies that hide members of the item.
    fn hiding(&self, policies: &CallerPolicies<'_>) -> Vec<String> {
        let hides =
            |(_, condition): &(_, _)| self.item.judge(Operation::Read, condition) != Some(false);
        let hiding = policies.hiding(self.item.collection).into_iter().filter(hides);
        hiding.map(|(id, _)| id.into()).collect()
    }

    /// Returns the ids of the policies that deny the operation, or else of those that allow it. For
    /// an item that the caller may not read, the policies about reading decide.
    fn deciding(
        &self,
        policies: &CallerPolicies<'_>,
        operation: Operation,
        is_permitted: bool,
    ) -> Vec<String> {
        let collection = self.item.collection;
        let permissions = policies.permissions();
        let can_read = || {
            let condition = permissions.on(collection, Operation::Read);
            self.item.judge(Operation::Read, condition) == Some(true)
        };
        let needs_read = operation.needs_read() && !is_permitted && !can_read();
        let decisive = if needs_read { Operation::Read } else { operation };
        let decides = |policy: &ConcerningPolicy| {
            let holds = self.item.judge(decisive, &policy.writes);
            let applies = if policy.denies { holds != Some(false) } else { holds == Some(true) };
            policy.denies != is_permitted && applies
        };
        let concerning = policies.concerning(collection, decisive).into_iter();
        concerning.filter(decides).map(|policy| policy.id.into()).collect()
    }

    fn described(&self, permitted: Operations) -> String {
        if self.operation.is_some() {
            return if permitted.is_empty() { DENY } else { ALLOW }.to_owned();
        }
        let names: Vec<_> = permitted.iter().map(Operation::name).collect();
        format!("[{}]", names.join(", "))
    }
}
