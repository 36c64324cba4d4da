use std::sync::Arc;

use domain::{Collection, Relation};

use super::filter::{Filter, Subject};
use super::search::Search;
use super::sort::{SortKey, SortPosition};

/// Matches beyond this number are not counted; the total is then a lower bound. A search ranks only
/// this number.
pub const COUNTED_MATCHES: u64 = 10_000;

/// The limit of values in counts by value.
pub const COUNTED_VALUES: u64 = 100;

/// The limit of characters of a counted value's JSON text.
pub const LONGEST_COUNTED_VALUE: u64 = 200;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Selection {
    /// All must hold.
    pub filters: Vec<Filter>,
    pub search: Option<Search>,
}

impl Selection {
    pub const fn is_everything(&self) -> bool {
        self.filters.is_empty() && self.search.is_none()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PageStart {
    /// After this number of items.
    Offset(u64),
    /// After this place in the order.
    After(SortPosition),
    /// The page that ends before this place.
    Before(SortPosition),
}

pub type MemberNames = Arc<[Arc<str>]>;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PageQuery {
    pub selection: Selection,
    /// The order; ties are in the order of ids.
    pub order: Vec<SortKey>,
    pub position: PageStart,
    pub limit: u64,
    /// Only these members; `None` for all.
    pub fields: Option<MemberNames>,
    pub is_counted: bool,
    /// The member for counts by value.
    pub count_by: Option<Subject>,
    /// Other collections whose writes change the page.
    pub related: Vec<Collection>,
}

impl PageQuery {
    pub(crate) fn all(collection: Collection, limit: u64) -> Self {
        Self { is_counted: false, ..PageRequest::plain(1, limit).query(collection) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Total {
    Exact(u64),
    AtLeast(u64),
    NotCounted,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// 1-based. With a cursor it is display-only.
    pub page: u64,
    pub page_size: u64,
    pub position: Option<PageStart>,
    pub selection: Selection,
    /// By default the best matches first in a search, otherwise the oldest first.
    pub order: Vec<SortKey>,
    pub is_counted: bool,
    pub count_by: Option<Subject>,
    pub view: View,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Only these members; `None` for all.
    pub fields: Option<MemberNames>,
    pub embed: Vec<Relation>,
}

impl View {
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
            // A snippet needs all texts.
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
