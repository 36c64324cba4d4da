//! Access tokens (RFC 9068): strictly parsed before verification.

mod claims;
mod header;
mod signature;

pub(crate) use claims::{Claims, TokenConditions, check_subject};
pub(crate) use header::TokenHeader;
pub(crate) use signature::{InvalidSignature, verify};

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::{JsonErrorKind, Members};

/// Reason for the client. It MUST NOT contain any part of the token.
pub(crate) type Reason = Cow<'static, str>;

pub(crate) const MOST_BYTES: usize = 8 << 10;
const MOST_HEADER_BYTES: usize = 1 << 10;

/// Supported signature algorithms. Algorithms with a shared secret and `none` are excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Rs256,
    Ps256,
    Es256,
    Es384,
    EdDsa,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyType {
    Rsa,
    P256,
    P384,
    Ed25519,
}

impl Algorithm {
    pub const ALL: [Self; 5] = [Self::Rs256, Self::Ps256, Self::Es256, Self::Es384, Self::EdDsa];

    const fn described(self) -> (&'static str, KeyType, jsonwebtoken::Algorithm) {
        use jsonwebtoken::Algorithm as Library;
        match self {
            Self::Rs256 => ("RS256", KeyType::Rsa, Library::RS256),
            Self::Ps256 => ("PS256", KeyType::Rsa, Library::PS256),
            Self::Es256 => ("ES256", KeyType::P256, Library::ES256),
            Self::Es384 => ("ES384", KeyType::P384, Library::ES384),
            Self::EdDsa => ("EdDSA", KeyType::Ed25519, Library::EdDSA),
        }
    }

    pub const fn name(self) -> &'static str {
        self.described().0
    }

    pub const fn key_type(self) -> KeyType {
        self.described().1
    }

    const fn of_library(self) -> jsonwebtoken::Algorithm {
        self.described().2
    }

    /// Returns the algorithm of this name; case matters.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }
}

pub(crate) struct Token<'a> {
    pub text: &'a str,
    pub header: TokenHeader,
    pub claims: Members,
}

impl<'a> Token<'a> {
    pub fn read(text: &'a str) -> Result<Self, Reason> {
        let (header, payload) = parts(text)?;
        let header = TokenHeader::read(header)?;
        let payload = decode(payload, MOST_BYTES).ok_or("the token's payload is not base64url")?;
        Ok(Self { text, header, claims: members("payload", &payload)? })
    }
}

/// Returns the encoded header and payload. Checks that the signature is base64url.
fn parts(text: &str) -> Result<(&str, &str), Reason> {
    if text.len() > MOST_BYTES {
        return Err(format!("a token may have at most {MOST_BYTES} bytes").into());
    }
    let mut parts = text.split('.');
    let (Some(header), Some(payload), Some(signature), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(
            "an access token must be a JSON Web Token of three parts separated by dots".into()
        );
    };
    match decode(signature, MOST_BYTES) {
        None => Err("the token's signature is not base64url".into()),
        Some(signature) if signature.is_empty() => Err("the token is not signed".into()),
        Some(_) => Ok((header, payload)),
    }
}

/// Decodes base64url without padding. Rejects unused bits: one token must have one form, because it
/// is a cache key.
fn decode(encoded: &str, most: usize) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(encoded).ok().filter(|bytes| bytes.len() <= most)
}

fn members(part: &str, json: &[u8]) -> Result<Members, Reason> {
    let reason = match Members::read(json).map_err(|error| error.kind) {
        Ok(Some(members)) => return Ok(members),
        Ok(None) => "is not a JSON object",
        Err(JsonErrorKind::DuplicateMember) => "has a duplicate member",
        Err(JsonErrorKind::TooDeep) => "is nested too deeply",
        Err(_) => "is not JSON",
    };
    Err(format!("the token's {part} {reason}").into())
}

#[cfg(test)]
mod tests;
