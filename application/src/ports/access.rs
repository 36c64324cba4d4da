//! Access to the store: what a reader reaches, and the permission to write.
//!
//! Methods of the store that read items for a caller take a [`Reach`], those that write take a
//! [`Warrant`] in their metadata, so that no use case can forget to ask for one. Both are made here
//! alone: for the whole service, as long as there are no policies that tell callers apart.

use super::Scope;

/// The part of the store that a reader reaches.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reach {
    scope: Scope,
}

impl Reach {
    /// Everything in a scope.
    #[must_use]
    pub const fn of_the_service(scope: Scope) -> Self {
        Self { scope }
    }

    /// The scope that it is a part of.
    #[must_use]
    pub const fn scope(&self) -> Scope {
        self.scope
    }
}

/// The permission to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warrant {
    caller: Option<Box<str>>,
}

impl Warrant {
    /// The permission of the whole service, which it uses for the caller of this id.
    #[must_use]
    pub fn of_the_service(caller: Option<&str>) -> Self {
        Self { caller: caller.map(Into::into) }
    }

    /// The id of the caller who writes; `None` for an anonymous one.
    #[must_use]
    pub fn caller(&self) -> Option<&str> {
        self.caller.as_deref()
    }
}
