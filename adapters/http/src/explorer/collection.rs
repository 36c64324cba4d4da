//! The page of a collection: a table with search, filters, order, columns and pages.

use std::sync::Arc;

use application::query::Total;
use application::{Caller, ItemAddress, ListedItem, Listing, MemberCounts, ValueCount, View};
use askama::Template;
use domain::{Collection, ItemId, Operation, Value};
use poem::Request;
use poem::http::StatusCode;

use super::cells::{self, Cell, ShownValue};
use super::charts::{Chart, Count};
use super::children::use_references;
use super::filters::{FilterControl, Filters, named_items, without_refused};
use super::links::escaped;
use super::page::{Layout, render};
use super::reader::ShownTime;
use super::titles::{Titles, references};
use super::{Explorer, found, target};
use crate::groups::Group;
use crate::headers::link::Targets;
use crate::problem::Result;
use crate::query::{
    CollectionQuery, EXPORT_PARAMETERS, OF_A_PAGE, Parameter, pieces, query_of, values, with_query,
    without,
};
use crate::request::caller::caller_of;
use crate::time::TIME;

/// The choices of the number of rows; a query may have others.
const PAGE_SIZES: [u64; 4] = [10, 25, 100, 250];

#[derive(Template)]
#[template(path = "explorer/collection.html")]
struct CollectionPage<'a> {
    layout: Layout<'a>,
    group: Group,
    parent: Option<Parent>,
    total: String,
    query: Query<'a>,
    columns: Vec<ColumnHead>,
    rows: Vec<ItemRow>,
    pages: Pages,
    /// Names and labels; true for the columns that are shown.
    members: Vec<(&'static str, String, bool)>,
    filters: Filters,
    as_of: Option<ShownTime>,
    counts: Option<Chart>,
    tools: Tools,
}

impl CollectionPage<'_> {
    fn has_present(&self) -> bool {
        self.parent.as_ref().is_none_or(|parent| parent.title.is_some())
    }
}

/// The item to which the items of a nested group belong.
struct Parent {
    href: String,
    /// `None` if it was deleted, or is hidden.
    title: Option<String>,
}

/// The addresses of pages; `None` for those that the caller may not open.
struct Tools {
    new: Option<String>,
    import: Option<String>,
    deleted: Option<String>,
    downloads: Vec<(String, String)>,
    /// True if the caller may see earlier states.
    has_earlier: bool,
}

struct Query<'a> {
    raw: &'a str,
    path: String,
    page_size: u64,
}

struct ColumnHead {
    label: String,
    /// The address of the page in this order; empty if it cannot be sorted.
    sorted: String,
    direction: &'static str,
}

struct ItemRow {
    href: String,
    title: String,
    cells: Vec<Cell>,
    updated_at: ShownTime,
    snippet: Option<String>,
}

struct Pages {
    number: u64,
    count: Option<u64>,
    first: Option<String>,
    previous: Option<String>,
    next: Option<String>,
    last: Option<String>,
}

impl Explorer {
    /// Ignores malformed filters, but with an error status.
    pub(super) async fn show_collection(
        &self,
        group: Group,
        request: &Request,
    ) -> Result<(StatusCode, String)> {
        let (raw, refused) = without_refused(group, query_of(request));
        let (raw, caller, collection) = (&*raw, caller_of(request), group.collection);
        let status = if refused.is_empty() { StatusCode::OK } else { StatusCode::BAD_REQUEST };
        let parent = group.parent().map(|of| target(request).map(|item| (of, item.id)));
        let parent = parent.transpose()?;
        let id = parent.map(|(_, id)| id);
        let mut query = CollectionQuery::read(group, raw, id)?;
        let names = columns(group, query.request.view.fields.as_deref());
        query.request.view.fields = Some(Arc::clone(&names));
        query.request.view.embed.clear();
        use_references(collection, &mut query.request.selection.filters);
        let service = self.service(group)?;
        let listing = match query.as_of {
            Some(time) => service.list_at(caller, id, time, &query.request).await?,
            None => service.list(caller, id, &query.request).await?,
        };
        let path = match parent {
            Some((of, id)) => self.links.children(of.collection, id, collection),
            None => self.links.collection(collection),
        };
        let command = self.command(&group.collection_path(id), raw);
        let mut layout = self.layout(request, "", collection.name(), command);
        layout.reader.group(collection).clone_into(&mut layout.title);
        let linked = listing.items().iter().flat_map(|it| references(collection, &it.shown.item));
        let linked: Vec<_> = linked.chain(named_items(collection, raw)).collect();
        let titles = self.titles(caller, linked).await?;
        let selection = (group, raw, path.as_str());
        let context = (caller, &layout.reader, &titles);
        let filters = self.filters(context, selection, &names, refused).await?;
        let shown = Query { raw, page_size: query.request.page_size, path: path.clone() };
        let page = render(&CollectionPage {
            group,
            parent: self.parent(caller, parent).await?,
            total: total(&listing, group, &layout),
            columns: shown.columns(group, &names, query.as_of.is_some(), &layout),
            rows: self.rows(group, &listing, (&names, &titles, &layout), query.as_of),
            pages: Pages::of(&listing, &query.targets(&path, &listing)),
            members: members(group, &names, &layout),
            filters,
            as_of: query.as_of.map(|time| layout.reader.time(time)),
            counts: shown.counts(collection, &listing, &layout),
            tools: self.tools(caller, group, &shown),
            query: shown,
            layout,
        })?;
        Ok((status, page))
    }

    fn tools(&self, caller: &Caller, group: Group, query: &Query<'_>) -> Tools {
        let may = |operation| self.may(caller, group.collection, operation);
        let (path, may_create) = (&query.path, may(Operation::Create));
        Tools {
            new: may_create.then(|| format!("{path}/new")),
            deleted: (may(Operation::History) && !group.is_nested())
                .then(|| format!("{path}/deleted")),
            import: (may_create && !group.is_nested()).then(|| format!("{path}/import")),
            downloads: self.downloads(group, query.raw),
            has_earlier: may(Operation::History),
        }
    }

    async fn parent(
        &self,
        caller: &Caller,
        parent: Option<(Group, ItemId)>,
    ) -> Result<Option<Parent>> {
        let Some((of, id)) = parent else { return Ok(None) };
        let address = ItemAddress { parent: None, id };
        let shown = found(self.service(of)?.get(caller, address, &View::default()).await)?;
        let title = shown.map(|(shown, _)| cells::title(&shown.item, of.columns));
        Ok(Some(Parent { title, href: self.links.item(of.collection, id) }))
    }

    fn rows(
        &self,
        group: Group,
        listing: &Listing,
        (names, titles, layout): (&[Arc<str>], &Titles, &Layout<'_>),
        as_of: Option<jiff::Timestamp>,
    ) -> Vec<ItemRow> {
        let at = as_of.map(|time| TIME.timestamp_to_string(&time));
        let at = at.map(|time| format!("?as_of={}", escaped(&time))).unwrap_or_default();
        let place = (&layout.reader, &self.links);
        let row = |listed: &ListedItem| {
            let item = &listed.shown.item;
            let members = Value::from_encoded(&item.members);
            let cell = |name: &Arc<str>| {
                let value = ShownValue::of(members.member(name));
                titles.cell(place, group.collection, (name, &value))
            };
            ItemRow {
                href: format!("{}{at}", self.links.item(group.collection, item.id)),
                title: cells::title(item, names.first().map(AsRef::as_ref).as_slice()),
                cells: names.iter().skip(1).map(cell).collect(),
                updated_at: layout.reader.time(item.updated_at),
                snippet: listed.snippet.clone(),
            }
        };
        listing.items().iter().map(row).collect()
    }
}

/// The chosen columns. The title is always the first one.
fn columns(group: Group, chosen: Option<&[Arc<str>]>) -> Arc<[Arc<str>]> {
    let Some(chosen) = chosen else {
        return group.columns.iter().map(|name| Arc::from(*name)).collect();
    };
    let title: Arc<str> = group.columns[0].into();
    let others = chosen.iter().filter(|name| **name != title).cloned();
    std::iter::once(Arc::clone(&title)).chain(others).collect()
}

fn members(
    group: Group,
    names: &[Arc<str>],
    layout: &Layout<'_>,
) -> Vec<(&'static str, String, bool)> {
    let is_shown = |name: &str| names.iter().any(|shown| **shown == *name);
    let member = |(name, ..): (&'static str, _, _)| {
        (name, layout.reader.label(group.collection, name), is_shown(name))
    };
    group.members_by_name().map(member).collect()
}

pub(super) fn exported(raw: &str) -> String {
    let is_taken = |piece: &&str| match Parameter::read(piece) {
        Ok(Parameter::Filter(_)) => true,
        Ok(Parameter::Plain { name, .. }) => EXPORT_PARAMETERS.contains(&name.as_str()),
        Err(_) => false,
    };
    pieces(raw).filter(is_taken).collect::<Vec<_>>().join("&")
}

impl Query<'_> {
    fn value(&self, name: &str) -> String {
        values(self.raw, name).next().unwrap_or_default()
    }

    /// The parameters for hidden inputs, without filters if `own` names them.
    fn kept(&self, own: &[&str]) -> Vec<(String, String)> {
        let kept = without(self.raw, &[own, &OF_A_PAGE].concat());
        let read = kept.into_iter().filter_map(|piece| {
            Some(match Parameter::read(piece).ok()? {
                Parameter::Plain { name, value } => (name, value),
                Parameter::Filter(_) if own.contains(&"filter") => return None,
                Parameter::Filter(filter) => {
                    let operator =
                        filter.operator.map(|name| format!("[{name}]")).unwrap_or_default();
                    (format!("filter[{}]{operator}", escaped(&filter.member)), filter.value)
                }
            })
        });
        read.collect()
    }

    fn counts(
        &self,
        collection: Collection,
        listing: &Listing,
        layout: &Layout<'_>,
    ) -> Option<Chart> {
        let MemberCounts { values, rest, absent } = listing.content.counts.as_ref()?;
        let member = self.value("count_by");
        let bar = |count: &ValueCount| {
            let value = Value::from_encoded(&count.value);
            let href = value.as_written().map(|written| {
                let filter = format!("filter[{}]={}", escaped(&member), escaped(&written));
                self.with("count_by", &filter)
            });
            let text = ShownValue::of(Some(value)).short();
            let label = layout.reader.choice(collection, &member, &text);
            Count::of_items(label, count.items, href)
        };
        let others = [("another value", *rest), ("no value", *absent)];
        let others = others.into_iter().filter(|(_, items)| *items > 0);
        let others = others.map(|(label, items)| Count::of_items(label.to_owned(), items, None));
        let bars = values.iter().map(bar).chain(others).collect();
        Some(Chart::new(format!("By {}", layout.reader.label(collection, &member)), bars))
    }

    fn columns(
        &self,
        group: Group,
        names: &[Arc<str>],
        is_past: bool,
        layout: &Layout<'_>,
    ) -> Vec<ColumnHead> {
        let sort = self.value("sort");
        let column = |name: &str| {
            let (direction, next) = if sort == name {
                ("ascending", format!("-{name}"))
            } else if sort.strip_prefix('-') == Some(name) {
                ("descending", name.to_owned())
            } else {
                ("none", name.to_owned())
            };
            let sort = format!("sort={}", escaped(&next));
            let sorted = if is_past { String::new() } else { self.with("sort", &sort) };
            ColumnHead { label: layout.reader.label(group.collection, name), sorted, direction }
        };
        names.iter().map(AsRef::as_ref).chain(["updated_at"]).map(column).collect()
    }

    fn with(&self, replaced: &str, piece: &str) -> String {
        let mut query = without(self.raw, &[&OF_A_PAGE[..], &[replaced]].concat());
        query.push(piece);
        with_query(&self.path, &query.join("&"))
    }
}

impl Pages {
    fn of(listing: &Listing, targets: &Targets) -> Self {
        let to = |relation: &str| {
            let target = targets.iter().find(|(own, _)| *own == relation);
            target.map(|(_, url)| url.clone())
        };
        Self {
            number: listing.page,
            count: listing.page_count,
            first: to("first").filter(|_| listing.page > 1),
            previous: to("prev"),
            next: to("next"),
            last: to("last").filter(|_| listing.page_count > Some(1) && listing.next.is_some()),
        }
    }
}

fn total(listing: &Listing, group: Group, layout: &Layout<'_>) -> String {
    let number = |count: u64| layout.reader.count(&count);
    match listing.content.total {
        Total::Exact(1) => format!("1 {}", group.noun()),
        Total::Exact(count) => format!("{} {}", number(count), group.items_name),
        Total::AtLeast(count) => format!("at least {} {}", number(count), group.items_name),
        Total::NotCounted => format!("{} (not counted)", group.items_name),
    }
}
