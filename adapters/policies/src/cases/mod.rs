//! Cases: requests with the expected decision.

mod matrix;
mod read;
mod sample;

use std::fmt::Write as _;
use std::sync::Arc;

use application::{Access, Caller, CaseReport, Ownership};
use domain::{Collection, Operation, Operations};
use jiff::civil::Date;
use language::error::Location;

use crate::file_format::{ALLOW, DENY};
use crate::summary::listed;

pub(crate) use read::CaseReader;
pub(crate) use sample::caller;

/// Caller, item and expected permissions: an element of `cases`, or a cell of a matrix.
#[derive(Debug)]
pub(crate) struct Case {
    file: Arc<str>,
    place: Location,
    name: Box<str>,
    pub(crate) caller: Caller,
    pub(crate) collection: Collection,
    pub(crate) ownership: Ownership,
    pub(crate) today: Date,
    /// `None` in a cell, which covers all operations.
    operation: Option<Operation>,
    expected: Operations,
}

impl Case {
    /// Compares the decision with the expected one. `decides_on` returns the ids of the deciding
    /// policies.
    pub fn run(
        &self,
        access: Access,
        decides_on: impl Fn(Operation) -> Vec<Box<str>>,
    ) -> CaseReport {
        let Self { file, place, name, ownership, .. } = self;
        let asked: Operations =
            self.operation.map_or(Operations::ALL, |operation| [operation].into_iter().collect());
        let permitted = access.on(*ownership).intersection(asked);
        let deciding = |operations: Operations| {
            let mut ids: Vec<_> = operations.iter().flat_map(&decides_on).collect();
            ids.sort();
            ids.dedup();
            ids.into_iter().map(String::from).collect::<Vec<_>>()
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

    fn described(&self, permitted: Operations) -> String {
        if self.operation.is_some() {
            return if permitted.is_empty() { DENY } else { ALLOW }.to_owned();
        }
        let names: Vec<_> = permitted.iter().map(Operation::name).collect();
        format!("[{}]", names.join(", "))
    }
}
