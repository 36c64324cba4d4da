//! Answers to what never became a request: hyper could not read its head, so neither the endpoint
//! nor its frame saw it.

use hyper::StatusCode;
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;

use super::MAX_HEAD;

/// The whole answer, after which the connection ends. Like any other it is a problem (RFC 9457) and
/// names the methods of the path, of which there are none. Its problem type is `about:blank`: the
/// status says it all.
pub(super) fn answer(status: StatusCode) -> Vec<u8> {
    let title = status.canonical_reason().unwrap_or_default();
    let (code, number, detail) = (code(status), status.as_u16(), detail(status));
    let body = format!(
        r#"{{"type":"about:blank","title":"{title}","status":{number},"code":"{code}","detail":"{detail}"}}"#
    );
    let (length, date) = (body.len(), date());
    let head = format!(
        "HTTP/1.1 {number} {title}\r\nallow:\r\ncontent-type: application/json\r\nx-content-type-options: nosniff\r\ncontent-length: {length}\r\n{date}"
    );
    format!("{head}connection: close\r\n\r\n{body}").into_bytes()
}

/// A word that stays when the text is changed.
fn code(status: StatusCode) -> &'static str {
    match status {
        StatusCode::REQUEST_TIMEOUT => "request-timeout",
        StatusCode::URI_TOO_LONG => "uri-too-long",
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => "header-too-large",
        StatusCode::HTTP_VERSION_NOT_SUPPORTED => "version-not-supported",
        _ => "malformed-request",
    }
}

fn detail(status: StatusCode) -> String {
    match status {
        StatusCode::REQUEST_TIMEOUT => "the head of the request did not arrive in time; send it in one go".into(),
        StatusCode::URI_TOO_LONG => format!("the request line is too long; method, URI and headers together may have {MAX_HEAD} bytes"),
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => {
            format!("the headers are too large or too many; there may be 100, and {MAX_HEAD} bytes with the request line")
        }
        StatusCode::HTTP_VERSION_NOT_SUPPORTED => "only HTTP/1.1 is spoken here; do not start with HTTP/2".into(),
        _ => "the request is not HTTP/1.1 (RFC 9112): check the request line, the URI's percent-encoding and the headers".into(),
    }
}

/// The time of this machine.
#[expect(
    clippy::disallowed_methods,
    reason = "`Date` tells this machine's time, as in hyper's answers; no use case sees it"
)]
pub(super) fn now() -> Timestamp {
    Timestamp::now()
}

/// The `Date` header, which every answer has.
fn date() -> String {
    DateTimePrinter::new()
        .timestamp_to_rfc9110_string(&now())
        .map(|date| format!("date: {date}\r\n"))
        .unwrap_or_default()
}
