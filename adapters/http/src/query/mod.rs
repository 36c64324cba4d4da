//! The query of a request.
//!
//! An unknown parameter, a repeated parameter and an invalid value are 400, with the nearest valid
//! name. An ignored misspelt filter would show unwanted items.

pub mod change_cursor;
mod collection;
mod cursor;
mod error;
mod export;
mod filter;
mod fingerprint;
mod history;
mod names;
mod parameters;
mod sort;
mod view;

#[cfg(test)]
mod tests;

pub use collection::{CollectionQuery, ContentQuery, ItemQuery, item_time, shows_a_part};
pub use error::{fix, invalid};
pub use export::{EXPORT_PARAMETERS, ExportQuery, IMPORT_PARAMETERS, ImportQuery, MODES};
pub use filter::OPERATORS;
pub use history::{
    CHANGES_PARAMETERS, ChangesQuery, STREAM_PARAMETERS, VersionsQuery, WhatToTry, difference_from,
    dossier_moment, two_versions, version, what_to_try,
};
pub use names::{MOST_IN_NAMES, MOST_VALUE, TIMES};
pub use parameters::{
    DEFAULT_PAGE_SIZE, DISPOSITIONS, FilterParameter, MAX_PAGE_SIZE, OF_A_PAGE, Parameter,
    Parameters, SWITCH, TOTALS, is_named, pieces, values, with_query, without,
};
pub use sort::MOST_KEYS;
pub use view::{MOST_FIELDS, embedded_collections};

use poem::Request;

use crate::groups::GroupOperation;
use crate::problem::Result;

/// Used by the parser and the document. `filter` is followed by names in brackets.
pub const fn known(operation: GroupOperation) -> &'static [&'static str] {
    match operation {
        GroupOperation::List => &[
            "page",
            "page_size",
            "cursor",
            "filter",
            "sort",
            "fields",
            "embed",
            "q",
            "total",
            "count_by",
            "as_of",
            "access",
        ],
        GroupOperation::Get => &["fields", "embed", "as_of", "check", "access"],
        GroupOperation::ListVersions => &["page", "page_size"],
        GroupOperation::GetVersion => &[],
        GroupOperation::GetContent => &["as_of", "disposition"],
        GroupOperation::GetVersionContent => &["disposition"],
        GroupOperation::GetDossier => &["as_of", "version"],
        GroupOperation::Compare => &["from"],
        GroupOperation::Create
        | GroupOperation::Patch
        | GroupOperation::Replace
        | GroupOperation::Delete
        | GroupOperation::Continue
        | GroupOperation::ReplaceAll
        | GroupOperation::PutContent
        | GroupOperation::DeleteContent
        | GroupOperation::Restore => &["dry_run"],
    }
}

pub fn query_of(request: &Request) -> &str {
    request.uri().query().unwrap_or_default()
}

pub fn refuse_parameters(request: &Request) -> Result<()> {
    Parameters::read(query_of(request), &[]).map(drop)
}

pub fn is_on(request: &Request, name: &'static str) -> Result<bool> {
    Parameters::read(query_of(request), &[name])?.is_on(name)
}
