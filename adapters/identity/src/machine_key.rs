//! Keys of the service: the printed key, and the digest that is stored.

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::json::encode_string;
use domain::{Members, Principal};
use jiff::Timestamp;
use jiff::civil::Date;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// Prefix of all keys, which secret scanners recognize.
pub(crate) const PREFIX: &str = "psk_";
const SECRET_BYTES: usize = 32;
const SECRET_LETTERS: usize = 43;
const CHECKSUM_LETTERS: usize = 6;
const LONGEST_NAME: usize = 63;

#[derive(Clone, PartialEq, Eq)]
pub struct NewKey {
    /// The key itself, shown once and never stored.
    pub printed: String,
    pub line: String,
}

impl fmt::Debug for NewKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("NewKey").field("line", &self.line).finish_non_exhaustive()
    }
}

/// Makes a key with roles, valid to the end of a day (UTC).
pub fn new_key(
    name: &str,
    roles: &[String],
    expires: Option<Date>,
) -> Result<NewKey, &'static str> {
    if !is_name(name) {
        return Err(
            "the name of a key must have at most 63 lower-case letters, digits and `-`, and begin with a letter, as in `nightly-export`",
        );
    }
    if roles.iter().any(|role| role.trim().is_empty()) {
        return Err("a role is empty; list roles as in `--roles exporter,reader`");
    }
    let mut secret = [0; SECRET_BYTES];
    getrandom::fill(&mut secret).map_err(|_| "the system cannot provide random bits for a key")?;
    let mut printed = format!("{PREFIX}{name}_{}", URL_SAFE_NO_PAD.encode(secret));
    printed.push_str(&checksum(&printed));
    // A JSON string is a YAML string.
    let roles: Vec<_> = roles.iter().map(|role| encode_string(role)).collect();
    let expires = expires.map(|day| format!(", expires: {day}")).unwrap_or_default();
    let line = format!(
        "- {{name: {name}, sha256: \"{}\", roles: [{}]{expires}}}",
        hex::encode(digest(&printed)),
        roles.join(", ")
    );
    Ok(NewKey { printed, line })
}

pub(crate) fn is_name(name: &str) -> bool {
    language::keys::is_name(name, LONGEST_NAME, b'-')
}

#[derive(Clone, Debug)]
pub(crate) struct KnownKey {
    pub name: Box<str>,
    pub sha256: [u8; 32],
    /// End of validity (exclusive).
    pub ends: Option<Timestamp>,
    /// Start of the refusal (inclusive).
    pub revoked: Option<Timestamp>,
    pub principal: Arc<Principal>,
}

impl KnownKey {
    pub fn new(
        name: Box<str>,
        sha256: [u8; 32],
        roles: Box<[Box<str>]>,
        ends: Option<Timestamp>,
    ) -> Self {
        let id = format!("key:{name}").into();
        let principal = Principal::with(id, roles, &Members::default(), (None, None));
        let principal = Arc::new(Principal { expires: ends, ..principal });
        Self { name, sha256, ends, revoked: None, principal }
    }

    /// Revokes the key from a time on. The earliest time wins.
    pub fn revoke(&mut self, from: Timestamp) {
        let first = |other: Option<Timestamp>| Some(other.map_or(from, |other| other.min(from)));
        self.revoked = first(self.revoked);
        let principal = Arc::make_mut(&mut self.principal);
        principal.expires = first(principal.expires);
    }

    /// Compares a sent key with this one, in constant time.
    pub fn is(&self, sent: &SentKey<'_>) -> bool {
        digest(sent.text).ct_eq(&self.sha256).into()
    }
}

pub(crate) struct SentKey<'a> {
    text: &'a str,
    pub name: &'a str,
}

impl<'a> SentKey<'a> {
    /// Reads a text with [`PREFIX`]. `None` is a typing error: the service makes no such key.
    pub fn read(sent: &'a str) -> Option<Self> {
        let (name, rest) = sent.strip_prefix(PREFIX)?.split_once('_')?;
        let is_whole = is_name(name)
            && rest.len() == SECRET_LETTERS + CHECKSUM_LETTERS
            && rest.is_ascii()
            && sent.ends_with(&checksum(&sent[..sent.len() - CHECKSUM_LETTERS]));
        is_whole.then_some(Self { text: sent, name })
    }
}

/// Returns the CRC-32 as base64url. It finds typing errors and protects no secret.
fn checksum(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(crc32fast::hash(text.as_bytes()).to_be_bytes())
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text).into()
}

#[cfg(test)]
mod tests {
    use super::{SentKey, digest, is_name, new_key};

    #[test]
    fn a_key_has_its_form_and_its_line() {
        let roles = ["exporter".to_owned(), "a \"b\"".to_owned()];
        let made = new_key("nightly-export", &roles, Some(jiff::civil::date(2027, 3, 31))).unwrap();
        let (name, rest) = made.printed.strip_prefix("psk_").unwrap().split_once('_').unwrap();
        assert_eq!((name, rest.len()), ("nightly-export", 49));
        let sha256 = hex::encode(digest(&made.printed));
        let roles = r#"roles: ["exporter", "a \"b\""], expires: 2027-03-31}"#;
        let line = format!("- {{name: nightly-export, sha256: \"{sha256}\", {roles}");
        assert_eq!(made.line, line);
        assert!(!format!("{made:?}").contains(rest));
        assert_ne!(made.printed, new_key("nightly-export", &[], None).unwrap().printed);
        assert_eq!(SentKey::read(&made.printed).unwrap().name, "nightly-export");
    }

    #[test]
    fn a_typing_error_is_found_wherever_it_is() {
        let printed = new_key("a", &[], None).unwrap().printed;
        for at in 0..printed.len() {
            let mut letters: Vec<_> = printed.bytes().collect();
            letters[at] = if letters[at] == b'x' { b'y' } else { b'x' };
            let sent = String::from_utf8(letters).unwrap();
            assert!(SentKey::read(&sent).is_none(), "{at}");
        }
        let shorter = &printed[..printed.len() - 1];
        for sent in ["psk_", "psk_a", "psk_a_", "psk__", shorter, "psk_é_é"] {
            assert!(SentKey::read(sent).is_none(), "{sent}");
        }
    }

    #[test]
    fn names_are_those_of_the_design() {
        let longest = "a".repeat(63);
        for name in ["a", "a-1", &longest] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "A", "1a", "-a", "a_b", "a b", "é", &"a".repeat(64)] {
            let error = new_key(name, &[], None).unwrap_err();
            assert!(error.starts_with("the name of a key must have"), "{name}: {error}");
        }
        assert!(new_key("a", &[String::new()], None).unwrap_err().starts_with("a role is empty"));
    }
}
