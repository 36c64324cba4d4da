//! The operations of a group, as poem-openapi's model has them.

use poem_openapi::registry::{
    MetaApi, MetaHeader, MetaMediaType, MetaOperation, MetaOperationParam, MetaParamIn, MetaPath,
    MetaRequest, MetaResponse, MetaResponses, MetaSchema, MetaSchemaRef,
};

use super::schemas::{self, PROBLEM};
use super::{documented_path, keep};
use crate::groups::{Group, GroupSpec, Operation, PathForm, VERSION_PARAMETER};
use crate::headers::idempotency_key::IDEMPOTENCY_KEY;
use crate::headers::media_type::MediaType;

/// The paths of a group with all their operations.
#[must_use]
pub fn paths(group: Group) -> MetaApi {
    let paths = PathForm::ALL.map(|form| MetaPath {
        path: documented_path(&group.path_of(form)),
        operations: group
            .operations()
            .filter(|operation| operation.form() == form)
            .map(|operation| self::operation(group, operation))
            .collect(),
    });
    MetaApi { paths: paths.into() }
}

fn operation(group: Group, operation: Operation) -> MetaOperation {
    let Words { summary, description, .. } = words(group, operation);
    MetaOperation {
        method: operation.method(),
        tags: vec![group.name],
        summary: Some(keep(summary)),
        description: Some(keep(description)),
        external_docs: None,
        params: parameters(group, operation),
        request: operation.takes_body().then(|| request(group, operation)),
        responses: MetaResponses {
            responses: statuses(group, operation)
                .into_iter()
                .map(|status| response(group, operation, status))
                .collect(),
        },
        deprecated: false,
        security: Vec::new(),
        operation_id: Some(keep(operation_id(group, operation))),
        code_samples: Vec::new(),
    }
}

/// The name of an operation in generated clients.
#[must_use]
pub fn operation_id(group: Group, operation: Operation) -> String {
    let stem = group.stem;
    match operation {
        Operation::List => format!("list{stem}s"),
        Operation::ReplaceAll => format!("replaceAll{stem}s"),
        Operation::ListVersions => format!("list{stem}Versions"),
        Operation::GetVersion | Operation::Restore => {
            format!("{}{stem}Version", words(group, operation).verb)
        }
        Operation::Compare => format!("compare{stem}Versions"),
        _ => format!("{}{stem}", words(group, operation).verb),
    }
}

struct Words {
    verb: &'static str,
    summary: String,
    description: String,
}

fn words(group: Group, operation: Operation) -> Words {
    let (item, items) = (group.item_name, group.items_name);
    let (verb, summary, description) = match operation {
        Operation::List => ("list", format!("List {items}"), format!("A page of {items}, oldest first unless `sort` or `q` says otherwise, with links to the other pages. The entity tag changes when a member does: poll with `If-None-Match`.")),
        Operation::Create => ("create", format!("Create {item}"), format!("Makes {item} from the body. The service makes the `id`; `Location` names the new item. `_links`, `_embedded` and `_meta` in the body are ignored.")),
        Operation::Get => ("get", format!("Read {item}"), format!("Returns {item} as it is stored, with links and its version; with `fields` a part of it.")),
        Operation::Patch => ("patch", format!("Change members of {item}"), "A merge patch (RFC 7396): members in the body replace those stored, `null` removes one, all others stay. The result is checked as a whole.".to_owned()),
        Operation::Replace => ("replace", format!("Replace {item}"), "Replaces all members. Send `If-Match` with the ETag that was read, so that nobody's changes in between are lost.".to_owned()),
        Operation::Delete => ("delete", format!("Delete {item}"), format!("Removes {item}{}. A business rule may keep it (422).", children(group))),
        Operation::Continue => ("continue", format!("Create {item} that continues this one"), "Makes a new item from the body (a second phase, a resubmission, an amendment) and links the two: `continues` on the new, `continued-by` on the old.".to_owned()),
        Operation::ListVersions => ("list", format!("List the versions of {item}"), "Every version there was, the newest first, also of what was removed: what was done, when, and by whom. Versions count 1, 2, 3…; a removal takes the next.".to_owned()),
        Operation::GetVersion => ("get", format!("Read a version of {item}"), "The item as it was in this version, also after it was removed. The links of RFC 5829 lead to the others. Sent back with PUT it restores the version of an item that exists.".to_owned()),
        Operation::Compare => ("compare", format!("Compare two versions of {item}"), "The operations of a JSON Patch (RFC 6902) that make the version `from` into this one: a bare list, empty when nothing differs.".to_owned()),
        Operation::Restore => ("restore", format!("Restore a version of {item}"), "The item becomes what it was in this version, as a new version. One that was removed is there again under its old id (201). It is checked like any other write. Takes no body.".to_owned()),
        Operation::ReplaceAll => ("replaceAll", format!("Replace all {items}"), "Replaces the collection in one transaction: elements with a known `id` keep it, others get one, the rest go. Takes an array of objects, or a HAL collection that holds every item.".to_owned()),
    };
    Words { verb, summary, description }
}

/// The items that are deleted with an item.
fn children(group: Group) -> String {
    let children: Vec<_> = group
        .collection
        .children()
        .map(|child| format!(" and the {} that belong to it", GroupSpec::of(child).items_name))
        .collect();
    children.concat()
}

/// The parameters in the path and the headers; [`super::query_parameters`] adds those of the query.
fn parameters(group: Group, operation: Operation) -> Vec<MetaOperationParam> {
    let mut parameters = Vec::new();
    if let Some(parent) = group.parent() {
        let description = format!("The {}.", parent.noun());
        parameters.push(identifier(parent.item_parameter, &description, parent.example_id));
    }
    if matches!(
        operation.form(),
        PathForm::Item | PathForm::Versions | PathForm::Version | PathForm::Difference
    ) {
        parameters.push(identifier(group.item_parameter, "The item.", group.example_id));
    }
    if matches!(operation.form(), PathForm::Version | PathForm::Difference) {
        let schema = MetaSchema {
            minimum: Some(1.0),
            example: Some(1.into()),
            ..MetaSchema::new_with_format("integer", "int64")
        };
        parameters.push(parameter(
            VERSION_PARAMETER,
            MetaParamIn::Path,
            "The number of the version.",
            schema,
        ));
    }
    match operation {
        Operation::List
        | Operation::Get
        | Operation::ListVersions
        | Operation::GetVersion
        | Operation::Compare => {
            parameters.push(condition(
                "If-None-Match",
                "Entity tags the client has: 304 when one is current.",
            ));
        }
        Operation::Patch
        | Operation::Replace
        | Operation::Delete
        | Operation::ReplaceAll
        | Operation::Continue
        | Operation::Restore => {
            parameters.push(condition(
                "If-Match",
                "The entity tag that was read: 412 when it has changed since.",
            ));
            parameters.push(condition(
                "If-None-Match",
                "Entity tags that must not be current: 412 when one is.",
            ));
        }
        Operation::Create => {}
    }
    if operation.takes_key() {
        parameters.push(idempotency_key());
    }
    parameters
}

fn idempotency_key() -> MetaOperationParam {
    let schema = MetaSchema {
        pattern: Some(
            r#"^("([ !#-\[\]-~]|\\["\\]){1,255}"|[A-Za-z0-9!#$%&'*+.^_`|~:/=@-]{1,255})$"#
                .to_owned(),
        ),
        ..MetaSchema::new("string")
    };
    let description = "A name for this request, best a new UUID in double quotes (draft-ietf-httpapi-idempotency-key-header-07). Sent again with the same body it is not done again: the answer is that of the first. With another body it is 422, while the first is at work 409.";
    parameter(IDEMPOTENCY_KEY, MetaParamIn::Header, description, schema)
}

fn identifier(name: &str, description: &str, example: &str) -> MetaOperationParam {
    let schema = MetaSchema {
        example: Some(example.into()),
        ..MetaSchema::new_with_format("string", "uuid")
    };
    parameter(name, MetaParamIn::Path, description, schema)
}

fn condition(name: &str, description: &str) -> MetaOperationParam {
    let schema = MetaSchema {
        pattern: Some(r#"^(\*|(W/)?"[!#-~]*"(, ?(W/)?"[!#-~]*")*)$"#.to_owned()),
        ..MetaSchema::new("string")
    };
    parameter(name, MetaParamIn::Header, description, schema)
}

/// A parameter of an operation.
#[must_use]
pub fn parameter(
    name: &str,
    in_type: MetaParamIn,
    description: &str,
    schema: MetaSchema,
) -> MetaOperationParam {
    MetaOperationParam {
        name: name.to_owned(),
        schema: MetaSchemaRef::Inline(Box::new(schema)),
        required: in_type == MetaParamIn::Path,
        in_type,
        description: Some(description.to_owned()),
        deprecated: false,
        explode: true,
        style: None,
    }
}

fn request(group: Group, operation: Operation) -> MetaRequest {
    let schema = schemas::body_name(group, operation);
    MetaRequest {
        description: None,
        content: content(&group.request_types(), &schema),
        required: true,
    }
}

fn content(types: &[MediaType], schema: &str) -> Vec<MetaMediaType> {
    let entry = |media: &MediaType| MetaMediaType {
        content_type: media.name(),
        schema: MetaSchemaRef::Reference(schema.to_owned()),
    };
    types.iter().map(entry).collect()
}

/// Every status an operation answers with; specification 4.2 to 4.5 and the contract.
#[must_use]
pub fn statuses(group: Group, operation: Operation) -> Vec<u16> {
    let specific: &[u16] = match operation {
        Operation::List => &[200, 304, 400, 408, 409, 413, 414],
        Operation::Get => &[200, 304, 400, 404, 408, 413, 414],
        Operation::Create => &[201, 400, 408, 409, 413, 422, 507],
        Operation::Continue => &[201, 400, 404, 408, 409, 412, 413, 422, 507],
        Operation::Restore => &[200, 201, 400, 404, 408, 409, 410, 412, 413, 422, 428, 507],
        Operation::ListVersions => &[200, 304, 400, 404, 408, 409, 413, 414],
        Operation::GetVersion | Operation::Compare => &[200, 304, 400, 404, 408, 410, 413, 414],
        Operation::Patch | Operation::Replace => &[200, 400, 404, 408, 412, 413, 422, 428, 507],
        Operation::ReplaceAll => &[200, 400, 408, 412, 413, 422, 428, 507],
        Operation::Delete => &[204, 400, 404, 408, 412, 413, 422, 428, 507],
    };
    let mut statuses = [specific, &[406, 415, 503]].concat();
    if group.is_nested() {
        statuses.push(404);
    }
    statuses.sort_unstable();
    statuses.dedup();
    statuses
}

fn response(group: Group, operation: Operation, status: u16) -> MetaResponse {
    let shows_page = matches!(operation, Operation::List | Operation::ReplaceAll);
    let schema = match status {
        204 | 304 | 414 => None,
        200 if shows_page => Some(schemas::collection_name(group)),
        200 if operation == Operation::ListVersions => Some(schemas::VERSIONS.to_owned()),
        200 if operation == Operation::Compare => Some(schemas::JSON_PATCH.to_owned()),
        200 | 201 => Some(schemas::item_name(group)),
        _ => Some(PROBLEM.to_owned()),
    };
    let types = if status == 406 { vec![MediaType::JSON] } else { group.response_types() };
    MetaResponse {
        description: meaning(status),
        status: Some(status),
        status_range: None,
        content: schema.map(|schema: String| content(&types, &schema)).unwrap_or_default(),
        headers: headers(operation, status),
    }
}

/// The meaning of a status here.
#[must_use]
pub const fn meaning(status: u16) -> &'static str {
    match status {
        200 => "Done.",
        201 => "Created; `Location` names the new item.",
        204 => "Deleted.",
        304 => "Not modified since the entity tag in `If-None-Match`.",
        400 => "Client error: the body, a condition or a query parameter cannot be read.",
        404 => "Not found: no such item, no such version, or no such proposal.",
        406 => "Not acceptable: the Accept header admits none of the path's media types.",
        408 => "Request timeout: the body did not arrive in time.",
        409 => {
            "Conflict: the page lies beyond the last one, or a request with the same `Idempotency-Key` is at work."
        }
        410 => "Gone: with this version the item was removed.",
        412 => {
            "Precondition failed: the item or collection is not as `If-Match` says, or as `If-None-Match` says it must not be."
        }
        413 => "Payload too large.",
        414 => "URI too long: the request is refused before it is known what it asks for.",
        415 => "Unsupported media type of the request's body.",
        422 => {
            "Unprocessable entity: `errors` lists every fault, and links the business rule that found it."
        }
        428 => "Precondition required: this service is run so that a change needs `If-Match`.",
        507 => "Insufficient storage: the store has no room for the write.",
        _ => "Service unavailable: try again after the seconds in `Retry-After`.",
    }
}

fn headers(operation: Operation, status: u16) -> Vec<MetaHeader> {
    if status == 414 {
        return Vec::new();
    }
    let mut headers = vec![
        header("Allow", "The methods this path serves."),
        header("X-Request-Id", "Names the request in the service's log."),
    ];
    // A removed item has no tag.
    let has_none = matches!((operation, status), (Operation::Restore, 412));
    if matches!(status, 200 | 201 | 304 | 412) && !has_none {
        headers.push(header("ETag", "Strong entity tag of the current representation."));
    }
    let shows_item = !matches!(
        operation,
        Operation::List | Operation::ReplaceAll | Operation::ListVersions | Operation::Compare
    );
    if matches!(status, 200 | 201) && shows_item {
        headers.push(header("Last-Modified", "When the item was last written."));
    }
    if status == 201 {
        headers.push(header("Location", "URL of the new item."));
    }
    if status == 503 {
        headers.push(header("Retry-After", "Seconds to wait."));
    }
    headers
}

/// A response header that is always there.
#[must_use]
pub fn header(name: &str, description: &str) -> MetaHeader {
    MetaHeader {
        name: name.to_owned(),
        description: Some(description.to_owned()),
        required: true,
        deprecated: false,
        schema: MetaSchemaRef::Inline(Box::new(MetaSchema::new("string"))),
    }
}
