//! The responses of operations and their headers, as tables: doc comments are descriptions.

use poem_openapi::registry::{MetaHeader, MetaMediaType, MetaResponse, MetaSchema, MetaSchemaRef};

use super::model::{documented, inline, reference};
use crate::groups::GroupOperation;
use crate::headers::media_type::MediaType;

pub const COMMON: [u16; 12] = [400, 401, 403, 408, 414, 421, 429, 431, 500, 501, 503, 505];

/// Common statuses without a problem document: sent before the request has been read.
pub const EARLY: [u16; 4] = [414, 431, 501, 505];

const MEANINGS: &[(u16, &str)] = &documented! {
    /// Success.
    (200);
    /// Created; `Location` names the new item.
    (201);
    /// Success, without a body.
    (204);
    /// Partial content: the requested range, or several as `multipart/byteranges`.
    (206);
    /// Not modified: the entity tag in `If-None-Match` is current, or there was no change since
    /// `If-Modified-Since`.
    (304);
    /// Client error: the body, a condition or a query parameter is malformed.
    (400);
    /// Unauthorized: credentials are missing or invalid. `WWW-Authenticate` says how to get them.
    /// Only if sign-in is configured.
    (401);
    /// Forbidden: the policies or the token's scope do not allow it, or another web site sent the
    /// request.
    (403);
    /// Not found: the item, version or proposal does not exist.
    (404);
    /// Not acceptable: the Accept header excludes all media types of the path.
    (406);
    /// Request timeout: the body did not arrive in time.
    (408);
    /// Conflict: the page is beyond the last one, or a request with the same `Idempotency-Key` is
    /// still in progress.
    (409);
    /// Gone: the version deleted the item, the body of the version was removed, or the position
    /// belongs to a lost history of the store.
    (410);
    /// Precondition failed: the item or collection does not meet `If-Match` or `If-None-Match`.
    (412);
    /// Request body too large.
    (413);
    /// URI too long: the URI makes the request head larger than 64 KiB.
    (414);
    /// Unsupported media type of the request body.
    (415);
    /// Range not satisfiable: `Content-Range` gives the size of the content.
    (416);
    /// Misdirected request: no credentials, and the host does not belong to the service. Only while
    /// anonymous callers may read or write.
    (421);
    /// Unprocessable entity: `errors` lists every error, with a link to the violated business rule.
    (422);
    /// Precondition required: this service requires `If-Match` for changes.
    (428);
    /// Too many requests: the rate limit of the caller or address is exceeded.
    (429);
    /// Request header fields too large: the request head is larger than 64 KiB or has more than 100
    /// headers.
    (431);
    /// Internal error. Report the `X-Request-Id` to the operators.
    (500);
    /// Not implemented: the body has a transfer coding other than `chunked`.
    (501);
    /// Service unavailable: retry after the seconds in `Retry-After`.
    (503);
    /// HTTP version not supported: the request is not HTTP/1.1.
    (505);
    /// Insufficient storage: the store is full.
    (507);
};

pub fn meaning(status: u16) -> &'static str {
    MEANINGS.iter().find(|(known, _)| *known == status).map_or("", |(_, meaning)| meaning)
}

/// Name, and `true` if required.
const HEADERS: &[(&str, bool, &str)] = &documented! {
    /// Methods of this path.
    ("Allow", true);
    /// Identifies the request in the service's log.
    ("X-Request-Id", true);
    /// Strong entity tag of the current representation.
    ("ETag", true);
    /// When the item was last written.
    ("Last-Modified", false);
    /// URL of the new item.
    ("Location", true);
    /// Seconds to wait.
    ("Retry-After", true);
    /// Links to other pages (RFC 8288), as in `_links`. The last page has no `next`.
    ("Link", false);
    /// The name of the file, and whether browsers show it (RFC 6266).
    ("Content-Disposition", true);
    /// The SHA-256 digest of the content (RFC 9530).
    ("Repr-Digest", false);
    /// The range in the body, or the size of the content.
    ("Content-Range", false);
    /// `bytes`.
    ("Accept-Ranges", true);
    /// URL of the item in the body.
    ("Content-Location", true);
    /// Preference in `Prefer` that was applied.
    ("Preference-Applied", false);
    /// Send it with a read to see this write. Only if the service reads standbys.
    ("Consistency-Token", false);
    /// Maximum lag in seconds of the standby that was read.
    ("Age", false);
};

pub fn headers(is_sent: impl Fn(&str) -> bool) -> Vec<MetaHeader> {
    let sent = HEADERS.iter().filter(|(name, ..)| is_sent(name));
    sent.map(|(name, required, description)| MetaHeader {
        name: (*name).to_owned(),
        description: Some((*description).to_owned()),
        required: *required,
        deprecated: false,
        schema: inline(MetaSchema::new("string")),
    })
    .collect()
}

pub fn headers_of(operation: GroupOperation, status: u16) -> Vec<MetaHeader> {
    use GroupOperation::{
        Compare, GetDossier, List, ListVersions, PutContent, ReplaceAll, Restore,
    };
    // A removed item has no tag, nor an item without content.
    let has_no_tag = operation == Restore || operation.is_of_content();
    let shows_item = !matches!(operation, List | ReplaceAll | ListVersions | Compare | GetDossier);
    let is_content = operation.is_of_content() && matches!(status, 200 | 206 | 304);
    let sends_content = is_content && operation.is_read();
    let is_written = operation.takes_preference() && matches!(status, 200 | 201 | 204);
    headers(|name| match name {
        "ETag" => {
            let is_current = matches!(status, 200 | 206 | 304 | 412);
            is_written || is_current && !(status == 412 && has_no_tag)
        }
        "Content-Disposition" | "Accept-Ranges" => sends_content,
        "Repr-Digest" => sends_content || is_written && operation == PutContent,
        "Content-Range" => status == 416 || sends_content && status == 206,
        "Last-Modified" => (is_written || matches!(status, 200 | 206)) && shows_item,
        "Preference-Applied" => is_written,
        "Location" => status == 201 && operation != PutContent,
        "Content-Location" => is_written && operation == PutContent,
        "Retry-After" => status == 503,
        "Consistency-Token" => !operation.is_read() && matches!(status, 200 | 201 | 204 | 503),
        "Age" => operation.is_served_by_standbys() && matches!(status, 200 | 304),
        "Link" => status == 200 && matches!(operation, List | ListVersions | ReplaceAll),
        _ => status != 414,
    })
}

pub fn responses(
    statuses: &[u16],
    types: &[MediaType],
    shown: &MetaSchemaRef,
    headers: impl Fn(u16) -> Vec<MetaHeader>,
) -> Vec<MetaResponse> {
    let problem = reference("Problem");
    // Problems are in JSON if the path itself has another format.
    let json = |media: &MediaType| if media.is_json() { *media } else { MediaType::JSON };
    let of_problems: Vec<_> = types.iter().map(json).collect();
    let response = |status: &u16| MetaResponse {
        description: meaning(*status),
        status: Some(*status),
        status_range: None,
        content: match status {
            200 | 201 | 206 => content(types, shown),
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
