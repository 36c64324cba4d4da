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
    ("getEntryPoint", "/", "Entry point with links to all collections",
        HAL, &[200, 406], "");
    ("getHealth", links::HEALTH, "Liveness: whether the process is running",
        JSON, &[200, 406], "Health");
    ("getReadiness", links::READINESS, "Readiness: whether the service and its store are available",
        JSON, &[200, 406, 503], "Health");
    /// Keep following `_links.next`: every page has it, even an empty one. Each change appears
    /// exactly once, even with concurrent writes. With `group`, a page may be empty although more
    /// changes follow. `kind` is `created`, `replaced`, `patched` or `deleted`. A deletion takes
    /// the next version.
    ("listChanges", links::CHANGES, "List the changes of all groups, in commit order",
        HAL, &[200, 304, 400, 406, 410, 414, 503], "ChangePage");
    /// **This response does not end**, so it cannot be tried out in the browser: read it with `curl
    /// -N` or an `EventSource`. It streams the change log as server-sent events, from now on. With
    /// `Last-Event-ID`, it resumes after that event, as browsers do on reconnect. The data of each
    /// event is a CloudEvent 1.0 in JSON: `subject` is the item's path, and `data` is the change as
    /// in `/v1/changes`. A comment is sent every 15 seconds. A client that does not read is
    /// disconnected and can resume from the same position.
    ("streamChanges", links::CHANGE_STREAM,
        "Stream changes as they happen (response does not end)",
        STREAM, &[200, 400, 406, 410, 414, 503], EVENTS);
    /// Lists all business rules in force by group: rules in Rust first, then rules from the
    /// operators' rule files. Rules can change while the service runs. The entity tag changes with
    /// them.
    ("listRules", links::RULES, "List the business rules",
        HAL, &[200, 304, 400, 406, 414], "RuleList");
    ("getRule", links::RULE, "Read a business rule",
        &PAGE_TYPES, &[200, 304, 400, 404, 406, 414], "Rule");
    /// Evaluates a rule or a single expression on an item. Returns the verdict and the value of
    /// each part. An error in the rule does not fail the request: the verdict is `undecided`, and
    /// `errors` gives the location. The limits of a write apply. The store is neither read nor
    /// written.
    ("tryRule", links::RULE_TRIAL, "Test a business rule on an item",
        HAL, &[200, 400, 406, 408, 413, 414, 415, 422, 503], rule_trial::RESPONSE);
    /// Lists all policies in force, in the order of the operators' files. Policies decide what
    /// callers may do: a caller needs a policy that allows the operation, and a policy that denies
    /// it overrides all others. Policies can change while the service runs.
    ("listPolicies", links::POLICIES, "List the policies",
        HAL, &[200, 304, 400, 406, 414], "");
    ("getPolicy", links::POLICY, "Read a policy",
        HAL, &[200, 304, 400, 404, 406, 414], "");
    /// Returns for each group and operation the extent (`all`, `some` or `none`) and the deciding
    /// policies: those that deny it, otherwise those that allow it. `some` means only the items
    /// that the caller created, or all except those. For `delete`, items that are deleted with an
    /// item count too.
    ("getAccess", links::ACCESS, "Read the caller's identity and permissions",
        HAL, &[200, 400, 406, 414], "");
    /// Access evaluation of the OpenID AuthZEN Authorization API 1.0. `resource.type` is a group,
    /// `resource.id` is an item of it (not needed for `create`), and `action.name` is an operation:
    /// `read`, `history`, `create`, `replace`, `patch` or `delete`. `subject` must be the caller or
    /// omitted; for any other subject the decision is `false`. For an item that the caller may not
    /// see, the response is the same as for an item that does not exist.
    ("evaluateAccess", links::EVALUATION, "Check one permission of the caller",
        HAL, &[200, 400, 406, 408, 413, 414, 415, 422, 503], "");
    /// Several access evaluations (OpenID AuthZEN Authorization API 1.0), at most 250. Each takes
    /// `subject`, `action` and `resource` from the body unless it has its own. The response has
    /// `evaluations` in the same order. `options.evaluations_semantic` may be `execute_all` (the
    /// default), `deny_on_first_deny` or `permit_on_first_permit`.
    ("evaluateAccesses", links::EVALUATIONS, "Check several permissions of the caller",
        HAL, &[200, 400, 406, 408, 413, 414, 415, 422, 503], "");
    /// Metadata of the service as a protected resource (RFC 9728).
    ("getProtectedResource", links::PROTECTED_RESOURCE, "Read where to get access tokens",
        JSON, &[200, 304, 400, 406, 414], "");
    // Served for any Accept header.
    /// Editors use it for completion and validation of rule files. Put its URL in the first line of
    /// the file: `# yaml-language-server: $schema=…`.
    ("getRuleSchema", links::RULE_SCHEMA, "Read the JSON Schema of rule files",
        JSON, &[200, 304, 400, 414], "");
    /// Creates an item from each row of a file. With `upsert=true`, rows with an `id` update the
    /// item: a missing column leaves its member unchanged, and an empty cell removes it. `_version`
    /// must match the item's version. Every row is validated against fields and rules. With an
    /// `Idempotency-Key`, a retried import resumes where it stopped.
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
const EXPORT: &str = "Exports all items selected by `filter` and `q`, in the order of `sort`, from one snapshot: concurrent writes are not included. `id`, `_version` (the version and the history of the store) and the members are columns. An edited file can be sent back to `/imports/{group}?upsert=true`. A string that looks like a number or a formula is prefixed with an apostrophe.";

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

pub fn request_examples() -> [(&'static str, &'static str, Value); 4] {
    let question = json!({ "resource": { "type": "proposals" }, "action": { "name": "create" } });
    let questions = json!({
        "action": { "name": "patch" },
        "evaluations": [
            { "resource": { "type": "proposals", "id": "01890a5d-ac96-774b-bcce-b302099a8050" } },
            { "resource": { "type": "files" }, "action": { "name": "create" } },
        ],
    });
    let rows =
        json!([{ "project_title": "Solar dryers for seaweed", "proposal_type": "R&D Project" }]);
    [
        (links::RULE_TRIAL, rule_trial::REQUEST, rule_trial::example()),
        (links::EVALUATION, "AccessEvaluation", question),
        (links::EVALUATIONS, "AccessEvaluations", questions),
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
