//! The page of an item: members, links, and remarks of rules.

use application::{Caller, ItemAddress, Links, ShownItem, View};
use askama::Template;
use domain::content::META;
use domain::{
    Collection, Content, Fields, Item, ItemId, Operation, Operations, Pointer, Value, Verdict,
};
use jiff::Timestamp;
use poem::Request;

use super::cells::{self, Cell, ShownValue};
use super::children::ChildTable;
use super::edit::is_prose;
use super::history::{VersionRow, version_row};
use super::page::{Layout, render};
use super::reader::{Reader, ShownTime};
use super::titles::{Titles, references};
use super::{Explorer, found, target};
use crate::groups::{Group, GroupSpec};
use crate::headers::entity_tag::EntityTag;
use crate::headers::history::completed;
use crate::problem::Result;
use crate::query::{VersionsQuery, item_time, query_of, with_query};
use crate::request::caller::caller_of;

/// The latest versions that the page lists.
const VERSIONS: u64 = 3;

/// In bytes; longer texts are sections.
const SHORT_TEXT: usize = 120;

#[derive(Template)]
#[template(path = "explorer/item.html")]
struct ItemPage<'a> {
    layout: Layout<'a>,
    group: Group,
    item: &'a Item,
    as_of: Option<ShownTime>,
    removed_at: Option<ShownTime>,
    created_at: ShownTime,
    updated_at: ShownTime,
    stored_at: Option<ShownTime>,
    own: String,
    /// For a printed page.
    address: String,
    playground: String,
    dossier: Option<String>,
    /// The present status of a proposal.
    status: Option<Cell>,
    /// Short members, and texts.
    facts: Vec<ShownMember>,
    sections: Vec<ShownMember>,
    /// With its address.
    content: Option<(Content, String)>,
    /// The limit in bytes. `None` if the caller may not write the content.
    most_upload: Option<u64>,
    /// The related items: labels, titles and addresses.
    links: Vec<(&'static str, String, String)>,
    children: Vec<ChildTable>,
    versions: Vec<VersionRow>,
    verdict: Verdict,
    tag: String,
    api: String,
    after_deletion: String,
    allowed: Operations,
}

impl ItemPage<'_> {
    fn may(&self, name: &str) -> bool {
        Operation::named(name).is_some_and(|operation| self.allowed.contains(operation))
    }

    /// The label of the field that a remark is about.
    fn place(&self, pointer: &Pointer) -> String {
        let pointer = pointer.to_string();
        let mut tokens = pointer.split('/').skip(1);
        let Some(member) = tokens.next().filter(|member| !member.is_empty()) else {
            return String::new();
        };
        let label = self.layout.reader.label(self.group.collection, member);
        let rest: Vec<_> = tokens.collect();
        if rest.is_empty() { label } else { format!("{label} {}", rest.join(" ")) }
    }
}

struct ShownMember {
    name: String,
    label: String,
    value: ShownValue,
    cell: Cell,
}

impl Explorer {
    pub(super) async fn show_item(&self, group: Group, request: &Request) -> Result<String> {
        let (caller, raw) = (caller_of(request), query_of(request));
        let as_of = item_time(raw)?;
        let address = target(request)?;
        let Some((shown, verdict, removed_at)) = self.find(caller, group, address, as_of).await?
        else {
            // A removed item is shown by its history.
            let first = VersionsQuery::read("")?;
            return self.history(request, group, address, &first).await;
        };
        let (item, collection) = (&shown.item, group.collection);
        cells::require_small(&item.members)?;
        let allowed = self.service(group)?.allowed(caller, &[item.id]).await?;
        let allowed = allowed.get(&item.id).copied().unwrap_or_default();
        let own = self.links.item(collection, item.id);
        let path = format!("{}/{}", group.path, item.id);
        let (is_past, command) = (as_of.is_some(), self.command(&path, raw));
        let title = cells::title(item, group.columns);
        let layout = self.layout(request, title, collection.name(), command);
        let related = related(collection, &shown);
        let named = related.iter().map(|(_, of, id)| (*of, *id));
        let named: Vec<_> = named.chain(references(collection, item)).collect();
        let titles = self.titles(caller, named).await?;
        let (facts, sections) = self.members(group, item, &titles, &layout.reader);
        let has_history = allowed.contains(Operation::History) && !is_past;
        let content = self.content(&path, &shown, is_past);
        let dossier = || with_query(&self.links.to(&format!("{path}/dossier.zip")), raw);
        render(&ItemPage {
            group,
            item,
            as_of: as_of.map(|time| layout.reader.time(time)),
            removed_at: removed_at.map(|time| layout.reader.time(time)),
            created_at: layout.reader.time(item.created_at),
            updated_at: layout.reader.time(item.updated_at),
            stored_at: content.as_ref().map(|(content, _)| layout.reader.time(content.stored_at)),
            address: with_query(&format!("{}{own}", self.context.base_url.origin()), raw),
            playground: self.links.playground(collection, item.id),
            dossier: group.has_dossier().then(dossier),
            status: self.status(caller, collection, item.id).await?.filter(|_| !is_past),
            facts,
            sections,
            content,
            most_upload: self.most_upload(caller, group, (address, allowed, is_past)).await?,
            links: self.related_links(related, &titles),
            children: self.child_tables(caller, group, item.id, as_of, &layout.reader).await?,
            versions: self.latest_versions(caller, group, address, (has_history, &layout)).await?,
            verdict,
            tag: self.tag(&shown),
            api: self.links.to(&path),
            after_deletion: self.after_deletion(group, &own, has_history),
            allowed,
            own,
            layout,
        })
    }

    /// `None` if the item was removed.
    async fn find(
        &self,
        caller: &Caller,
        group: Group,
        address: ItemAddress,
        as_of: Option<Timestamp>,
    ) -> Result<Option<(ShownItem, Verdict, Option<Timestamp>)>> {
        let service = self.service(group)?;
        if let Some(time) = as_of {
            let (past, item) = service.get_at(caller, address, time, None).await?;
            let shown = ShownItem { item, links: Links::default() };
            return Ok(Some((shown, Verdict::default(), past.change.removed_at)));
        }
        let now = found(service.examine(caller, address, &View::default()).await)?;
        Ok(now.map(|(shown, _, verdict)| (shown, verdict, None)))
    }

    /// Known members in the order of the table, then others; short ones, and texts.
    fn members(
        &self,
        group: Group,
        item: &Item,
        titles: &Titles,
        reader: &Reader,
    ) -> (Vec<ShownMember>, Vec<ShownMember>) {
        let (collection, members) = (group.collection, Value::from_encoded(&item.members));
        let known: Vec<_> = group.members_by_name().map(|(name, ..)| name).collect();
        let entries = members.entries().into_iter().flatten();
        let mut entries: Vec<_> = entries.map(|(name, value)| (cells::name(name), value)).collect();
        let place = |name: &str| known.iter().position(|known| *known == name);
        entries.sort_by_cached_key(|(name, _)| place(name).unwrap_or(known.len()));
        let member = |(name, value): (String, Value<'_>)| {
            let value = ShownValue::of(Some(value));
            let shown = ShownMember {
                label: reader.label(collection, &name),
                cell: titles.cell((reader, &self.links), collection, (&name, &value)),
                value,
                name,
            };
            // The first column is the title of the page.
            let is_title = group.columns.first() == Some(&shown.name.as_str());
            let is_shown = shown.value != ShownValue::Absent && !is_title && shown.name != META;
            is_shown.then_some(shown)
        };
        let is_text = |name: &str| match collection.spec().fields {
            Fields::Typed(fields) => fields.iter().any(|it| it.name == name && is_prose(group, it)),
            Fields::Open(_) => false,
        };
        entries
            .into_iter()
            .filter_map(member)
            .partition(|it| it.value.is_short(SHORT_TEXT) && !is_text(&it.name))
    }

    /// The content of a version keeps its address.
    fn content(&self, path: &str, shown: &ShownItem, is_past: bool) -> Option<(Content, String)> {
        let version = shown.item.version.number();
        let of = if is_past { format!("/versions/{version}") } else { String::new() };
        let href = self.links.to(&format!("{path}{of}/content"));
        Some((Content::of(&shown.item.members)?, href))
    }

    async fn most_upload(
        &self,
        caller: &Caller,
        group: Group,
        (item, allowed, is_past): (ItemAddress, Operations, bool),
    ) -> Result<Option<u64>> {
        let has_content = group.collection.spec().holds_content && !is_past;
        if !has_content || !allowed.contains(Operation::Patch) {
            return Ok(None);
        }
        let editable = self.service(group)?.editable(caller, Operation::Patch, Some(item)).await?;
        Ok(editable.has_content().then_some(self.context.contents.most))
    }

    async fn latest_versions(
        &self,
        caller: &Caller,
        group: Group,
        item: ItemAddress,
        (has_history, layout): (bool, &Layout<'_>),
    ) -> Result<Vec<VersionRow>> {
        if !has_history {
            return Ok(Vec::new());
        }
        let past = self.service(group)?.versions(caller, item, 1, VERSIONS).await?;
        let names = self.context.log.caller_names(past.versions.iter()).await?;
        let own = self.links.item(group.collection, item.id);
        let place = (past.latest.number(), &layout.reader);
        Ok(past.versions.iter().map(|it| version_row(it, &names, &own, place)).collect())
    }

    fn after_deletion(&self, group: Group, own: &str, has_history: bool) -> String {
        if has_history { format!("{own}/history") } else { self.links.collection(group.collection) }
    }

    fn related_links(
        &self,
        related: Vec<(&'static str, Collection, ItemId)>,
        titles: &Titles,
    ) -> Vec<(&'static str, String, String)> {
        let link = |(label, of, id)| {
            let title = titles.of(of, id).unwrap_or(GroupSpec::of(of).noun()).to_owned();
            (label, title, self.links.item(of, id))
        };
        related.into_iter().map(link).collect()
    }

    pub(super) fn tag(&self, shown: &ShownItem) -> String {
        let tag = EntityTag::of_item(shown.item.version, &shown.links).header();
        let history = self.context.log.history();
        let tag = completed(&tag, &history).unwrap_or(tag);
        tag.to_str().unwrap_or_default().to_owned()
    }
}

/// The items to which an item belongs, which it continues, or which continue it.
fn related(collection: Collection, shown: &ShownItem) -> Vec<(&'static str, Collection, ItemId)> {
    let parent = collection.parent().zip(shown.item.parent).map(|(of, id)| ("Belongs to", of, id));
    let continues = shown.links.continues.map(|id| ("Continues", collection, id));
    let later = shown.links.continued_by.iter().map(|id| ("Continued by", collection, *id));
    parent.into_iter().chain(continues).chain(later).collect()
}
