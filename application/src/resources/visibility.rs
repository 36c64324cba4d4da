//! The part of the store that a caller sees: reaches, parents and links.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use domain::{Collection, ItemId, Operation, VisibleMembers};

use super::ResourceService;
use crate::access_control::{Visibility, cut_links};
use crate::ports::{ListedPage, Reach, Scope, ShownItem};
use crate::query::View;
use crate::{ApplicationError, Caller, ItemAddress, Result};

/// The linked items that a caller sees.
pub(super) struct VisibleLinks<'a> {
    visibility: &'a Visibility,
    /// Those in collections that the caller sees in part.
    partial: HashSet<ItemId>,
}

impl VisibleLinks<'_> {
    pub fn cut(&self, collection: Collection, item: &mut ShownItem) {
        let Visibility { unseen, partial, .. } = self.visibility;
        cut_links(collection, item, |to, id| {
            !unseen.contains(&to) && (!partial.contains(&to) || self.partial.contains(&id))
        });
    }
}

fn links(collection: Collection, item: &ShownItem) -> impl Iterator<Item = (Collection, ItemId)> {
    let relations = collection.relations();
    let related = relations.filter_map(|it| Some((it.to, item.related(it.kind)?)));
    let continued = item.links.continues.iter().chain(&item.links.continued_by);
    related.chain(continued.map(move |id| (collection, *id)))
}

impl ResourceService {
    pub(super) async fn reach(&self, caller: &Caller, parent: Option<ItemId>) -> Result<Reach> {
        self.reach_for(caller, parent, &[Operation::Read]).await
    }

    pub(super) async fn past_reach(
        &self,
        caller: &Caller,
        parent: Option<ItemId>,
    ) -> Result<Reach> {
        self.reach_for(caller, parent, &[Operation::Read, Operation::History]).await
    }

    /// Returns the items on which all operations are permitted. The parent must be visible.
    async fn reach_for(
        &self,
        caller: &Caller,
        parent: Option<ItemId>,
        operations: &[Operation],
    ) -> Result<Reach> {
        let reach = self.access.reach(caller, self.scope(parent), operations)?;
        self.require_visible_parent(caller, parent).await?;
        Ok(reach)
    }

    pub(super) async fn require_visible_parent(
        &self,
        caller: &Caller,
        parent: Option<ItemId>,
    ) -> Result<()> {
        let Some((parent, collection)) = parent.zip(self.collection.parent()) else {
            return Ok(());
        };
        let reach = self.access.reach(caller, Scope::of(collection), &[Operation::Read])?;
        if reach.condition().is_some()
            && self.ports.items.in_reach(&reach, &[parent]).await?.is_empty()
        {
            return Err(missing(caller, &reach, ApplicationError::ParentNotFound));
        }
        Ok(())
    }

    pub(super) async fn find(&self, caller: &Caller, item: ItemAddress) -> Result<ShownItem> {
        let reach = self.reach(caller, item.parent).await?;
        let found = self.ports.items.find(&reach, item.id).await?;
        found.ok_or_else(|| missing(caller, &reach, ApplicationError::ItemNotFound))
    }

    /// Finds an item in order to write it: with the members that the caller does not see.
    pub(super) async fn find_whole(&self, caller: &Caller, item: ItemAddress) -> Result<ShownItem> {
        let reach = self.reach(caller, item.parent).await?.masked(None);
        let found = self.ports.items.find(&reach, item.id).await?;
        found.ok_or_else(|| missing(caller, &reach, ApplicationError::ItemNotFound))
    }

    /// Finds out which linked items the caller sees, with one query for each collection that the
    /// caller sees in part.
    pub(super) async fn visible_links<'a>(
        &self,
        caller: &Caller,
        visibility: &'a Visibility,
        items: impl IntoIterator<Item = (Collection, &ShownItem)>,
    ) -> Result<VisibleLinks<'a>> {
        let mut partial = HashSet::new();
        if !visibility.partial.is_empty() {
            let linked = items.into_iter().flat_map(|(of, item)| links(of, item));
            let mut ids: BTreeMap<Collection, Vec<ItemId>> = BTreeMap::new();
            for (to, id) in linked.filter(|(to, _)| visibility.partial.contains(to)) {
                ids.entry(to).or_default().push(id);
            }
            for (to, mut ids) in ids {
                ids.sort_unstable();
                ids.dedup();
                let reach = self.access.reach(caller, Scope::of(to), &[Operation::Read])?;
                partial.extend(self.ports.items.in_reach(&reach, &ids).await?);
            }
        }
        Ok(VisibleLinks { visibility, partial })
    }

    /// Removes the members and the links to items that the caller does not see from the answer to a
    /// write. If the store does not answer, removes all that depend on it: the write may be done.
    pub(super) async fn seen_by(&self, caller: &Caller, mut shown: ShownItem) -> ShownItem {
        let visibility = self.access.visibility(caller, self.collection, &View::default());
        if visibility.is_whole() {
            return shown;
        }
        let permissions = self.access.permissions(caller);
        if let Some(mask) = permissions.visible(self.collection) {
            let visible = self.visible_members(caller, &shown.item, &mut self.decision()).await;
            let visible = visible.ok().flatten();
            shown.cut(&visible.unwrap_or_else(|| VisibleMembers::at_least(mask)));
        }
        let visible = self.visible_links(caller, &visibility, [(self.collection, &shown)]).await;
        let none = VisibleLinks { visibility: &visibility, partial: HashSet::new() };
        visible.unwrap_or(none).cut(self.collection, &mut shown);
        shown
    }

    /// Returns those of these parents that the caller sees.
    pub(super) async fn visible_parents(
        &self,
        caller: &Caller,
        parents: &[ItemId],
    ) -> Result<HashSet<ItemId>> {
        let Some(collection) = self.collection.parent() else { return Ok(HashSet::new()) };
        if parents.is_empty() || !self.access.may_read(caller, collection) {
            return Ok(HashSet::new());
        }
        let reach = self.access.reach(caller, Scope::of(collection), &[Operation::Read])?;
        Ok(match reach.condition() {
            None => parents.iter().copied().collect(),
            Some(_) => self.ports.items.in_reach(&reach, parents).await?.into_iter().collect(),
        })
    }

    pub(super) async fn page_seen_by(
        &self,
        caller: &Caller,
        visibility: &Visibility,
        page: Arc<ListedPage>,
    ) -> Result<Arc<ListedPage>> {
        if visibility.is_whole() {
            return Ok(page);
        }
        let items = page.items.iter().map(|listed| (self.collection, &listed.shown));
        let visible = self.visible_links(caller, visibility, items).await?;
        let mut page = Arc::unwrap_or_clone(page);
        for listed in &mut page.items {
            visible.cut(self.collection, &mut listed.shown);
        }
        Ok(Arc::new(page))
    }
}

/// The error for an item or a parent outside of a reach. Anonymous callers may see it after they
/// sign in, so they get the same answer whether it exists or not.
pub(super) fn missing(
    caller: &Caller,
    reach: &Reach,
    not_found: ApplicationError,
) -> ApplicationError {
    let may_sign_in = caller.principal().is_none() && reach.condition().is_some();
    if may_sign_in { ApplicationError::CredentialsRequired } else { not_found }
}
