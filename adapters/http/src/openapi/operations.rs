//! The operations of a group, as poem-openapi's model has them.

use poem::http::Method;
use poem_openapi::registry::{
    MetaApi, MetaHeader, MetaMediaType, MetaOperation, MetaPath, MetaRequest, MetaResponse,
    MetaResponses, MetaSchema, MetaSchemaRef,
};

use super::model::{about, documented_path, inline, keep, reference};
use super::{parameters, schemas};
use crate::groups::{Group, GroupOperation, GroupSpec, PathForm};
use crate::headers::media_type::MediaType;

/// The paths of a group with all their operations.
pub fn paths(group: Group) -> MetaApi {
    let paths = PathForm::ALL.map(|form| MetaPath {
        path: documented_path(&group.path_of(form)),
        operations: group
            .operations()
            .filter(|operation| operation.form() == form)
            .map(|operation| of(group, operation))
            .collect(),
    });
    MetaApi { paths: paths.into() }
}

fn of(group: Group, operation: GroupOperation) -> MetaOperation {
    let Row { summary, description, statuses, .. } = row(operation);
    let description = about(group, description).replace("{children}", &children(group));
    let shown = match operation {
        GroupOperation::List | GroupOperation::ReplaceAll => schemas::collection_name(group),
        GroupOperation::ListVersions => "VersionHistory",
        GroupOperation::Compare => "JsonPatch",
        _ => group.stem,
    };
    let (statuses, types) = (self::statuses(group, statuses), group.response_types());
    let headers = |status| headers(operation, status);
    let responses = responses(&statuses, &types, &reference(shown), headers);
    let request = |body| MetaRequest {
        description: None,
        content: content(&group.request_types(), &reference(body)),
        required: true,
    };
    let body = operation.takes_body().then(|| schemas::body_name(group, operation));
    let id = operation_id(group, operation);
    MetaOperation {
        description: Some(keep(description)),
        params: parameters::of(group, operation),
        request: body.map(request),
        ..self::operation(operation.method(), group.name, id, about(group, summary), responses)
    }
}

/// An operation that takes nothing.
pub fn operation(
    method: Method,
    tag: &'static str,
    id: &'static str,
    summary: &'static str,
    responses: Vec<MetaResponse>,
) -> MetaOperation {
    MetaOperation {
        method,
        tags: vec![tag],
        summary: Some(summary),
        description: None,
        external_docs: None,
        params: Vec::new(),
        request: None,
        responses: MetaResponses { responses },
        deprecated: false,
        security: Vec::new(),
        operation_id: Some(id),
        code_samples: Vec::new(),
    }
}

/// The name of an operation in generated clients.
pub fn operation_id(group: Group, operation: GroupOperation) -> &'static str {
    about(group, row(operation).id)
}

/// A row of the table of operations. In its strings `{item}`, `{items}` and `{stem}` stand for the
/// names of the group.
struct Row {
    /// The name in generated clients.
    id: &'static str,
    summary: &'static str,
    /// The statuses beside those that every operation has; specification 4.2 to 4.5 and the
    /// contract.
    statuses: &'static [u16],
    description: &'static str,
}

macro_rules! operations {
    ($($name:ident $id:literal $summary:literal $statuses:tt: $description:literal;)*) => {
        const fn row(operation: GroupOperation) -> Row {
            match operation {$(
                GroupOperation::$name =>
                    Row { id: $id, summary: $summary, statuses: &$statuses, description: $description },
            )*}
        }
    };
}

operations! {
    List "list{stem}s" "List {items}" [200, 304, 400, 408, 409, 413, 414]:
        "A page of {items}, oldest first unless `sort` or `q` says otherwise, with links to the other pages. The entity tag changes when a member does: poll with `If-None-Match`.";
    Create "create{stem}" "Create {item}" [201, 400, 408, 409, 413, 422, 507]:
        "Makes {item} from the body. The service makes the `id`; `Location` names the new item. `_links`, `_embedded` and `_meta` in the body are ignored.";
    Get "get{stem}" "Read {item}" [200, 304, 400, 404, 408, 413, 414]:
        "Returns {item} as it is stored, with links and its version; with `fields` a part of it.";
    Patch "patch{stem}" "Change members of {item}" [200, 204, 400, 404, 408, 412, 413, 422, 428, 507]:
        "A merge patch (RFC 7396): members in the body replace those stored, `null` removes one, all others stay. The result is checked as a whole.";
    Replace "replace{stem}" "Replace {item}" [200, 204, 400, 404, 408, 412, 413, 422, 428, 507]:
        "Replaces all members. Send `If-Match` with the ETag that was read, so that nobody's changes in between are lost.";
    Delete "delete{stem}" "Delete {item}" [204, 400, 404, 408, 412, 413, 422, 428, 507]:
        "Removes {item}{children}. A business rule may keep it (422).";
    Continue "continue{stem}" "Create {item} that continues this one" [201, 400, 404, 408, 409, 412, 413, 422, 507]:
        "Makes a new item from the body (a second phase, a resubmission, an amendment) and links the two: `continues` on the new, `continued-by` on the old.";
    ListVersions "list{stem}Versions" "List the versions of {item}" [200, 304, 400, 404, 408, 409, 413, 414]:
        "Every version there was, the newest first, also of what was removed: what was done, when, and by whom. Versions count 1, 2, 3…; a removal takes the next.";
    GetVersion "get{stem}Version" "Read a version of {item}" [200, 304, 400, 404, 408, 410, 413, 414]:
        "The item as it was in this version, also after it was removed. The links of RFC 5829 lead to the others. Sent back with PUT it restores the version of an item that exists.";
    Compare "compare{stem}Versions" "Compare two versions of {item}" [200, 304, 400, 404, 408, 410, 413, 414]:
        "The operations of a JSON Patch (RFC 6902) that make the version `from` into this one: a bare list, empty when nothing differs.";
    Restore "restore{stem}Version" "Restore a version of {item}" [200, 201, 204, 400, 404, 408, 409, 410, 412, 413, 422, 428, 507]:
        "The item becomes what it was in this version, as a new version. One that was removed is there again under its old id (201). It is checked like any other write. Takes no body.";
    ReplaceAll "replaceAll{stem}s" "Replace all {items}" [200, 204, 400, 408, 412, 413, 422, 428, 507]:
        "Replaces the collection in one transaction: elements with a known `id` keep it, others get one, the rest go. Takes an array of objects, or a HAL collection that holds every item.";
}

/// The items that are deleted with an item.
fn children(group: Group) -> String {
    let children = group.collection.children();
    let names = children
        .map(|child| format!(" and the {} that belong to it", GroupSpec::of(child).items_name));
    names.collect()
}

fn statuses(group: Group, specific: &[u16]) -> Vec<u16> {
    let of_parent: &[u16] = if group.is_nested() { &[404] } else { &[] };
    let mut statuses = [specific, &[406, 415, 503], of_parent].concat();
    statuses.sort_unstable();
    statuses.dedup();
    statuses
}

/// The responses of an operation that shows something of a schema in one of `types`.
pub fn responses(
    statuses: &[u16],
    types: &[MediaType],
    shown: &MetaSchemaRef,
    headers: impl Fn(u16) -> Vec<MetaHeader>,
) -> Vec<MetaResponse> {
    let problem = reference("Problem");
    // A problem is told in JSON where the path itself speaks something else.
    let json = |media: &MediaType| if media.is_json() { *media } else { MediaType::JSON };
    let of_problems: Vec<_> = types.iter().map(json).collect();
    let response = |status: &u16| MetaResponse {
        description: meaning(*status),
        status: Some(*status),
        status_range: None,
        content: match status {
            200 | 201 => content(types, shown),
            204 | 304 | 414 => Vec::new(),
            406 => content(&[MediaType::JSON], &problem),
            _ => content(&of_problems, &problem),
        },
        headers: headers(*status),
    };
    statuses.iter().map(response).collect()
}

pub fn content(types: &[MediaType], schema: &MetaSchemaRef) -> Vec<MetaMediaType> {
    let entry =
        |media: &MediaType| MetaMediaType { content_type: media.name(), schema: schema.clone() };
    types.iter().map(entry).collect()
}

pub const fn meaning(status: u16) -> &'static str {
    match status {
        200 => "Done.",
        201 => "Created; `Location` names the new item.",
        204 => "Done; there is no body.",
        304 => {
            "Not modified since the entity tag in `If-None-Match`, or the date in `If-Modified-Since`."
        }
        400 => "Client error: the body, a condition or a query parameter cannot be read.",
        401 => {
            "Unauthorized: the operation needs credentials, or those sent are not accepted; `WWW-Authenticate` says how to get some. Only where callers are asked who they are."
        }
        403 => {
            "Forbidden: the policies do not permit this to the caller, the token's scope does not grant it, or the page of another web site sent it."
        }
        404 => "Not found: no such item, no such version, or no such proposal.",
        406 => "Not acceptable: the Accept header admits none of the path's media types.",
        408 => "Request timeout: the body did not arrive in time.",
        409 => {
            "Conflict: the page lies beyond the last one, or a request with the same `Idempotency-Key` is at work."
        }
        410 => {
            "Gone: with this version the item was removed, or the body of the version was, or the position is of a history of the store that was lost."
        }
        412 => {
            "Precondition failed: the item or collection is not as `If-Match` says, or as `If-None-Match` says it must not be."
        }
        413 => "Payload too large.",
        414 => "URI too long: the request head is larger than 64 KiB because of its URI.",
        415 => "Unsupported media type of the request's body.",
        421 => {
            "Misdirected request: a request without credentials to a host that is not one of the service, while anonymous callers may read or write."
        }
        422 => {
            "Unprocessable entity: `errors` lists every error, and links the business rule that found it."
        }
        428 => "Precondition required: this service is run so that a change needs `If-Match`.",
        429 => {
            "Too many requests: those of the caller or of the address come too fast, where the operators limit them."
        }
        431 => {
            "Request header fields too large: the request head is larger than 64 KiB or has more than 100 headers."
        }
        500 => "Internal error. Report the `X-Request-Id` to the operators.",
        501 => "Not implemented: the body has a transfer coding other than `chunked`.",
        505 => "HTTP version not supported: the request is not HTTP/1.1.",
        507 => "Insufficient storage: the store has no room for the write.",
        _ => "Service unavailable: try again after the seconds in `Retry-After`.",
    }
}

/// The response headers, with what they say.
const HEADERS: [(&str, &str); 10] = [
    ("Allow", "The methods this path serves."),
    ("X-Request-Id", "Names the request in the service's log."),
    ("ETag", "Strong entity tag of the current representation."),
    ("Last-Modified", "When the item was last written."),
    ("Location", "URL of the new item."),
    ("Retry-After", "Seconds to wait."),
    (
        "Link",
        "The links to other pages (RFC 8288), as in `_links`; without `next` on the last page.",
    ),
    ("Preference-Applied", "The preference in `Prefer` that the response meets."),
    (
        "Consistency-Token",
        "Sent with a read, the read sees this write. Where the service reads standbys.",
    ),
    ("Age", "A standby was read, which lags by so many seconds at most."),
];

fn headers(operation: GroupOperation, status: u16) -> Vec<MetaHeader> {
    use GroupOperation::{Compare, List, ListVersions, ReplaceAll, Restore};
    let shows_item = !matches!(operation, List | ReplaceAll | ListVersions | Compare);
    let is_written = operation.takes_preference() && matches!(status, 200 | 201 | 204);
    let is_sent = |name: &str| match name {
        // A removed item has no tag.
        "ETag" => {
            is_written || matches!(status, 200 | 304 | 412) && (operation, status) != (Restore, 412)
        }
        "Last-Modified" => (is_written || status == 200) && shows_item,
        "Preference-Applied" => is_written,
        "Location" => status == 201,
        "Retry-After" => status == 503,
        "Consistency-Token" => !operation.is_read() && matches!(status, 200 | 201 | 204 | 503),
        "Age" => operation.is_served_by_standbys() && matches!(status, 200 | 304),
        "Link" => status == 200 && matches!(operation, List | ListVersions | ReplaceAll),
        _ => status != 414,
    };
    HEADERS.iter().filter(|(name, _)| is_sent(name)).map(|(name, _)| header(name)).collect()
}

/// The response headers that are not always there.
const OPTIONAL: [&str; 5] =
    ["Last-Modified", "Link", "Preference-Applied", "Consistency-Token", "Age"];

/// One of the response headers.
pub fn header(name: &str) -> MetaHeader {
    let row = HEADERS.iter().find(|(known, _)| *known == name);
    MetaHeader {
        name: name.to_owned(),
        description: row.map(|(_, description)| (*description).to_owned()),
        required: !OPTIONAL.contains(&name),
        deprecated: false,
        schema: inline(MetaSchema::new("string")),
    }
}
