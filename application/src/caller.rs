use std::sync::Arc;

use domain::Principal;

/// The party on whose behalf a use case runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caller {
    Anonymous,
    Known(Arc<Principal>),
}

impl From<Option<Arc<Principal>>> for Caller {
    fn from(principal: Option<Arc<Principal>>) -> Self {
        principal.map_or(Self::Anonymous, Self::Known)
    }
}

impl Caller {
    /// The service itself in a task of this name, such as `seed`.
    pub fn service(task: &str) -> Self {
        Self::Known(Arc::new(Principal::named(format!("service:{task}"))))
    }

    pub const fn principal(&self) -> Option<&Arc<Principal>> {
        match self {
            Self::Anonymous => None,
            Self::Known(principal) => Some(principal),
        }
    }

    pub fn id(&self) -> Option<&str> {
        self.principal().map(|principal| &*principal.id)
    }
}
