//! The tables of the specification, and what no row takes.

use crate::{PROPOSAL, UNKNOWN_ID};

/// One operation of 4.2: its method, whether it is of an item or of the collection, the status of
/// success, and every other status it can answer: those of the specification, and 400 and 422 where
/// a body is taken.
type Operation = (&'static str, bool, u16, &'static [u16]);

const COLLECTION: bool = false;
const ITEM: bool = true;

/// The operations of every group.
const OPERATIONS: [Operation; 6] = [
    ("GET", COLLECTION, 200, &[406, 415]),
    ("POST", COLLECTION, 201, &[400, 406, 415, 422]),
    ("GET", ITEM, 200, &[404, 406, 415]),
    ("PATCH", ITEM, 200, &[400, 404, 406, 415, 422]),
    ("PUT", ITEM, 200, &[400, 404, 406, 415, 422]),
    ("DELETE", ITEM, 204, &[404, 406, 415]),
];

/// The continuation of an item, and the replacement of a collection (4.5).
const CONTINUE: Operation = ("POST", ITEM, 201, &[400, 404, 406, 415, 422]);
const REPLACE_ALL: Operation = ("PUT", COLLECTION, 200, &[400, 406, 415, 422]);

/// One line of 4.3 to 4.5: a group at its collection path.
pub(super) struct Group {
    /// The name in the vendor type `application/vnd.<name>.v1+json`.
    pub(super) name: &'static str,
    pub(super) collection: &'static str,
    /// A body that the group takes.
    pub(super) body: &'static str,
    /// Its operations beyond those of every group.
    further: &'static [Operation],
}

pub(super) struct Row {
    pub(super) method: &'static str,
    pub(super) is_item: bool,
    pub(super) success: u16,
    pub(super) refusals: Vec<u16>,
}

const OPEN: &str = r#"{"title":"Anything","amount":100.10}"#;

const fn open(name: &'static str, collection: &'static str) -> Group {
    Group { name, collection, body: OPEN, further: &[] }
}

pub(super) const GROUPS: [Group; 11] = [
    open("proposedprograms", "/v1/proposedprograms"),
    open("proposedprograms", "/status"),
    open("gadscores", "/v1/gadscores"),
    open("gadscores", "/status"),
    open("statuses", "/v1/statuses"),
    open("files", "/v1/files"),
    open("lib", "/lib"),
    Group { name: "proposals", collection: "/v1/proposals", body: PROPOSAL, further: &[CONTINUE] },
    open("proposals", "/v1/proposals/:proposals_id/lib"),
    open("proposals", "/status"),
    Group {
        name: "cashprogram",
        collection: "/v1/cashprogram",
        body: OPEN,
        further: &[REPLACE_ALL, CONTINUE],
    },
];

impl Group {
    /// A collection of a proposal answers 404 where the proposal is unknown.
    pub(super) fn is_nested(&self) -> bool {
        self.collection.contains(':')
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = Row> {
        let operations = OPERATIONS.iter().chain(self.further);
        operations.map(|&(method, is_item, success, refusals)| {
            let missing = (self.is_nested() && !is_item).then_some(404);
            let refusals = refusals.iter().copied().chain(missing).collect();
            Row { method, is_item, success, refusals }
        })
    }

    /// The methods that `Allow` names.
    pub(super) fn allowed(&self, is_item: bool) -> Vec<&'static str> {
        let rows = self.rows().filter(|row| row.is_item == is_item);
        rows.map(|row| row.method).chain(["HEAD", "OPTIONS"]).collect()
    }
}

/// Values of `Accept` that no path can satisfy.
pub(super) const UNACCEPTABLE: &[&str] = &[
    "text/html",
    "application/vnd.nothing.v1+json",
    "application/vnd.proposals.v2+json",
    "application/json;q=0",
    "application/problem+json",
];

/// Values of `Content-Type` that no path takes.
pub(super) const UNSUPPORTED: &[&str] = &[
    "text/plain",
    "application/hal+json",
    "application/vnd.nothing.v1+json",
    "application/merge-patch+json",
    "application/json; charset=iso-8859-1",
];

/// Identifiers that no item can have.
pub(super) const ODD_IDS: &[&str] = &[
    UNKNOWN_ID,
    "no-such-id",
    "0",
    "-1",
    "%2F",
    "%2f..%2f",
    "%00",
    "%ff",
    "%20",
    "%3F",
    "%E2%82%AC",
    "'%20OR%201=1%20--",
    "1;DROP%20TABLE%20items",
];
