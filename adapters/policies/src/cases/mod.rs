//! Cases: requests with the expected decision.

mod matrix;
mod read;
mod sample;

use std::fmt::Write as _;
use std::sync::Arc;

use application::{Caller, CaseReport, ConcerningPolicy};
use domain::{Operation, Operations};
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
}

impl Case {
    /// Compares the decision with the expected one.
    pub fn run(&self, policies: &CallerPolicies<'_>) -> CaseReport {
        let Self { file, place, name, .. } = self;
        let asked: Operations =
            self.operation.map_or(Operations::ALL, |operation| [operation].into_iter().collect());
        let permissions = policies.permissions();
        let is_permitted = |operation: &Operation| {
            let condition = permissions.change(self.item.collection, *operation);
            self.item.judge(*operation, condition) == Some(true)
        };
        let permitted: Operations = asked.iter().filter(is_permitted).collect();
        let decides_on =
            |operation| self.deciding(policies, operation, permitted.contains(operation));
        let deciding = |operations: Operations| {
            let mut ids: Vec<_> = operations.iter().flat_map(decides_on).collect();
            ids.sort();
            ids.dedup();
            ids
        };
        let passed = permitted == self.expected;
        let outcome = if passed { "ok" } else { "WRONG" };
        let mut line =
            format!("{outcome} {file}:{}: {name}: {}", place.line, self.described(permitted));
        if !passed {
            let differing =
                permitted.union(self.expected).without(permitted.intersection(self.expected));
            let ids = deciding(differing);
            let by = if ids.is_empty() {
                "no policy applies".to_owned()
            } else {
                format!("decided by {}", listed(&ids, "and"))
            };
            // Writing to a String cannot fail.
            let _ = write!(line, ", expected {}; {by}", self.described(self.expected));
        }
        CaseReport { decided_by: deciding(asked), passed, line }
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
