//! Errors as clients see them: problem details (RFC 9457) in the negotiated media type.
//!
//! Nothing internal is in a problem; what is, is enough to fix the request.

mod from_application;
pub mod kinds;

use std::fmt;

use domain::{Violation, Violations};
pub use kinds::ProblemKind;
use poem::error::ResponseError;
use poem::http::header::{self, HeaderName};
use poem::http::{HeaderValue, StatusCode};
use poem::{Body, Response};
use serde_json::{Map, Value, json};

use crate::base_url::BaseUrl;
use crate::headers::media_type::MediaType;
use crate::links;

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

    /// 422 with every error.
    #[must_use]
    pub fn invalid(violations: Violations) -> Self {
        let count = violations.iter().count();
        let detail = match (count, violations.omitted()) {
            (1, 0) => "One error was found; `errors` says where and how to fix it.".to_owned(),
            (count, 0) => {
                format!("{count} errors were found; `errors` says where and how to fix them.")
            }
            (count, omitted) => {
                format!("{} errors were found; `errors` lists the first {count}.", count + omitted)
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
        entry["rule"] = links::rule(base_url, rule).into();
    }
    entry
}

/// The same errors as Laminas clients expect them. Elements of a collection are told apart by their
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

impl Problem {
    /// 400: the body as a whole cannot be used; said in `errors` as well, so that one reader serves
    /// 400 and 422.
    #[must_use]
    pub fn of_whole_body(kind: &'static ProblemKind, code: &'static str, detail: String) -> Self {
        let violation = Violation::new(domain::Pointer::root(), code, detail.clone());
        Self { violations: Some(violation.into()), ..Self::new(kind, detail) }
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
    pub fn parent_not_found() -> Self {
        Self::new(&kinds::OWNER_NOT_FOUND, "No proposal has the identifier in this path.")
    }
}
