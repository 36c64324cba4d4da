//! Access to the store: a reader's [`Reach`] and a writer's [`Warrant`].
//!
//! Store methods that read for a caller take a reach. Those that write take a warrant in their
//! metadata. [`AccessControl`](crate::AccessControl) makes both after it asked the policies.

use std::sync::Arc;

use domain::{Collection, Mask, Predicate, Principal};

use super::{DeletableItems, Scope};
use crate::Caller;

/// The part of the store that a reader reaches.
///
/// Use cases cannot construct it, and a scope alone reads nothing:
///
/// ```compile_fail,E0451
/// # use application::{Reach, Scope};
/// # use domain::Collection;
/// let reach = Reach { scope: Scope::of(Collection::known("proposals")), only: None, mask: None };
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
    only: Option<Arc<Predicate>>,
    mask: Option<Arc<Mask>>,
}

impl Reach {
    pub const fn of_the_service(scope: Scope) -> Self {
        Self { scope, only: None, mask: None }
    }

    /// Limits the reach to items that meet a predicate. Only
    /// [`AccessControl`](crate::AccessControl) and tests of the store do so.
    #[must_use]
    pub fn only(self, only: Arc<Predicate>) -> Self {
        let only = Some(only).filter(|only| only.constant() != Some(true));
        Self { only, ..self }
    }

    /// Limits the reach to the visible members of each item.
    #[must_use]
    pub fn masked(self, mask: Option<Arc<Mask>>) -> Self {
        Self { mask, ..self }
    }

    pub const fn scope(&self) -> Scope {
        self.scope
    }

    /// The condition on the items of the scope; `None` for all of them.
    pub const fn condition(&self) -> Option<&Arc<Predicate>> {
        self.only.as_ref()
    }

    /// The visible members of the items; `None` for all.
    pub const fn mask(&self) -> Option<&Arc<Mask>> {
        self.mask.as_ref()
    }

    /// Returns the condition that a member is visible with all of its parts.
    pub fn shows(&self, member: &str) -> Predicate {
        self.mask.as_ref().map_or(Predicate::TRUE, |mask| mask.of_member(member))
    }

    /// Returns whether all items of the scope are in reach, with all members.
    pub const fn is_whole(&self) -> bool {
        self.only.is_none() && self.mask.is_none()
    }

    /// Returns the other collections on which the reach depends.
    pub fn reads(&self) -> Vec<Collection> {
        let of_items = self.only.iter().flat_map(|only| only.reads());
        of_items.chain(self.mask.iter().flat_map(|mask| mask.reads())).collect()
    }
}

/// The permission to write, and the author for the change log.
///
/// A write without it does not compile:
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
///     history: None,
/// };
/// ```
///
/// ```compile_fail,E0451
/// # use application::Warrant;
/// let warrant = Warrant { caller: None, request_id: None, deletable: Vec::new() };
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warrant {
    caller: Option<Arc<Principal>>,
    request_id: Option<Box<str>>,
    deletable: Vec<DeletableItems>,
}

impl Warrant {
    pub fn of_the_service(caller: &Caller, request_id: Option<&str>) -> Self {
        Self {
            caller: caller.principal().cloned(),
            request_id: request_id.map(Into::into),
            deletable: Vec::new(),
        }
    }

    /// Limits the permission to delete items with the item they belong to.
    pub fn limited_to(self, deletable: Vec<DeletableItems>) -> Self {
        Self { deletable, ..self }
    }

    pub fn deletable(&self) -> &[DeletableItems] {
        &self.deletable
    }

    pub fn caller(&self) -> Option<&str> {
        self.caller.as_ref().map(|caller| &*caller.id)
    }

    pub fn acting(&self) -> Option<&str> {
        self.caller.as_ref()?.acting.as_deref()
    }

    pub fn client(&self) -> Option<&str> {
        self.caller.as_ref()?.client.as_deref()
    }

    pub fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }
}
