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

/// In the order of `Allow`.
pub const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// Headers of one name with these values.
#[cfg(test)]
pub fn sent(name: impl AsRef<str>, values: &[&str]) -> poem::http::HeaderMap {
    let name = poem::http::HeaderName::try_from(name.as_ref()).unwrap();
    values.iter().map(|value| (name.clone(), value.parse().unwrap())).collect()
}
