//! Problem details (RFC 9457), without internals and with enough to fix the request.

mod from_application;
pub mod kinds;

use domain::{Version, Violation, Violations};
use jiff::Timestamp;
pub use kinds::ProblemKind;
use poem::http::header::{self, HeaderName};
use poem::http::{HeaderValue, StatusCode};
use poem::{Body, Response};
use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::base_url::BaseUrl;
use crate::headers::history::completed;
use crate::headers::media_type::MediaType;
use crate::links;
use crate::time::TIME;

pub type Result<T, E = Problem> = std::result::Result<T, E>;

#[derive(Debug, Error)]
#[error("{}: {detail}", .kind.code)]
pub struct Problem {
    pub kind: &'static ProblemKind,
    pub detail: String,
    more: More,
    pub headers: Vec<(HeaderName, HeaderValue)>,
}

#[derive(Debug)]
enum More {
    Nothing,
    Violations(Violations),
    Rows(Vec<RowError>),
    Policies(Vec<Box<str>>),
    /// Extension members (RFC 9457 section 3.2).
    Members(Vec<(&'static str, Value)>),
}

#[derive(Debug)]
pub struct RowError {
    pub row: u64,
    pub line: Option<u64>,
    pub cell: Option<String>,
    pub violation: Violation,
}

impl Problem {
    pub fn new(kind: &'static ProblemKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), more: More::Nothing, headers: Vec::new() }
    }

    /// The cause is only in the log.
    pub fn internal() -> Self {
        Self::new(
            &kinds::INTERNAL,
            "Internal error. Give the X-Request-Id to the operators of the service.",
        )
    }

    pub fn unavailable(detail: &str) -> Self {
        Self::new(&kinds::UNAVAILABLE, detail).with_header(header::RETRY_AFTER, "2")
    }

    pub fn index_building(indexed: u64, of: u64, seconds: u64) -> Self {
        let detail = format!(
            "The full-text index contains {indexed} of {of} changes. The rest takes about {seconds} seconds."
        );
        let more = More::Members(vec![("indexed", indexed.into()), ("of", of.into())]);
        Self { more, ..Self::new(&kinds::INDEX_BUILDING, detail) }
            .with_header(header::RETRY_AFTER, seconds)
    }

    pub fn invalid(violations: Violations) -> Self {
        let count = violations.iter().count();
        let detail = match (count, violations.omitted()) {
            (1, 0) => "1 error found. `errors` shows its place and fix.".to_owned(),
            (count, 0) => {
                format!("{count} errors found. `errors` shows their places and fixes.")
            }
            (count, omitted) => {
                format!("{} errors found. `errors` lists the first {count}.", count + omitted)
            }
        };
        Self { more: More::Violations(violations), ..Self::new(&kinds::INVALID_MEMBERS, detail) }
    }

    /// The problem need not list all rows.
    pub fn rows_refused(rows: Vec<RowError>, refused: usize) -> Self {
        let (listed, were) = (rows.len(), if refused == 1 { "row was" } else { "rows were" });
        let detail = format!(
            "{refused} {were} refused, so no rows were imported. Errors listed with their rows: {listed}."
        );
        Self { more: More::Rows(rows), ..Self::new(&kinds::ROWS_REFUSED, detail) }
    }

    /// Omits a value that no header can have.
    pub fn with_header(mut self, name: HeaderName, value: impl TryInto<HeaderValue>) -> Self {
        self.headers.extend(value.try_into().ok().map(|value| (name, value)));
        self
    }

    pub fn in_history(mut self, history: &str) -> Self {
        for (name, value) in &mut self.headers {
            if *name == header::ETAG
                && let Some(completed) = completed(value, history)
            {
                *value = completed;
            }
        }
        self
    }

    pub fn violations(&self) -> impl Iterator<Item = &Violation> {
        let violations =
            if let More::Violations(violations) = &self.more { Some(violations) } else { None };
        violations.into_iter().flat_map(Violations::iter)
    }

    pub fn policies(&self) -> &[Box<str>] {
        if let More::Policies(policies) = &self.more { policies } else { &[] }
    }

    pub fn into_response(self, media: MediaType, base_url: &BaseUrl, path: &str) -> Response {
        let body = self.to_json(base_url, path).to_string();
        let mut response = Response::builder().status(self.kind.status).body(Body::from(body));
        response.headers_mut().extend(self.headers);
        response.headers_mut().insert(header::CONTENT_TYPE, media.header());
        response
    }

    pub fn to_json(&self, base_url: &BaseUrl, path: &str) -> Value {
        let ProblemKind { code, status, title, .. } = *self.kind;
        let mut members = json!({
            "type": format!("{base_url}/problems/{code}"),
            "title": title,
            "status": status.as_u16(),
            "code": code,
            "detail": self.detail,
            "instance": format!("{base_url}{path}"),
        });
        match &self.more {
            More::Nothing => {}
            More::Violations(violations) => {
                let entries = violations.iter().map(|violation| error_entry(base_url, violation));
                members["errors"] = entries.collect();
                if status == StatusCode::UNPROCESSABLE_ENTITY {
                    members["validation_messages"] = validation_messages(violations);
                }
            }
            More::Rows(rows) => {
                let entries = rows.iter().map(|error| {
                    let RowError { row, line, cell, violation } = error;
                    let mut entry = cell_error(base_url, violation, *line, cell.clone());
                    entry["row"] = (*row).into();
                    entry
                });
                members["errors"] = entries.collect();
            }
            More::Members(more) => {
                for (name, value) in more {
                    members[*name] = value.clone();
                }
            }
            More::Policies(policies) => {
                let entry = |id: &str| json!({ "id": id, "href": links::policy(base_url, id) });
                members["policies"] = policies.iter().map(|id| entry(id)).collect();
            }
        }
        members
    }

    pub fn not_permitted(detail: String, policies: Vec<Box<str>>) -> Self {
        Self { more: More::Policies(policies), ..Self::new(&kinds::NOT_PERMITTED, detail) }
    }

    pub fn members_not_permitted(refused: Violations) -> Self {
        let detail = "You are not allowed to write some of these members. `errors` names them.";
        let more = More::Violations(refused);
        Self { more, ..Self::new(&kinds::MEMBERS_NOT_PERMITTED, detail) }
    }

    pub fn body_removed(version: Version, removed_at: Timestamp) -> Self {
        let time = TIME.timestamp_to_string(&removed_at);
        let detail = format!(
            "The body of version {version} was removed at {time}, long after it was superseded."
        );
        let more = More::Members(vec![("removed_at", time.into())]);
        Self { more, ..Self::new(&kinds::BODY_REMOVED, detail) }
    }

    /// Repeats the detail in `errors`, so that clients read 400 and 422 alike.
    pub fn of_whole_body(kind: &'static ProblemKind, code: &'static str, detail: String) -> Self {
        let violation = Violation::new(domain::Pointer::root(), code, detail.clone());
        Self { more: More::Violations(violation.into()), ..Self::new(kind, detail) }
    }

    pub fn item_not_found() -> Self {
        Self::new(&kinds::ITEM_NOT_FOUND, "No item of this collection has this identifier.")
    }

    pub fn parent_not_found() -> Self {
        Self::new(&kinds::PARENT_NOT_FOUND, "No proposal has the identifier in this path.")
    }
}

pub fn cell_error(
    base_url: &BaseUrl,
    violation: &Violation,
    line: Option<u64>,
    cell: Option<String>,
) -> Value {
    let mut entry = error_entry(base_url, violation);
    entry["column"] = (*violation.field).into();
    if let Some(line) = line {
        entry["line"] = line.into();
    }
    if let Some(cell) = cell {
        entry["cell"] = cell.into();
    }
    entry
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

/// The form that Laminas clients expect. Errors of a collection's elements are keyed by pointer.
fn validation_messages(violations: &Violations) -> Value {
    let mut fields = Map::new();
    for violation in violations.iter() {
        let place = violation.pointer.to_string();
        let is_of_body = violation.pointer.first_name() == *violation.field;
        let key = if is_of_body { &*violation.field } else { place.trim_start_matches('/') };
        let codes = fields.entry(key).or_insert_with(|| json!({}));
        codes[violation.code.to_string()] = violation.detail.as_str().into();
    }
    Value::Object(fields)
}
