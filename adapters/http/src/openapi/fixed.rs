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
    AccessEvaluations::register(registry);
    ImportReport::register(registry);
    let patch = array(reference("PatchOperation"));
    let patch = MetaSchema { description: Some("A JSON Patch (RFC 6902)."), ..patch };
    registry.schemas.insert("JsonPatch".to_owned(), patch);
}

const _: () = assert!(Violations::LIMIT == 100, "`max_items` below");

/// Metadata of an item: its version, times and remarks.
#[derive(Object)]
pub struct Meta {
    /// The version of the item. Each write increases it by one.
    version: Number,
    /// When it was created (RFC 3339, UTC).
    created_at: DateTime,
    /// When it was last written (RFC 3339, UTC).
    updated_at: DateTime,
    /// The content of the item, if it has any. Only in groups whose items can have content.
    content: Option<ContentFacts>,
    /// Relevance for `q`: higher is better. Only in search results.
    score: Option<f64>,
    /// An excerpt as HTML, with matches in `<mark>`. Only in search results.
    snippet: Option<String>,
    /// `removed` if the body of the version at that time was removed. Then only the item's
    /// identifiers are shown. Only with `as_of`.
    body: Option<Removed>,
    /// When the body was removed. Only with `as_of`.
    removed_at: Option<DateTime>,
    /// Dry run: no changes were stored.
    dry_run: Option<True>,
    /// Warnings of business rules. They do not prevent the write. Only if there are warnings, or
    /// with `check=true`.
    #[oai(validator(max_items = 100))]
    warnings: Option<Vec<Remark>>,
    /// Errors that a replacement with the same members would cause now. Only with `check=true`.
    #[oai(validator(max_items = 100))]
    errors: Option<Vec<Remark>>,
    /// The operations that you may perform on the item. Only with `access=true`.
    #[oai(validator(max_items = 6))]
    allowed: Option<Vec<String>>,
    /// Kind of write that created the version. Only in a single version.
    kind: Option<Kind>,
    /// Caller who created the version. Only in a single version.
    #[oai(nullable)]
    caller: Option<String>,
    /// Who acted on behalf of the caller. Only in a single version.
    #[oai(nullable)]
    acting: Option<String>,
    /// Client program. Only in a single version.
    #[oai(nullable)]
    client: Option<String>,
    /// The `X-Request-Id` of the request. Only in a single version.
    #[oai(nullable)]
    request_id: Option<String>,
}

/// The content of an item.
#[derive(Object)]
#[oai(rename = "Content")]
pub struct ContentFacts {
    /// Media type, as it was sent.
    media_type: Option<String>,
    /// Name of the file. Omitted if none was sent.
    filename: Option<String>,
    /// Size in bytes.
    size: Option<Count>,
    /// SHA-256 digest of the bytes, in hexadecimal.
    sha256: Option<String>,
    /// When it was stored (RFC 3339, UTC).
    stored_at: Option<DateTime>,
}

/// A remark of a business rule.
#[derive(Object)]
pub struct Remark {
    /// The id of the rule, or another stable error code.
    code: String,
    /// Location, as a JSON Pointer (RFC 6901).
    pointer: String,
    /// The error and how to fix it.
    message: String,
    /// URL of the business rule, if a rule reported it.
    rule: Option<Uri>,
}

/// Remarks about the numbers, often empty.
#[derive(Object)]
pub struct CollectionMeta {
    /// `total_items` is a lower bound: there are more items.
    total: Option<AtLeast>,
    /// Items not covered by `_embedded.counts`. Only with `count_by`.
    counts: Option<OtherCounts>,
    /// Dry run: no changes were stored.
    dry_run: Option<True>,
    /// Warnings of business rules. They do not prevent the write.
    #[oai(validator(max_items = 100))]
    warnings: Option<Vec<Remark>>,
}

/// The numbers of a page.
#[derive(Object)]
pub struct PageNumbers {
    /// Number of pages. Omitted if the total was not counted or is a lower bound.
    page_count: Option<Count>,
    /// Items per page.
    page_size: Count,
    /// Number of items. Omitted with `total=none`.
    total_items: Option<Count>,
    /// Number of this page, from 1.
    page: Count,
}

/// Number of items with a value.
#[derive(Object)]
pub struct ValueCount {
    /// The value, as it is stored.
    value: Any<Value>,
    /// The number of items.
    count: Number,
}

/// Number of items without a listed value.
#[derive(Object)]
pub struct OtherCounts {
    /// Items with other values: less frequent values, and values of more than 200 characters.
    rest: Count,
    /// Items without the member, or with `null`.
    absent: Count,
}

/// An operation of a JSON Patch (RFC 6902).
#[derive(Object)]
pub struct PatchOperation {
    /// The operation.
    op: PatchName,
    /// Location, as a JSON Pointer (RFC 6901).
    path: String,
    /// The new value. Not with `remove`.
    value: Option<Any<Value>>,
}

/// Problem details (RFC 9457).
#[derive(Object)]
pub struct Problem {
    /// A page that explains the problem and how to fix it.
    #[oai(rename = "type")]
    page: Uri,
    /// Short title of the problem.
    title: String,
    /// The HTTP status.
    status: i32,
    /// Stable error code for programs.
    code: String,
    /// Explanation of the error in this request.
    detail: String,
    /// The requested path.
    instance: Uri,
    /// All errors in the body. For imports, the first 1,000.
    #[oai(validator(max_items = 1000))]
    errors: Option<Vec<ValidationError>>,
    /// When the body of the version was removed. Only with the code `body-removed`.
    removed_at: Option<DateTime>,
    /// The errors by field and code, for Laminas clients.
    validation_messages: Option<HashMap<String, HashMap<String, String>>>,
    /// Changes indexed for full-text search so far. Only for `index-building`.
    indexed: Option<u64>,
    /// Changes to index in total. Only for `index-building`.
    of: Option<u64>,
}

/// An error in the body.
#[derive(Object)]
pub struct ValidationError {
    /// Location in the body, as a JSON Pointer (RFC 6901).
    pointer: String,
    /// The member. Empty for the whole body.
    field: String,
    /// Stable error code.
    code: String,
    /// The error and how to fix it.
    detail: String,
    /// URL of the business rule, if a rule reported it.
    rule: Option<Uri>,
    /// The row of the file, from 1. Only for imports.
    row: Option<Number>,
    /// The column of the file. Empty for the whole row. Only for imports.
    column: Option<String>,
}

/// The state of the service.
#[derive(Object)]
pub struct Health {
    /// `ok` or `ready`.
    status: String,
    /// `none` if no sign-in is configured.
    identity: Option<String>,
    /// Kinds of files with errors after a change, such as `rules`. Their previous content remains
    /// in force.
    reload_failed: Option<Vec<String>>,
}

/// An access evaluation request of the `OpenID` `AuthZEN` Authorization API 1.0.
#[derive(Object)]
pub struct AccessEvaluation {
    resource: AccessResource,
    action: AccessAction,
    subject: Option<AccessSubject>,
}

/// Several access evaluation requests. What an element leaves out is taken from here.
#[derive(Object)]
pub struct AccessEvaluations {
    resource: Option<AccessResource>,
    action: Option<AccessAction>,
    subject: Option<AccessSubject>,
    #[oai(validator(max_items = 250))]
    evaluations: Option<Vec<PartialEvaluation>>,
    options: Option<EvaluationOptions>,
}

/// An element of several access evaluation requests.
#[derive(Object)]
pub struct PartialEvaluation {
    resource: Option<AccessResource>,
    action: Option<AccessAction>,
    subject: Option<AccessSubject>,
}

/// When to stop.
#[derive(Object)]
pub struct EvaluationOptions {
    /// `execute_all` (the default), `deny_on_first_deny` or `permit_on_first_permit`.
    evaluations_semantic: Option<String>,
}

/// Result of an import.
#[derive(Object)]
pub struct ImportReport {
    /// Number of created items.
    created: Count,
    /// Number of replaced items.
    replaced: Count,
    /// Number of rows that equal the stored item.
    unchanged: Count,
    /// Number of rejected rows. Only with `mode=each`.
    refused: Count,
    rows: Vec<ReportedRow>,
    /// Members that neither the group usually has nor the item had, at most 50. Only with
    /// `dry_run=true`.
    new_members: Option<Vec<NewMember>>,
}

/// A member that is new to its group.
#[derive(Object)]
pub struct NewMember {
    name: String,
    /// The nearest usual member. `null` if none is near.
    #[oai(nullable)]
    did_you_mean: String,
}

/// A change of a member. A string is as it is, another value is written as JSON.
#[derive(Object)]
pub struct CellChange {
    member: String,
    /// The stored value. `null` if there is none.
    #[oai(nullable)]
    before: String,
    /// The new value. `null` if it is removed.
    #[oai(nullable)]
    after: String,
}

/// Result of a row.
#[derive(Object)]
#[oai(rename = "ImportedRow")]
pub struct ReportedRow {
    /// The number of the row, from 1. A header row is not counted.
    row: Number,
    /// First line of the row in the file, from 1: the row number in a spreadsheet, or the line in
    /// CSV or NDJSON. Omitted for a JSON array.
    line: Option<Number>,
    /// The result.
    status: RowStatus,
    /// The item. `null` if the row has no item.
    #[oai(nullable)]
    id: Uuid,
    /// Its version.
    version: Option<Number>,
    errors: Option<Vec<CellError>>,
    warnings: Option<Vec<CellError>>,
    /// The members that would change, at most 200 in all rows. Only with `dry_run=true`.
    changes: Option<Vec<CellChange>>,
}

/// An error of a row.
#[derive(Object)]
#[oai(rename = "RowError")]
pub struct CellError {
    /// Location in the item, as a JSON Pointer (RFC 6901).
    pointer: String,
    /// The member. Empty for the whole row.
    field: String,
    /// Stable error code for programs.
    code: String,
    /// The error, and how to fix it.
    detail: String,
    /// The name of the column.
    column: String,
    /// First line of the row in the file, from 1: the row number in a spreadsheet, or the line in
    /// CSV or NDJSON. Omitted for a JSON array.
    line: Option<Number>,
    /// The cell of the sheet, such as `C4`, if the file is a workbook.
    cell: Option<String>,
    /// URL of the business rule, if a rule reported it.
    rule: Option<Uri>,
}
