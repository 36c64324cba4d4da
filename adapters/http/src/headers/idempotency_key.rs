//! The `Idempotency-Key` header (draft-ietf-httpapi-idempotency-key-header-07), a quoted string
//! (RFC 8941 section 3.3.3). Most clients omit the quotes, so both forms are equal.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use poem::http::HeaderMap;
use sha2::{Digest, Sha256};

use crate::headers::sole::{Malformed, parsed};
use crate::problem::{Problem, Result, kinds};

pub const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

pub const MOST_CHARACTERS: usize = 255;

pub fn read(headers: &HeaderMap) -> Result<Option<String>> {
    let key =
        |text: &str| key(text.trim()).filter(|key| (1..=MOST_CHARACTERS).contains(&key.len()));
    parsed(headers, IDEMPOTENCY_KEY, key).map_err(|Malformed| {
        let detail = format!(
            "{IDEMPOTENCY_KEY} takes one string of 1 to {MOST_CHARACTERS} ASCII characters in double quotes, preferably a new UUID."
        );
        Problem::new(&kinds::MALFORMED_KEY, detail)
    })
}

fn key(text: &str) -> Option<String> {
    match text.strip_prefix('"') {
        Some(quoted) => unquoted(quoted),
        None => text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~:/=@".contains(&byte))
            .then(|| text.to_owned()),
    }
}

/// Expects the text after the opening quote.
fn unquoted(text: &str) -> Option<String> {
    let mut key = String::with_capacity(text.len());
    let mut characters = text.chars();
    loop {
        match characters.next()? {
            '"' => return characters.next().is_none().then_some(key),
            '\\' => key.push(characters.next().filter(|escaped| matches!(escaped, '"' | '\\'))?),
            character @ ' '..='~' => key.push(character),
            _ => return None,
        }
    }
}

/// SHA-256 (FIPS 180-4) in base64url.
pub fn fingerprint(body: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(body))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{IDEMPOTENCY_KEY, fingerprint, read};
    use crate::headers::sent;

    /// The key of a request, or `refused`.
    fn of(line: &str) -> String {
        let key = read(&sent(IDEMPOTENCY_KEY, &[line]));
        key.map_or_else(|_| "refused".to_owned(), Option::unwrap_or_default)
    }

    #[test]
    fn a_key_is_a_text_with_or_without_quotes() {
        let long = "x".repeat(256);
        for (line, expected) in [
            (" order:7/2 ", "order:7/2"),
            ("\"a\"b", "refused"),
            (r#""a\b""#, "refused"),
            ("a b", "refused"),
            (&long, "refused"),
        ] {
            assert_eq!(of(line), expected, "{line}");
        }
    }

    #[test]
    fn a_fingerprint_is_that_of_the_standard() {
        assert_eq!(fingerprint(b"abc"), "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0");
    }

    proptest! {
        #[test]
        fn what_is_quoted_comes_back(key in "[ -~]{1,60}") {
            let quoted = format!("\"{}\"", key.replace('\\', r"\\").replace('"', "\\\""));
            prop_assert_eq!(of(&quoted), key);
        }
    }
}
