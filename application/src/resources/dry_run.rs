//! The predicted results of writes, for dry runs.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use domain::{Item, ItemId, Version};

use super::ResourceService;
use super::listing::{Embedded, Listing};
use crate::ports::{
    CollectionWrite, Links, ListedItem, ListedPage, NewItem, PageHash, Reach, Replacement, Scope,
    ShownItem,
};
use crate::query::{PageRequest, SortPosition, Total};
use crate::{Caller, ItemAddress, Result};

impl ResourceService {
    pub(super) async fn would_be_inserted(
        &self,
        caller: &Caller,
        parent: Option<ItemId>,
        addition: NewItem,
    ) -> Result<ShownItem> {
        let NewItem { id, members, continues, references } = addition;
        let now = self.ports.clock.now();
        let item = ItemAddress { parent, id }.new_item(members, continues, caller, now);
        let references = self.existing(references).await?;
        Ok(ShownItem { item, links: Links { continues, references, ..Links::default() } })
    }

    pub(super) async fn would_be_updated(
        &self,
        mut shown: ShownItem,
        replacement: Replacement,
    ) -> Result<ShownItem> {
        shown.item.version = shown.item.version.next();
        shown.item.updated_at = self.ports.clock.now().max(shown.item.updated_at);
        shown.item.members = replacement.members;
        shown.links.references = self.existing(replacement.references).await?;
        Ok(shown)
    }

    /// The first page after a replacement. The collection holds only these items, so no other item
    /// continues them.
    pub(super) async fn first_page_of(
        &self,
        mut items: Vec<(Item, Vec<Option<ItemId>>)>,
        write: CollectionWrite,
        first: &PageRequest,
    ) -> Result<Listing> {
        items.sort_unstable_by_key(|(item, _)| item.id);
        let total = items.len();
        let ids: HashSet<_> = items.iter().map(|(item, _)| item.id).collect();
        let mut continued_by: HashMap<_, Vec<_>> = HashMap::new();
        for (item, _) in &items {
            if let Some(continued) = item.continues {
                continued_by.entry(continued).or_default().push(item.id);
            }
        }
        items.truncate(usize::try_from(first.page_size).unwrap_or(usize::MAX));
        let mut listed = Vec::with_capacity(items.len());
        for (mut item, references) in items {
            item.updated_at = write.time;
            if item.version == Version::FIRST {
                item.created_at = write.time;
            }
            let links = Links {
                continues: item.continues.filter(|continued| ids.contains(continued)),
                continued_by: continued_by.remove(&item.id).unwrap_or_default(),
                references: self.existing(references).await?,
                hides_parent: false,
                cut: None,
            };
            let shown = ShownItem { item, links };
            listed.push(ListedItem { shown, score: None, snippet: None, removed_at: None });
        }
        let place =
            |listed: &ListedItem| SortPosition { keys: Vec::new(), id: listed.shown.item.id };
        let page = ListedPage {
            total: Total::Exact(total as u64),
            revision: write.revision,
            first: listed.first().map(place),
            last: listed.last().map(place),
            has_more: listed.len() < total,
            items: listed,
            counts: None,
            hash: PageHash::default(),
        };
        Ok(Listing::new(first, Arc::new(page), Embedded::default()))
    }

    async fn existing(&self, mut references: Vec<Option<ItemId>>) -> Result<Vec<Option<ItemId>>> {
        for (reference, collection) in references.iter_mut().zip(self.collection.referenced()) {
            if let Some(id) = *reference {
                let reach = Reach::of_the_service(Scope::of(collection));
                let found = self.ports.items.find(&reach, id).await?;
                *reference = found.map(|shown| shown.item.id);
            }
        }
        Ok(references)
    }
}
