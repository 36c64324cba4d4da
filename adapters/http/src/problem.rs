//! Errors as clients see them: problem details (RFC 9457) in the negotiated media type.
//!
//! This is the one place where what the use cases refuse becomes a status. Nothing internal is in a
//! problem; what is, is enough to mend the request.

use std::fmt;

use application::{ApplicationError, MOST_EMBEDDED, RepositoryError};
use domain::{JsonFault, JsonFaultKind, Violation, Violations};
use poem::error::ResponseError;
use poem::http::header::{self, HeaderName};
use poem::http::{HeaderValue, StatusCode};
use poem::{Body, Response};
use serde_json::{Map, Value, json};

use crate::base_url::BaseUrl;
use crate::entity_tag::EntityTag;
use crate::media::MediaType;
use crate::representation::TIME;
use crate::rules;

/// A sort of problem: its stable word, its status, and the page that explains it.
#[derive(Debug)]
pub struct ProblemKind {
    /// The word in `code` and in the address of its page, `/problems/<code>`.
    pub code: &'static str,
    /// The HTTP status.
    pub status: StatusCode,
    /// What happened, in a phrase.
    pub title: &'static str,
    /// Why it happens and how to mend it.
    pub explanation: &'static str,
}

macro_rules! problem_kinds {
    ($($name:ident = $code:literal $status:ident $title:literal: $explanation:literal;)*) => {
        /// Every sort of problem the service reports.
        pub mod kinds {
            use super::{ProblemKind, StatusCode};

            $(
                #[doc = $title]
                pub const $name: ProblemKind =
                    ProblemKind { code: $code, status: StatusCode::$status, title: $title, explanation: $explanation };
            )*

            /// All of them, for the pages that explain them.
            pub const ALL: &[ProblemKind] = &[$($name),*];
        }
    };
}

problem_kinds! {
    EMPTY_BODY = "empty-body" BAD_REQUEST "The body is empty":
        "The operation takes a JSON object. Send one, with a Content-Type header.";
    NOT_UTF8 = "not-utf8" BAD_REQUEST "The body is not UTF-8":
        "JSON is exchanged in UTF-8 (RFC 8259 section 8.1). Convert the text before sending it; `detail` says where the first wrong byte is.";
    MALFORMED_JSON = "malformed-json" BAD_REQUEST "The body is not JSON":
        "The body breaks the grammar of JSON (RFC 8259). `detail` gives line, column and what was expected there.";
    TOO_DEEP = "too-deep" BAD_REQUEST "The body is nested too deeply":
        "A body may have at most 128 levels of arrays and objects. Flatten it.";
    DUPLICATE_MEMBER = "duplicate-member" BAD_REQUEST "A member name stands twice":
        "An object names each member once; readers disagree about which of two counts, so neither is guessed. Remove one.";
    LONE_SURROGATE = "lone-surrogate" BAD_REQUEST "A surrogate stands alone":
        "A \\uD800 to \\uDFFF escape is half a character. Send the pair, or better the character itself in UTF-8.";
    INCOMPLETE_BODY = "incomplete-body" BAD_REQUEST "The body is incomplete":
        "The body broke off before the length it declared, or its chunks are malformed. Send it whole; nothing was written.";
    MALFORMED_HOST = "malformed-host" BAD_REQUEST "The Host header is missing, repeated or malformed":
        "A request of HTTP/1.1 has exactly one Host header, which is a host and, if need be, a port (RFC 9112 section 3.2).";
    NOT_AN_OBJECT = "not-an-object" BAD_REQUEST "The body has the wrong shape":
        "An item is a JSON object. A replacement of a collection is an array of objects, or a HAL collection as GET returns it.";
    MALFORMED_CONDITION = "malformed-condition" BAD_REQUEST "A condition cannot be read":
        "If-Match and If-None-Match take `*` or a list of entity tags in double quotes, as in the ETag header of a response (RFC 9110 section 13.1).";
    MALFORMED_KEY = "malformed-idempotency-key" BAD_REQUEST "The Idempotency-Key cannot be read":
        "The header takes one text in double quotes, as in `Idempotency-Key: \"8e03978e-40d5-43dd-bc93-6894a57f9324\"`. Make a new one, best a UUID, for everything that is to happen once.";
    INVALID_QUERY = "invalid-query" BAD_REQUEST "A query parameter is wrong":
        "`detail` names the parameter and the values it takes, and the nearest right name for one that is not known. Each parameter stands once; only filters may be several. Percent-encode what is not a letter, digit, `-`, `.`, `_` or `~`: a bare `+` is a space. A cursor comes from a link and goes with its query; when it is refused, start again from the collection or a page number.";
    NO_ROUTE = "no-route" NOT_FOUND "There is nothing at this path":
        "The path is none of this service's. Paths have no trailing slash; the entry point `/` links every collection.";
    ITEM_NOT_FOUND = "item-not-found" NOT_FOUND "There is no such item":
        "No item has this identifier, or it was deleted, or it belongs to another proposal. List the collection to find the items there are.";
    OWNER_NOT_FOUND = "proposal-not-found" NOT_FOUND "There is no such proposal":
        "The library asked for belongs to a proposal that does not exist. List `/v1/proposals` to find those that do.";
    RULE_NOT_FOUND = "rule-not-found" NOT_FOUND "There is no such rule":
        "No business rule of this name is in force. `/rules` lists those that are; rules may come and go while the service runs.";
    METHOD_NOT_ALLOWED = "method-not-allowed" METHOD_NOT_ALLOWED "The path does not serve this method":
        "The Allow header lists the methods it serves.";
    NOT_ACCEPTABLE = "not-acceptable" NOT_ACCEPTABLE "No acceptable media type":
        "The Accept header admits none of the types this path serves: `application/hal+json`, `application/json` and the group's own. Name one of them, or `*/*`.";
    PAGE_OUT_OF_RANGE = "page-out-of-range" CONFLICT "There is no such page":
        "The page lies beyond the last one. Follow `_links.next` until it is absent, or start at `_links.first`.";
    VERSION_NOT_FOUND = "version-not-found" NOT_FOUND "There is no such version":
        "The item never had a version of this number. `versions` below the item lists those there are.";
    VERSION_GONE = "version-gone" GONE "The version is a removal":
        "With this version the item was removed, so there is nothing to show or restore. The version before it is what it last was.";
    KEY_IN_USE = "idempotency-key-in-use" CONFLICT "The request is at work":
        "A request with the same Idempotency-Key was sent to this path and is not answered yet. Wait, and send it again: the answer will be that of the first.";
    PRECONDITION_FAILED = "precondition-failed" PRECONDITION_FAILED "The item or collection has changed":
        "If-Match names another version than the current one: somebody wrote since it was read. Read it again, repeat the change on what is there now, and send it with the new ETag. Or If-None-Match names the current version, which is then not written over.";
    CONDITION_REQUIRED = "condition-required" PRECONDITION_REQUIRED "A condition is required":
        "The operators of this service let items be changed and removed under a condition only (RFC 6585 section 3), so that nobody overwrites what somebody else wrote. Send If-Match with the ETag that was read.";
    BODY_TOO_LARGE = "body-too-large" PAYLOAD_TOO_LARGE "The body is too large":
        "Bodies are limited; `detail` says to how many bytes. Store large attachments elsewhere and describe them in `files`.";
    UNSUPPORTED_MEDIA_TYPE = "unsupported-media-type" UNSUPPORTED_MEDIA_TYPE "The body's media type is not supported":
        "A body needs a Content-Type of `application/json` or the group's own type; the only parameter allowed is `charset=utf-8`.";
    INVALID_MEMBERS = "invalid-members" UNPROCESSABLE_ENTITY "The members are refused":
        "The body was read, and rules refuse it. `errors` lists every fault: where (`pointer`, RFC 6901), which rule (`code`) and what to send instead (`detail`). `validation_messages` says the same by field.";
    KEY_REUSED = "idempotency-key-reused" UNPROCESSABLE_ENTITY "The Idempotency-Key was used for another request":
        "A request with the same key and another body was sent to this path and done before. Make a new key for what is to happen beside it; send the same body to get the first answer again.";
    REQUEST_TIMEOUT = "request-timeout" REQUEST_TIMEOUT "The body did not arrive in time":
        "The body stopped arriving, or the connection broke. Send the request again; nothing was written.";
    INTERNAL = "internal" INTERNAL_SERVER_ERROR "The service failed":
        "This is a fault of the service, not of the request. Tell the operators the request id (header X-Request-Id).";
    UNAVAILABLE = "unavailable" SERVICE_UNAVAILABLE "The service cannot answer now":
        "The store is out of reach or the service is at its limit. Try again after the seconds in Retry-After. A write may have happened: look before you repeat it.";
    STORE_FULL = "store-full" INSUFFICIENT_STORAGE "The store is full":
        "There is no room for the write, and nothing was written. Reading goes on. Tell the operators.";
}

/// An error response in the making.
#[derive(Debug)]
pub struct Problem {
    kind: &'static ProblemKind,
    detail: String,
    violations: Option<Violations>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Problem {
    /// A problem of a kind; `detail` says what is wrong with this very request.
    pub fn new(kind: &'static ProblemKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), violations: None, headers: Vec::new() }
    }

    /// 503: the service is at a limit or its store out of reach.
    #[must_use]
    pub fn unavailable(detail: &str) -> Self {
        Self::new(&kinds::UNAVAILABLE, detail)
            .with_header(header::RETRY_AFTER, HeaderValue::from_static("2"))
    }

    /// 422 with every fault.
    #[must_use]
    pub fn invalid(violations: Violations) -> Self {
        let count = violations.iter().count();
        let detail = match (count, violations.omitted()) {
            (1, 0) => "One fault was found; `errors` says where and how to mend it.".to_owned(),
            (count, 0) => {
                format!("{count} faults were found; `errors` says where and how to mend them.")
            }
            (count, omitted) => {
                format!("{} faults were found; `errors` lists the first {count}.", count + omitted)
            }
        };
        Self { violations: Some(violations), ..Self::new(&kinds::INVALID_MEMBERS, detail) }
    }

    /// Adds a header to the response.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// The response, in the media type the client negotiated.
    #[must_use]
    pub fn into_response(self, media: MediaType, base_url: &BaseUrl, path: &str) -> Response {
        let body = self.to_json(base_url, path).to_string();
        let mut response = Response::builder().status(self.kind.status).body(Body::from(body));
        response.headers_mut().extend(self.headers);
        response.headers_mut().insert(header::CONTENT_TYPE, media.header());
        response
    }

    /// The problem's members.
    #[must_use]
    pub fn to_json(&self, base_url: &BaseUrl, path: &str) -> Value {
        let mut members = Map::new();
        members.insert("type".into(), format!("{base_url}/problems/{}", self.kind.code).into());
        members.insert("title".into(), self.kind.title.into());
        members.insert("status".into(), self.kind.status.as_u16().into());
        members.insert("code".into(), self.kind.code.into());
        members.insert("detail".into(), self.detail.as_str().into());
        members.insert("instance".into(), format!("{base_url}{path}").into());
        if let Some(violations) = &self.violations {
            members.insert(
                "errors".into(),
                violations.iter().map(|violation| error_entry(base_url, violation)).collect(),
            );
            if self.kind.status == StatusCode::UNPROCESSABLE_ENTITY {
                members.insert("validation_messages".into(), validation_messages(violations));
            }
        }
        Value::Object(members)
    }
}

fn error_entry(base_url: &BaseUrl, violation: &Violation) -> Value {
    let mut entry = json!({
        "pointer": violation.pointer.to_string(),
        "field": violation.field,
        "code": violation.code,
        "detail": violation.detail,
    });
    if let Some(rule) = &violation.rule {
        entry["rule"] = rules::url(base_url, rule).into();
    }
    entry
}

/// The same faults as Laminas clients expect them. Elements of a collection are told apart by their
/// place.
fn validation_messages(violations: &Violations) -> Value {
    let mut fields = Map::new();
    for violation in violations.iter() {
        let place = violation.pointer.to_string();
        let is_of_body = violation.pointer.first_name() == violation.field;
        let key = if is_of_body { violation.field.as_str() } else { place.trim_start_matches('/') };
        let codes = fields.entry(key).or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(codes) = codes {
            codes.insert(violation.code.to_string(), violation.detail.as_str().into());
        }
    }
    Value::Object(fields)
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.kind.code, self.detail)
    }
}

impl std::error::Error for Problem {}

impl ResponseError for Problem {
    fn status(&self) -> StatusCode {
        self.kind.status
    }
}

impl From<JsonFault> for Problem {
    fn from(fault: JsonFault) -> Self {
        let (kind, code) = match fault.kind {
            JsonFaultKind::Empty => (&kinds::EMPTY_BODY, "empty_body"),
            JsonFaultKind::NotUtf8 => (&kinds::NOT_UTF8, "not_utf8"),
            JsonFaultKind::Malformed => (&kinds::MALFORMED_JSON, "malformed_json"),
            JsonFaultKind::TooDeep => (&kinds::TOO_DEEP, "too_deep"),
            JsonFaultKind::DuplicateMember => (&kinds::DUPLICATE_MEMBER, "duplicate_member"),
            JsonFaultKind::LoneSurrogate => (&kinds::LONE_SURROGATE, "lone_surrogate"),
        };
        Self::of_whole_body(kind, code, fault.to_string())
    }
}

impl Problem {
    /// 400: the body as a whole cannot be used; said in `errors` as well, so that one reader serves
    /// 400 and 422.
    #[must_use]
    pub fn of_whole_body(kind: &'static ProblemKind, code: &'static str, detail: String) -> Self {
        let violation = Violation::new(domain::Pointer::root(), code, detail.clone());
        Self { violations: Some(violation.into()), ..Self::new(kind, detail) }
    }
}

impl From<ApplicationError> for Problem {
    fn from(error: ApplicationError) -> Self {
        match error {
            ApplicationError::ItemMissing => Self::item_not_found(),
            ApplicationError::OwnerMissing => Self::owner_not_found(),
            ApplicationError::PreconditionFailed { current, relations } => {
                let tag = EntityTag::of_item(current, &relations).header();
                let detail = format!(
                    "The item is at version {current} now; its current entity tag is in the ETag header."
                );
                Self::new(&kinds::PRECONDITION_FAILED, detail).with_header(header::ETAG, tag)
            }
            ApplicationError::CollectionChanged { current } => {
                let detail =
                    "The collection has changed; its current entity tag is in the ETag header.";
                Self::new(&kinds::PRECONDITION_FAILED, detail)
                    .with_header(header::ETAG, EntityTag::of_collection(current).header())
            }
            ApplicationError::NothingThere => Self::new(
                &kinds::PRECONDITION_FAILED,
                "The item was removed, so it has no version that If-Match could name; leave the header out, or send `If-None-Match: *`.",
            ),
            ApplicationError::VersionMissing { latest } => Self::new(
                &kinds::VERSION_NOT_FOUND,
                format!("The last version of the item is {latest}."),
            ),
            ApplicationError::VersionGone { version, time } => {
                let time = TIME.timestamp_to_string(&time);
                Self::new(
                    &kinds::VERSION_GONE,
                    format!("With version {version} the item was removed, at {time}."),
                )
            }
            ApplicationError::InFuture => Self::new(
                &kinds::INVALID_QUERY,
                "`as_of` lies in the future; nobody knows yet what there will be.",
            ),
            ApplicationError::KeyInUse => {
                let detail = "A request with this Idempotency-Key is at work; send it again when it is done.";
                Self::new(&kinds::KEY_IN_USE, detail)
                    .with_header(header::RETRY_AFTER, HeaderValue::from_static("1"))
            }
            ApplicationError::KeyReused => Self::new(
                &kinds::KEY_REUSED,
                "This Idempotency-Key was used at this path with another body; make a new one.",
            ),
            ApplicationError::Invalid(violations) => Self::invalid(violations),
            ApplicationError::PageOutOfRange { page, page_count: Some(last) } => Self::new(
                &kinds::PAGE_OUT_OF_RANGE,
                format!("Page {page} was asked for; the last page is {last}."),
            ),
            ApplicationError::PageOutOfRange { page, page_count: None } => Self::new(
                &kinds::PAGE_OUT_OF_RANGE,
                format!("Page {page} was asked for, and there are not so many."),
            ),
            ApplicationError::BeyondLog => Self::new(
                &kinds::INVALID_QUERY,
                "the cursor is beyond the end of the change log: it is of another store, or this one is a copy made before it; begin without it.",
            ),
            ApplicationError::TooMuchEmbedded => {
                let detail = format!(
                    "More than {MOST_EMBEDDED} items would be embedded; ask for a smaller `page_size`, or leave `embed` out."
                );
                Self::new(&kinds::INVALID_QUERY, detail)
            }
            ApplicationError::Contended => {
                Self::unavailable("Too many writers change this item at once.")
            }
            ApplicationError::Store(RepositoryError::Full) => {
                Self::new(&kinds::STORE_FULL, "The store has no room for this write.")
            }
            ApplicationError::Store(RepositoryError::Unavailable) => {
                Self::unavailable("The store cannot be reached.")
            }
            ApplicationError::Store(error) => {
                tracing::error!(%error, "the store failed");
                Self::new(&kinds::INTERNAL, "The service could not do its work.")
            }
        }
    }
}

impl Problem {
    /// 404 for an identifier that names nothing.
    #[must_use]
    pub fn item_not_found() -> Self {
        Self::new(&kinds::ITEM_NOT_FOUND, "No item of this collection has this identifier.")
    }

    /// 404 for the library of a proposal that does not exist.
    #[must_use]
    pub fn owner_not_found() -> Self {
        Self::new(&kinds::OWNER_NOT_FOUND, "No proposal has the identifier in this path.")
    }
}
