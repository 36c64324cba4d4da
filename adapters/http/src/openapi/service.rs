//! The service's own operations, as a table: doc comments are descriptions.

use application::table::{FORMATS, Format, FormatKind};
use poem::http::Method;
use poem_openapi::registry::{
    MetaOperation, MetaPath, MetaRequest, MetaSchema, MetaSchemaRef, Registry,
};
use serde_json::{Value, json};

use super::model::{array, documented, formatted, inline, keep, reference, with_example};
use super::operations::operation;
use super::responses::{content, headers, responses};
use super::{parameters, rule_trial};
use crate::headers::idempotency_key::IDEMPOTENCY_KEY;
use crate::headers::media_type::{MediaType, PAGE_TYPES};
use crate::links;
use crate::metrics::template;
use crate::query::{
    CHANGES_PARAMETERS, EXPORT_PARAMETERS, IMPORT_PARAMETERS, STREAM_PARAMETERS, change_cursor,
};

pub const TAG: &str = "service";

const EVENTS: &str = "ChangeEvents";
const IMPORT: &str = "/imports/{group}";
/// Placeholder: the body of an import is a file and has no schema.
const FILE: &str = "ImportedItems";

const HAL: &[MediaType] = &[MediaType::HAL, MediaType::JSON];
const JSON: &[MediaType] = &[MediaType::JSON];
const JSON_OR_HAL: &[MediaType] = &[MediaType::JSON, MediaType::HAL];
const STREAM: &[MediaType] = &[MediaType::EVENT_STREAM];

/// Operation id, path, summary, media types and statuses, response schema (empty for any
/// object), description.
type Row<'a> = (
    &'static str,
    &'a str,
    &'static str,
    &'a [MediaType],
    &'static [u16],
    &'static str,
    &'static str,
);

const ROWS: &[Row<'static>] = &documented! {
    ("getEntryPoint", "/", "The entry point: links every collection",
        HAL, &[200, 406], "");
    ("getHealth", links::HEALTH, "Whether the process lives",
        JSON, &[200, 406], "Health");
    ("getReadiness", links::READINESS, "Whether the service can do its work: checks the store",
        JSON, &[200, 406, 503], "Health");
    /// Follow `_links.next`: it is on every page, also on an empty one, so a reader simply keeps
    /// following it. Nothing is missed and nothing comes twice, however many write at once. With
    /// `group`, a page may be empty although there is more. `kind` is `created`, `replaced`,
    /// `patched` or `deleted`; a deletion takes the next version.
    ("listChanges", links::CHANGES, "Every write of every group, in the order of the commits",
        HAL, &[200, 304, 400, 406, 410, 414, 503], "ChangePage");
    /// **This answer does not end**, so it cannot be tried out on a page: read it with `curl -N` or
    /// an `EventSource`. It is the change log as server-sent events, from now on; with
    /// `Last-Event-ID` after the event of that `id`, which is how a browser connects again. The data
    /// of each event is a CloudEvent 1.0 in JSON, whose `subject` is the item's path and whose `data`
    /// is the change as `/v1/changes` shows it. A comment is sent every 15 seconds. A reader who does
    /// not read is cut off and may connect again where it was.
    ("streamChanges", links::CHANGE_STREAM,
        "Every write as it happens, in an answer that does not end",
        STREAM, &[200, 400, 406, 410, 414, 503], EVENTS);
    /// Every business rule that is in force, group by group: those written in Rust, then those of the
    /// operators' rule files. Rules may change while the service runs; the entity tag changes with
    /// them.
    ("listRules", links::RULES, "List the business rules",
        HAL, &[200, 304, 400, 406, 414], "RuleList");
    ("getRule", links::RULE, "Read a business rule",
        &PAGE_TYPES, &[200, 304, 400, 404, 406, 414], "Rule");
    /// The verdict of a rule, or of an expression alone, about an item, and the value of each of its
    /// parts. An error in it is no error of the request: the verdict is `undecided`, and `errors`
    /// says where it is. It is evaluated within the limits of a write, nothing is looked up in the
    /// store, and nothing is stored.
    ("tryRule", links::RULE_TRIAL, "Try a business rule on an item",
        HAL, &[200, 400, 406, 408, 413, 414, 415, 422, 503], rule_trial::RESPONSE);
    /// Every policy that is in force, in the order of the operators' files. Policies decide what
    /// callers may do: what none allows is denied, and what one denies is denied whatever others
    /// allow. They may change while the service runs.
    ("listPolicies", links::POLICIES, "List the policies",
        HAL, &[200, 304, 400, 406, 414], "");
    ("getPolicy", links::POLICY, "Read a policy",
        HAL, &[200, 304, 400, 404, 406, 414], "");
    /// For every group and operation the extent, `all`, `some` or `none`, and the policies that
    /// decide: those that deny it, or else those that allow it. `some` are the items that the caller
    /// created, or all others. The items that are deleted with one count for `delete`, too.
    ("getAccess", links::ACCESS, "Who the caller is, and what the caller may do",
        HAL, &[200, 400, 406, 414], "");
    /// The access evaluation of the OpenID AuthZEN Authorization API 1.0. `resource.type` is a group,
    /// `resource.id` an item of it, which `create` does not need, and `action.name` an operation:
    /// `read`, `history`, `create`, `replace`, `patch` or `delete`. `subject` is left out, or is the
    /// caller; about somebody else the decision is `false`. About an item that the caller does not
    /// see, the answer is the one for an item that is not there.
    ("evaluateAccess", links::EVALUATION, "Whether the caller may do one thing",
        HAL, &[200, 400, 406, 408, 413, 414, 415, 422, 503], "");
    /// The metadata of the service as a protected resource (RFC 9728).
    ("getProtectedResource", links::PROTECTED_RESOURCE, "Where clients get access tokens",
        JSON, &[200, 304, 400, 406, 414], "");
    // Served for any Accept header.
    /// An editor that knows it completes and checks rule files as they are written: name its URL in
    /// the file's first line, `# yaml-language-server: $schema=…`.
    ("getRuleSchema", links::RULE_SCHEMA, "The JSON Schema of rule files",
        JSON, &[200, 304, 400, 414], "");
    /// Makes an item of each row of a file. With `upsert=true`, rows with an `id` change the item: a
    /// column that is absent leaves its member alone, and an empty cell removes it; `_version` must
    /// be the item's. Every row is judged by fields and rules. With an `Idempotency-Key`, an import
    /// that is sent again continues where it broke off.
    ("importItems", IMPORT, "Import items from a file",
        JSON_OR_HAL, &[200, 400, 404, 406, 408, 409, 413, 414, 415, 422, 503, 507], "ImportReport");
};

fn parameters_of(path: &str) -> (&'static [&'static str], &'static [&'static str]) {
    match path {
        links::CHANGES => (CHANGES_PARAMETERS, &[]),
        links::CHANGE_STREAM => (STREAM_PARAMETERS, &["Last-Event-ID"]),
        IMPORT => (IMPORT_PARAMETERS, &[IDEMPOTENCY_KEY]),
        path if path.starts_with(links::EXPORTS) => (EXPORT_PARAMETERS, &[]),
        _ => (&[], &[]),
    }
}

const EXPORT_STATUSES: &[u16] = &[200, 400, 404, 414, 422, 503];
const EXPORT: &str = "All items that `filter` and `q` select, in the order of `sort`, as they are at one moment: what is written meanwhile is not in the file. `id`, `_version` and the members are columns; a file that is changed can be sent back to `/imports/{group}?upsert=true`. A string that could be taken for a number or a formula begins with an apostrophe.";

pub fn paths() -> Vec<MetaPath> {
    let own = ROWS.iter().map(|row| match row {
        (.., "", _) => path(row, &inline(MetaSchema::new("object"))),
        (.., shown, _) => path(row, &reference(shown)),
    });
    own.chain(FORMATS.iter().filter(|format| format.is_exported).map(export)).collect()
}

fn path(row: &Row<'_>, shown: &MetaSchemaRef) -> MetaPath {
    let (id, path, summary, types, statuses, _, description) = *row;
    let is_of_files = path.contains("{group}");
    let sent = |status| {
        headers(|name| match name {
            "Link" => path == links::CHANGES && status == 200,
            "Retry-After" => is_of_files && status == 503,
            _ => name == "Allow",
        })
    };
    let responses = responses(statuses, types, shown, sent);
    let taken = request_examples().into_iter().find(|(known, ..)| *known == path);
    let method = if taken.is_some() { Method::POST } else { Method::GET };
    let (query, headers) = parameters_of(path);
    let path = template(path);
    let own = MetaOperation {
        description: Some(description).filter(|text| !text.is_empty()),
        params: parameters::of_own(&path, query, headers),
        request: taken.map(|(_, schema, _)| request(schema)),
        ..operation(method, TAG, id, summary, responses)
    };
    MetaPath { path, operations: vec![own] }
}

fn request(schema: &str) -> MetaRequest {
    let file = |format: &Format| {
        let schema = match format.kind {
            FormatKind::Json => array(inline(MetaSchema::new("object"))),
            FormatKind::Csv | FormatKind::Ndjson => MetaSchema::new("string"),
            FormatKind::Xlsx => formatted("binary"),
        };
        content(&[MediaType::of_file(format)], &inline(schema))
    };
    let content = match schema {
        FILE => FORMATS.iter().flat_map(file).collect(),
        _ => content(JSON, &reference(schema)),
    };
    MetaRequest { description: None, content, required: true }
}

fn export(format: &'static Format) -> MetaPath {
    let id = keep(format!("export{}", format.extension.to_uppercase()));
    let of_format = format!("{}/{{group}}.{}", links::EXPORTS, format.extension);
    let summary = keep(format!("Export items: {}", format.description));
    let types = [MediaType::of_file(format)];
    let row = (id, &*of_format, summary, &types[..], EXPORT_STATUSES, "", EXPORT);
    let mut path = path(&row, &inline(formatted("binary")));
    for own in &mut path.operations {
        own.params.retain(|taken| taken.name != "bom" || format.kind == FormatKind::Csv);
        for response in &mut own.responses.responses {
            if response.status == Some(404) {
                // An unknown group has no file format, so this response is JSON.
                response.content = content(HAL, &reference("Problem"));
            }
        }
    }
    path
}

pub fn request_examples() -> [(&'static str, &'static str, Value); 3] {
    let question = json!({ "resource": { "type": "proposals" }, "action": { "name": "create" } });
    let rows =
        json!([{ "project_title": "Solar dryers for seaweed", "proposal_type": "R&D Project" }]);
    [
        (links::RULE_TRIAL, rule_trial::REQUEST, rule_trial::example()),
        (links::EVALUATION, "AccessEvaluation", question),
        (IMPORT, FILE, rows),
    ]
}

pub fn register(registry: &mut Registry) {
    let item = "http://127.0.0.1:8080/v1/proposals/01890a5d-ac96-774b-bcce-b302099a8050";
    let change = json!({
        "group": "proposals", "item_id": "01890a5d-ac96-774b-bcce-b302099a8050", "version": 2, "kind": "patched",
        "time": "2026-02-16T00:00:00.000000Z", "caller": "agency:1f0c", "acting": null,
        "client": "portal", "request_id": "0198b7d1-6f2e-7c31-9d44-2b1f6f0a7e55", "cursor": change_cursor::example(7),
        "_links": { "item": { "href": item }, "version": { "href": format!("{item}/versions/2") } },
    });
    let event = json!({
        "specversion": "1.0", "id": change["cursor"], "source": "http://127.0.0.1:8080/v1/changes",
        "type": "research-proposal-service.item.patched", "subject": "/v1/proposals/01890a5d-ac96-774b-bcce-b302099a8050",
        "time": change["time"], "datacontenttype": "application/json", "data": change,
    });
    let id = change["cursor"].as_str().unwrap_or_default();
    let events = format!("retry: 2000\n\nid: {id}\ndata: {event}\n\n:\n\n");
    let stream =
        MetaSchema { description: Some("Server-sent events."), ..MetaSchema::new("string") };
    registry.schemas.insert(EVENTS.to_owned(), with_example(stream, events));
    let report = json!({
        "created": 1, "replaced": 0, "unchanged": 0, "refused": 0,
        "rows": [{ "row": 1, "status": "created", "id": "01890a5d-ac96-774b-bcce-b302099a8050", "version": 1 }],
    });
    for (name, example) in [("Change", change), ("ImportReport", report)] {
        if let Some(schema) = registry.schemas.get_mut(name) {
            schema.example = Some(example);
        }
    }
}
