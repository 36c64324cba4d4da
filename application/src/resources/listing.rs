//! The listing of a collection: pages, the links to adjacent pages, and the items embedded beside
//! the listed ones.

use std::collections::HashMap;
use std::sync::Arc;

use domain::{ItemId, Members, Relation, RelationKind};

use crate::ApplicationError;
use crate::ports::{ItemRepository, ListedItem, ListedPage, Revision, Scope, ShownItem};
use crate::query::{MemberNames, PageRequest, PageStart, Search, SortPosition, Total};

/// Most child items that are embedded in one answer.
pub const MOST_EMBEDDED: u64 = 5_000;

/// The previous or the next page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdjacentPage {
    /// Its number.
    pub page: u64,
    /// Where it begins or ends.
    pub position: PageStart,
}

/// Items embedded in others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Embedded(Vec<(Relation, Related)>);

/// The items of one relation.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Related {
    /// The children of items, by the id of their parent.
    Children(HashMap<ItemId, Vec<ShownItem>>),
    /// Items by their own id.
    ById(HashMap<ItemId, ShownItem>),
}

/// The items of one relation that are embedded in one item.
#[derive(Clone, Copy, Debug)]
pub enum EmbeddedItems<'a> {
    /// As many as there are.
    Many(&'a [ShownItem]),
    /// One, or none.
    One(Option<&'a ShownItem>),
}

impl<'a> EmbeddedItems<'a> {
    /// The items.
    #[must_use]
    pub fn items(self) -> &'a [ShownItem] {
        match self {
            Self::Many(items) => items,
            Self::One(item) => item.map_or(&[], std::slice::from_ref),
        }
    }
}

impl Embedded {
    /// The items of a relation that are embedded in `shown`; `None` when it was not asked for.
    #[must_use]
    pub fn of(&self, relation: Relation, shown: &ShownItem) -> Option<EmbeddedItems<'_>> {
        let (_, related) = self.0.iter().find(|(asked, _)| *asked == relation)?;
        Some(match related {
            Related::Children(by_parent) => {
                EmbeddedItems::Many(by_parent.get(&shown.item.id).map_or(&[], Vec::as_slice))
            }
            Related::ById(by_id) => {
                EmbeddedItems::One(related_id(relation, shown).and_then(|id| by_id.get(&id)))
            }
        })
    }

    /// Adds the related items of one relation.
    #[must_use]
    pub fn with(mut self, relation: Relation, items: Vec<ShownItem>) -> Self {
        let related = if relation.kind == RelationKind::Children {
            let mut by_parent: HashMap<ItemId, Vec<ShownItem>> = HashMap::new();
            for shown in items {
                if let Some(parent) = shown.item.parent {
                    by_parent.entry(parent).or_default().push(shown);
                }
            }
            Related::Children(by_parent)
        } else {
            Related::ById(items.into_iter().map(|shown| (shown.item.id, shown)).collect())
        };
        self.0.push((relation, related));
        self
    }

    /// Finds the related items, with one query for each relation, however many items there are.
    pub(crate) async fn find(
        repository: &dyn ItemRepository,
        embed: &[Relation],
        items: &[&ShownItem],
    ) -> Result<Self, ApplicationError> {
        let mut embedded = Self::default();
        for relation in embed {
            embedded = embedded.with(*relation, related(repository, *relation, items).await?);
        }
        Ok(embedded)
    }
}

/// The one item that an item is related to.
fn related_id(relation: Relation, shown: &ShownItem) -> Option<ItemId> {
    match relation.kind {
        RelationKind::Children => None,
        RelationKind::Parent => shown.item.parent,
        RelationKind::Reference(index) => shown.links.reference(index),
    }
}

/// A page of a collection with what a reader needs to walk the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Listing {
    /// The page, from 1.
    pub page: u64,
    /// Items per page.
    pub page_size: u64,
    /// How many pages there are, as far as it is known; 0 for an empty collection.
    pub page_count: Option<u64>,
    /// How many items there are.
    pub total: Total,
    /// The collection's revision.
    pub revision: Revision,
    /// The items of this page.
    pub content: Arc<ListedPage>,
    /// The page before.
    pub previous: Option<AdjacentPage>,
    /// The page after.
    pub next: Option<AdjacentPage>,
    /// The items embedded beside the listed ones.
    pub embedded: Embedded,
}

impl Listing {
    /// The answer to `request` that has this content.
    #[must_use]
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
        Self {
            page,
            page_size,
            page_count,
            total: content.total,
            revision: content.revision,
            content,
            previous,
            next,
            embedded,
        }
    }

    /// The items.
    #[must_use]
    pub fn items(&self) -> &[ListedItem] {
        &self.content.items
    }
}

/// Returns true when a page without items lies beyond the last page, rather than in an empty
/// collection. Returns `None` when this is not yet known.
pub(crate) fn lies_beyond(request: &PageRequest, page: &ListedPage) -> Option<bool> {
    if !page.items.is_empty() || request.position.is_some() || request.page == 1 {
        return Some(false);
    }
    match page.total {
        Total::Exact(total) => Some(total > 0 && request.page > total.div_ceil(request.page_size)),
        Total::AtLeast(_) => Some(true),
        Total::NotCounted => None,
    }
}

pub(crate) const fn page_count(total: Total, page_size: u64) -> Option<u64> {
    match total {
        Total::Exact(total) => Some(total.div_ceil(page_size)),
        Total::AtLeast(_) | Total::NotCounted => None,
    }
}

/// The pages before and after. What a page was walked to from is there, even if nobody looked.
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
        let Some(members) = Members::read(listed.shown.item.members.as_bytes()).ok().flatten()
        else {
            continue;
        };
        listed.snippet = search.snippet(&members);
        if let Some(fields) = fields {
            listed.shown.item.members = members
                .retain(|name, _| fields.iter().any(|field| field.as_ref() == name))
                .into_encoded();
        }
    }
    page
}

async fn related(
    repository: &dyn ItemRepository,
    relation: Relation,
    items: &[&ShownItem],
) -> Result<Vec<ShownItem>, ApplicationError> {
    if relation.kind == RelationKind::Children {
        let parents: Vec<_> = items.iter().map(|shown| shown.item.id).collect();
        if parents.is_empty() {
            return Ok(Vec::new());
        }
        let found = repository.belonging_to(relation.to, &parents, MOST_EMBEDDED + 1).await?;
        if found.len() as u64 > MOST_EMBEDDED {
            return Err(ApplicationError::TooMuchEmbedded);
        }
        return Ok(found);
    }
    let mut ids: Vec<_> = items.iter().filter_map(|shown| related_id(relation, shown)).collect();
    ids.sort_unstable();
    ids.dedup();
    Ok(repository.find_many(Scope { collection: relation.to, parent: None }, &ids).await?)
}
