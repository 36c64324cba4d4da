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

#[cfg(test)]
mod tests {
    use poem::http::header::{HOST, HeaderMap, HeaderValue};

    use super::sole;

    #[test]
    fn a_header_is_there_once_or_not() {
        let mut headers = HeaderMap::new();
        assert!(sole(&headers, HOST).unwrap().is_none());
        headers.append(HOST, HeaderValue::from_static("a"));
        assert_eq!(sole(&headers, "Host").unwrap(), Some(&HeaderValue::from_static("a")));
        headers.append(HOST, HeaderValue::from_static("a"));
        assert!(sole(&headers, HOST).is_err());
    }
}
