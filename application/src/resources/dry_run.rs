//! What a write would have left, when it is only tried.

use std::collections::HashMap;
use std::sync::Arc;

use domain::{Item, ItemId, Resource, Version};

use super::ResourceService;
use super::listing::{Embedded, Listing};
use crate::ApplicationError;
use crate::ports::{
    CollectionContent, ListedItem, ListedPage, NewItem, Relations, Replacement, Revision, Scope,
    ShownItem,
};
use crate::query::{PageRequest, Place, Total};

impl<R: Resource> ResourceService<R> {
    /// The item an insert would leave.
    pub(super) async fn would_be_inserted(
        &self,
        parent: Option<ItemId>,
        addition: NewItem,
    ) -> Result<ShownItem, ApplicationError> {
        let NewItem { id, members, continues, references } = addition;
        let now = self.clock.now();
        let item = Item {
            id,
            version: Version::FIRST,
            created_at: now,
            updated_at: now,
            members,
            parent,
            continues,
        };
        let relations = Relations {
            continues,
            continued_by: Vec::new(),
            references: self.existing(references).await?,
        };
        Ok(ShownItem { item, relations })
    }

    /// The item an update would leave.
    pub(super) async fn would_be_updated(
        &self,
        mut shown: ShownItem,
        replacement: Replacement,
    ) -> Result<ShownItem, ApplicationError> {
        shown.item.version = shown.item.version.next();
        shown.item.updated_at = self.clock.now().max(shown.item.updated_at);
        shown.item.members = replacement.members;
        shown.relations.references = self.existing(replacement.references).await?;
        Ok(shown)
    }

    /// The first page of what a replacement would leave.
    pub(super) async fn would_hold(
        &self,
        content: CollectionContent,
        first: &PageRequest,
    ) -> Result<Listing, ApplicationError> {
        let total = content.replacements.len() + content.additions.len();
        let mut replaced: HashMap<_, _> =
            content.replacements.into_iter().map(|own| (own.id, own)).collect();
        let mut added: HashMap<_, _> =
            content.additions.into_iter().map(|own| (own.id, own)).collect();
        let mut ids: Vec<_> = replaced.keys().chain(added.keys()).copied().collect();
        ids.sort_unstable();
        ids.truncate(usize::try_from(first.page_size).unwrap_or(usize::MAX));
        let kept: Vec<_> = ids.iter().filter(|id| replaced.contains_key(*id)).copied().collect();
        let kept = self.repository.find_many(self.scope(None), &kept).await?;
        let mut kept: HashMap<_, _> =
            kept.into_iter().map(|shown| (shown.item.id, shown)).collect();
        let mut items = Vec::with_capacity(ids.len());
        for id in ids {
            let shown = match (kept.remove(&id), replaced.remove(&id), added.remove(&id)) {
                (Some(shown), Some(replacement), _) => {
                    self.would_be_updated(shown, replacement).await?
                }
                (_, _, Some(addition)) => self.would_be_inserted(None, addition).await?,
                // It was removed while it was looked at.
                _ => continue,
            };
            items.push(ListedItem { shown, score: None, snippet: None });
        }
        let place = |listed: &ListedItem| Place { keys: Vec::new(), id: listed.shown.item.id };
        let (first_place, last) = (items.first().map(place), items.last().map(place));
        let goes_on = items.len() < total;
        let page = ListedPage {
            total: Total::Exact(total as u64),
            revision: Revision(0),
            items,
            first: first_place,
            last,
            goes_on,
        };
        Ok(Listing::new(first, Arc::new(page), Embedded::default()))
    }

    /// The references whose items exist.
    async fn existing(
        &self,
        mut references: Vec<Option<ItemId>>,
    ) -> Result<Vec<Option<ItemId>>, ApplicationError> {
        for (reference, collection) in references.iter_mut().zip(self.collection.referenced()) {
            if let Some(id) = *reference {
                let scope = Scope { collection, parent: None };
                *reference = self.repository.find(scope, id).await?.map(|shown| shown.item.id);
            }
        }
        Ok(references)
    }
}
