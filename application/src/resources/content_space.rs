//! The limit of the contents of a proposal: of its library, and of the items that refer to it.

use domain::{
    Collection, Content, Found, Item, ItemId, Lookup, LookupKey, Members, Severity, Value,
};

use super::ResourceService;
use super::read_set::DecisionContext;
use super::validate::stored_members;
use crate::{ApplicationError, Result};

impl ResourceService {
    /// Refuses contents of `size` bytes for an item with these members, if its proposal then had more
    /// than it may have. The decision depends on the contents of the other items.
    pub(super) async fn require_content_space(
        &self,
        item: &Item,
        members: &Members,
        size: u64,
        decision: &mut DecisionContext,
    ) -> Result<()> {
        let (Some(most), Some(proposal)) =
            (self.limits.content_per_proposal, proposal_of(self.collection, item, members))
        else {
            return Ok(());
        };
        let mut sum = size;
        for collection in Collection::all().filter(|it| it.spec().holds_content) {
            let Some(key) = key_of(collection, proposal) else { continue };
            let lookup = Lookup { collection, key, without: item.id };
            let found = decision.look_up_stored(lookup, Severity::Error).await?;
            let Found::Items(others) = found else {
                return Err(ApplicationError::ProposalFull { most });
            };
            let sizes = others.iter().filter_map(|other| Content::of(&other.members));
            sum = sizes.fold(sum, |sum, content| sum.saturating_add(content.size));
        }
        if sum > most { Err(ApplicationError::ProposalFull { most }) } else { Ok(()) }
    }

    /// Checks the space of a write that adds content to a proposal, or moves content to it.
    pub(super) async fn require_space_after(
        &self,
        before: &Item,
        after: &Members,
        decision: &mut DecisionContext,
    ) -> Result<()> {
        if self.limits.content_per_proposal.is_none() {
            return Ok(());
        }
        let Some(content) = Content::of(after.encoded()) else { return Ok(()) };
        let stored = stored_members(before)?;
        let is_same_proposal = proposal_of(self.collection, before, &stored)
            == proposal_of(self.collection, before, after);
        let had = Content::of(&before.members).map_or(0, |content| content.size);
        if is_same_proposal && content.size <= had {
            return Ok(());
        }
        self.require_content_space(before, after, content.size, decision).await
    }
}

/// The relation of an item to its proposal.
enum Belonging {
    Parent,
    /// The name of the member with the id.
    Member(&'static str),
}

impl Belonging {
    fn of(collection: Collection) -> Option<Self> {
        const PROPOSALS: &str = "proposals";
        let spec = collection.spec();
        if spec.parent.is_some_and(|parent| parent.collection == PROPOSALS) {
            return Some(Self::Parent);
        }
        let reference = spec.references.iter().find(|reference| reference.to == PROPOSALS)?;
        Some(Self::Member(reference.member))
    }
}

fn proposal_of(collection: Collection, item: &Item, members: &Members) -> Option<ItemId> {
    match Belonging::of(collection)? {
        Belonging::Parent => item.parent,
        Belonging::Member(name) => ItemId::parse(&members.get(name).and_then(Value::as_string)?),
    }
}

fn key_of(collection: Collection, proposal: ItemId) -> Option<LookupKey> {
    Some(match Belonging::of(collection)? {
        Belonging::Parent => LookupKey::Parent(proposal),
        Belonging::Member(name) => {
            LookupKey::Member { name: name.into(), value: proposal.to_string().into() }
        }
    })
}
