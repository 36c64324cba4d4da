//! The members that result from a write, and the errors in them that do not depend on any rule.

use std::collections::HashMap;

use domain::{
    ItemId, Members, Pointer, Resource, Violation, Violations, WriteOperation, merge_patch,
};

use crate::ApplicationError;
use crate::ports::{ChangeKind, RepositoryError, ShownItem};

/// Members that carry the representation's own links and metadata: ignored in a body, so that what
/// was fetched can be edited and sent back.
const IGNORED: [&str; 3] = ["_links", "_embedded", "_meta"];

/// A change to the stored members.
pub(super) enum Edit {
    Replace(Members),
    Patch(Members),
}

impl Edit {
    pub const fn kind(&self) -> ChangeKind {
        match self {
            Self::Replace(_) => ChangeKind::Replaced,
            Self::Patch(_) => ChangeKind::Patched,
        }
    }

    pub const fn operation(&self) -> WriteOperation {
        match self {
            Self::Replace(_) => WriteOperation::Replace,
            Self::Patch(_) => WriteOperation::Patch,
        }
    }

    /// Returns the item as it would be after the edit.
    pub fn draft<R: Resource>(&self, shown: &ShownItem) -> Result<Draft<R>, ApplicationError> {
        let identity = Identity::Named(shown.item.id);
        match self {
            Self::Replace(body) => Ok(Draft::of(body, identity)),
            Self::Patch(patch) => {
                let stored = stored_members(shown)?;
                Ok(Draft::composed(unknown_removals::<R>(patch), patch, identity, |own| {
                    merge_patch(&stored, &own)
                }))
            }
        }
    }
}

/// The item that results from a body, before any rule is evaluated.
pub(super) struct Draft<R> {
    pub after: R,
    /// The errors that prevent the item from being stored.
    pub errors: Violations,
}

impl<R: Resource> Draft<R> {
    /// Of a body that is the item.
    pub fn of(body: &Members, identity: Identity) -> Self {
        Self::composed(Violations::default(), body, identity, |own| own)
    }

    /// Of what `compose` makes of the members that are the client's to set. Its `errors` come
    /// first, then that of its `id`.
    fn composed(
        mut errors: Violations,
        body: &Members,
        identity: Identity,
        compose: impl FnOnce(Members) -> Members,
    ) -> Self {
        let own = body.clone().retain(|name, _| name != "id" && !IGNORED.contains(&name));
        let (after, faults) = R::draft_to_store(compose(own));
        errors.extend(identity.fault(body));
        errors.extend_below(&Pointer::root(), faults);
        Self { after, errors }
    }
}

/// Returns a violation for each member that a patch would remove and that no item can have. A
/// misspelt removal does not show in the merged members.
fn unknown_removals<R: Resource>(patch: &Members) -> Violations {
    R::unknown(
        &patch
            .clone()
            .retain(|name, value| value.is_null() && name != "id" && !IGNORED.contains(&name)),
    )
}

/// Which `id` a body may name.
#[derive(Clone, Copy)]
pub(super) enum Identity {
    /// None: the service makes ids.
    New,
    /// That of the item the request's path names, or none.
    Named(ItemId),
}

impl Identity {
    fn fault(self, body: &Members) -> Option<Violation> {
        let id = body.get("id")?;
        match self {
            Self::New => Some(Violation::of_member(
                "id",
                "id_not_allowed",
                "the service makes ids; remove the `id`",
            )),
            Self::Named(expected)
                if id.as_string().as_deref() == Some(expected.to_string().as_str()) =>
            {
                None
            }
            Self::Named(expected) => {
                let detail = format!(
                    "the `id` must be that of the path, `{expected}`; correct or remove it"
                );
                Some(Violation::of_member("id", "id_mismatch", detail))
            }
        }
    }
}

/// Reads one element of a collection's replacement. Each known item is taken out of `known`, so
/// that a second element with its id is told apart from one with an id that never was.
pub(super) fn draft_element<R: Resource>(
    element: Option<&Members>,
    known: &mut HashMap<ItemId, Option<ShownItem>>,
) -> Result<(Option<ShownItem>, Draft<R>), ApplicationError> {
    let Some(members) = element else {
        return Err(refused(Violation::new(
            Pointer::root(),
            "not_an_object",
            "an element of a collection is an object; send one",
        )));
    };
    if members.get("id").is_none() {
        return Ok((None, Draft::of(members, Identity::New)));
    }
    match named_id(members).and_then(|id| known.get_mut(&id)).map(Option::take) {
        Some(Some(shown)) => {
            let draft = Edit::Replace(members.clone()).draft(&shown)?;
            Ok((Some(shown), draft))
        }
        Some(None) => Err(refused(Violation::of_member(
            "id",
            "duplicate_id",
            "an earlier element has the same `id`; send each item once",
        ))),
        None => {
            let detail =
                "the collection holds no item with this `id`; remove the `id` to add a new item";
            Err(refused(Violation::of_member("id", "unknown_id", detail)))
        }
    }
}

pub(super) fn refused(violation: Violation) -> ApplicationError {
    ApplicationError::Invalid(violation.into())
}

pub(super) fn named_id(members: &Members) -> Option<ItemId> {
    ItemId::parse(&members.get("id")?.as_string()?)
}

/// The members the store holds, which were judged when they were written.
pub(super) fn stored_members(shown: &ShownItem) -> Result<Members, ApplicationError> {
    let members = Members::read(shown.item.members.as_bytes()).ok().flatten();
    members.ok_or_else(|| {
        tracing::error!(id = %shown.item.id, "the stored members are no JSON object");
        ApplicationError::Store(RepositoryError::Corrupt)
    })
}
