//! The query of a request: which parameters an operation knows, and what it makes of
//! them.
//!
//! An unknown parameter, a parameter given twice and a value that makes no sense are all 400, with
//! the nearest right name where there is one: a misspelt filter that was ignored would show items
//! nobody asked for. A request without a query is not parsed at all.

mod as_of;
pub mod change_cursor;
mod changes;
mod cursor;
mod fault;
mod filter;
mod fingerprint;
mod names;
mod page_links;
mod paging;
mod pairs;
mod parameters;
mod search;
mod sort;
mod versions;
mod view;
mod write;

#[cfg(test)]
mod tests;

use application::query::{Selection, Subject};
use application::{PageRequest, View};
use domain::ItemId;
use jiff::Timestamp;

pub use changes::{CHANGES_PARAMETERS, ChangesQuery, STREAM_PARAMETERS};
pub use fault::invalid;
pub use filter::OPERATORS;
pub use names::{MOST_IN_NAMES, MOST_VALUE, TIMES};
pub use page_links::PageLinks;
pub use paging::{DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, TOTALS};
pub use sort::MOST_KEYS;
pub use versions::{VersionsQuery, difference_from, version};
pub use view::MOST_FIELDS;
pub use write::{SWITCH, is_dry_run};

use crate::groups::{Group, Operation};
use crate::problem::Problem;
use fingerprint::Fingerprint;
use names::Names;
use pairs::{Name, Pair, pieces};
use parameters::Parameters;

/// The parameters that an operation takes, for the parser and the document; `filter` is followed by
/// names in brackets.
#[must_use]
pub const fn known(operation: Operation) -> &'static [&'static str] {
    match operation {
        Operation::List => &[
            "page",
            "page_size",
            "cursor",
            "filter",
            "sort",
            "fields",
            "embed",
            "q",
            "total",
            "as_of",
        ],
        Operation::Get => &["fields", "embed", "as_of", "check"],
        Operation::ListVersions => &["page", "page_size"],
        Operation::GetVersion => &[],
        Operation::Compare => &["from"],
        Operation::Create
        | Operation::Patch
        | Operation::Replace
        | Operation::Delete
        | Operation::Continue
        | Operation::ReplaceAll
        | Operation::Restore => &["dry_run"],
    }
}

/// The query of something that knows no parameters.
///
/// # Errors
/// 400 for any.
pub fn refuse_parameters(query: &str) -> Result<(), Problem> {
    if query.is_empty() { Ok(()) } else { Parameters::read(query, &[]).map(|_| ()) }
}

/// The query of an item, understood.
#[derive(Clone, Debug, Default)]
pub struct ItemQuery {
    /// The part of it that is shown.
    pub view: View,
    /// When it is looked at, if not now.
    pub as_of: Option<Timestamp>,
    /// True if rules are asked what they would say of it now.
    pub is_checked: bool,
}

impl ItemQuery {
    /// Reads the query of an item.
    ///
    /// # Errors
    /// 400 naming the parameter and the values it takes.
    pub fn read(group: Group, query: &str) -> Result<Self, Problem> {
        if query.is_empty() {
            return Ok(Self::default());
        }
        let parameters = Parameters::read(query, known(Operation::Get))?;
        let is_checked = write::is_set(&parameters, "check")?;
        if is_checked
            && ["fields", "as_of"].into_iter().any(|other| parameters.get(other).is_some())
        {
            return Err(invalid(
                "`check` asks the rules about the whole item as it is now; leave `fields` and `as_of` out.",
            ));
        }
        Ok(Self {
            view: view::read(group, &parameters)?,
            as_of: as_of::read(&parameters)?,
            is_checked,
        })
    }
}

/// The query of a collection, understood.
#[derive(Clone, Debug)]
pub struct CollectionQuery<'a> {
    /// The page for the use case.
    pub request: PageRequest,
    /// When the collection is looked at, if not now.
    pub as_of: Option<Timestamp>,
    raw: &'a str,
    fingerprint: Fingerprint,
}

impl<'a> CollectionQuery<'a> {
    /// The first page of all items.
    #[must_use]
    pub fn plain(group: Group, parent: Option<ItemId>) -> Self {
        let fingerprint = Fingerprint::of(group.collection, parent, &Parameters::default());
        Self {
            request: PageRequest::plain(1, DEFAULT_PAGE_SIZE),
            as_of: None,
            raw: "",
            fingerprint,
        }
    }

    /// Reads the query of a collection, or of the part of it that belongs to `parent`.
    ///
    /// # Errors
    /// 400 naming the parameter and the values it takes.
    pub fn read(group: Group, raw: &'a str, parent: Option<ItemId>) -> Result<Self, Problem> {
        if raw.is_empty() {
            return Ok(Self::plain(group, parent));
        }
        let parameters = Parameters::read(raw, known(Operation::List))?;
        let names = Names::of(group);
        let (page, page_size) = paging::read(&parameters)?;
        let mut request = PageRequest::plain(page, page_size);
        request.selection = Selection {
            filters: filter::read(&parameters.filters, names)?,
            search: search::read(&parameters)?,
        };
        request.order = sort::read(&parameters, names)?;
        request.is_counted = paging::is_counted(&parameters)?;
        request.view = view::read(group, &parameters)?;
        let fingerprint = Fingerprint::of(group.collection, parent, &parameters);
        if let Some(cursor) = parameters.get("cursor") {
            request.position = Some(cursor::read(cursor, fingerprint, &remembered(&request))?);
        }
        Ok(Self { request, as_of: as_of::read(&parameters)?, raw, fingerprint })
    }

    /// The links to the other pages.
    #[must_use]
    pub const fn links(&self) -> PageLinks<'a> {
        PageLinks::new(self.raw, self.fingerprint)
    }
}

/// Tells whether a collection that was asked for with this query may lack items or members that it
/// has: it is not to be put back as a whole.
#[must_use]
pub fn shows_a_part(query: &str) -> bool {
    let is_part = |name: &Name<'_>| match name {
        Name::Filter { .. } => true,
        Name::Plain(name) => matches!(name.as_ref(), "q" | "fields" | "cursor" | "as_of"),
    };
    pieces(query).any(|piece| Pair::read(piece).is_ok_and(|pair| is_part(&pair.name)))
}

/// The keys that a place in the order has beside the id. The id is the last key of any order; what
/// would come after it sorts nothing.
fn remembered(request: &PageRequest) -> Vec<&Subject> {
    if request.order.is_empty() && request.selection.search.is_some() {
        return vec![&Subject::Score];
    }
    request
        .order
        .iter()
        .map(|key| &key.subject)
        .take_while(|subject| **subject != Subject::Id)
        .collect()
}
