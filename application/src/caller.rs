//! Callers: on whose behalf a use case runs.

use std::sync::Arc;

/// The party on whose behalf a use case runs. Every use case takes one, and the change log keeps the
/// id of a known one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caller {
    /// Nobody in particular: what every request is until identity is configured.
    Anonymous,
    /// Somebody who is known.
    Known(Arc<Principal>),
}

impl Caller {
    /// The service itself at a task of this name, such as `seed`.
    #[must_use]
    pub fn service(task: &str) -> Self {
        Self::Known(Arc::new(Principal { id: format!("service:{task}").into() }))
    }

    /// The id that the change log keeps; `None` for an anonymous caller.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        match self {
            Self::Anonymous => None,
            Self::Known(principal) => Some(&principal.id),
        }
    }
}

/// Somebody who is known: a person, a program, or the service itself.
#[derive(Debug, PartialEq, Eq)]
pub struct Principal {
    /// The part before the colon says who vouches for the rest.
    id: Box<str>,
}
