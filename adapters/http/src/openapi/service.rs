//! The service's own operations: the entry point, the health checks, the change log and the
//! business rules.

use domain::{Collection, Operation};
use poem::http::Method;
use poem_openapi::registry::{MetaOperation, MetaPath, MetaRequest, MetaSchema, Registry};
use serde_json::{Value, json};

use super::model::{documented_path, inline, object, one_of, reference, with_example};
use super::operations::{content, header, operation, responses};
use super::{parameters, rule_trial};
use crate::headers::media_type::{MediaType, PAGE_TYPES};
use crate::links;
use crate::query::{CHANGES_PARAMETERS, STREAM_PARAMETERS, change_cursor};

/// The tag of the service's own operations.
pub const TAG: &str = "service";

const EVENTS: &str = "ChangeEvents";
/// The name of the schema of an access evaluation, and of its example.
pub const EVALUATION: &str = "AccessEvaluation";

/// An operation on a path of the service's own: a POST where it takes a body, else a GET.
struct Row {
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    /// Empty where the summary says it all.
    description: &'static str,
    query: &'static [&'static str],
    types: &'static [MediaType],
    /// The name of a schema; without one, any object is shown.
    shown: Option<&'static str>,
    /// The name of the schema of the body that it takes.
    taken: Option<&'static str>,
    statuses: &'static [u16],
}

const PLAIN: Row = Row {
    path: "/",
    id: "",
    summary: "",
    description: "",
    query: &[],
    types: &[MediaType::JSON],
    shown: None,
    taken: None,
    statuses: &[200, 304, 400, 406, 414],
};

const HAL: &[MediaType] = &[MediaType::HAL, MediaType::JSON];

const ROWS: [Row; 14] = [
    Row {
        id: "getEntryPoint",
        summary: "The entry point: links every collection",
        types: HAL,
        statuses: &[200, 406],
        ..PLAIN
    },
    Row {
        path: links::HEALTH,
        id: "getHealth",
        summary: "Whether the process lives",
        shown: Some("Health"),
        statuses: &[200, 406],
        ..PLAIN
    },
    Row {
        path: links::READINESS,
        id: "getReadiness",
        summary: "Whether the service can do its work: checks the store",
        shown: Some("Health"),
        statuses: &[200, 406, 503],
        ..PLAIN
    },
    Row {
        path: links::CHANGES,
        id: "listChanges",
        summary: "Every write of every group, in the order of the commits",
        description: "Follow `_links.next`: it is on every page, also on an empty one, so a reader simply keeps following it. Nothing is missed and nothing comes twice, however many write at once. With `group`, a page may be empty although there is more. `kind` is `created`, `replaced`, `patched` or `deleted`; a deletion takes the next version.",
        query: CHANGES_PARAMETERS,
        types: HAL,
        shown: Some("ChangePage"),
        statuses: &[200, 304, 400, 406, 410, 414, 503],
        ..PLAIN
    },
    Row {
        path: links::CHANGE_STREAM,
        id: "streamChanges",
        summary: "Every write as it happens, in an answer that does not end",
        description: "**This answer does not end**, so it cannot be tried out on a page: read it with `curl -N` or an `EventSource`. It is the change log as server-sent events, from now on; with `Last-Event-ID` after the event of that `id`, which is how a browser connects again. The data of each event is a CloudEvent 1.0 in JSON, whose `subject` is the item's path and whose `data` is the change as `/v1/changes` shows it. A comment is sent every 15 seconds. A reader who does not read is cut off and may connect again where it was.",
        query: STREAM_PARAMETERS,
        types: &[MediaType::EVENT_STREAM],
        shown: Some(EVENTS),
        statuses: &[200, 400, 406, 410, 414, 503],
        ..PLAIN
    },
    Row {
        path: links::RULES,
        id: "listRules",
        summary: "List the business rules",
        description: "Every business rule that is in force, group by group: those written in Rust, then those of the operators' rule files. Rules may change while the service runs; the entity tag changes with them.",
        types: HAL,
        shown: Some("RuleList"),
        ..PLAIN
    },
    Row {
        path: links::RULE,
        id: "getRule",
        summary: "Read a business rule",
        types: &PAGE_TYPES,
        shown: Some("Rule"),
        statuses: &[200, 304, 400, 404, 406, 414],
        ..PLAIN
    },
    Row {
        path: links::RULE_TRIAL,
        id: "tryRule",
        summary: "Try a business rule on an item",
        description: "What a rule, or an expression alone, says of an item, and the value of each of its parts. An error in it is no error of the request: the verdict is `undecided`, and `errors` says where it is. It is evaluated within the limits of a write, nothing is looked up in the store, and nothing is stored.",
        types: HAL,
        shown: Some(rule_trial::RESPONSE),
        taken: Some(rule_trial::REQUEST),
        statuses: &[200, 400, 406, 408, 413, 414, 415, 422, 503],
        ..PLAIN
    },
    Row {
        path: links::POLICIES,
        id: "listPolicies",
        summary: "List the policies",
        description: "Every policy that is in force, in the order of the operators' files. Policies decide what callers may do: what none allows is denied, and what one denies is denied whatever others allow. They may change while the service runs.",
        types: HAL,
        ..PLAIN
    },
    Row {
        path: links::POLICY,
        id: "getPolicy",
        summary: "Read a policy",
        types: HAL,
        statuses: &[200, 304, 400, 404, 406, 414],
        ..PLAIN
    },
    Row {
        path: links::ACCESS,
        id: "getAccess",
        summary: "Who the caller is, and what the caller may do",
        description: "For every group and operation the extent, `all`, `some` or `none`, and the policies that decide: those that deny it, or else those that allow it. `some` are the items that the caller created, or all others. The items that are deleted with one count for `delete`, too.",
        types: HAL,
        statuses: &[200, 400, 406, 414],
        ..PLAIN
    },
    Row {
        path: links::EVALUATION,
        id: "evaluateAccess",
        summary: "Whether the caller may do one thing",
        description: "The access evaluation of the OpenID AuthZEN Authorization API 1.0. `resource.type` is a group, `resource.id` an item of it, which `create` does not need, and `action.name` an operation: `read`, `history`, `create`, `replace`, `patch` or `delete`. `subject` is left out, or is the caller; about somebody else the decision is `false`. About an item that the caller does not see, the answer is the one for an item that is not there.",
        types: HAL,
        taken: Some(EVALUATION),
        statuses: &[200, 400, 406, 408, 413, 414, 415, 422, 503],
        ..PLAIN
    },
    Row {
        path: links::PROTECTED_RESOURCE,
        id: "getProtectedResource",
        summary: "Where clients get access tokens",
        description: "The metadata of the service as a protected resource (RFC 9728).",
        ..PLAIN
    },
    Row {
        path: links::RULE_SCHEMA,
        id: "getRuleSchema",
        summary: "The JSON Schema of rule files",
        description: "An editor that knows it completes and checks rule files as they are written: name its URL in the file's first line, `# yaml-language-server: $schema=…`.",
        // It is served whatever is accepted.
        statuses: &[200, 304, 400, 414],
        ..PLAIN
    },
];

/// The paths, each with its operation.
pub fn paths() -> Vec<MetaPath> {
    let path = |row: Row| {
        let shown = row.shown.map_or_else(|| inline(MetaSchema::new("object")), reference);
        let has_pages = row.path == links::CHANGES;
        let headers = |status| {
            let link = (has_pages && status == 200).then(|| header("Link"));
            std::iter::once(header("Allow")).chain(link).collect()
        };
        let responses = responses(row.statuses, row.types, &shown, headers);
        let in_path = row.path.split('/').filter_map(|segment| segment.strip_prefix(':'));
        let in_header = (row.path == links::CHANGE_STREAM).then_some("Last-Event-ID");
        let parameters = in_path.chain(row.query.iter().copied()).chain(in_header);
        let method = if row.taken.is_some() { Method::POST } else { Method::GET };
        let own = MetaOperation {
            description: Some(row.description).filter(|text| !text.is_empty()),
            params: parameters.map(parameters::of_service).collect(),
            request: row.taken.map(request),
            ..operation(method, TAG, row.id, row.summary, responses)
        };
        MetaPath { path: documented_path(row.path), operations: vec![own] }
    };
    ROWS.map(path).into()
}

fn request(schema: &str) -> MetaRequest {
    let content = content(&[MediaType::JSON], &reference(schema));
    MetaRequest { description: None, content, required: true }
}

/// The schema of an access evaluation.
fn evaluation() -> MetaSchema {
    let string = || inline(MetaSchema::new("string"));
    let group = inline(one_of(Collection::names()));
    let resource = inline(object(&["type"], [("type", group), ("id", string())]));
    let operation = inline(one_of(Operation::ALL.map(Operation::name)));
    let action = inline(object(&["name"], [("name", operation)]));
    let subject = inline(object(&[], [("type", string()), ("id", string())]));
    let members = [("resource", resource), ("action", action), ("subject", subject)];
    object(&["resource", "action"], members)
}

/// The example of an access evaluation.
pub fn evaluation_example() -> Value {
    json!({ "resource": { "type": "proposals" }, "action": { "name": "create" } })
}

/// Registers the schemas of the stream and of an access evaluation, and the example of a change.
pub fn register(registry: &mut Registry) {
    registry.schemas.insert(EVALUATION.to_owned(), evaluation());
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
    if let Some(schema) = registry.schemas.get_mut("Change") {
        schema.example = Some(change);
    }
}
