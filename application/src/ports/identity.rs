//! Who callers are.

use std::borrow::Cow;
use std::sync::Arc;

use async_trait::async_trait;
use domain::{Operations, Principal};

/// Recognizes callers by the credentials that they send.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Identity: Send + Sync {
    /// Returns whose credentials a bearer token (RFC 6750) is: an access token, or a key of the
    /// service. MUST NOT return a principal after the credentials have ended, or after it was read
    /// that they, or what signed them, were revoked. MUST NOT wait for another service for longer than
    /// a second. MUST NOT keep the token where it could be logged.
    async fn recognize(&self, token: &str) -> Result<Arc<Principal>, Unrecognized>;

    /// Returns one edition of what clients are told about credentials.
    fn published(&self) -> Arc<PublishedIdentity>;

    /// Returns the token endpoints of those issuers that the service's own pages sign in with, as far
    /// as they are discovered by now: where the pages exchange a code for a token.
    fn token_endpoints(&self) -> Vec<Box<str>>;
}

/// Reasons why credentials are not those of anybody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unrecognized {
    /// They are wrong, have ended or were revoked: a reason for the client, which MUST NOT repeat any
    /// part of them.
    Invalid(Cow<'static, str>),
    /// It cannot be decided now, because the keys of their issuer cannot be had.
    Unavailable,
}

/// Facts about credentials for clients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PublishedIdentity {
    /// The issuers of access tokens.
    pub issuers: Vec<PublishedIssuer>,
    /// The scopes (RFC 6749 section 3.3) that clients may ask for, and the operations that each
    /// grants; without any, clients are not limited.
    pub scopes: Vec<(Box<str>, Operations)>,
}

/// An issuer of access tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedIssuer {
    /// The URL that identifies it.
    pub url: Box<str>,
    /// The address of its `OpenID` configuration; `None` for an issuer without discovery.
    pub configuration: Option<Box<str>>,
    /// The client that the service's own pages sign in with.
    pub client: Option<Box<str>>,
}
