use std::borrow::Cow;
use std::sync::Arc;

use async_trait::async_trait;
use domain::{Operations, Principal};

#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Identity: Send + Sync {
    /// Returns the principal of a bearer token (RFC 6750): an access token or a key of the service.
    /// MUST NOT return a principal after the credentials expired, or after the revocation of them
    /// or of their signing key was read. MUST NOT wait for another service for longer than a
    /// second. MUST NOT keep the token where it could be logged.
    async fn recognize(&self, token: &str) -> Result<Arc<Principal>, Unrecognized>;

    /// Returns one consistent edition of the public facts about credentials.
    fn published(&self) -> Arc<PublishedIdentity>;

    /// Returns the token endpoints, discovered so far, of the issuers that the service's pages sign
    /// in with.
    fn token_endpoints(&self) -> Vec<Box<str>>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unrecognized {
    /// Wrong, expired or revoked credentials. The reason goes to the client and MUST NOT repeat any
    /// part of them.
    Invalid(Cow<'static, str>),
    /// The issuer's keys are unavailable.
    Unavailable,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PublishedIdentity {
    pub issuers: Vec<PublishedIssuer>,
    /// The OAuth scopes (RFC 6749 section 3.3) with the operations they grant. An empty list does
    /// not limit clients.
    pub scopes: Vec<(Box<str>, Operations)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedIssuer {
    pub url: Box<str>,
    /// The address of its `OpenID` configuration; `None` for an issuer without discovery.
    pub configuration: Option<Box<str>>,
    pub client: Option<Box<str>>,
}
