//! Responses to input that never became a request, so no endpoint saw it.

use std::error::Error as _;

use hyper::StatusCode;
use thiserror::Error;

use super::MAX_HEAD;
use crate::time::{http_date, now};

/// A problem (RFC 9457) of type `about:blank`, with an empty `Allow`. The connection ends after it.
pub(super) fn answer(status: StatusCode) -> Vec<u8> {
    let title = status.canonical_reason().unwrap_or_default();
    let (number, (code, detail)) = (status.as_u16(), explain(status));
    let body = format!(
        r#"{{"type":"about:blank","title":"{title}","status":{number},"code":"{code}","detail":"{detail}"}}"#
    );
    let (length, date) = (body.len(), http_date(&now()));
    let head = format!(
        "HTTP/1.1 {number} {title}\r\nallow:\r\ncontent-type: application/json\r\nx-content-type-options: nosniff\r\ncache-control: no-cache\r\ncontent-length: {length}\r\ndate: {date}"
    );
    let again = if status == StatusCode::SERVICE_UNAVAILABLE { "\r\nretry-after: 2" } else { "" };
    format!("{head}{again}\r\nconnection: close\r\n\r\n{body}").into_bytes()
}

#[derive(Debug, Error)]
pub(super) enum Unanswered {
    #[error("the response is an event stream")]
    TakenOver,
    #[error("the body has an unknown transfer coding")]
    UnknownCoding,
}

/// Falls back to the text of hyper's error, its only sign of this cause.
pub(super) fn is_of_unknown_coding(error: &hyper::Error) -> bool {
    let own = error.source().and_then(|cause| cause.downcast_ref());
    matches!(own, Some(Unanswered::UnknownCoding))
        || error.is_parse() && error.to_string() == "invalid transfer-encoding parsed"
}

fn explain(status: StatusCode) -> (&'static str, String) {
    match status {
        StatusCode::REQUEST_TIMEOUT => {
            ("request-timeout", "The request head did not arrive in time. Send it in one piece.".into())
        }
        StatusCode::URI_TOO_LONG => {
            ("uri-too-long", format!("The request line is too long. Method, URI and headers together may have {MAX_HEAD} bytes."))
        }
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => {
            ("header-too-large", format!("The headers are too large or too many. The limit is 100 headers, and {MAX_HEAD} bytes with the request line."))
        }
        StatusCode::HTTP_VERSION_NOT_SUPPORTED => {
            ("version-not-supported", "The server supports HTTP/1.1 only. Do not start with HTTP/2.".into())
        }
        StatusCode::NOT_IMPLEMENTED => {
            ("transfer-coding-not-supported", "The body has a transfer coding other than chunked. Send it with Content-Length or in chunks, without another coding.".into())
        }
        StatusCode::SERVICE_UNAVAILABLE => {
            ("unavailable", "The connection limit is reached. Retry after the seconds in Retry-After.".into())
        }
        _ => {
            ("malformed-request", "The request is not HTTP/1.1 (RFC 9112). Check the request line, the URI's percent-encoding and the headers.".into())
        }
    }
}
