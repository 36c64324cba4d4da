//! The operations of a group, as a table: doc comments are descriptions.

use poem::http::Method;
use poem_openapi::registry::{
    MetaApi, MetaOperation, MetaPath, MetaRequest, MetaResponse, MetaResponses, MetaSchema,
    MetaSchemaRef,
};

use super::model::{about, documented, inline, keep, reference};
use super::responses::{content, headers_of, responses};
use super::{parameters, schemas};
use crate::groups::{Group, GroupOperation, GroupSpec};
use crate::headers::media_type::MediaType;
use crate::metrics::template;

/// Operation, operation id, summary, statuses in addition to the common ones (specification 4.2
/// to 4.5 and the contract), and description.
type Row = (GroupOperation, &'static str, &'static str, &'static [u16], &'static str);

const ROWS: &[Row] = &documented! {
    /// Returns a page of {items} with links to the other pages, oldest first unless `sort` or `q`
    /// is given. The entity tag changes with every change of a member: poll with `If-None-Match`.
    (GroupOperation::List, "list{stem}s", "List {items}", &[200, 304, 400, 408, 409, 413, 414]);
    /// Creates {item} from the body. The service assigns the `id`, and `Location` names the new
    /// item. `_links`, `_embedded` and `_meta` in the body are ignored.
    (GroupOperation::Create, "create{stem}", "Create {item}", &[201, 400, 408, 409, 413, 422, 507]);
    /// Returns {item} as stored, with links and its version. `fields` selects members.
    (GroupOperation::Get, "get{stem}", "Read {item}", &[200, 304, 400, 404, 408, 413, 414]);
    /// Applies a merge patch (RFC 7396): members in the body replace stored ones, `null` removes a
    /// member, and other members are unchanged. The whole result is validated.
    (GroupOperation::Patch, "patch{stem}", "Change members of {item}", &[200, 204, 400, 404, 408, 412, 413, 422, 428, 507]);
    /// Replaces all members. Send `If-Match` with the ETag you read to avoid overwriting other
    /// changes.
    (GroupOperation::Replace, "replace{stem}", "Replace {item}", &[200, 204, 400, 404, 408, 412, 413, 422, 428, 507]);
    /// Deletes {item}{children}. A business rule may prevent it (422).
    (GroupOperation::Delete, "delete{stem}", "Delete {item}", &[204, 400, 404, 408, 412, 413, 422, 428, 507]);
    /// Creates a new item from the body (a second phase, a resubmission, an amendment) and links
    /// the two: `continues` on the new item, `continued-by` on the old one.
    (GroupOperation::Continue, "continue{stem}", "Create {item} that continues this one", &[201, 400, 404, 408, 409, 412, 413, 422, 507]);
    /// Lists all versions, newest first, with kind, time and caller. Also works for deleted items.
    /// Versions are numbered 1, 2, 3…, and a deletion takes the next number.
    (GroupOperation::ListVersions, "list{stem}Versions", "List the versions of {item}", &[200, 304, 400, 404, 408, 409, 413, 414]);
    /// Returns the item as of this version, also after its deletion. Links (RFC 5829) lead to the
    /// other versions. Send it back with PUT to restore the version of an existing item.
    (GroupOperation::GetVersion, "get{stem}Version", "Read a version of {item}", &[200, 304, 400, 404, 408, 410, 413, 414]);
    /// Returns the JSON Patch (RFC 6902) from the version `from` to this one: an array of
    /// operations, empty if the versions are equal.
    (GroupOperation::Compare, "compare{stem}Versions", "Compare two versions of {item}", &[200, 304, 400, 404, 408, 410, 413, 414]);
    /// Restores the item to this version, as a new version. A deleted item is recreated with its
    /// old id (201). The write is validated like any other. Takes no body.
    (GroupOperation::Restore, "restore{stem}Version", "Restore a version of {item}", &[200, 201, 204, 400, 404, 408, 409, 410, 412, 413, 422, 428, 507]);
    /// Returns the bytes that were stored, with their type and name. Ranges are served (RFC 9110
    /// section 14), also several. The entity tag is the SHA-256 digest. Types that could run a script
    /// are sent as attachments.
    (GroupOperation::GetContent, "get{stem}Content", "Download the content of {item}", &[200, 206, 304, 400, 404, 412, 414, 416]);
    /// Stores the bytes of the body as the content, as a new version of the item. Its type is the
    /// Content-Type, which may be any but that of a form, its name that in Content-Disposition. Conditions are about the content:
    /// `If-None-Match: *` only stores a first one. Business rules see `self._meta.content`.
    (GroupOperation::PutContent, "put{stem}Content", "Upload the content of {item}", &[200, 201, 204, 400, 404, 408, 412, 413, 422, 428, 507]);
    /// Removes the content, as a new version of the item. Earlier versions keep theirs.
    (GroupOperation::DeleteContent, "delete{stem}Content", "Remove the content of {item}", &[204, 400, 404, 412, 422, 428, 507]);
    /// Returns the content that the item had in this version. It never changes.
    (GroupOperation::GetVersionContent, "get{stem}VersionContent", "Download the content of a version of {item}", &[200, 206, 304, 400, 404, 410, 412, 414, 416]);
    /// Returns {item} with all that belongs to it or names it as a ZIP archive: members as JSON, the
    /// contents, and `manifest-sha256.txt` for `sha256sum -c`. It has what you may read. The same
    /// state always has the same bytes, so a download can be resumed. `as_of` or `version` name a past
    /// state. HEAD gives the digest of any archive, GET of small ones.
    (GroupOperation::GetDossier, "get{stem}Dossier", "Download the dossier of {item}", &[200, 206, 304, 400, 404, 410, 412, 414, 416, 422]);
    /// Replaces the collection in one transaction: elements with a known `id` keep it, others are
    /// assigned one, and all other items are deleted. Takes an array of objects, or a HAL
    /// collection with every item.
    (GroupOperation::ReplaceAll, "replaceAll{stem}s", "Replace all {items}", &[200, 204, 400, 408, 412, 413, 422, 428, 507]);
};

fn row(operation: GroupOperation) -> Row {
    let row = ROWS.iter().find(|(known, ..)| *known == operation);
    row.copied().unwrap_or((operation, "", "", &[], ""))
}

pub fn paths(group: Group) -> MetaApi {
    let paths = group.path_forms().into_iter().map(|form| MetaPath {
        path: template(&group.path_of(form)),
        operations: group
            .operations()
            .filter(|operation| operation.form() == form)
            .map(|operation| of(group, operation))
            .collect(),
    });
    MetaApi { paths: paths.collect() }
}

fn of(group: Group, operation: GroupOperation) -> MetaOperation {
    let (_, _, summary, statuses, description) = row(operation);
    let description = about(group, description).replace("{children}", &children(group));
    let shown = match operation {
        GroupOperation::List | GroupOperation::ReplaceAll => schemas::collection_name(group),
        GroupOperation::ListVersions => "VersionHistory",
        GroupOperation::Compare => "JsonPatch",
        _ => group.stem,
    };
    let (statuses, types) = (self::statuses(group, statuses), group.response_types());
    let headers = |status| headers_of(operation, status);
    let mut responses = responses(&statuses, &types, &reference(shown), headers);
    if operation.is_of_content() && operation.is_read() {
        for response in responses.iter_mut().filter(|it| matches!(it.status, Some(200 | 206))) {
            let types: &[_] = match operation {
                GroupOperation::GetDossier => &[MediaType::ZIP],
                _ => &[MediaType::BYTES, MediaType::ANY],
            };
            response.content = content(types, &bytes());
        }
    }
    let request = |(types, body): (&[MediaType], _)| MetaRequest {
        description: None,
        content: content(types, &body),
        required: true,
    };
    let types = group.request_types();
    let body = match operation {
        GroupOperation::PutContent => Some((&[MediaType::ANY][..], bytes())),
        _ if operation.takes_body() => {
            Some((&*types, reference(schemas::body_name(group, operation))))
        }
        _ => None,
    };
    let id = operation_id(group, operation);
    MetaOperation {
        description: Some(keep(description)),
        params: parameters::of(group, operation),
        request: body.map(request),
        ..self::operation(operation.method(), group.name, id, about(group, summary), responses)
    }
}

fn bytes() -> MetaSchemaRef {
    inline(MetaSchema::new_with_format("string", "binary"))
}

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

pub fn operation_id(group: Group, operation: GroupOperation) -> &'static str {
    about(group, row(operation).1)
}

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
