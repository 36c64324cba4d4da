//! Access tokens (RFC 9068): JSON Web Tokens that are read strictly before anything is verified.

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

/// A reason for the client why a token is refused. It never has any part of the token in it.
pub(crate) type Reason = Cow<'static, str>;

/// Most bytes of a token.
pub(crate) const MOST_BYTES: usize = 8 << 10;
/// Most bytes of a header.
const MOST_HEADER_BYTES: usize = 1 << 10;

/// The algorithms of signatures that can be verified. Those with a shared secret are none of them,
/// and neither is `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Rs256,
    Ps256,
    Es256,
    Es384,
    EdDsa,
}

/// The keys that a signature is verified with, by their type and curve.
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

    /// Returns its name, as the header of a token has it.
    pub const fn name(self) -> &'static str {
        self.described().0
    }

    /// Returns the type of its keys.
    pub const fn key_type(self) -> KeyType {
        self.described().1
    }

    /// Returns what the library calls it.
    const fn of_library(self) -> jsonwebtoken::Algorithm {
        self.described().2
    }

    /// Returns the algorithm of this name, in the very letters.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }
}

/// A token whose header and payload were read, and nothing more.
pub(crate) struct Token<'a> {
    /// All of it.
    pub text: &'a str,
    pub header: TokenHeader,
    /// The payload.
    pub claims: Members,
}

impl<'a> Token<'a> {
    /// Reads the parts of a token.
    pub fn read(text: &'a str) -> Result<Self, Reason> {
        let (header, payload) = parts(text)?;
        let header = TokenHeader::read(header)?;
        let payload = decode(payload, MOST_BYTES).ok_or("the token's payload is not base64url")?;
        Ok(Self { text, header, claims: members("payload", &payload)? })
    }
}

/// The header and the payload of a token as they are encoded. The signature is known to be
/// base64url as well.
fn parts(text: &str) -> Result<(&str, &str), Reason> {
    if text.len() > MOST_BYTES {
        return Err(format!("a token has at most {MOST_BYTES} bytes").into());
    }
    let mut parts = text.split('.');
    let (Some(header), Some(payload), Some(signature), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(
            "an access token is a JSON Web Token of three parts, with a dot between them".into()
        );
    };
    match decode(signature, MOST_BYTES) {
        None => Err("the token's signature is not base64url".into()),
        Some(signature) if signature.is_empty() => Err("the token is not signed".into()),
        Some(_) => Ok((header, payload)),
    }
}

/// The bytes of base64url without padding. Letters of which not all bits matter have one form: a
/// token is a key of a cache.
fn decode(encoded: &str, most: usize) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(encoded).ok().filter(|bytes| bytes.len() <= most)
}

/// Reads a part of a token.
fn members(part: &str, json: &[u8]) -> Result<Members, Reason> {
    let reason = match Members::read(json).map_err(|error| error.kind) {
        Ok(Some(members)) => return Ok(members),
        Ok(None) => "is not a JSON object",
        Err(JsonErrorKind::DuplicateMember) => "has a member twice",
        Err(JsonErrorKind::TooDeep) => "is nested too deeply",
        Err(_) => "is not JSON",
    };
    Err(format!("the token's {part} {reason}").into())
}

#[cfg(test)]
mod tests;
