//! The `Consistency-Token` header: a position in the log of the store, opaque to clients.
//!
//! Format: `<offset>-<history>-<check>`, with a hexadecimal offset. The check is a prefix of the
//! SHA-256 of the preceding text and detects a damaged token.

use application::LogPosition;
use poem::http::{HeaderMap, HeaderName};
use sha2::{Digest, Sha256};

use crate::hash::first_64_bits;
use crate::headers::sole::{Malformed, parsed};
use crate::problem::{Problem, Result, kinds};

pub const CONSISTENCY_TOKEN: HeaderName = HeaderName::from_static("consistency-token");

pub fn read(headers: &HeaderMap) -> Result<Option<LogPosition>> {
    parsed(headers, &CONSISTENCY_TOKEN, |text| parse(text.trim())).map_err(|Malformed| {
        let detail = "Consistency-Token takes one token, unchanged from the response to a write. Omit the header if you have no token.";
        Problem::new(&kinds::MALFORMED_TOKEN, detail)
    })
}

pub fn token(LogPosition { history, offset }: &LogPosition) -> String {
    let position = format!("{offset:x}-{history}");
    let check = first_64_bits(Sha256::new_with_prefix(&position)) >> 32;
    format!("{position}-{check:08x}")
}

fn parse(text: &str) -> Option<LogPosition> {
    let (offset, rest) = text.split_once('-')?;
    let (history, _) = rest.split_once('-')?;
    let offset = u64::from_str_radix(offset, 16).ok()?;
    let position = LogPosition { history: history.into(), offset };
    // Each position has exactly one token.
    (token(&position) == text).then_some(position)
}

#[cfg(test)]
mod tests {
    use application::LogPosition;
    use poem::http::{HeaderMap, HeaderValue};
    use proptest::prelude::*;

    use super::{CONSISTENCY_TOKEN, read, token};
    use crate::headers::sent;

    #[test]
    fn what_is_no_token_is_refused() {
        assert_eq!(read(&HeaderMap::new()).unwrap(), None);
        let position = LogPosition { history: "1f0c22abt1".into(), offset: 0x30_16b3 };
        let token = &*token(&position);
        assert_eq!(token, "3016b3-1f0c22abt1-e4da2e37", "tokens outlive a build");
        assert_eq!(
            read(&sent(CONSISTENCY_TOKEN, &[&format!(" {token} ")])).unwrap(),
            Some(position)
        );
        let changed = [
            String::new(),
            "*".to_owned(),
            format!("\"{token}\""),
            token.to_uppercase(),
            format!("0{token}"),
            format!("+{token}"),
            format!("{token}0"),
            format!("{token}, {token}"),
            token.replace("t1", "t2"),
            token.replace("3016", "3017"),
            token[..token.len() - 1].to_owned(),
            "10000000000000000-a-00000000".to_owned(),
            "-".repeat(8192),
        ];
        for line in changed {
            assert!(read(&sent(CONSISTENCY_TOKEN, &[&line])).is_err(), "{line}");
        }
        assert!(read(&sent(CONSISTENCY_TOKEN, &[token, token])).is_err(), "there are two");
    }

    proptest! {
        #[test]
        fn a_token_comes_back_as_it_was(offset in any::<u64>(), history in "[0-9a-z]{0,40}") {
            let position = LogPosition { history: history.into(), offset };
            let headers = HeaderMap::from_iter([(CONSISTENCY_TOKEN, token(&position).parse().unwrap())]);
            prop_assert_eq!(read(&headers).unwrap(), Some(position));
        }

        #[test]
        fn any_value_is_a_token_or_refused(line in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Ok(value) = HeaderValue::from_bytes(&line) {
                let _ = read(&HeaderMap::from_iter([(CONSISTENCY_TOKEN, value)]));
            }
        }
    }
}
