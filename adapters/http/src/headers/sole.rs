//! Header fields that a request may have only once.

use poem::http::header::AsHeaderName;
use poem::http::{HeaderMap, HeaderValue};

#[derive(Debug)]
pub struct Repeated;

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
