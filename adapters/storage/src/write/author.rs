//! The columns of the change log that say who made a change.

use application::Warrant;

/// Their names.
pub(crate) const COLUMNS: [&str; 4] = ["caller", "acting", "client", "request_id"];

/// Their values for a write, in the same order.
pub(crate) fn values(warrant: &Warrant) -> [Option<&str>; COLUMNS.len()] {
    [warrant.caller(), warrant.acting(), warrant.client(), warrant.request_id()]
}

/// A string for each of the columns, one after the other.
pub(crate) fn each(text: impl Fn(&str) -> String) -> String {
    COLUMNS.map(text).concat()
}
