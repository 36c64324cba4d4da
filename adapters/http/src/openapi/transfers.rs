//! The operations on files of items: exports and imports.

use application::table::{FORMATS, Format, FormatKind};
use poem::http::Method;
use poem_openapi::ParameterStyle;
use poem_openapi::registry::{
    MetaHeader, MetaOperation, MetaOperationParam, MetaParamIn, MetaPath, MetaRequest, MetaSchema,
    Registry,
};
use serde_json::{Value, json};

use super::model::{
    array, described, formatted, inline, integer_from, keep, object, one_of, reference,
    with_example,
};
use super::operations::{content, header, operation, responses};
use super::parameters::parameter;
use super::service::TAG;
use crate::headers::idempotency_key::IDEMPOTENCY_KEY;
use crate::headers::media_type::MediaType;
use crate::links::EXPORTS;
use crate::query::{EXPORT_PARAMETERS, IMPORT_PARAMETERS, MODES};

/// The name of the response's schema.
const REPORT: &str = "ImportReport";
/// The name of the example of a request.
pub const EXAMPLE: &str = "ImportedItems";
/// The path of imports.
pub const IMPORT_PATH: &str = "/imports/{group}";
const ROW: &str = "ImportedRow";
const ERROR: &str = "RowError";

const EXPORT: &str = "All items that `filter` and `q` select, in the order of `sort`, as they are at one moment: what is written meanwhile is not in the file. `id`, `_version` and the members are columns; a file that is changed can be sent back to `/imports/{group}?upsert=true`. A string that could be taken for a number or a formula begins with an apostrophe.";

const IMPORT: &str = "Makes an item of each row of a file. With `upsert=true`, rows with an `id` change the item: a column that is absent leaves its member alone, and an empty cell removes it; `_version` must be the item's. Every row is judged by fields and rules. With an `Idempotency-Key`, an import that is sent again continues where it broke off.";

const LINE: &str = "Where the row begins in the file, from 1: the row of a sheet as its program shows it, the line of CSV or NDJSON. A JSON array has none.";

/// The paths, each with its operation.
pub fn paths() -> Vec<MetaPath> {
    let exports = FORMATS.iter().filter(|format| format.is_exported).map(export);
    exports.chain([import()]).collect()
}

fn export(format: &'static Format) -> MetaPath {
    let (name, types) = (format.extension.to_uppercase(), [MediaType::of_file(format)]);
    let shown = inline(formatted("binary"));
    let statuses = [200, 400, 404, 414, 422, 503];
    let mut responses = responses(&statuses, &types, &shown, headers);
    for response in responses.iter_mut().filter(|response| response.status == Some(404)) {
        // There is nothing at the path, so it has no format of its own.
        response.content = content(&[MediaType::HAL, MediaType::JSON], &reference("Problem"));
    }
    let is_taken = |name: &&&str| **name != "bom" || format.kind == FormatKind::Csv;
    let query = EXPORT_PARAMETERS.iter().filter(is_taken).map(|name| parameter_of(name));
    let own = MetaOperation {
        description: Some(EXPORT),
        params: std::iter::once(group()).chain(query).collect(),
        ..operation(
            Method::GET,
            TAG,
            keep(format!("export{name}")),
            keep(format!("Export items: {}", format.description)),
            responses,
        )
    };
    MetaPath { path: format!("{EXPORTS}/{{group}}.{}", format.extension), operations: vec![own] }
}

fn import() -> MetaPath {
    let statuses = [200, 400, 404, 406, 408, 409, 413, 414, 415, 422, 503, 507];
    let types = [MediaType::JSON, MediaType::HAL];
    let shown = reference(REPORT);
    let bodies = FORMATS.iter().flat_map(|format| {
        content(
            &[MediaType::of_file(format)],
            &inline(match format.kind {
                FormatKind::Json => array(inline(MetaSchema::new("object"))),
                FormatKind::Csv | FormatKind::Ndjson => MetaSchema::new("string"),
                FormatKind::Xlsx => formatted("binary"),
            }),
        )
    });
    let request = MetaRequest { description: None, content: bodies.collect(), required: true };
    let key = parameter(
        IDEMPOTENCY_KEY,
        MetaParamIn::Header,
        "Makes the import repeatable: each row is done once.",
        inline(MetaSchema::new("string")),
    );
    let query = IMPORT_PARAMETERS.iter().map(|name| parameter_of(name));
    let own = MetaOperation {
        description: Some(IMPORT),
        params: std::iter::once(group()).chain(query).chain([key]).collect(),
        request: Some(request),
        ..operation(
            Method::POST,
            TAG,
            "importItems",
            "Import items from a file",
            responses(&statuses, &types, &shown, headers),
        )
    };
    MetaPath { path: IMPORT_PATH.to_owned(), operations: vec![own] }
}

fn headers(status: u16) -> Vec<MetaHeader> {
    let names: &[_] = if status == 503 { &["Allow", "Retry-After"] } else { &["Allow"] };
    names.iter().map(|name| header(name)).collect()
}

fn group() -> MetaOperationParam {
    let groups = with_example(one_of(domain::Collection::names()), "proposals");
    parameter("group", MetaParamIn::Path, "The group, as rules name it.", inline(groups))
}

fn parameter_of(name: &str) -> MetaOperationParam {
    let string = |example: &str| with_example(MetaSchema::new("string"), example);
    let switch = || MetaSchema::new("boolean");
    let (description, schema) = match name {
        "filter" => ("Filters, as of the group's collection.", MetaSchema::new("object")),
        "sort" => ("The order, as of the group's collection.", string("-created_at")),
        "fields" => ("The members that are columns, separated by commas.", string("project_title")),
        "q" => ("Words to look for.", string("rice")),
        "bom" => ("Begins the file with a byte order mark, by which Excel knows UTF-8.", switch()),
        "mode" => (
            "`all`: all rows in one transaction, or none. `each`: every row by itself, with a result for each.",
            one_of(MODES),
        ),
        "upsert" => ("Rows with an `id` change its item.", switch()),
        _ => ("Checks everything and stores nothing.", switch()),
    };
    let style = (name == "filter").then_some(ParameterStyle::DeepObject);
    MetaOperationParam { style, ..parameter(name, MetaParamIn::Query, description, inline(schema)) }
}

/// The rows of an import of proposals.
pub fn example() -> Value {
    json!([{ "project_title": "Solar dryers for seaweed", "proposal_type": "R&D Project" }])
}

/// Registers the schemas of the outcome of an import.
pub fn register(registry: &mut Registry) {
    let count = |text| described(integer_from(0), text);
    let report = object(
        &["created", "replaced", "unchanged", "refused", "rows"],
        [
            ("created", count("How many items were made.")),
            ("replaced", count("How many items were given other members.")),
            ("unchanged", count("How many rows say what is stored already.")),
            ("refused", count("How many rows were refused; only with `mode=each`.")),
            ("rows", inline(array(reference(ROW)))),
        ],
    );
    let nullable = |schema| MetaSchema { nullable: true, ..schema };
    let statuses = one_of(["created", "replaced", "unchanged", "refused"]);
    let row = object(
        &["row", "status", "id"],
        [
            (
                "row",
                described(
                    integer_from(1),
                    "The number of the row, from 1; a first row of names is none.",
                ),
            ),
            ("line", described(integer_from(1), LINE)),
            ("status", described(statuses, "What became of it.")),
            ("id", described(nullable(formatted("uuid")), "The item; `null` where there is none.")),
            ("version", described(integer_from(1), "Its version.")),
            ("errors", inline(array(reference(ERROR)))),
            ("warnings", inline(array(reference(ERROR)))),
        ],
    );
    let string = |text| described(MetaSchema::new("string"), text);
    let error = object(
        &["pointer", "field", "code", "detail", "column"],
        [
            ("pointer", string("Where in the item, as a JSON Pointer (RFC 6901).")),
            ("field", string("The member; empty for the row as a whole.")),
            ("code", string("A stable word for programs.")),
            ("detail", string("What is wrong, and how to fix it.")),
            ("column", string("The name of the column.")),
            ("line", described(integer_from(1), LINE)),
            ("cell", string("The cell of the sheet, such as `C4`, where the file is a workbook.")),
            (
                "rule",
                described(formatted("uri"), "The page of the business rule, where it is one."),
            ),
        ],
    );
    let example = json!({
        "created": 1, "replaced": 0, "unchanged": 0, "refused": 0,
        "rows": [{ "row": 1, "status": "created", "id": "01890a5d-ac96-774b-bcce-b302099a8050", "version": 1 }],
    });
    let schemas = [(REPORT, with_example(report, example)), (ROW, row), (ERROR, error)];
    registry.schemas.extend(schemas.map(|(name, schema)| (name.to_owned(), schema)));
}
