//! The tables of the items that belong to an item, or name it.

use std::sync::Arc;

use application::query::{Comparison, Condition, Filter, Operand, SortKey, Subject, Total};
use application::{Caller, ListedItem, Listing, PageRequest};
use domain::proposal::FieldKind;
use domain::{Collection, Content, Item, ItemId, Operation, Value};
use jiff::Timestamp;

use super::Explorer;
use super::cells::{self, Cell, ShownValue, readable_size};
use super::links::escaped;
use super::reader::Reader;
use super::titles::{referenced, references};
use crate::groups::{Group, GroupSpec};
use crate::problem::Result;
use crate::time::TIME;

/// The rows of a table; its link leads to all.
const MOST_ROWS: u64 = 10;

/// The status codes that a page looks up.
const MOST_CODES: u64 = 50;

const TO_CODE: &str = "to_code";

pub struct ChildTable {
    pub anchor: &'static str,
    pub label: String,
    pub noun: &'static str,
    pub total: String,
    /// The address of the table of all rows.
    pub all: String,
    pub has_more: bool,
    /// `None` if the caller may not add one.
    pub add: Option<String>,
    pub columns: Vec<String>,
    pub rows: Vec<ChildRow>,
}

pub struct ChildRow {
    pub href: String,
    pub title: String,
    pub cells: Vec<Cell>,
    /// The address and the size of the content.
    pub content: Option<(String, String)>,
    /// `None` if the caller may not edit it.
    pub edit: Option<String>,
}

impl Explorer {
    /// Reads the first rows of each table, with a fixed number of queries for each. In the past,
    /// items cannot be selected by the item that they name.
    pub(super) async fn child_tables(
        &self,
        caller: &Caller,
        group: &GroupSpec,
        id: ItemId,
        as_of: Option<Timestamp>,
        reader: &Reader,
    ) -> Result<Vec<ChildTable>> {
        let mut tables = Vec::new();
        for (child, member) in group.collection.dependents() {
            let is_known = as_of.is_none() || member.is_none();
            if is_known && self.may(caller, child, Operation::Read) {
                let place = (group.collection, id, member);
                tables.push(self.child_table(caller, place, child, as_of, reader).await?);
            }
        }
        Ok(tables)
    }

    /// The code of the latest status message about an item, as its label, with the address of its message.
    pub(super) async fn status(
        &self,
        caller: &Caller,
        collection: Collection,
        id: ItemId,
    ) -> Result<Option<Cell>> {
        let messages = Collection::known("status");
        let about = collection.dependents().find(|(of, _)| *of == messages);
        let Some(member) = about.and_then(|(_, member)| member) else { return Ok(None) };
        if !self.may(caller, messages, Operation::Read) {
            return Ok(None);
        }
        let mut request = PageRequest::plain(1, MOST_ROWS);
        request.view.fields = Some([TO_CODE, "timestamp"].map(Arc::from).into());
        request.selection.filters.push(named(member, id));
        request.order.push(SortKey { subject: Subject::Id, descending: true });
        request.is_counted = false;
        let latest = self.service(GroupSpec::of(messages))?.list(caller, None, &request).await?;
        // Events may be recorded late. Of those at the same time, the last one counts.
        let events = latest.items().iter().rev().filter_map(|listed| {
            let (item, members) =
                (&listed.shown.item, Value::from_encoded(&listed.shown.item.members));
            let text = |name| members.member(name)?.as_string();
            let time = text("timestamp").and_then(|time| time.parse::<Timestamp>().ok());
            let href = self.links.item(messages, item.id);
            Some((time.unwrap_or(item.created_at), text(TO_CODE)?.into_owned(), href))
        });
        let present = events.max_by_key(|(time, ..)| *time);
        let Some((_, code, href)) = present else { return Ok(None) };
        let codes = self.status_codes(caller).await?;
        let label = codes.into_iter().find(|(known, _)| *known == code).map(|(_, label)| label);
        Ok(Some(Cell { text: label.unwrap_or(code), href: Some(href) }))
    }

    /// Codes with their labels.
    pub(super) async fn status_codes(&self, caller: &Caller) -> Result<Vec<(String, String)>> {
        let codes = Collection::known("statuses");
        if !self.may(caller, codes, Operation::Read) {
            return Ok(Vec::new());
        }
        let mut request = PageRequest::plain(1, MOST_CODES);
        request.view.fields = Some(["code", "label"].map(Arc::from).into());
        request.is_counted = false;
        let listing = self.service(GroupSpec::of(codes))?.list(caller, None, &request).await?;
        let pair = |listed: &ListedItem| {
            let members = Value::from_encoded(&listed.shown.item.members);
            let text = |name| Some(members.member(name)?.as_string()?.into_owned());
            let code: String = text("code")?;
            Some((code.clone(), text("label").unwrap_or(code)))
        };
        Ok(listing.items().iter().filter_map(pair).collect())
    }

    async fn child_table(
        &self,
        caller: &Caller,
        (of, id, member): (Collection, ItemId, Option<&'static str>),
        child: Collection,
        as_of: Option<Timestamp>,
        reader: &Reader,
    ) -> Result<ChildTable> {
        let (group, service) = (GroupSpec::of(child), self.service(GroupSpec::of(child))?);
        let names = group.columns.iter().filter(|name| Some(**name) != member);
        let names: Vec<_> = names.copied().collect();
        let mut request = PageRequest::plain(1, MOST_ROWS);
        request.view.fields =
            Some(names.iter().copied().chain([domain::content::META]).map(Arc::from).collect());
        request.selection.filters.extend(member.map(|member| named(member, id)));
        let parent = member.is_none().then_some(id);
        let listing = match as_of {
            Some(time) => service.list_at(caller, parent, time, &request).await?,
            None => service.list(caller, parent, &request).await?,
        };
        let at = as_of.map(|time| format!("?as_of={}", escaped(&TIME.timestamp_to_string(&time))));
        let at = at.unwrap_or_default();
        let all = match member {
            None => format!("{}{at}", self.links.children(of, id, child)),
            Some(member) => self.links.filtered(child, member, &id.to_string()),
        };
        let may_add = as_of.is_none() && self.may(caller, child, Operation::Create);
        Ok(ChildTable {
            anchor: child.name(),
            label: reader.group(child).to_owned(),
            noun: group.noun(),
            total: match listing.content.total {
                Total::Exact(count) => reader.count(&count),
                Total::AtLeast(count) => format!("{}+", reader.count(&count)),
                Total::NotCounted => String::new(),
            },
            has_more: listing.next.is_some(),
            add: may_add.then(|| match member {
                None => format!("{all}/new"),
                Some(member) => format!("{}/new?{member}={id}", self.links.collection(child)),
            }),
            all,
            columns: names.iter().map(|name| reader.label(child, name)).collect(),
            rows: self.child_rows(caller, group, &names, &listing, (&at, reader)).await?,
        })
    }

    /// `at` is the query of an earlier state, in which nothing can be edited.
    async fn child_rows(
        &self,
        caller: &Caller,
        group: Group,
        names: &[&str],
        listing: &Listing,
        (at, reader): (&str, &Reader),
    ) -> Result<Vec<ChildRow>> {
        let items: Vec<_> = listing.items().iter().map(|listed| &listed.shown.item).collect();
        let ids: Vec<_> = items.iter().filter(|_| at.is_empty()).map(|item| item.id).collect();
        let allowed = self.service(group)?.allowed(caller, &ids).await?;
        let of = group.collection;
        let linked: Vec<_> = items.iter().flat_map(|item| references(of, item)).collect();
        let titles = self.titles(caller, linked).await?;
        let row = |item: &&Item| {
            let href = self.links.item(of, item.id);
            let may_edit = allowed.get(&item.id).is_some_and(|it| it.contains(Operation::Replace));
            let members = Value::from_encoded(&item.members);
            let cell = |name: &&str| {
                let value = ShownValue::of(members.member(name));
                titles.cell((reader, &self.links), of, (name, &value))
            };
            let content = Content::of(&item.members);
            ChildRow {
                title: cells::title(item, names),
                cells: names.iter().skip(1).map(cell).collect(),
                content: content.map(|content| {
                    let path = format!("{}/{}/content", group.path, item.id);
                    (self.links.to(&path), readable_size(&content.size))
                }),
                edit: may_edit.then(|| format!("{href}/edit")),
                href: format!("{href}{at}"),
            }
        };
        Ok(items.iter().map(row).collect())
    }
}

/// Selects the items whose member names an item.
fn named(member: &str, id: ItemId) -> Filter {
    let text = Some(id.to_string().into());
    let operand = Operand { text, ..Operand::default() };
    Filter {
        subject: Subject::Member { name: member.into(), kind: REFERENCE },
        condition: Condition::Compare(Comparison::Equal, operand),
    }
}

/// A list names no item. Without a kind, lists are looked through for the id, in each item of the
/// collection, because the index of the member has no lists.
const REFERENCE: Option<FieldKind> = Some(FieldKind::StringOrInteger);

/// Lets the filters by an item that a reference names use the index of the reference.
pub fn use_references(collection: Collection, filters: &mut [Filter]) {
    for Filter { subject, condition } in filters {
        if let Subject::Member { name, kind: kind @ None } = subject
            && let Condition::Compare(Comparison::Equal, Operand { text: Some(text), .. }) =
                condition
            && referenced(collection, name).is_some()
            && ItemId::parse(text).is_some()
        {
            *kind = REFERENCE;
        }
    }
}
