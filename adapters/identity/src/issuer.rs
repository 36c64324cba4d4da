//! Issuer of access tokens, as the identity file describes it.

use std::sync::Arc;

use domain::Operations;

use crate::issuer_keys::KeySource;
use crate::mapping::ClaimMapping;
use crate::token::{Algorithm, Reason, TokenConditions, TokenHeader};

#[derive(Debug)]
pub(crate) struct Issuer {
    pub name: Box<str>,
    pub token_type: TokenType,
    pub algorithms: Vec<Algorithm>,
    pub conditions: TokenConditions,
    pub swagger_client: Option<Box<str>>,
    pub mapping: ClaimMapping,
    /// Operations that each scope grants. Without it, scopes limit nothing.
    pub scopes: Option<Vec<(Box<str>, Operations)>>,
    pub source: Arc<KeySource>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenType {
    /// `at+jwt` (RFC 9068), which excludes other kinds of tokens.
    AccessToken,
    /// `JWT` or none, for issuers that do not follow RFC 9068.
    Jwt,
}

impl Issuer {
    pub fn check_header(&self, header: &TokenHeader) -> Result<(), Reason> {
        let token_type = header.token_type.as_deref();
        match self.token_type {
            TokenType::AccessToken if token_type != Some("at+jwt") => {
                return Err("the token is not an access token: its `typ` is not `at+jwt`".into());
            }
            TokenType::Jwt if !matches!(token_type, None | Some("jwt" | "at+jwt")) => {
                return Err("the token is not an access token: its `typ` is not `JWT`".into());
            }
            _ => {}
        }
        if !self.algorithms.contains(&header.algorithm) {
            return Err("the token is signed with an algorithm that is not accepted".into());
        }
        Ok(())
    }

    pub fn granted(&self, scopes: &[String]) -> Operations {
        let Some(known) = &self.scopes else { return Operations::ALL };
        let granted = known.iter().filter(|(scope, _)| scopes.iter().any(|own| **own == **scope));
        granted.fold(Operations::NONE, |granted, (_, operations)| granted.union(*operations))
    }
}
