//! Estimates the cost of a page: without an index for it, every item of the scope is looked at.

use application::Reach;
use application::query::{Comparison, Condition, Filter, PageQuery, Subject};
use domain::Predicate;

use crate::sql::indexed_columns;

/// Every query of a scope with this number of items is fast.
const FEW: u64 = 2_000;

pub(crate) const fn is_large(items: u64) -> bool {
    items > FEW
}

/// Returns whether an index leads to the items. A search is not cheap: it ranks thousands of items.
pub(crate) fn is_indexed(reach: &Reach, query: &PageQuery) -> bool {
    let collection = reach.scope().collection;

    let first = query.order.first().map_or(&Subject::Id, |key| &key.subject);
    let is_ordered = matches!(first, Subject::Id | Subject::UpdatedAt);
    let is_served = |filter: &Filter| match (&filter.subject, &filter.condition) {
        (Subject::Member { name, .. }, condition) => {
            indexed_columns::column(collection, name).is_some()
                && reach.shows(name) == Predicate::TRUE
                && match condition {
                    Condition::Compare(comparison, _) => *comparison != Comparison::NotEqual,
                    Condition::In(_) => true,
                    Condition::Contains(_) | Condition::Exists(_) => false,
                }
        }
        (Subject::UpdatedAt, Condition::Compare(..)) => *first == Subject::UpdatedAt,
        _ => false,
    };
    // Counting by value reads all selected items, even for a short page.
    let is_page_alone = query.count_by.is_none();
    is_page_alone && is_ordered && query.selection.filters.iter().all(is_served)
}
