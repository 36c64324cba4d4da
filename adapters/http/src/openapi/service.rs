//! The service's own operations, as a table: the entry point, the health checks, the change log, the
//! business rules, the policies, and files of items. A comment is the description.

use application::table::{FORMATS, Format, FormatKind};
use poem::http::Method;
use poem_openapi::registry::{
    MetaOperation, MetaPath, MetaRequest, MetaSchema, MetaSchemaRef, Registry,
};
use serde_json::{Value, json};

use super::model::{
    array, documented, documented_path, formatted, inline, keep, reference, with_example,
};
use super::operations::operation;
use super::responses::{content, headers, responses};
use super::{parameters, rule_trial};
use crate::headers::idempotency_key::IDEMPOTENCY_KEY;
use crate::headers::media_type::{MediaType, PAGE_TYPES};
use crate::links;
use crate::query::{
    CHANGES_PARAMETERS, EXPORT_PARAMETERS, IMPORT_PARAMETERS, STREAM_PARAMETERS, change_cursor,
};

/// The tag of the service's own operations.
pub const TAG: &str = "service";

const EVENTS: &str = "ChangeEvents";
/// The path of imports.
const IMPORT: &str = "/imports/{group}";
/// The body of an import, which is a file: it has no schema of this name.
const FILE: &str = "ImportedItems";

const HAL: &[MediaType] = &[MediaType::HAL, MediaType::JSON];
const JSON: &[MediaType] = &[MediaType::JSON];
const JSON_OR_HAL: &[MediaType] = &[MediaType::JSON, MediaType::HAL];
const STREAM: &[MediaType] = &[MediaType::EVENT_STREAM];

/// An operation on a path of the service's own: a POST where it takes a body, else a GET.
struct OwnOperation<'a> {
    id: &'static str,
    path: &'static str,
    summary: &'static str,
    types: &'a [MediaType],
    statuses: &'static [u16],
    /// The name of the schema of the body that it takes.
    taken: Option<&'static str>,
    /// The name of the schema of the response; without one, any object is shown.
    shown: Option<&'static str>,
    query: &'a [&'static str],
    headers: &'static [&'static str],
}

/// An operation without a body, a schema and parameters.
const OWN: OwnOperation<'static> = OwnOperation {
    id: "",
    path: "",
    summary: "",
    types: HAL,
    statuses: &[],
    taken: None,
    shown: None,
    query: &[],
    headers: &[],
};

const ROWS: &[(OwnOperation<'static>, &str)] = &documented! {
    (OwnOperation {
        id: "getEntryPoint",
        path: "/",
        summary: "The entry point: links every collection",
        statuses: &[200, 406],
        ..OWN
    });
    (OwnOperation {
        id: "getHealth",
        path: links::HEALTH,
        summary: "Whether the process lives",
        types: JSON,
        statuses: &[200, 406],
        shown: Some("Health"),
        ..OWN
    });
    (OwnOperation {
        id: "getReadiness",
        path: links::READINESS,
        summary: "Whether the service can do its work: checks the store",
        types: JSON,
        statuses: &[200, 406, 503],
        shown: Some("Health"),
        ..OWN
    });
    /// Follow `_links.next`: it is on every page, also on an empty one, so a reader simply keeps
    /// following it. Nothing is missed and nothing comes twice, however many write at once. With
    /// `group`, a page may be empty although there is more. `kind` is `created`, `replaced`,
    /// `patched` or `deleted`; a deletion takes the next version.
    (OwnOperation {
        id: "listChanges",
        path: links::CHANGES,
        summary: "Every write of every group, in the order of the commits",
        statuses: &[200, 304, 400, 406, 410, 414, 503],
        shown: Some("ChangePage"),
        query: CHANGES_PARAMETERS,
        ..OWN
    });
    /// **This answer does not end**, so it cannot be tried out on a page: read it with `curl -N` or
    /// an `EventSource`. It is the change log as server-sent events, from now on; with
    /// `Last-Event-ID` after the event of that `id`, which is how a browser connects again. The data
    /// of each event is a CloudEvent 1.0 in JSON, whose `subject` is the item's path and whose `data`
    /// is the change as `/v1/changes` shows it. A comment is sent every 15 seconds. A reader who does
    /// not read is cut off and may connect again where it was.
    (OwnOperation {
        id: "streamChanges",
        path: links::CHANGE_STREAM,
        summary: "Every write as it happens, in an answer that does not end",
        types: STREAM,
        statuses: &[200, 400, 406, 410, 414, 503],
        shown: Some(EVENTS),
        query: STREAM_PARAMETERS,
        headers: &["Last-Event-ID"],
        ..OWN
    });
    /// Every business rule that is in force, group by group: those written in Rust, then those of the
    /// operators' rule files. Rules may change while the service runs; the entity tag changes with
    /// them.
    (OwnOperation {
        id: "listRules",
        path: links::RULES,
        summary: "List the business rules",
        statuses: &[200, 304, 400, 406, 414],
        shown: Some("RuleList"),
        ..OWN
    });
    (OwnOperation {
        id: "getRule",
        path: links::RULE,
        summary: "Read a business rule",
        types: &PAGE_TYPES,
        statuses: &[200, 304, 400, 404, 406, 414],
        shown: Some("Rule"),
        ..OWN
    });
    /// The verdict of a rule, or of an expression alone, about an item, and the value of each of its
    /// parts. An error in it is no error of the request: the verdict is `undecided`, and `errors`
    /// says where it is. It is evaluated within the limits of a write, nothing is looked up in the
    /// store, and nothing is stored.
    (OwnOperation {
        id: "tryRule",
        path: links::RULE_TRIAL,
        summary: "Try a business rule on an item",
        statuses: &[200, 400, 406, 408, 413, 414, 415, 422, 503],
        taken: Some(rule_trial::REQUEST),
        shown: Some(rule_trial::RESPONSE),
        ..OWN
    });
    /// Every policy that is in force, in the order of the operators' files. Policies decide what
    /// callers may do: what none allows is denied, and what one denies is denied whatever others
    /// allow. They may change while the service runs.
    (OwnOperation {
        id: "listPolicies",
        path: links::POLICIES,
        summary: "List the policies",
        statuses: &[200, 304, 400, 406, 414],
        ..OWN
    });
    (OwnOperation {
        id: "getPolicy",
        path: links::POLICY,
        summary: "Read a policy",
        statuses: &[200, 304, 400, 404, 406, 414],
        ..OWN
    });
    /// For every group and operation the extent, `all`, `some` or `none`, and the policies that
    /// decide: those that deny it, or else those that allow it. `some` are the items that the caller
    /// created, or all others. The items that are deleted with one count for `delete`, too.
    (OwnOperation {
        id: "getAccess",
        path: links::ACCESS,
        summary: "Who the caller is, and what the caller may do",
        statuses: &[200, 400, 406, 414],
        ..OWN
    });
    /// The access evaluation of the OpenID AuthZEN Authorization API 1.0. `resource.type` is a group,
    /// `resource.id` an item of it, which `create` does not need, and `action.name` an operation:
    /// `read`, `history`, `create`, `replace`, `patch` or `delete`. `subject` is left out, or is the
    /// caller; about somebody else the decision is `false`. About an item that the caller does not
    /// see, the answer is the one for an item that is not there.
    (OwnOperation {
        id: "evaluateAccess",
        path: links::EVALUATION,
        summary: "Whether the caller may do one thing",
        statuses: &[200, 400, 406, 408, 413, 414, 415, 422, 503],
        taken: Some("AccessEvaluation"),
        ..OWN
    });
    /// The metadata of the service as a protected resource (RFC 9728).
    (OwnOperation {
        id: "getProtectedResource",
        path: links::PROTECTED_RESOURCE,
        summary: "Where clients get access tokens",
        types: JSON,
        statuses: &[200, 304, 400, 406, 414],
        ..OWN
    });
    // It is served whatever is accepted.
    /// An editor that knows it completes and checks rule files as they are written: name its URL in
    /// the file's first line, `# yaml-language-server: $schema=…`.
    (OwnOperation {
        id: "getRuleSchema",
        path: links::RULE_SCHEMA,
        summary: "The JSON Schema of rule files",
        types: JSON,
        statuses: &[200, 304, 400, 414],
        ..OWN
    });
    /// Makes an item of each row of a file. With `upsert=true`, rows with an `id` change the item: a
    /// column that is absent leaves its member alone, and an empty cell removes it; `_version` must
    /// be the item's. Every row is judged by fields and rules. With an `Idempotency-Key`, an import
    /// that is sent again continues where it broke off.
    (OwnOperation {
        id: "importItems",
        path: IMPORT,
        summary: "Import items from a file",
        types: JSON_OR_HAL,
        statuses: &[200, 400, 404, 406, 408, 409, 413, 414, 415, 422, 503, 507],
        taken: Some(FILE),
        shown: Some("ImportReport"),
        query: IMPORT_PARAMETERS,
        headers: &[IDEMPOTENCY_KEY],
    });
};

const EXPORT: &str = "All items that `filter` and `q` select, in the order of `sort`, as they are at one moment: what is written meanwhile is not in the file. `id`, `_version` and the members are columns; a file that is changed can be sent back to `/imports/{group}?upsert=true`. A string that could be taken for a number or a formula begins with an apostrophe.";

/// The paths, each with its operation.
pub fn paths() -> Vec<MetaPath> {
    let shown = |row: &OwnOperation<'_>| {
        row.shown.map_or_else(|| inline(MetaSchema::new("object")), reference)
    };
    let own = ROWS.iter().map(|(row, description)| path(row, description, &shown(row)));
    own.chain(FORMATS.iter().filter(|format| format.is_exported).map(export)).collect()
}

fn path(row: &OwnOperation<'_>, description: &'static str, shown: &MetaSchemaRef) -> MetaPath {
    let is_of_files = row.path.contains("{group}");
    let headers = |status| {
        headers(|name| match name {
            "Link" => row.path == links::CHANGES && status == 200,
            "Retry-After" => is_of_files && status == 503,
            _ => name == "Allow",
        })
    };
    let responses = responses(row.statuses, row.types, shown, headers);
    let path = documented_path(row.path);
    let method = if row.taken.is_some() { Method::POST } else { Method::GET };
    let own = MetaOperation {
        description: Some(description).filter(|text| !text.is_empty()),
        params: parameters::of_own(&path, row.query, row.headers),
        request: row.taken.map(request),
        ..operation(method, TAG, row.id, row.summary, responses)
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
    let is_taken = |name: &&str| *name != "bom" || format.kind == FormatKind::Csv;
    let query: Vec<_> = EXPORT_PARAMETERS.iter().copied().filter(is_taken).collect();
    let row = OwnOperation {
        id: keep(format!("export{}", format.extension.to_uppercase())),
        path: keep(format!("{}/{{group}}.{}", links::EXPORTS, format.extension)),
        summary: keep(format!("Export items: {}", format.description)),
        types: &[MediaType::of_file(format)],
        statuses: &[200, 400, 404, 414, 422, 503],
        taken: None,
        shown: None,
        query: &query,
        headers: &[],
    };
    let mut path = path(&row, EXPORT, &inline(formatted("binary")));
    let responses = path.operations.iter_mut().flat_map(|own| &mut own.responses.responses);
    for response in responses.filter(|response| response.status == Some(404)) {
        // There is nothing at the path, so it has no format of its own.
        response.content = content(HAL, &reference("Problem"));
    }
    path
}

/// The examples of bodies: the path, the name of the example, and its value.
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

/// Registers the schema of the stream, and the examples of a change and of an import.
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
