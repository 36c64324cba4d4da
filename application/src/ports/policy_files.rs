//! Policies in files, tried before they are put in force.

use domain::{Collection, Operation};
use jiff::civil::Date;

use super::{Access, CaseFiles, Ownership};
use crate::Caller;

/// Policies and their cases, all of which were read without an error.
pub trait PolicyFiles: CaseFiles {
    /// Returns what a caller may do with the items of a collection on a day.
    fn access_on(&self, today: Date, caller: &Caller, collection: Collection) -> Access;

    /// Returns the ids of the policies that decide on an operation on a day: those that deny it, or
    /// else those that allow it.
    fn deciding_on(
        &self,
        today: Date,
        caller: &Caller,
        collection: Collection,
        operation: Operation,
        ownership: Ownership,
    ) -> Vec<Box<str>>;
}
