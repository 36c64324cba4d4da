//! The listing of a collection: pages, links to adjacent pages, and embedded items.

use std::collections::HashMap;
use std::sync::Arc;

use domain::{Collection, Item, ItemId, Members, Relation, RelationKind};

use crate::access_control::Visibility;
use crate::ports::{ItemRepository, ListedItem, ListedPage, PageRevision, Reach, ShownItem};
use crate::query::{MemberNames, PageRequest, PageStart, Search, SortPosition, Total};
use crate::{ApplicationError, Result};

/// The limit of embedded child items in one answer.
pub const MOST_EMBEDDED: u64 = 5_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdjacentPage {
    pub page: u64,
    pub position: PageStart,
}

/// The embedded items of each relation: children by their parent's id, others by their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Embedded(Vec<(Relation, HashMap<ItemId, Vec<ShownItem>>)>);

impl Embedded {
    /// Returns `None` if the request did not ask for any relation.
    pub fn requested(&self) -> Option<&Self> {
        Some(self).filter(|embedded| !embedded.0.is_empty())
    }

    /// Returns the embedded items of a relation; `None` if it was not requested.
    pub fn of(&self, relation: Relation, shown: &ShownItem) -> Option<&[ShownItem]> {
        let (_, items) = self.0.iter().find(|(asked, _)| *asked == relation)?;
        let id = match relation.kind {
            RelationKind::Children => Some(shown.item.id),
            kind => shown.related(kind),
        };
        Some(id.and_then(|id| items.get(&id)).map_or(&[], Vec::as_slice))
    }

    pub fn with(mut self, relation: Relation, items: Vec<ShownItem>) -> Self {
        let mut by_id: HashMap<_, Vec<_>> = HashMap::new();
        for shown in items {
            let id = match relation.kind {
                RelationKind::Children => shown.item.parent,
                _ => Some(shown.item.id),
            };
            by_id.entry(id.unwrap_or(ItemId::NIL)).or_default().push(shown);
        }
        self.0.push((relation, by_id));
        self
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Listing {
    pub page: u64,
    pub page_size: u64,
    /// The number of pages, if known; 0 for an empty collection.
    pub page_count: Option<u64>,
    pub content: Arc<ListedPage>,
    pub visibility: Visibility,
    pub previous: Option<AdjacentPage>,
    pub next: Option<AdjacentPage>,
    pub embedded: Embedded,
}

impl Listing {
    pub fn new(request: &PageRequest, content: Arc<ListedPage>, embedded: Embedded) -> Self {
        let (previous, next) = neighbours(request, &content);
        let page_count = page_count(content.total, request.page_size);
        let content = match &request.selection.search {
            Some(search) => Arc::new(with_snippets(
                Arc::unwrap_or_clone(content),
                search,
                request.view.fields.as_ref(),
            )),
            None => content,
        };
        let PageRequest { page, page_size, .. } = *request;
        let visibility = Visibility::default();
        Self { page, page_size, page_count, content, visibility, previous, next, embedded }
    }

    /// Returns the revision of a page of the collection; `None` if it also counts writes that the
    /// caller does not see.
    pub fn revision(&self, collection: Collection) -> Option<PageRevision> {
        let (revision, unseen) = (self.content.revision, self.visibility.limited());
        let Visibility { partial, masked, .. } = &self.visibility;
        let is_whole = !partial.contains(&collection) && !masked.contains(&collection);
        is_whole.then_some(PageRevision { revision, unseen })
    }

    pub fn items(&self) -> &[ListedItem] {
        &self.content.items
    }
}

/// Fails if an empty page is beyond the last page of a selection that is not empty. If the total is
/// unknown, `has_items` determines whether the selection is empty.
pub(crate) async fn require_within(
    request: &PageRequest,
    found: &ListedPage,
    has_items: impl Future<Output = Result<bool>> + Send,
) -> Result<()> {
    let PageRequest { page, page_size, .. } = *request;
    if !found.items.is_empty() || request.position.is_some() || page == 1 {
        return Ok(());
    }
    let page_count = page_count(found.total, page_size);
    let lies_beyond = match found.total {
        Total::Exact(total) => total > 0 && page_count < Some(page),
        Total::AtLeast(_) => true,
        Total::NotCounted => has_items.await?,
    };
    if lies_beyond { Err(ApplicationError::PageOutOfRange { page, page_count }) } else { Ok(()) }
}

const fn page_count(total: Total, page_size: u64) -> Option<u64> {
    match total {
        Total::Exact(total) => Some(total.div_ceil(page_size)),
        Total::AtLeast(_) | Total::NotCounted => None,
    }
}

/// The adjacent pages. The page that the client came from exists, without a query for it.
fn neighbours(
    request: &PageRequest,
    content: &ListedPage,
) -> (Option<AdjacentPage>, Option<AdjacentPage>) {
    let (came_from, is_backward) = match &request.position {
        Some(PageStart::Before(place)) => (Some(place), true),
        Some(PageStart::After(place)) => (Some(place), false),
        _ => (None, false),
    };
    let has_previous =
        if is_backward { content.has_more } else { came_from.is_some() || request.page > 1 };
    let has_next = is_backward || content.has_more;
    let before = |place: &SortPosition| AdjacentPage {
        page: request.page.saturating_sub(1).max(1),
        position: PageStart::Before(place.clone()),
    };
    let after = |place: &SortPosition| AdjacentPage {
        page: request.page.saturating_add(1),
        position: PageStart::After(place.clone()),
    };
    let previous = content.first.as_ref().or(came_from).filter(|_| has_previous).map(before);
    let next = content.last.as_ref().or(came_from).filter(|_| has_next).map(after);
    (previous, next)
}

fn with_snippets(
    mut page: ListedPage,
    search: &Search,
    fields: Option<&MemberNames>,
) -> ListedPage {
    for listed in &mut page.items {
        let item = &mut listed.shown.item;
        if let Ok(Some(members)) = Members::read(item.members.as_bytes()) {
            listed.snippet = search.snippet(&members);
            cut(item, fields);
        }
    }
    page
}

pub(crate) fn cut(item: &mut Item, fields: Option<&MemberNames>) {
    let Some(fields) = fields else { return };
    if let Ok(Some(members)) = Members::read(item.members.as_bytes()) {
        item.members = members
            .retain(|name, _| fields.iter().any(|field| field.as_ref() == name))
            .into_encoded();
    }
}

/// Finds the items of a relation, with one query for all items.
pub(super) async fn related(
    repository: &dyn ItemRepository,
    reach: &Reach,
    relation: Relation,
    items: &[&ShownItem],
) -> Result<Vec<ShownItem>> {
    if relation.kind == RelationKind::Children {
        let parents: Vec<_> = items.iter().map(|shown| shown.item.id).collect();
        if parents.is_empty() {
            return Ok(Vec::new());
        }
        let found = repository.belonging_to(reach, &parents, MOST_EMBEDDED + 1).await?;
        if found.len() as u64 > MOST_EMBEDDED {
            return Err(ApplicationError::TooMuchEmbedded);
        }
        return Ok(found);
    }
    let mut ids: Vec<_> = items.iter().filter_map(|shown| shown.related(relation.kind)).collect();
    ids.sort_unstable();
    ids.dedup();
    Ok(repository.find_many(reach, &ids).await?)
}
