//! Callers: on whose behalf a use case runs.

use std::sync::Arc;

use domain::Principal;

/// The party on whose behalf a use case runs. Every use case takes one, and the change log keeps the
/// id of a known one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caller {
    /// Nobody in particular.
    Anonymous,
    /// Somebody who is known.
    Known(Arc<Principal>),
}

impl From<Option<Arc<Principal>>> for Caller {
    /// The caller who is known to be a principal; nobody in particular without one.
    fn from(principal: Option<Arc<Principal>>) -> Self {
        principal.map_or(Self::Anonymous, Self::Known)
    }
}

impl Caller {
    /// The service itself at a task of this name, such as `seed`.
    pub fn service(task: &str) -> Self {
        Self::Known(Arc::new(Principal::named(format!("service:{task}"))))
    }

    /// The principal; `None` for an anonymous caller.
    pub const fn principal(&self) -> Option<&Arc<Principal>> {
        match self {
            Self::Anonymous => None,
            Self::Known(principal) => Some(principal),
        }
    }

    /// The id that the change log keeps; `None` for an anonymous caller.
    pub fn id(&self) -> Option<&str> {
        self.principal().map(|principal| &*principal.id)
    }
}
