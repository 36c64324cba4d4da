//! The permissions of callers.

use domain::{Collection, Operation, Operations};

use crate::Caller;

/// Decides what callers may do with the items of a collection.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
pub trait Policies: Send + Sync {
    /// Returns what a caller may do, by one edition of the policies. What is not permitted is denied;
    /// reading, history and creating MUST be permitted on all items or on none.
    /// It is asked in every request, so it MUST NOT cost more than a few lookups in memory.
    fn access(&self, caller: &Caller, collection: Collection) -> Access;

    /// Returns the ids of the policies that decide on an operation, in the order of their files: for
    /// items of each of these ownerships those that deny it, or else those that allow it.
    fn deciding(
        &self,
        caller: &Caller,
        collection: Collection,
        operation: Operation,
        ownerships: &[Ownership],
    ) -> Vec<Box<str>>;

    /// Returns the policies in force, in the order of their files.
    fn published(&self) -> Vec<PublishedPolicy>;

    /// A number that other content of the files would not have; 0 without files.
    fn edition(&self) -> u64;
}

/// The relation of a caller to an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ownership {
    /// The caller created the item.
    Own,
    /// Somebody else did, or nobody knows who.
    Others,
}

impl Ownership {
    /// Both there are.
    pub const ALL: [Self; 2] = [Self::Own, Self::Others];
}

/// Items that a caller may not delete, among those that are deleted with the item they belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndeletableItems {
    /// Their collection.
    pub collection: Collection,
    /// The relation of the caller to them.
    pub ownership: Ownership,
    /// The id of the caller; `None` for an anonymous one.
    pub caller: Option<Box<str>>,
}

impl UndeletableItems {
    /// Those below items of a collection, according to the access to each collection.
    pub fn below(
        collection: Collection,
        caller: &Caller,
        access: impl Fn(Collection) -> Access,
    ) -> Vec<Self> {
        let mut undeletable = Vec::new();
        for collection in collection.children() {
            let access = access(collection);
            for ownership in Ownership::ALL {
                if !access.on(ownership).contains(Operation::Delete) {
                    let caller = caller.id().map(Into::into);
                    undeletable.push(Self { collection, ownership, caller });
                }
            }
        }
        undeletable
    }
}

/// The operations that a caller may perform on the items of a collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// On the items that the caller created.
    pub own: Operations,
    /// On all other items.
    pub others: Operations,
}

impl Access {
    /// Nothing.
    pub const NONE: Self = Self { own: Operations::NONE, others: Operations::NONE };
    /// Everything.
    pub const ALL: Self = Self { own: Operations::ALL, others: Operations::ALL };

    /// The operations on items of one ownership.
    pub const fn on(self, ownership: Ownership) -> Operations {
        match ownership {
            Ownership::Own => self.own,
            Ownership::Others => self.others,
        }
    }

    /// Returns `true` if an operation is permitted on some items.
    pub const fn has_some(self, operation: Operation) -> bool {
        self.own.contains(operation) || self.others.contains(operation)
    }

    /// Returns `true` if an operation is permitted on all items.
    pub const fn has_all(self, operation: Operation) -> bool {
        self.own.contains(operation) && self.others.contains(operation)
    }

    /// The same, as far as a client was granted it.
    pub fn limited_to(self, granted: Operations) -> Self {
        let limited = |operations: Operations| operations.intersection(granted).performable();
        Self { own: limited(self.own), others: limited(self.others) }
    }
}

/// A policy as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedPolicy {
    /// Its id.
    pub id: Box<str>,
    /// The collections that it is about.
    pub collections: Vec<Collection>,
    /// True if it denies the operations, false if it allows them.
    pub denies: bool,
    /// The operations.
    pub operations: Operations,
    /// The roles of those that it is about; `anyone` and `signed_in` among them.
    pub to: Vec<Box<str>>,
    /// True if it is about the items that the caller created alone.
    pub is_about_own: bool,
    /// The purpose of the policy.
    pub description: Option<Box<str>>,
    /// Where it comes from: a guideline, a memo.
    pub source: Option<Box<str>>,
}

/// The permissions where there are no policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPolicies {
    /// Callers are not asked who they are, and may do everything.
    Open,
    /// Every known caller may do everything, and nobody else anything.
    SignedIn,
}

impl Policies for NoPolicies {
    fn access(&self, caller: &Caller, _: Collection) -> Access {
        match (self, caller) {
            (Self::Open, _) | (Self::SignedIn, Caller::Known(_)) => Access::ALL,
            (Self::SignedIn, _) => Access::NONE,
        }
    }

    fn deciding(&self, _: &Caller, _: Collection, _: Operation, _: &[Ownership]) -> Vec<Box<str>> {
        Vec::new()
    }

    fn published(&self) -> Vec<PublishedPolicy> {
        Vec::new()
    }

    fn edition(&self) -> u64 {
        0
    }
}
