pub mod accept;
pub mod byte_ranges;
pub mod consistency_token;
pub mod content_disposition;
pub mod content_policy;
pub mod digest_fields;
pub mod entity_tag;
pub mod history;
pub mod idempotency_key;
pub mod link;
pub mod media_type;
pub mod modified_since;
pub mod prefer;
pub mod quality_list;
pub mod sole;
pub mod trace_context;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC};
use poem::http::{HeaderMap, HeaderName, HeaderValue};

/// Ends the entity tag of a compressed representation.
pub const GZIP_SUFFIX: &str = "-gzip";

/// In the order of `Allow`.
pub const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// The characters to percent-encode: all of ASCII but letters, digits and these.
pub const fn symbols_except(kept: &[u8]) -> AsciiSet {
    match kept {
        [first, others @ ..] => symbols_except(others).remove(*first),
        // `AsciiSet` is not `Copy`. Adding an element that it has copies it.
        [] => NON_ALPHANUMERIC.add(b' '),
    }
}

/// Sets a header, unless no header can have the value.
pub fn set(headers: &mut HeaderMap, name: HeaderName, value: impl TryInto<HeaderValue>) {
    if let Ok(value) = value.try_into() {
        headers.insert(name, value);
    }
}

/// Headers of one name with these values.
#[cfg(test)]
pub fn sent(name: impl AsRef<str>, values: &[&str]) -> HeaderMap {
    let name = HeaderName::try_from(name.as_ref()).unwrap();
    values.iter().map(|value| (name.clone(), value.parse().unwrap())).collect()
}
