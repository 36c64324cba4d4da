//! The members that result from a write, and the errors that depend on no rule.

use std::collections::HashMap;
use std::sync::Arc;

use domain::content::META;
use domain::{
    Collection, Content, ContentDigest, Item, ItemId, Members, Pointer, Value, Version, Violation,
    Violations, VisibleMembers, WriteOperation, merge_patch,
};
use jiff::Timestamp;

use crate::ports::{RepositoryError, ShownItem};
use crate::{ApplicationError, Caller, ItemAddress, Precondition, Result};

/// The members for links and metadata. A body may contain them, so that clients can edit and return
/// an item. They are ignored.
const IGNORED: [&str; 3] = ["_links", "_embedded", META];

/// A change of a stored item.
#[derive(Clone, Copy)]
pub(super) enum Edit<'a> {
    Replace(&'a Members),
    Patch(&'a Members),
    /// The members of an earlier version, with its facts about content.
    Restore(&'a Members),
    /// The content, or its removal, on condition of the current content.
    Content(Option<&'a Content>, &'a Precondition<ContentDigest>),
}

impl Edit<'_> {
    pub const fn operation(self) -> WriteOperation {
        match self {
            Self::Replace(_) | Self::Restore(_) => WriteOperation::Replace,
            Self::Patch(_) | Self::Content(..) => WriteOperation::Patch,
        }
    }

    /// The operation in the change log.
    pub const fn logged(self) -> WriteOperation {
        match self {
            Self::Content(Some(_), _) => WriteOperation::Attach,
            Self::Content(None, _) => WriteOperation::Detach,
            _ => self.operation(),
        }
    }

    /// Returns false if the item has this content already. Fails if the current content does not meet
    /// the condition.
    pub fn changes_content(self, item: &Item, visible: Option<&VisibleMembers>) -> Result<bool> {
        let Self::Content(content, condition) = self else { return Ok(true) };
        let current = Content::of(&item.members)
            .filter(|_| visible.is_none_or(|visible| visible.shows(&Content::pointer())));
        let digest = current.as_ref().map(|current| current.digest);
        if condition.excludes_optional(digest.as_ref()) {
            return Err(ApplicationError::ContentChanged { current: digest });
        }
        match (current, content) {
            (None, None) => Err(ApplicationError::NoContent),
            (Some(current), Some(content)) => Ok(!current.is_same(content)),
            _ => Ok(true),
        }
    }
}

/// The item that results from a body, before any rule is evaluated.
pub(super) struct Draft {
    pub after: Members,
    pub errors: Violations,
    /// The members that the caller does not see, and names or would change.
    pub refused: Vec<Pointer>,
    /// The members of the stored item that the caller sees; `None` for all.
    pub visible: Option<VisibleMembers>,
}

pub(super) struct ProposedItem {
    pub address: ItemAddress,
    /// The stored item; `None` for a new one.
    pub before: Option<ShownItem>,
    pub draft: Draft,
}

impl ProposedItem {
    pub const fn operation(&self) -> WriteOperation {
        if self.before.is_some() { WriteOperation::Replace } else { WriteOperation::Create }
    }

    pub fn version(&self) -> Version {
        self.before.as_ref().map_or(Version::FIRST, |shown| shown.item.version.next())
    }

    pub fn item(&self, caller: &Caller, now: Timestamp) -> Item {
        let members = self.draft.after.clone().into_encoded();
        match &self.before {
            Some(ShownItem { item, .. }) => Item {
                version: self.version(),
                updated_at: now,
                members,
                parent: self.address.parent,
                ..item.clone()
            },
            None => self.address.new_item(members, None, caller, now),
        }
    }
}

impl Draft {
    /// A draft of a whole body. It may contain the `id`, unless the service assigns it.
    pub fn of(collection: Collection, body: &Members, id: Option<ItemId>) -> Self {
        Self::composed(collection, Violations::default(), body, id, |own, _| own)
    }

    pub fn stored(item: &Item) -> Result<Self> {
        let (errors, refused) = (Violations::default(), Vec::new());
        Ok(Self { after: stored_members(item)?, errors, refused, visible: None })
    }

    /// A draft of a version that returns as a new item.
    pub fn restored(collection: Collection, past: &Members, id: ItemId) -> Self {
        Self::of(collection, past, Some(id)).with_facts_of(past)
    }

    pub fn edited(
        collection: Collection,
        edit: Edit<'_>,
        item: &Item,
        visible: Option<VisibleMembers>,
    ) -> Result<Self> {
        let keeps_nothing = visible.is_none() && Content::encoded_in(&item.members).is_none();
        if let Edit::Replace(body) = edit
            && keeps_nothing
        {
            return Ok(Self::of(collection, body, Some(item.id)));
        }
        let stored = stored_members(item)?;
        let (body, is_patch) = match edit {
            Edit::Content(content, _) => {
                let draft = Self::stored(item)?;
                let after = Content::replaced(&stored, content);
                return Ok(draft.with_facts_of(&after).seen_as(visible, &stored));
            }
            Edit::Patch(patch) => (patch, true),
            Edit::Replace(body) | Edit::Restore(body) => (body, false),
        };
        let errors =
            if is_patch { unknown_removals(collection, body) } else { Violations::default() };
        let compose = |own: Members, refused: &mut Vec<Pointer>| match &visible {
            None if is_patch => merge_patch(&stored, &own),
            None => own,
            Some(visible) => kept(visible, &stored, own, is_patch, refused),
        };
        let draft = Self::composed(collection, errors, body, Some(item.id), compose);
        Ok(match edit {
            Edit::Restore(past) => draft.with_facts_of(past).seen_as(visible, &stored),
            _ => Self { visible, ..draft.with_facts_of(&stored) },
        })
    }

    /// Takes over the facts about content, which a body cannot set.
    pub fn with_facts_of(self, members: &Members) -> Self {
        let facts = members.get(META);
        if facts.is_none() && self.after.get(META).is_none() {
            return self;
        }
        Self { after: self.after.with_first(META, facts.map(Value::encoded)), ..self }
    }

    /// Refuses to change facts about content that the caller does not see.
    fn seen_as(mut self, visible: Option<VisibleMembers>, stored: &Members) -> Self {
        let facts = |members: &Members| members.clone().retain(|name, _| name == META);
        let [before, after] = [stored, &self.after].map(facts);
        if let Some(visible) = &visible
            && before != after
        {
            let hidden = [&before, &after].map(|facts| visible.changed(None, facts));
            self.refused.extend(hidden.concat());
        }
        Self { visible, ..self }
    }

    /// Applies `compose` to the members that clients may set. `errors` come first, then that of the
    /// `id`.
    fn composed(
        collection: Collection,
        mut errors: Violations,
        body: &Members,
        id: Option<ItemId>,
        compose: impl FnOnce(Members, &mut Vec<Pointer>) -> Members,
    ) -> Self {
        let own = body.clone().retain(|name, _| name != "id" && !IGNORED.contains(&name));
        let mut refused = Vec::new();
        let (after, of_fields) = collection.validate(compose(own, &mut refused));
        errors.extend(id_error(body, id));
        errors.extend_below(&Pointer::root(), of_fields);
        Self { after, errors, refused, visible: None }
    }
}

/// Returns the members after a replacement or patch by a caller who sees some of them. The others
/// stay.
pub(super) fn kept(
    visible: &VisibleMembers,
    stored: &Members,
    own: Members,
    is_patch: bool,
    refused: &mut Vec<Pointer>,
) -> Members {
    let new = if is_patch {
        // A patch may name a member in order to remove it.
        refused.extend(visible.changed(None, &own));
        merge_patch(&visible_part(visible, stored), &own)
    } else {
        own
    };
    visible.keep(stored, new).unwrap_or_else(|hidden| {
        refused.extend(hidden);
        stored.clone()
    })
}

pub(super) fn visible_part(visible: &VisibleMembers, members: &Members) -> Members {
    let cut = visible.cut(&Arc::from(members.encoded()));
    Members::read(cut.as_bytes()).ok().flatten().unwrap_or_default()
}

/// Returns a violation for each unknown member that a patch removes. The merged members would not
/// show a misspelt removal.
fn unknown_removals(collection: Collection, patch: &Members) -> Violations {
    collection.unknown_members(
        &patch
            .clone()
            .retain(|name, value| value.is_null() && name != "id" && !IGNORED.contains(&name)),
    )
}

fn id_error(body: &Members, expected: Option<ItemId>) -> Option<Violation> {
    let id = body.get("id")?;
    let Some(expected) = expected.as_ref().map(ToString::to_string) else {
        let detail = "The service assigns ids. Remove the `id`.";
        return Some(Violation::of_member("id", "id_not_allowed", detail));
    };
    if id.as_string().is_some_and(|id| id == expected) {
        return None;
    }
    let detail = format!("`id` must be `{expected}`, as in the path. Correct or remove it.");
    Some(Violation::of_member("id", "id_mismatch", detail))
}

/// Reads one element of a replacement. Removes its item from `known`, which distinguishes a
/// duplicate id from an unknown one.
pub(super) fn draft_element(
    collection: Collection,
    element: Option<&Members>,
    known: &mut HashMap<ItemId, Option<ShownItem>>,
) -> Result<(Option<ShownItem>, Draft), Violation> {
    let Some(members) = element else {
        let detail = "An element of a collection must be an object.";
        return Err(Violation::new(Pointer::root(), "not_an_object", detail));
    };
    if members.get("id").is_none() {
        return Ok((None, Draft::of(collection, members, None)));
    }
    match named_id(members).and_then(|id| known.get_mut(&id)).map(Option::take) {
        Some(Some(shown)) => {
            let draft = Draft::of(collection, members, Some(shown.item.id));
            Ok((Some(shown), draft))
        }
        Some(None) => {
            let detail = "An earlier element has the same `id`. Send each item once.";
            Err(Violation::of_member("id", "duplicate_id", detail))
        }
        None => {
            let detail =
                "No item of the collection has this `id`. Remove the `id` to add a new item.";
            Err(Violation::of_member("id", "unknown_id", detail))
        }
    }
}

pub(super) fn refused(violation: Violation) -> ApplicationError {
    ApplicationError::Invalid(violation.into())
}

pub(super) fn named_id(members: &Members) -> Option<ItemId> {
    ItemId::parse(&members.get("id")?.as_string()?)
}

/// The stored members, which were judged on their write.
pub(super) fn stored_members(item: &Item) -> Result<Members> {
    let members = Members::read(item.members.as_bytes()).ok().flatten();
    members.ok_or_else(|| {
        tracing::error!(id = %item.id, "the stored members are not a JSON object");
        ApplicationError::Store(RepositoryError::Corrupt)
    })
}
