use std::sync::{Arc, LazyLock};

use domain::content::META;
use domain::{Collection, Mask, Operation, Operations, Predicate, WriteOperation};

use crate::Caller;

#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
pub trait Policies: Send + Sync {
    /// Returns a caller's permissions by one edition of the policies, without regard to the
    /// client's grant. MUST NOT cost more than a few lookups in memory, because it runs in every
    /// request.
    fn permissions(&self, caller: &Caller) -> Permissions;

    /// Returns the policies about an operation that concern the caller, in file order.
    fn concerning(
        &self,
        caller: &Caller,
        collection: Collection,
        operation: Operation,
    ) -> Vec<ConcerningPolicy>;

    fn published(&self) -> Vec<PublishedPolicy>;

    /// A number that identifies the content of the files; 0 without files.
    fn edition(&self) -> u64;
}

/// A policy about one operation of one caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConcerningPolicy {
    pub id: Box<str>,
    pub denies: bool,
    /// The condition on the item that it allows or denies. An item that cannot be judged is denied
    /// and not allowed.
    pub items: Predicate,
    /// The condition on the old and the new item of a write.
    pub writes: Predicate,
}

/// The items of a collection that a caller may delete. A deletion of their parent fails if it has
/// others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeletableItems {
    pub collection: Collection,
    pub deletable: Arc<Predicate>,
}

impl DeletableItems {
    /// Returns a limit for each child collection in which the caller may not delete all items.
    pub fn below(collection: Collection, permissions: &Permissions) -> Vec<Self> {
        let restricted =
            collection.children().filter(|child| !permissions.has_all(*child, Operation::Delete));
        let limit = |collection| {
            let deletable = Arc::clone(permissions.on(collection, Operation::Delete));
            Self { collection, deletable }
        };
        restricted.map(limit).collect()
    }
}

/// The conditions under which a caller may perform operations on the items of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// By [`Operation`]: a condition on the stored item, and on the new item of a creation.
    pub items: [Arc<Predicate>; Operation::ALL.len()],
    /// By [`Operation`]: a condition on the old and the new item of a write.
    pub changes: [Arc<Predicate>; Operation::ALL.len()],
    /// The members that the caller sees; `None` for all.
    pub visible: Option<Arc<Mask>>,
    /// By [`Operation`]: the members that a write may set, change or remove; `None` for all.
    pub writable: [Option<Arc<Mask>>; Operation::ALL.len()],
}

static ALWAYS: LazyLock<Arc<Predicate>> = LazyLock::new(|| Arc::new(Predicate::TRUE));
static NEVER: LazyLock<Arc<Predicate>> = LazyLock::new(|| Arc::new(Predicate::FALSE));

impl Access {
    /// The same operations on every item.
    pub fn uniform(operations: Operations) -> Self {
        let may =
            |operation| Arc::clone(if operations.contains(operation) { &*ALWAYS } else { &*NEVER });
        let items = Operation::ALL.map(may);
        Self { changes: items.clone(), items, visible: None, writable: [const { None }; _] }
    }
}

/// The permissions of one caller in all collections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permissions {
    /// In the order of [`Collection::all`].
    by_collection: Arc<[Access]>,
    reads_all: bool,
    granted: Operations,
}

impl Permissions {
    pub fn new(by_collection: impl IntoIterator<Item = Access>) -> Self {
        let by_collection: Arc<[Access]> = by_collection.into_iter().collect();
        let reads_all = by_collection.iter().all(|it| {
            it.visible.is_none() && *it.items[Operation::Read as usize] == Predicate::TRUE
        });
        Self { by_collection, reads_all, granted: Operations::ALL }
    }

    /// The same operations on every item of every collection.
    pub fn uniform(operations: Operations) -> Self {
        Self::new(Collection::all().map(|_| Access::uniform(operations)))
    }

    /// Keeps the operations that the client was granted.
    pub fn limited_to(self, granted: Operations) -> Self {
        Self { granted: granted.performable(), ..self }
    }

    /// Returns the condition on the stored item, or on the new item of a creation.
    pub fn on(&self, collection: Collection, operation: Operation) -> &Arc<Predicate> {
        self.find(operation, collection, |access| &access.items)
    }

    /// Returns the condition on the old and the new item of a write.
    pub fn change(&self, collection: Collection, operation: Operation) -> &Arc<Predicate> {
        self.find(operation, collection, |access| &access.changes)
    }

    fn find(
        &self,
        operation: Operation,
        collection: Collection,
        of: impl Fn(&Access) -> &[Arc<Predicate>; Operation::ALL.len()],
    ) -> &Arc<Predicate> {
        let access = self.by_collection.get(collection.index());
        let found = access.filter(|_| self.granted.contains(operation));
        found.map_or(&*NEVER, |access| &of(access)[operation as usize])
    }

    /// Returns the kind of a change that the caller may know: one of content that may be hidden is a
    /// patch.
    pub fn shown_kind(&self, collection: Collection, kind: WriteOperation) -> WriteOperation {
        let shows = |mask: &Arc<Mask>| mask.of_member(META) == Predicate::TRUE;
        match kind {
            WriteOperation::Attach | WriteOperation::Detach
                if !self.visible(collection).is_none_or(shows) =>
            {
                WriteOperation::Patch
            }
            kind => kind,
        }
    }

    /// Returns the members that the caller sees; `None` for all.
    pub fn visible(&self, collection: Collection) -> Option<&Arc<Mask>> {
        self.by_collection.get(collection.index())?.visible.as_ref()
    }

    /// Returns the members that a write may set, change or remove; `None` for all.
    pub fn writable(&self, collection: Collection, operation: Operation) -> Option<&Arc<Mask>> {
        self.by_collection.get(collection.index())?.writable[operation as usize].as_ref()
    }

    pub fn has_some(&self, collection: Collection, operation: Operation) -> bool {
        self.on(collection, operation).constant() != Some(false)
    }

    pub fn has_all(&self, collection: Collection, operation: Operation) -> bool {
        self.on(collection, operation).constant() == Some(true)
    }

    pub fn sees_everything(&self) -> bool {
        self.reads_all && self.granted.contains(Operation::Read)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedPolicy {
    pub id: Box<str>,
    pub collections: Vec<Collection>,
    pub denies: bool,
    pub operations: Operations,
    /// The members as written: hidden, shown alone and written alone; `None` without the list.
    pub members: [Option<Vec<Box<str>>>; 3],
    /// The roles; `anyone` and `signed_in` are among them.
    pub to: Vec<Box<str>>,
    /// The conditions as written.
    pub when: Option<Box<str>>,
    pub change: Option<Box<str>>,
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
    fn permissions(&self, caller: &Caller) -> Permissions {
        static ALL: LazyLock<Permissions> = LazyLock::new(|| Permissions::uniform(Operations::ALL));
        static NONE: LazyLock<Permissions> =
            LazyLock::new(|| Permissions::uniform(Operations::NONE));
        match (self, caller) {
            (Self::Open, _) | (Self::SignedIn, Caller::Known(_)) => ALL.clone(),
            (Self::SignedIn, _) => NONE.clone(),
        }
    }

    fn concerning(&self, _: &Caller, _: Collection, _: Operation) -> Vec<ConcerningPolicy> {
        Vec::new()
    }

    fn published(&self) -> Vec<PublishedPolicy> {
        Vec::new()
    }

    fn edition(&self) -> u64 {
        0
    }
}
