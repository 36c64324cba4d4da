//! What a write makes of the members it is sent, judged by the rules of the resource.

use std::collections::HashMap;

use domain::{ItemId, Members, Pointer, Resource, Violation, Violations, merge_patch};

use crate::ApplicationError;
use crate::ports::{ChangeKind, Replacement, RepositoryError, ShownItem};

/// Members that carry the representation's own links and metadata: ignored in a body, so that what was fetched can be
/// edited and sent back.
const IGNORED: [&str; 3] = ["_links", "_embedded", "_meta"];

/// What a write does to the members that are stored.
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

    /// What the item becomes.
    pub fn judge<R: Resource>(&self, shown: &ShownItem) -> Result<R, ApplicationError> {
        let identity = Identity::Named(shown.item.id);
        match self {
            Self::Replace(body) => judge(stored_resource(shown)?.as_ref(), body, identity, |own| own),
            Self::Patch(patch) => {
                let stored = stored_members(shown)?;
                let judged = judge(stored_resource(shown)?.as_ref(), patch, identity, |own| merge_patch(&stored, &own));
                with_faults(unknown_removals::<R>(patch), judged)
            }
        }
    }
}

/// What a patch would remove that no item can have: in the merged members a misspelt removal is not seen.
fn unknown_removals<R: Resource>(patch: &Members) -> Violations {
    R::unknown(&patch.clone().retain(|name, value| value.is_null() && name != "id" && !IGNORED.contains(&name)))
}

/// Faults, then those of what was judged.
fn with_faults<R>(mut faults: Violations, judged: Result<R, ApplicationError>) -> Result<R, ApplicationError> {
    match judged {
        Err(ApplicationError::Invalid(more)) => {
            faults.extend_below(&Pointer::root(), more);
            Err(ApplicationError::Invalid(faults))
        }
        Ok(_) if !faults.is_empty() => Err(ApplicationError::Invalid(faults)),
        judged => judged,
    }
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
            Self::New => Some(Violation::of_member("id", "id_not_allowed", "the service makes ids; remove the `id`")),
            Self::Named(expected) if id.as_text().as_deref() == Some(expected.to_string().as_str()) => None,
            Self::Named(expected) => {
                let detail = format!("the `id` must be that of the path, `{expected}`; correct or remove it");
                Some(Violation::of_member("id", "id_mismatch", detail))
            }
        }
    }
}

/// Judges a body: its `id`, then what `compose` makes of the members that are the client's to set.
pub(super) fn judge<R: Resource>(
    before: Option<&R>,
    body: &Members,
    identity: Identity,
    compose: impl FnOnce(Members) -> Members,
) -> Result<R, ApplicationError> {
    let own = body.clone().retain(|name, _| name != "id" && !IGNORED.contains(&name));
    let judged = R::judge(before, compose(own));
    let fault = identity.fault(body).map(Violations::from).unwrap_or_default();
    with_faults(fault, judged.map_err(ApplicationError::Invalid))
}

/// Judges one element of a collection's replacement. Each known item is taken out of `known`, so that a second element
/// with its id is told apart from one with an id that never was.
pub(super) fn judge_element<R: Resource>(
    element: Option<&Members>,
    known: &mut HashMap<ItemId, Option<ShownItem>>,
) -> Result<(Option<ShownItem>, R), ApplicationError> {
    let Some(members) = element else {
        return Err(refused(Violation::new(Pointer::root(), "not_an_object", "an element of a collection is an object; send one")));
    };
    if members.get("id").is_none() {
        return Ok((None, judge(None, members, Identity::New, |own| own)?));
    }
    match named_id(members).and_then(|id| known.get_mut(&id)).map(Option::take) {
        Some(Some(shown)) => {
            let resource = Edit::Replace(members.clone()).judge(&shown)?;
            Ok((Some(shown), resource))
        }
        Some(None) => Err(refused(Violation::of_member("id", "duplicate_id", "an earlier element has the same `id`; send each item once"))),
        None => {
            let detail = "the collection holds no item with this `id`; remove the `id` to add a new item";
            Err(refused(Violation::of_member("id", "unknown_id", detail)))
        }
    }
}

pub(super) fn refused(violation: Violation) -> ApplicationError {
    ApplicationError::Invalid(violation.into())
}

pub(super) fn replacement_of<R: Resource>(shown: &ShownItem, resource: R) -> Replacement {
    let program = resource.program();
    Replacement { id: shown.item.id, expected: shown.item.version, members: resource.into_members().into_encoded(), program }
}

pub(super) fn named_id(members: &Members) -> Option<ItemId> {
    ItemId::parse(&members.get("id")?.as_text()?)
}

/// The members the store holds, which were judged when they were written.
fn stored_members(shown: &ShownItem) -> Result<Members, ApplicationError> {
    let members = Members::read(shown.item.members.as_bytes()).ok().flatten();
    members.ok_or_else(|| {
        tracing::error!(id = %shown.item.id, "the stored members are no JSON object");
        ApplicationError::Store(RepositoryError::Corrupt)
    })
}

/// The stored item as rules see it; none are asked, none is made.
fn stored_resource<R: Resource>(shown: &ShownItem) -> Result<Option<R>, ApplicationError> {
    if R::rules().is_empty() {
        return Ok(None);
    }
    // Fields may have become stricter since the item was written: a draft is what can still be read of it.
    Ok(Some(R::draft(stored_members(shown)?).0))
}
