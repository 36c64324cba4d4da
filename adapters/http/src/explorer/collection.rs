//! The page of a collection: a table with search, filters, order, columns and pages.

use std::sync::Arc;

use application::query::Total;
use application::{Caller, ItemAddress, ListedItem, Listing, MemberCounts, ValueCount, View};
use askama::Template;
use domain::{ItemId, Operation, Value};
use poem::Request;
use poem::http::StatusCode;

use super::cells::{self, ShownValue, capitalized};
use super::charts::{Chart, Count};
use super::filters::{RefusedFilter, without_refused};
use super::links::escaped;
use super::page::{Layout, render};
use super::{Explorer, found, target};
use crate::groups::Group;
use crate::headers::link::Targets;
use crate::problem::Result;
use crate::query::{
    CollectionQuery, EXPORT_PARAMETERS, OF_A_PAGE, OPERATORS, Parameter, pieces, query_of, values,
    with_query, without,
};
use crate::request::caller::caller_of;
use crate::time::TIME;

#[derive(Template)]
#[template(path = "explorer/collection.html")]
struct CollectionPage<'a> {
    layout: Layout<'a>,
    group: Group,
    total: String,
    query: Query<'a>,
    columns: Vec<ColumnHead<'a>>,
    rows: Vec<ItemRow>,
    pages: Pages,
    /// Names and descriptions; true for the columns that are shown.
    members: Vec<(&'static str, &'static str, bool)>,
    /// The form shows the first one.
    refused: Vec<RefusedFilter>,
    as_of: Option<String>,
    now: String,
    counts: Option<Chart>,
    /// `None` if the caller may not create items.
    new: Option<String>,
    /// `None` for nested groups too.
    import: Option<String>,
    downloads: Vec<(String, String)>,
    /// True if the caller may see earlier states.
    has_earlier: bool,
}

struct Query<'a> {
    raw: &'a str,
    path: String,
}

/// A name, the address of the page in this order, and the direction.
type ColumnHead<'a> = (&'a str, String, &'static str);

struct ItemRow {
    href: String,
    title: String,
    cells: Vec<String>,
    updated_at: String,
    snippet: Option<String>,
}

struct Pages {
    here: String,
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
        let raw = &*raw;
        let status = if refused.is_empty() { StatusCode::OK } else { StatusCode::BAD_REQUEST };
        let parent = group.parent().map(|of| target(request).map(|item| (of, item.id)));
        let parent = parent.transpose()?;
        let id = parent.map(|(_, id)| id);
        let mut query = CollectionQuery::read(group, raw, id)?;
        let chosen = query.request.view.fields.clone();
        let names =
            chosen.unwrap_or_else(|| group.columns.iter().map(|name| Arc::from(*name)).collect());
        query.request.view.fields = Some(Arc::clone(&names));
        query.request.view.embed.clear();
        let service = self.service(group)?;
        let listing = match query.as_of {
            Some(time) => service.list_at(caller_of(request), id, time, &query.request).await?,
            None => service.list(caller_of(request), id, &query.request).await?,
        };
        let (title, command) =
            (capitalized(group.items_name), self.command(&group.collection_path(id), raw));
        let path = match parent {
            Some((of, id)) => self.links.children(of.collection, id, group.collection),
            None => self.links.collection(group.collection),
        };
        let as_of = query.as_of.map(|time| TIME.timestamp_to_string(&time));
        let is_shown = |name: &str| names.iter().any(|shown| **shown == *name);
        let members = group.members_by_name();
        let members = members.map(|(name, description, _)| (name, description, is_shown(name)));
        let shown = Query { raw, path: path.clone() };
        let may = |operation| self.may(caller_of(request), group.collection, operation);
        let may_create = may(Operation::Create);
        let page = render(&CollectionPage {
            layout: self.layout(request, title, group.collection.name(), command),
            group,
            total: total(&listing, group),
            columns: names.iter().map(|name| shown.column(name, as_of.is_some())).collect(),
            rows: self.rows(group, &listing, &names, as_of.as_deref()),
            pages: Pages::of(&listing, &query.targets(&path, &listing)),
            members: members.collect(),
            as_of,
            now: self.present(caller_of(request), parent, &path).await?,
            counts: shown.counts(&listing),
            new: may_create.then(|| format!("{path}/new")),
            import: (may_create && !group.is_nested()).then(|| format!("{path}/import")),
            downloads: self.downloads(group, raw),
            has_earlier: may(Operation::History),
            refused,
            query: shown,
        })?;
        Ok((status, page))
    }

    async fn present(
        &self,
        caller: &Caller,
        parent: Option<(Group, ItemId)>,
        path: &str,
    ) -> Result<String> {
        let Some((of, id)) = parent else { return Ok(path.to_owned()) };
        let address = ItemAddress { parent: None, id };
        let shown = found(self.service(of)?.get(caller, address, &View::default()).await)?;
        Ok(shown.map_or_else(|| self.links.item(of.collection, id), |_| path.to_owned()))
    }

    fn rows(
        &self,
        group: Group,
        listing: &Listing,
        names: &[Arc<str>],
        as_of: Option<&str>,
    ) -> Vec<ItemRow> {
        let at = as_of.map(|time| format!("?as_of={}", escaped(time))).unwrap_or_default();
        let row = |listed: &ListedItem| {
            let item = &listed.shown.item;
            ItemRow {
                href: format!("{}{at}", self.links.item(group.collection, item.id)),
                title: cells::title(item, names.first().map(AsRef::as_ref).as_slice()),
                cells: names.iter().skip(1).map(|name| cells::cell(item, name)).collect(),
                updated_at: TIME.timestamp_to_string(&item.updated_at),
                snippet: listed.snippet.clone(),
            }
        };
        listing.items().iter().map(row).collect()
    }
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

    fn kept(&self, own: &[&str]) -> Vec<(String, String)> {
        let kept = without(self.raw, &[own, &OF_A_PAGE].concat());
        let read = kept.into_iter().filter_map(|piece| {
            Some(match Parameter::read(piece).ok()? {
                Parameter::Plain { name, value } => (name, value),
                Parameter::Filter(filter) => {
                    let operator =
                        filter.operator.map(|name| format!("[{name}]")).unwrap_or_default();
                    (format!("filter[{}]{operator}", escaped(&filter.member)), filter.value)
                }
            })
        });
        read.collect()
    }

    fn counts(&self, listing: &Listing) -> Option<Chart> {
        let MemberCounts { values, rest, absent } = listing.content.counts.as_ref()?;
        let member = self.value("count_by");
        let bar = |count: &ValueCount| {
            let value = Value::from_encoded(&count.value);
            let href = value.as_written().map(|written| {
                let filter = format!("filter[{}]={}", escaped(&member), escaped(&written));
                self.with("count_by", &filter)
            });
            Count::of_items(ShownValue::of(Some(value)).short(), count.items, href)
        };
        let others = [("another value", *rest), ("no value", *absent)];
        let others = others.into_iter().filter(|(_, items)| *items > 0);
        let others = others.map(|(label, items)| Count::of_items(label.to_owned(), items, None));
        let bars = values.iter().map(bar).chain(others).collect();
        Some(Chart::new(format!("By {}", member.replace('_', " ")), bars))
    }

    /// Returns the filters, each with the address of the page without it.
    fn chips(&self) -> Vec<(String, String)> {
        let kept = without(self.raw, &OF_A_PAGE);
        let chip = |(index, piece): (usize, &&str)| {
            let Ok(Parameter::Filter(filter)) = Parameter::read(piece) else { return None };
            let operator = filter.operator.as_deref().unwrap_or("eq");
            let others = [&kept[..index], &kept[index + 1..]].concat().join("&");
            let text = format!("{} {operator} {}", filter.member, filter.value);
            Some((text, with_query(&self.path, &others)))
        };
        kept.iter().enumerate().filter_map(chip).collect()
    }

    fn column<'n>(&self, name: &'n str, is_past: bool) -> ColumnHead<'n> {
        let sort = self.value("sort");
        let (direction, next) = if sort == name {
            ("ascending", format!("-{name}"))
        } else if sort.strip_prefix('-') == Some(name) {
            ("descending", name.to_owned())
        } else {
            ("none", name.to_owned())
        };
        let sort = format!("sort={}", escaped(&next));
        let sorted = if is_past { String::new() } else { self.with("sort", &sort) };
        (name, sorted, direction)
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
            here: match listing.page_count {
                Some(0) => String::new(),
                Some(count) => format!("Page {} of {count}", listing.page),
                None => format!("Page {}", listing.page),
            },
            first: to("first").filter(|_| listing.page > 1),
            previous: to("prev"),
            next: to("next"),
            last: to("last").filter(|_| listing.page_count > Some(1) && listing.next.is_some()),
        }
    }
}

fn total(listing: &Listing, group: Group) -> String {
    match listing.content.total {
        Total::Exact(1) => format!("1 {}", group.noun()),
        Total::Exact(count) => format!("{count} {}", group.items_name),
        Total::AtLeast(count) => format!("at least {count} {}", group.items_name),
        Total::NotCounted => format!("{} (not counted)", group.items_name),
    }
}
