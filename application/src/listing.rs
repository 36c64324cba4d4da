//! What a reader gets of a collection: pages, the ways on from them, and what is shown beside the
//! items.

use std::collections::HashMap;
use std::sync::Arc;

use domain::{Collection, ItemId, Members};

use crate::ports::{ItemRepository, ListedItem, ListedPage, Revision, Scope, ShownItem};
use crate::query::{
    Embed, MemberNames, PageQuery, Place, Position, Selection, SortKey, Subject, Total,
};
use crate::{ApplicationError, Search};

/// Most library items that are embedded in one answer.
pub const MOST_EMBEDDED: u64 = 5_000;

/// Which page of a collection is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// The page, from 1. Beside a place it is but the number to show.
    pub page: u64,
    /// Items per page, from 1.
    pub page_size: u64,
    /// Where the page begins or ends, when a link told.
    pub position: Option<Position>,
    /// Which items.
    pub selection: Selection,
    /// In which order; by default the best matches first where something is looked for, otherwise
    /// the oldest first.
    pub order: Vec<SortKey>,
    /// Whether the items are counted.
    pub is_counted: bool,
    /// What is shown of each.
    pub view: View,
}

/// What is shown of items.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Only these members; `None` for all.
    pub fields: Option<MemberNames>,
    /// What else is shown with them.
    pub embed: Vec<Embed>,
}

impl View {
    /// Collections whose writes change what is shown of items of `collection`.
    #[must_use]
    pub fn related(&self, collection: Collection) -> Vec<Collection> {
        let embedded = self
            .embed
            .iter()
            .flat_map(|embed| [&[embed.collection()], embed.collection().linked()].concat());
        let mut related: Vec<_> = collection
            .linked()
            .iter()
            .copied()
            .chain(embedded)
            .filter(|other| *other != collection)
            .collect();
        related.sort_unstable_by_key(|collection| collection.name());
        related.dedup();
        related
    }
}

impl PageRequest {
    /// A page of all items in the order of their creation, shown whole.
    #[must_use]
    pub const fn plain(page: u64, page_size: u64) -> Self {
        Self {
            page,
            page_size,
            position: None,
            selection: Selection { filters: Vec::new(), search: None },
            order: Vec::new(),
            is_counted: true,
            view: View { fields: None, embed: Vec::new() },
        }
    }

    pub(crate) fn query(&self, collection: Collection) -> PageQuery {
        let is_search = self.selection.search.is_some();
        let best_first = || vec![SortKey { subject: Subject::Score, descending: true }];
        PageQuery {
            selection: self.selection.clone(),
            order: if is_search && self.order.is_empty() {
                best_first()
            } else {
                self.order.clone()
            },
            position: self.position.clone().unwrap_or_else(|| Position::Offset(self.offset())),
            limit: self.page_size,
            // A snippet is made of all texts.
            fields: self.view.fields.clone().filter(|_| !is_search),
            is_counted: self.is_counted,
            related: self.view.related(collection),
        }
    }

    const fn offset(&self) -> u64 {
        (self.page - 1).saturating_mul(self.page_size)
    }

    /// Whether a page without items lies beyond the last, rather than in an empty collection.
    /// `None`: nobody knows yet.
    pub(crate) fn lies_beyond(&self, page: &ListedPage) -> Option<bool> {
        if !page.items.is_empty() || self.position.is_some() || self.page == 1 {
            return Some(false);
        }
        match page.total {
            Total::Exact(total) => Some(total > 0 && self.page > total.div_ceil(self.page_size)),
            Total::AtLeast(_) => Some(true),
            Total::NotCounted => None,
        }
    }
}

/// The way to a neighbouring page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Its number.
    pub page: u64,
    /// Where it begins or ends.
    pub position: Position,
}

/// What is shown beside items, by the id of the item it is shown with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Embedded {
    /// The library items of proposals.
    pub libraries: Option<HashMap<ItemId, Vec<ShownItem>>>,
    /// The programmes of proposals, by their own id.
    pub programs: Option<HashMap<ItemId, ShownItem>>,
    /// The proposals of library items, by their own id.
    pub proposals: Option<HashMap<ItemId, ShownItem>>,
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
    pub previous: Option<Neighbour>,
    /// The page after.
    pub next: Option<Neighbour>,
    /// What is shown beside the items.
    pub embedded: Embedded,
}

impl Listing {
    pub(crate) fn new(request: &PageRequest, content: Arc<ListedPage>, embedded: Embedded) -> Self {
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
) -> (Option<Neighbour>, Option<Neighbour>) {
    let (came_from, is_backward) = match &request.position {
        Some(Position::Before(place)) => (Some(place), true),
        Some(Position::After(place)) => (Some(place), false),
        _ => (None, false),
    };
    let has_previous =
        if is_backward { content.goes_on } else { came_from.is_some() || request.page > 1 };
    let has_next = is_backward || content.goes_on;
    let before = |place: &Place| Neighbour {
        page: request.page.saturating_sub(1).max(1),
        position: Position::Before(place.clone()),
    };
    let after = |place: &Place| Neighbour {
        page: request.page.saturating_add(1),
        position: Position::After(place.clone()),
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

/// Finds what is shown beside items, with one query for each sort, however many items there are.
pub(crate) async fn embedded(
    repository: &dyn ItemRepository,
    embed: &[Embed],
    items: &[&ShownItem],
) -> Result<Embedded, ApplicationError> {
    let mut embedded = Embedded::default();
    for sort in embed {
        match sort {
            Embed::Library => embedded.libraries = Some(libraries(repository, items).await?),
            Embed::Program => {
                embedded.programs = Some(
                    by_id(
                        repository,
                        *sort,
                        items.iter().filter_map(|shown| shown.relations.program),
                    )
                    .await?,
                );
            }
            Embed::Proposal => {
                embedded.proposals = Some(
                    by_id(repository, *sort, items.iter().filter_map(|shown| shown.item.parent))
                        .await?,
                );
            }
        }
    }
    Ok(embedded)
}

async fn libraries(
    repository: &dyn ItemRepository,
    items: &[&ShownItem],
) -> Result<HashMap<ItemId, Vec<ShownItem>>, ApplicationError> {
    let owners: Vec<_> = items.iter().map(|shown| shown.item.id).collect();
    let found = if owners.is_empty() {
        Vec::new()
    } else {
        repository.belonging_to(Collection::LIB, &owners, MOST_EMBEDDED + 1).await?
    };
    if found.len() as u64 > MOST_EMBEDDED {
        return Err(ApplicationError::TooMuchEmbedded);
    }
    let mut libraries: HashMap<ItemId, Vec<ShownItem>> = HashMap::new();
    for shown in found {
        if let Some(owner) = shown.item.parent {
            libraries.entry(owner).or_default().push(shown);
        }
    }
    Ok(libraries)
}

async fn by_id(
    repository: &dyn ItemRepository,
    embed: Embed,
    ids: impl Iterator<Item = ItemId>,
) -> Result<HashMap<ItemId, ShownItem>, ApplicationError> {
    let mut ids: Vec<_> = ids.collect();
    ids.sort_unstable();
    ids.dedup();
    let found =
        repository.find_many(Scope { collection: embed.collection(), parent: None }, &ids).await?;
    Ok(found.into_iter().map(|shown| (shown.item.id, shown)).collect())
}
