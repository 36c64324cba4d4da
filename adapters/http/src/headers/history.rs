//! The history of the store in entity tags, `"<tag>.<history>"`.
//!
//! A failover that lost commits, or a restored copy, assigns the same versions again. So the
//! history qualifies each tag. The rest of the service uses plain tags: this module adds the
//! history to responses and strips it from requests.

use poem::http::header::{ETAG, Entry, IF_MATCH, IF_NONE_MATCH};
use poem::http::{HeaderMap, HeaderValue};

use super::GZIP_SUFFIX;

/// A prefix that no tag of the service has.
const FOREIGN: &str = "x-";

/// Replaces tags of other histories with tags that never match.
pub fn strip(headers: &mut HeaderMap, history: &str) {
    for name in [IF_MATCH, IF_NONE_MATCH] {
        if let Entry::Occupied(mut lines) = headers.entry(name) {
            for line in lines.iter_mut() {
                *line = stripped(line, history);
            }
        }
    }
}

pub fn complete(headers: &mut HeaderMap, history: &str) {
    if let Some(tag) = headers.get(ETAG).and_then(|tag| completed(tag, history)) {
        headers.insert(ETAG, tag);
    }
}

pub fn completed(tag: &HeaderValue, history: &str) -> Option<HeaderValue> {
    let opaque = tag.to_str().ok()?.strip_suffix('"')?;
    let (plain, suffix) = split(opaque);
    [plain, ".", history, suffix, "\""].concat().try_into().ok()
}

fn stripped(line: &HeaderValue, history: &str) -> HeaderValue {
    let Ok(text) = line.to_str() else { return line.clone() };
    let own = format!(".{history}");
    let parts = text.split('"').enumerate().map(|(index, part)| {
        let (plain, suffix) = split(part);
        match plain.strip_suffix(&own) {
            _ if index % 2 == 0 => part.to_owned(),
            Some(tag) => format!("{tag}{suffix}"),
            None => format!("{FOREIGN}{part}"),
        }
    });
    let parts: Vec<_> = parts.collect();
    HeaderValue::from_str(&parts.join("\"")).unwrap_or_else(|_| line.clone())
}

fn split(opaque: &str) -> (&str, &str) {
    opaque.strip_suffix(GZIP_SUFFIX).map_or((opaque, ""), |plain| (plain, GZIP_SUFFIX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_comes_back_as_it_was_within_its_history() {
        for tag in ["\"3\"", "\"3-0123456789abcdef\"", "\"r7\"", "\"3-gzip\"", "\"v1-2-removed\""] {
            let mut headers = HeaderMap::from_iter([(ETAG, HeaderValue::from_static(tag))]);
            complete(&mut headers, "ab1");
            let known = headers[ETAG].clone();
            assert_ne!(known, tag);
            for (history, expected) in
                [("ab1", tag.to_owned()), ("ab2", format!("\"x-{}", &known.to_str().unwrap()[1..]))]
            {
                let mut headers = HeaderMap::from_iter([(IF_MATCH, known.clone())]);
                strip(&mut headers, history);
                assert_eq!(headers[IF_MATCH], expected);
            }
        }
    }

    #[test]
    fn lists_stay_lists() {
        for (line, expected) in [
            ("*", "*"),
            ("\"1.h\", W/\"2.h\" ,\"3\"", "\"1\", W/\"2\" ,\"x-3\""),
            ("\"1.h-gzip\"", "\"1-gzip\""),
            ("\"\"", "\"x-\""),
            ("1", "1"),
        ] {
            assert_eq!(stripped(&HeaderValue::from_static(line), "h"), expected, "{line}");
        }
    }
}
