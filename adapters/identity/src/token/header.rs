//! Header of a token (RFC 7515 section 4).

use domain::Value;

use super::{Algorithm, MOST_HEADER_BYTES, Reason, decode, members};

/// Relevant members of a header. Keys in the header (`jku`, `jwk`, `x5u`, `x5c`) are always
/// ignored.
pub(crate) struct TokenHeader {
    pub algorithm: Algorithm,
    /// Type in lower case, without `application/`.
    pub token_type: Option<String>,
    pub key_id: Option<String>,
}

/// Members that would change the interpretation of a token.
const REFUSED: [(&str, &str); 4] = [
    ("crit", "the token's header has `crit`, but no extension is supported"),
    ("b64", "the token's header has `b64`, which is not supported"),
    ("zip", "the token is compressed, which is not supported"),
    ("enc", "the token is encrypted; send a signed token"),
];

impl TokenHeader {
    pub(super) fn read(encoded: &str) -> Result<Self, Reason> {
        let bytes = decode(encoded, MOST_HEADER_BYTES).ok_or_else(|| {
            format!("the token's header is not base64url of at most {MOST_HEADER_BYTES} bytes")
        })?;
        let members = members("header", &bytes)?;
        if let Some((_, reason)) = REFUSED.iter().find(|(name, _)| members.get(name).is_some()) {
            return Err((*reason).into());
        }
        let string = |name: &'static str| match members.get(name).map(Value::as_string) {
            Some(None) => Err(format!("the `{name}` of its header is not a string")),
            Some(Some(string)) => Ok(Some(string.into_owned())),
            None => Ok(None),
        };
        let algorithm = string("alg")?.ok_or("the token's header has no `alg`")?;
        let algorithm = Algorithm::named(&algorithm)
            .ok_or("the token is signed with an algorithm that is not accepted")?;
        let token_type = string("typ")?.map(|name| {
            let name = name.to_ascii_lowercase();
            name.strip_prefix("application/").map(str::to_owned).unwrap_or(name)
        });
        Ok(Self { algorithm, token_type, key_id: string("kid")? })
    }
}
