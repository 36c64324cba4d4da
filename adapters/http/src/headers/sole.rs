//! Header fields that a request may have only once.

use poem::http::header::AsHeaderName;
use poem::http::{HeaderMap, HeaderValue};

#[derive(Debug)]
pub struct Repeated;

/// The field is repeated, or does not have the right form.
#[derive(Debug)]
pub struct Malformed;

pub fn sole(
    headers: &HeaderMap,
    name: impl AsHeaderName,
) -> Result<Option<&HeaderValue>, Repeated> {
    let mut lines = headers.get_all(name).iter();
    match (lines.next(), lines.next()) {
        (line, None) => Ok(line),
        (_, Some(_)) => Err(Repeated),
    }
}

pub fn parsed<T>(
    headers: &HeaderMap,
    name: impl AsHeaderName,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, Malformed> {
    let line = sole(headers, name).map_err(|Repeated| Malformed)?;
    line.map(|line| line.to_str().ok().and_then(parse).ok_or(Malformed)).transpose()
}
