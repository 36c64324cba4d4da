//! Schemas shared by all groups, as Rust types. Those here never hold values: they describe
//! responses that are written as text.

use std::collections::HashMap;

use domain::Violations;
use poem_openapi::Object;
use poem_openapi::registry::{MetaSchema, Registry};
use poem_openapi::types::{Any, Type};
use serde_json::Value;

use super::model::{array, reference};
use super::values::{
    AccessAction, AccessResource, AccessSubject, AtLeast, CollectionLinks, Count, DateTime, Kind,
    Number, PatchName, Removed, RowStatus, True, Uri, Uuid,
};
use crate::hal::{ChangePage, RuleList, VersionHistory};

pub fn register(registry: &mut Registry) {
    Meta::register(registry);
    CollectionLinks::register(registry);
    CollectionMeta::register(registry);
    ValueCount::register(registry);
    VersionHistory::register(registry);
    PatchOperation::register(registry);
    Problem::register(registry);
    ChangePage::register(registry);
    RuleList::register(registry);
    Health::register(registry);
    AccessEvaluation::register(registry);
    ImportReport::register(registry);
    let patch = array(reference("PatchOperation"));
    let patch = MetaSchema { description: Some("A JSON Patch (RFC 6902)."), ..patch };
    registry.schemas.insert("JsonPatch".to_owned(), patch);
}

const _: () = assert!(Violations::LIMIT == 100, "`max_items` below");

/// The state of an item, and what the service has to say about it.
#[derive(Object)]
pub struct Meta {
    /// How often the item was written.
    version: Number,
    /// When it was created (RFC 3339, UTC).
    created_at: DateTime,
    /// When it was last written (RFC 3339, UTC).
    updated_at: DateTime,
    /// How well it matches `q`: greater is better. Only in the answer to a search.
    score: Option<f64>,
    /// A piece of its strings as HTML, with what was found within `<mark>`. Only in the answer to a
    /// search.
    snippet: Option<String>,
    /// `removed` where the body of the version that was there at the time was removed, so that only the
    /// item's identifiers are shown. Only with `as_of`.
    body: Option<Removed>,
    /// When the body was removed. Only with `as_of`.
    removed_at: Option<DateTime>,
    /// Nothing was stored: it was a dry run.
    dry_run: Option<True>,
    /// Remarks of business rules that do not refuse the write. Only where there are any, and with
    /// `check=true`.
    #[oai(validator(max_items = 100))]
    warnings: Option<Vec<Remark>>,
    /// The violations that a replacement by the same members would have now. Only with
    /// `check=true`.
    #[oai(validator(max_items = 100))]
    errors: Option<Vec<Remark>>,
    /// The write that made the version. Only in a version of its own.
    kind: Option<Kind>,
    /// Who made the version. Only in a version of its own.
    #[oai(nullable)]
    caller: Option<String>,
    /// Who acted for the caller. Only in a version of its own.
    #[oai(nullable)]
    acting: Option<String>,
    /// The program that was used. Only in a version of its own.
    #[oai(nullable)]
    client: Option<String>,
    /// The `X-Request-Id` of the request. Only in a version of its own.
    #[oai(nullable)]
    request_id: Option<String>,
}

/// A remark of a business rule.
#[derive(Object)]
pub struct Remark {
    /// The id of the rule, or another stable word for what is wrong.
    code: String,
    /// Where, as a JSON Pointer (RFC 6901).
    pointer: String,
    /// A message that says what is wrong and how to fix it.
    message: String,
    /// The page of the business rule, where it is one.
    rule: Option<Uri>,
}

/// Remarks about the numbers; mostly none.
#[derive(Object)]
pub struct CollectionMeta {
    /// `total_items` was not counted to the end: there are more.
    total: Option<AtLeast>,
    /// The items that `_embedded.counts` does not tell of. Only with `count_by`.
    counts: Option<OtherCounts>,
    /// Nothing was stored: it was a dry run.
    dry_run: Option<True>,
    /// Remarks of business rules that do not refuse the write.
    #[oai(validator(max_items = 100))]
    warnings: Option<Vec<Remark>>,
}

/// The numbers of a page.
#[derive(Object)]
pub struct PageNumbers {
    /// How many pages there are; left out where nobody counted, or not to the end.
    page_count: Option<Count>,
    /// Items per page.
    page_size: Count,
    /// How many items there are; left out with `total=none`.
    total_items: Option<Count>,
    /// This page, from 1.
    page: Count,
}

/// How many items have a value.
#[derive(Object)]
pub struct ValueCount {
    /// The value, as it is stored.
    value: Any<Value>,
    /// The number of items.
    count: Number,
}

/// How many items have no value that is listed.
#[derive(Object)]
pub struct OtherCounts {
    /// The items with other values: less frequent ones, and those of more than 200 characters.
    rest: Count,
    /// The items without the member, or with `null`.
    absent: Count,
}

/// An operation of a JSON Patch (RFC 6902).
#[derive(Object)]
pub struct PatchOperation {
    /// The operation.
    op: PatchName,
    /// Where, as a JSON Pointer (RFC 6901).
    path: String,
    /// The new value; not with `remove`.
    value: Option<Any<Value>>,
}

/// Problem details (RFC 9457).
#[derive(Object)]
pub struct Problem {
    /// A page that explains the problem and how to fix it.
    #[oai(rename = "type")]
    page: Uri,
    /// A phrase that says what happened.
    title: String,
    /// The HTTP status.
    status: i32,
    /// A stable word for programs.
    code: String,
    /// The error in this request.
    detail: String,
    /// The requested path.
    instance: Uri,
    /// Every error in the body; of an import, the first thousand.
    #[oai(validator(max_items = 1000))]
    errors: Option<Vec<ValidationError>>,
    /// When the body of the version was removed. Only with the code `body-removed`.
    removed_at: Option<DateTime>,
    /// The same by field and code, for Laminas clients.
    validation_messages: Option<HashMap<String, HashMap<String, String>>>,
    /// The changes that the full-text index knows. Only of `index-building`.
    indexed: Option<u64>,
    /// The changes that it has to know. Only of `index-building`.
    of: Option<u64>,
}

/// An error in the body.
#[derive(Object)]
pub struct ValidationError {
    /// Where, as a JSON Pointer into the body (RFC 6901).
    pointer: String,
    /// The member; empty for the body as a whole.
    field: String,
    /// The rule, as a stable word.
    code: String,
    /// A message that says what is wrong and how to fix it.
    detail: String,
    /// The page of the business rule, where it is one.
    rule: Option<Uri>,
    /// The row of the file, from 1. Only of an import.
    row: Option<Number>,
    /// The column of the file; empty for the row as a whole. Only of an import.
    column: Option<String>,
}

/// The state of the service.
#[derive(Object)]
pub struct Health {
    /// `ok` or `ready`.
    status: String,
    /// `none` where the operators let everybody in without asking who they are.
    identity: Option<String>,
    /// The kinds of files that have errors since they were changed, such as `rules`, so that the content from
    /// before is in force.
    reload_failed: Option<Vec<String>>,
}

/// A question of the `OpenID` `AuthZEN` Authorization API 1.0.
#[derive(Object)]
pub struct AccessEvaluation {
    resource: AccessResource,
    action: AccessAction,
    subject: Option<AccessSubject>,
}

/// The outcome of an import.
#[derive(Object)]
pub struct ImportReport {
    /// How many items were made.
    created: Count,
    /// How many items were given other members.
    replaced: Count,
    /// How many rows say what is stored already.
    unchanged: Count,
    /// How many rows were refused; only with `mode=each`.
    refused: Count,
    rows: Vec<ReportedRow>,
}

/// The outcome of a row.
#[derive(Object)]
#[oai(rename = "ImportedRow")]
pub struct ReportedRow {
    /// The number of the row, from 1; a first row of names is none.
    row: Number,
    /// Where the row begins in the file, from 1: the row of a sheet as its program shows it, the
    /// line of CSV or NDJSON. A JSON array has none.
    line: Option<Number>,
    /// The outcome.
    status: RowStatus,
    /// The item; `null` where there is none.
    #[oai(nullable)]
    id: Uuid,
    /// Its version.
    version: Option<Number>,
    errors: Option<Vec<CellError>>,
    warnings: Option<Vec<CellError>>,
}

/// An error of a row.
#[derive(Object)]
#[oai(rename = "RowError")]
pub struct CellError {
    /// Where in the item, as a JSON Pointer (RFC 6901).
    pointer: String,
    /// The member; empty for the row as a whole.
    field: String,
    /// A stable word for programs.
    code: String,
    /// The error, and how to fix it.
    detail: String,
    /// The name of the column.
    column: String,
    /// Where the row begins in the file, from 1: the row of a sheet as its program shows it, the
    /// line of CSV or NDJSON. A JSON array has none.
    line: Option<Number>,
    /// The cell of the sheet, such as `C4`, where the file is a workbook.
    cell: Option<String>,
    /// The page of the business rule, where it is one.
    rule: Option<Uri>,
}
