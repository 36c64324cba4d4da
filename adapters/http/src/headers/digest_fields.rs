//! Digests of contents (RFC 9530).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::ContentDigest;
use poem::http::{HeaderMap, HeaderName, HeaderValue};

use super::quality_list::split_unquoted;
use crate::problem::{Problem, Result, kinds};

pub const REPR_DIGEST: HeaderName = HeaderName::from_static("repr-digest");
pub const CONTENT_DIGEST: HeaderName = HeaderName::from_static("content-digest");

const SHA_256: &str = "sha-256";

pub fn header(digest: &ContentDigest) -> HeaderValue {
    let line = format!("{SHA_256}=:{}:", STANDARD.encode(digest.bytes()));
    HeaderValue::try_from(line).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// Returns the SHA-256 digests in a request. Other algorithms are ignored.
pub fn announced(headers: &HeaderMap) -> Result<Vec<ContentDigest>> {
    let mut digests = Vec::new();
    for name in [REPR_DIGEST, CONTENT_DIGEST] {
        for line in headers.get_all(&name) {
            let malformed = || {
                let detail = format!("The header {name} is malformed.");
                Problem::new(&kinds::MALFORMED_DIGEST, detail)
            };
            let line = line.to_str().map_err(|_| malformed())?;
            for entry in split_unquoted(line, ',') {
                let (algorithm, value) = entry.trim().split_once('=').ok_or_else(malformed)?;
                if algorithm == SHA_256 {
                    digests.push(parse(value).ok_or_else(malformed)?);
                }
            }
        }
    }
    Ok(digests)
}

/// A byte sequence (RFC 9651 section 3.3.5).
fn parse(value: &str) -> Option<ContentDigest> {
    let encoded = value.strip_prefix(':')?.strip_suffix(':')?;
    let bytes = STANDARD.decode(encoded).ok()?;
    bytes.try_into().ok().map(ContentDigest::new)
}

#[cfg(test)]
mod tests {
    use domain::ContentDigest;

    use super::{CONTENT_DIGEST, REPR_DIGEST, announced, header};
    use crate::headers::sent;

    /// The digest of nothing.
    const NOTHING: &str = "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:";

    #[test]
    fn digests_are_read_and_written() {
        let nothing = announced(&sent(REPR_DIGEST, &[NOTHING])).unwrap();
        assert_eq!(nothing.len(), 1);
        assert_eq!(header(&nothing[0]), NOTHING);
        let digest = nothing[0].to_string();
        assert!(digest.starts_with("e3b0c44298fc1c14"), "{digest}");
        let both = format!("md5=:AAAA:, {NOTHING}");
        for (line, expected) in [(&*both, 1), ("sha-512=:AAAA:", 0), ("unixsum=30637", 0)] {
            assert_eq!(
                announced(&sent(CONTENT_DIGEST, &[line])).unwrap().len(),
                expected,
                "{line}"
            );
        }
        for line in ["sha-256=47DE", "sha-256=:AAAA:", "sha-256=:!:", "sha-256", "", "\u{e9}"] {
            assert!(announced(&sent(REPR_DIGEST, &[line])).is_err(), "{line}");
        }
        assert_eq!(header(&ContentDigest::new([0; 32])).len(), NOTHING.len());
    }
}
