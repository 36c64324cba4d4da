//! The sessions of the pages: a browser that has the cookie is known without sending a token.
//!
//! Programs send tokens. A session has the token that began it, which is checked again for
//! each request, so it gives no right that the token does not give.

mod cookie;
mod id;

use std::sync::Arc;

use application::{ApplicationError, Clock, Identity, SessionStore, StoredSession, Unrecognized};
use domain::Principal;
use jiff::SignedDuration;
use poem::Request;

pub use cookie::{SessionCookie, UnreadableCookie};
pub use id::SessionId;

use crate::problem::{Problem, Result};

const LONGEST: SignedDuration = SignedDuration::from_hours(24);

const MOST_OF_A_CALLER: u64 = 50;

/// The session of a request with an accepted cookie.
#[derive(Clone)]
pub enum RequestSession {
    Open(Arc<SessionId>),
    /// The cookie's session has ended.
    Ended,
}

impl RequestSession {
    pub fn current(request: &Request) -> Option<&Arc<SessionId>> {
        match request.data()? {
            Self::Open(id) => Some(id),
            Self::Ended => None,
        }
    }

    pub fn has_ended(request: &Request) -> bool {
        matches!(request.data(), Some(Self::Ended))
    }
}

pub struct Sessions {
    store: Arc<dyn SessionStore>,
    clock: Arc<dyn Clock>,
    /// `None` if the base URL admits no cookie.
    pub cookie: Option<SessionCookie>,
}

impl Sessions {
    pub const fn new(
        store: Arc<dyn SessionStore>,
        clock: Arc<dyn Clock>,
        cookie: Option<SessionCookie>,
    ) -> Self {
        Self { store, clock, cookie }
    }

    /// Begins a session of a caller whose token was accepted.
    pub async fn begin(&self, caller: &Principal, token: &str) -> Result<SessionId> {
        let id = SessionId::new().map_err(|_| Problem::internal())?;
        let encrypted = id.encrypt(token, &caller.id).map_err(|_| Problem::internal())?;
        let began = self.clock.now();
        let longest = began + LONGEST;
        let session = StoredSession {
            digest: id.digest().into(),
            caller: caller.id.clone(),
            began,
            ends: caller.expires.map_or(longest, |expires| expires.min(longest)),
            encrypted_token: encrypted.into(),
        };
        let stored = self.store.begin(session, MOST_OF_A_CALLER).await;
        stored.map_err(ApplicationError::from)?;
        Ok(id)
    }

    /// Returns the caller of a session; `None` if it has ended. Deletes one whose token is no longer
    /// accepted.
    pub async fn recognize(
        &self,
        identity: &dyn Identity,
        id: &SessionId,
    ) -> Result<Option<Arc<Principal>>, Unrecognizable> {
        let digest = id.digest();
        let found = self.store.find(&digest, self.clock.now()).await;
        let Some(session) = found.map_err(|error| Unrecognizable::Store(error.into()))? else {
            return Ok(None);
        };
        if let Some(token) = id.decrypt(&session.encrypted_token, &session.caller) {
            match identity.recognize(&token).await {
                // The identity file may map the token to another caller now.
                Ok(principal) if principal.id == session.caller => {
                    return Ok(Some(principal));
                }
                Err(Unrecognized::Unavailable) => return Err(Unrecognizable::Issuer),
                Ok(_) | Err(Unrecognized::Invalid(_)) => {}
            }
        }
        if let Err(error) = self.store.end(&digest).await {
            tracing::debug!(%error, "cannot delete a session that has ended");
        }
        Ok(None)
    }

    pub async fn end(&self, id: &SessionId) -> Result<()> {
        Ok(self.store.end(&id.digest()).await.map_err(ApplicationError::from)?)
    }

    pub async fn end_all(&self, caller: &str) -> Result<()> {
        Ok(self.store.end_all(caller).await.map_err(ApplicationError::from)?)
    }
}

/// The session may be recognized later.
pub enum Unrecognizable {
    Store(ApplicationError),
    Issuer,
}
