//! Access to the store: what a reader reaches, and the permission to write.
//!
//! Methods of the store that read items for a caller take a [`Reach`], those that write take a
//! [`Warrant`] in their metadata, so that no use case can forget to ask for one. Use cases are given
//! both by [`AccessControl`](crate::AccessControl), which asks the policies.

use std::sync::Arc;

use domain::Principal;

use super::{Scope, UndeletableItems};
use crate::Caller;

/// The part of the store that a reader reaches.
///
/// Nobody makes one by hand, and a scope alone reads nothing:
///
/// ```compile_fail,E0451
/// # use application::{Reach, Scope};
/// # use domain::Collection;
/// let reach = Reach { scope: Scope::of(Collection::known("proposals")) };
/// ```
///
/// ```compile_fail,E0308
/// # use application::{ItemRepository, Scope};
/// # use domain::{Collection, ItemId};
/// async fn read(repository: &dyn ItemRepository) {
///     let scope = Scope::of(Collection::known("proposals"));
///     let _ = repository.find(&scope, ItemId::NIL).await;
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reach {
    scope: Scope,
}

impl Reach {
    /// Everything in a scope.
    pub const fn of_the_service(scope: Scope) -> Self {
        Self { scope }
    }

    /// The scope that it is a part of.
    pub const fn scope(&self) -> Scope {
        self.scope
    }
}

/// The permission to write, and what the change log keeps of who writes.
///
/// A write without one does not compile:
///
/// ```compile_fail,E0063
/// # use application::WriteMetadata;
/// # use jiff::Timestamp;
/// let metadata = WriteMetadata {
///     time: Timestamp::UNIX_EPOCH,
///     key: None,
///     key_expires: Timestamp::UNIX_EPOCH,
///     remarks: Box::default(),
///     read_set: Vec::new(),
/// };
/// ```
///
/// ```compile_fail,E0451
/// # use application::Warrant;
/// let warrant = Warrant { caller: None, request_id: None, undeletable: Vec::new() };
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warrant {
    caller: Option<Arc<Principal>>,
    request_id: Option<Box<str>>,
    undeletable: Vec<UndeletableItems>,
}

impl Warrant {
    /// The permission of the whole service, which it uses for a caller's request.
    pub fn of_the_service(caller: &Caller, request_id: Option<&str>) -> Self {
        Self {
            caller: caller.principal().cloned(),
            request_id: request_id.map(Into::into),
            undeletable: Vec::new(),
        }
    }

    /// The same, without the permission to delete these items with the item they belong to.
    pub fn without(self, undeletable: Vec<UndeletableItems>) -> Self {
        Self { undeletable, ..self }
    }

    /// The items that must not be deleted with the item they belong to.
    pub fn undeletable(&self) -> &[UndeletableItems] {
        &self.undeletable
    }

    /// The id of the caller who writes; `None` for an anonymous one.
    pub fn caller(&self) -> Option<&str> {
        self.caller.as_ref().map(|caller| &*caller.id)
    }

    /// The id of who acts for the caller, if somebody does.
    pub fn acting(&self) -> Option<&str> {
        self.caller.as_ref()?.acting.as_deref()
    }

    /// The program that the caller uses.
    pub fn client(&self) -> Option<&str> {
        self.caller.as_ref()?.client.as_deref()
    }

    /// The id of the request.
    pub fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }
}
