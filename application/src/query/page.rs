//! Pages of items.

use std::sync::Arc;

use domain::{Collection, Relation};

use super::filter::{Filter, Subject};
use super::search::Search;
use super::sort::{SortKey, SortPosition};

/// Matches are counted up to this number; beyond it the total is a lower bound. A search ranks no
/// more.
pub const COUNTED_MATCHES: u64 = 10_000;

/// Most values by which items are counted.
pub const COUNTED_VALUES: u64 = 100;

/// Most characters of the JSON text of a value by which items are counted.
pub const LONGEST_COUNTED_VALUE: u64 = 200;

/// A selection of the items of a scope: those that pass every filter and match the search.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Selection {
    /// All must hold.
    pub filters: Vec<Filter>,
    /// The full-text search, if any.
    pub search: Option<Search>,
}

impl Selection {
    /// Returns true when every item of the scope is selected.
    pub const fn is_everything(&self) -> bool {
        self.filters.is_empty() && self.search.is_none()
    }
}

/// Where a page begins.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PageStart {
    /// After so many items.
    Offset(u64),
    /// After this place in the order.
    After(SortPosition),
    /// Before this place: the page that ends there.
    Before(SortPosition),
}

/// Names of members.
pub type MemberNames = Arc<[Arc<str>]>;

/// A page as it is asked of the repository.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PageQuery {
    /// The selection of items.
    pub selection: Selection,
    /// In which order; items that are equal by it are ordered by id.
    pub order: Vec<SortKey>,
    /// From where.
    pub position: PageStart,
    /// Most items of the page.
    pub limit: u64,
    /// Only these members; `None` for all.
    pub fields: Option<MemberNames>,
    /// True when the matches are counted.
    pub is_counted: bool,
    /// The member by whose values the selected items are counted.
    pub count_by: Option<Subject>,
    /// Collections whose writes change what the page shows, beside the scope's own.
    pub related: Vec<Collection>,
}

impl PageQuery {
    /// The first items of a collection, in the order of their creation, uncounted.
    pub(crate) fn all(collection: Collection, limit: u64) -> Self {
        Self { is_counted: false, ..PageRequest::plain(1, limit).query(collection) }
    }
}

/// How many items there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Total {
    /// Exactly this many.
    Exact(u64),
    /// A lower bound: this number or more.
    AtLeast(u64),
    /// They were not counted.
    NotCounted,
}

/// A request for a page of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// 1-based page number. With a cursor it is display-only.
    pub page: u64,
    /// Items per page, from 1.
    pub page_size: u64,
    /// The cursor where the page begins or ends, if the request has one.
    pub position: Option<PageStart>,
    /// The selection of items.
    pub selection: Selection,
    /// In which order; by default the best matches first where something is looked for, otherwise
    /// the oldest first.
    pub order: Vec<SortKey>,
    /// True when the items are counted.
    pub is_counted: bool,
    /// The member by whose values all items of the selection are counted.
    pub count_by: Option<Subject>,
    /// The parts of each item that are shown.
    pub view: View,
}

/// The parts of items that are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Only these members; `None` for all.
    pub fields: Option<MemberNames>,
    /// The relations whose items are embedded.
    pub embed: Vec<Relation>,
}

impl View {
    /// The collections whose writes change how items of `collection` are shown.
    pub fn related(&self, collection: Collection) -> Vec<Collection> {
        let embedded = self
            .embed
            .iter()
            .flat_map(|relation| std::iter::once(relation.to).chain(relation.to.referenced()));
        let mut related: Vec<_> =
            collection.referenced().chain(embedded).filter(|other| *other != collection).collect();
        related.sort_unstable_by_key(|collection| collection.name());
        related.dedup();
        related
    }
}

impl PageRequest {
    /// A page of all items in the order of their creation, shown whole.
    pub const fn plain(page: u64, page_size: u64) -> Self {
        Self {
            page,
            page_size,
            position: None,
            selection: Selection { filters: Vec::new(), search: None },
            order: Vec::new(),
            is_counted: true,
            count_by: None,
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
            position: self.position.clone().unwrap_or_else(|| PageStart::Offset(self.offset())),
            limit: self.page_size,
            // A snippet is made of all texts.
            fields: self.view.fields.clone().filter(|_| !is_search),
            is_counted: self.is_counted,
            count_by: self.count_by.clone(),
            related: self.view.related(collection),
        }
    }

    const fn offset(&self) -> u64 {
        (self.page - 1).saturating_mul(self.page_size)
    }
}
