//! The responses of operations and their headers, as tables: doc comments are descriptions.

use poem_openapi::registry::{MetaHeader, MetaMediaType, MetaResponse, MetaSchema, MetaSchemaRef};

use super::model::{documented, inline, reference};
use crate::groups::GroupOperation;
use crate::headers::media_type::MediaType;

pub const COMMON: [u16; 12] = [400, 401, 403, 408, 414, 421, 429, 431, 500, 501, 503, 505];

/// Common statuses without a problem document: sent before the request has been read.
pub const EARLY: [u16; 4] = [414, 431, 501, 505];

const MEANINGS: &[(u16, &str)] = &documented! {
    /// Done.
    (200);
    /// Created; `Location` names the new item.
    (201);
    /// Done; there is no body.
    (204);
    /// Not modified since the entity tag in `If-None-Match`, or the date in `If-Modified-Since`.
    (304);
    /// Client error: the body, a condition or a query parameter cannot be read.
    (400);
    /// Unauthorized: the operation needs credentials, or those sent are not accepted;
    /// `WWW-Authenticate` says how to get some. Only where callers are asked who they are.
    (401);
    /// Forbidden: the policies do not permit this to the caller, the token's scope does not grant it,
    /// or the page of another web site sent it.
    (403);
    /// Not found: no such item, no such version, or no such proposal.
    (404);
    /// Not acceptable: the Accept header admits none of the path's media types.
    (406);
    /// Request timeout: the body did not arrive in time.
    (408);
    /// Conflict: the page lies beyond the last one, or a request with the same `Idempotency-Key` is
    /// at work.
    (409);
    /// Gone: with this version the item was removed, or the body of the version was, or the position
    /// is of a history of the store that was lost.
    (410);
    /// Precondition failed: the item or collection is not as `If-Match` says, or as `If-None-Match`
    /// says it must not be.
    (412);
    /// Payload too large.
    (413);
    /// URI too long: the request head is larger than 64 KiB because of its URI.
    (414);
    /// Unsupported media type of the request's body.
    (415);
    /// Misdirected request: a request without credentials to a host that is not one of the service,
    /// while anonymous callers may read or write.
    (421);
    /// Unprocessable entity: `errors` lists every error, and links the business rule that found it.
    (422);
    /// Precondition required: this service is run so that a change needs `If-Match`.
    (428);
    /// Too many requests: those of the caller or of the address come too fast, where the operators
    /// limit them.
    (429);
    /// Request header fields too large: the request head is larger than 64 KiB or has more than 100
    /// headers.
    (431);
    /// Internal error. Report the `X-Request-Id` to the operators.
    (500);
    /// Not implemented: the body has a transfer coding other than `chunked`.
    (501);
    /// Service unavailable: try again after the seconds in `Retry-After`.
    (503);
    /// HTTP version not supported: the request is not HTTP/1.1.
    (505);
    /// Insufficient storage: the store has no room for the write.
    (507);
};

pub fn meaning(status: u16) -> &'static str {
    MEANINGS.iter().find(|(known, _)| *known == status).map_or("", |(_, meaning)| meaning)
}

/// Name, and `true` if required.
const HEADERS: &[(&str, bool, &str)] = &documented! {
    /// The methods this path serves.
    ("Allow", true);
    /// Names the request in the service's log.
    ("X-Request-Id", true);
    /// Strong entity tag of the current representation.
    ("ETag", true);
    /// When the item was last written.
    ("Last-Modified", false);
    /// URL of the new item.
    ("Location", true);
    /// Seconds to wait.
    ("Retry-After", true);
    /// The links to other pages (RFC 8288), as in `_links`; without `next` on the last page.
    ("Link", false);
    /// The preference in `Prefer` that the response meets.
    ("Preference-Applied", false);
    /// Sent with a read, the read sees this write. Where the service reads standbys.
    ("Consistency-Token", false);
    /// A standby was read, which lags by so many seconds at most.
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
    use GroupOperation::{Compare, List, ListVersions, ReplaceAll, Restore};
    let shows_item = !matches!(operation, List | ReplaceAll | ListVersions | Compare);
    let is_written = operation.takes_preference() && matches!(status, 200 | 201 | 204);
    headers(|name| match name {
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
