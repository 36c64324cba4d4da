use std::sync::Arc;

use application::Caller;
use poem::Request;
use poem::http::HeaderMap;
use poem::http::header::AUTHORIZATION;
use thiserror::Error;

use crate::headers::sole::{Repeated, sole};
use crate::sessions::{RequestSession, SessionId};

/// In bytes.
const LONGEST_TOKEN: usize = 8 << 10;

pub static ANONYMOUS: Caller = Caller::Anonymous;

/// The credentials of a request. Has no `Debug`, so that they are never logged.
#[derive(Clone)]
pub enum Credentials {
    Token(Arc<str>),
    Session(Arc<SessionId>),
}

impl Credentials {
    pub fn of(request: &Request) -> Option<Self> {
        match bearer_token(request.headers()) {
            Ok(Some(token)) => Some(Self::Token(token.into())),
            _ => RequestSession::current(request).cloned().map(Self::Session),
        }
    }
}

pub fn caller_of(request: &Request) -> &Caller {
    request.data::<Caller>().unwrap_or(&ANONYMOUS)
}

#[derive(Debug, Error, PartialEq, Eq)]
pub enum UnreadableCredentials {
    #[error("Send one Authorization header: `Bearer`, a space and the token.")]
    Malformed,
    #[error(
        "The token has {0} bytes, but at most {LONGEST_TOKEN} bytes are allowed. Ask the issuer for a token with fewer claims."
    )]
    TooLong(usize),
}

/// Implements RFC 6750 section 2.1.
pub fn bearer_token(headers: &HeaderMap) -> Result<Option<&str>, UnreadableCredentials> {
    use UnreadableCredentials::{Malformed, TooLong};
    let line = sole(headers, AUTHORIZATION).map_err(|Repeated| Malformed)?;
    let Some(line) = line else { return Ok(None) };
    let line = line.as_bytes();
    let space = line.iter().position(|byte| *byte == b' ').ok_or(Malformed)?;
    let (scheme, rest) = line.split_at(space);
    let token = &rest[rest.iter().take_while(|byte| **byte == b' ').count()..];
    if !scheme.eq_ignore_ascii_case(b"Bearer") {
        return Err(Malformed);
    }
    if token.len() > LONGEST_TOKEN {
        return Err(TooLong(token.len()));
    }
    let sound = std::str::from_utf8(token).ok().filter(|token| is_token68(token.as_bytes()));
    sound.map(Some).ok_or(Malformed)
}

/// RFC 9110 section 11.2.
fn is_token68(token: &[u8]) -> bool {
    let padding = token.iter().rev().take_while(|byte| **byte == b'=').count();
    let letters = &token[..token.len() - padding];
    // No early exit, so that the compiler vectorizes the loop.
    !letters.is_empty() && letters.iter().fold(true, |is_sound, byte| is_sound & is_letter(*byte))
}

const fn is_letter(byte: u8) -> bool {
    matches!(byte, b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'/' | b'+' | b'_' | b'~')
}

#[cfg(test)]
mod tests {
    use poem::http::header::AUTHORIZATION;

    use super::UnreadableCredentials::{Malformed, TooLong};
    use super::{LONGEST_TOKEN, bearer_token};
    use crate::headers::sent;

    #[test]
    fn a_token_is_the_only_one_and_has_the_letters_of_one() {
        let long = format!("Bearer {}", "a".repeat(LONGEST_TOKEN + 1));
        for (lines, token) in [
            (&[][..], Ok(None)),
            (&["Bearer a.b-c_d~e+f/g=="], Ok(Some("a.b-c_d~e+f/g=="))),
            (&["bEARER a"], Ok(Some("a"))),
            (&["Bearer   a"], Ok(Some("a"))),
            (&["Bearer a", "Bearer a"], Err(Malformed)),
            (&["Bearer"], Err(Malformed)),
            (&["Bearer "], Err(Malformed)),
            (&["Bearer ="], Err(Malformed)),
            (&["Bearer a b"], Err(Malformed)),
            (&["Bearer a, b"], Err(Malformed)),
            (&["Bearer a=b"], Err(Malformed)),
            (&["Bearer\ta"], Err(Malformed)),
            (&["Bearer \ta"], Err(Malformed)),
            (&["Bearer a "], Err(Malformed)),
            (&["Bearer a=="], Ok(Some("a=="))),
            (&["Bearer a\u{e9}"], Err(Malformed)),
            (&["Basic YTpi"], Err(Malformed)),
            (&["a"], Err(Malformed)),
            (&[""], Err(Malformed)),
            (&[long.as_str()], Err(TooLong(LONGEST_TOKEN + 1))),
        ] {
            assert_eq!(bearer_token(&sent(AUTHORIZATION, lines)), token, "{lines:?}");
        }
    }
}
