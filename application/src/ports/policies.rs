use domain::{Collection, Operation, Operations};

use crate::Caller;

#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
pub trait Policies: Send + Sync {
    /// Returns a caller's permissions by one edition of the policies. Everything else is denied.
    /// Reading, history and creating MUST be permitted on all items or on none. MUST NOT cost more
    /// than a few lookups in memory, because it runs in every request.
    fn access(&self, caller: &Caller, collection: Collection) -> Access;

    /// Returns the deciding policies in file order: for each ownership those that deny the
    /// operation, or else those that allow it.
    fn deciding(
        &self,
        caller: &Caller,
        collection: Collection,
        operation: Operation,
        ownerships: &[Ownership],
    ) -> Vec<Box<str>>;

    fn published(&self) -> Vec<PublishedPolicy>;

    /// A number that identifies the content of the files; 0 without files.
    fn edition(&self) -> u64;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ownership {
    Own,
    /// The item has another creator, or an unknown one.
    Others,
}

impl Ownership {
    pub const ALL: [Self; 2] = [Self::Own, Self::Others];
}

/// Items that a caller may not delete when the item they belong to is deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndeletableItems {
    pub collection: Collection,
    pub ownership: Ownership,
    pub caller: Option<Box<str>>,
}

impl UndeletableItems {
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
    pub own: Operations,
    pub others: Operations,
}

impl Access {
    pub const NONE: Self = Self { own: Operations::NONE, others: Operations::NONE };
    pub const ALL: Self = Self { own: Operations::ALL, others: Operations::ALL };

    pub const fn on(self, ownership: Ownership) -> Operations {
        match ownership {
            Ownership::Own => self.own,
            Ownership::Others => self.others,
        }
    }

    pub const fn has_some(self, operation: Operation) -> bool {
        self.own.contains(operation) || self.others.contains(operation)
    }

    pub const fn has_all(self, operation: Operation) -> bool {
        self.own.contains(operation) && self.others.contains(operation)
    }

    pub fn limited_to(self, granted: Operations) -> Self {
        let limited = |operations: Operations| operations.intersection(granted).performable();
        Self { own: limited(self.own), others: limited(self.others) }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedPolicy {
    pub id: Box<str>,
    pub collections: Vec<Collection>,
    pub denies: bool,
    pub operations: Operations,
    /// The roles; `anyone` and `signed_in` are among them.
    pub to: Vec<Box<str>>,
    pub is_about_own: bool,
    pub description: Option<Box<str>>,
    pub source: Option<Box<str>>,
}

/// The permissions if no policies are configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPolicies {
    /// Callers stay anonymous and may do everything.
    Open,
    /// Every known caller may do everything. Anonymous callers may do nothing.
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
