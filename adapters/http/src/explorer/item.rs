//! The page of an item: members, links, and remarks of rules.

use application::{Caller, ItemAddress, Links, ShownItem, View};
use askama::Template;
use domain::content::META;
use domain::{Collection, Content, Item, ItemId, Operation, Operations, Value, Verdict};
use jiff::Timestamp;
use poem::Request;

use super::cells::{self, ShownValue};
use super::links::escaped;
use super::page::{Layout, render};
use super::{Explorer, found, target};
use crate::groups::{Group, GroupSpec};
use crate::headers::entity_tag::EntityTag;
use crate::headers::history::completed;
use crate::problem::Result;
use crate::query::{VersionsQuery, item_time, query_of, with_query};
use crate::request::caller::caller_of;
use crate::time::TIME;

#[derive(Template)]
#[template(path = "explorer/item.html")]
struct ItemPage<'a> {
    layout: Layout<'a>,
    group: Group,
    item: &'a Item,
    as_of: Option<String>,
    removed_at: Option<String>,
    own: String,
    /// For a printed page.
    address: String,
    playground: String,
    dossier: Option<String>,
    members: Vec<ShownMember>,
    /// With its address.
    content: Option<(Content, String)>,
    /// The limit in bytes. `None` if the caller may not write the content.
    most_upload: Option<u64>,
    /// Relations, descriptions and addresses.
    links: Vec<(&'static str, &'static str, String)>,
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
}

struct ShownMember {
    name: String,
    description: &'static str,
    value: ShownValue,
    href: Option<String>,
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
        let item = &shown.item;
        cells::require_small(&item.members)?;
        let allowed = self.service(group)?.allowed(caller, &[item.id]).await?;
        let allowed = allowed.get(&item.id).copied().unwrap_or_default();
        let own = self.links.item(group.collection, item.id);
        let path = format!("{}/{}", group.path, item.id);
        let (is_past, command) = (as_of.is_some(), self.command(&path, raw));
        let title = cells::title(item, group.columns);
        let dossier = || with_query(&self.links.to(&format!("{path}/dossier.zip")), raw);
        render(&ItemPage {
            layout: self.layout(request, title, group.collection.name(), command),
            group,
            item,
            as_of: as_of.map(|time| TIME.timestamp_to_string(&time)),
            removed_at: removed_at.map(|time| TIME.timestamp_to_string(&time)),
            address: with_query(&format!("{}{own}", self.context.base_url.origin()), raw),
            playground: self.links.playground(group.collection, item.id),
            dossier: group.has_dossier().then(dossier),
            members: self.members(group, &shown),
            content: self.content(&path, &shown, is_past),
            most_upload: self.most_upload(caller, group, (address, allowed, is_past)).await?,
            links: self.links_of(caller, group, &shown, as_of),
            verdict,
            tag: self.tag(&shown),
            api: self.links.to(&path),
            after_deletion: if allowed.contains(Operation::History) {
                format!("{own}/history")
            } else {
                self.links.collection(group.collection)
            },
            allowed,
            own,
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

    fn members(&self, group: Group, shown: &ShownItem) -> Vec<ShownMember> {
        let members = Value::from_encoded(&shown.item.members);
        let known: Vec<_> = group.members_by_name().collect();
        let member = |name: &str, description, value| {
            let (name, href) = (name.to_owned(), self.href_of(group, shown, name));
            let value = ShownValue::of(value);
            (value != ShownValue::Absent).then_some(ShownMember { name, description, value, href })
        };
        let described = known
            .iter()
            .filter_map(|(name, description, _)| member(name, *description, members.member(name)));
        let entries = members.entries().into_iter().flatten();
        let others = entries
            .filter(|(name, _)| *name != META && known.iter().all(|(known, ..)| known != name));
        let others = others.filter_map(|(name, value)| member(&cells::name(name), "", Some(value)));
        described.chain(others).collect()
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

    fn href_of(&self, group: Group, shown: &ShownItem, name: &str) -> Option<String> {
        let mut references = group.collection.spec().references.iter().enumerate();
        let (index, _) = references.find(|(_, reference)| reference.member == name)?;
        let to = group.collection.referenced().nth(index)?;
        shown.links.reference(index).map(|id| self.links.item(to, id))
    }

    /// Links to related items, and to collections that the caller may read.
    fn links_of(
        &self,
        caller: &Caller,
        group: Group,
        shown: &ShownItem,
        as_of: Option<Timestamp>,
    ) -> Vec<(&'static str, &'static str, String)> {
        let (collection, item) = (group.collection, &shown.item);
        let item_link = |relation, of, id: ItemId| {
            (relation, GroupSpec::of(of).noun(), self.links.item(of, id))
        };
        let mut links: Vec<_> = collection
            .relations()
            .filter_map(|relation| {
                let id = shown.related(relation.kind)?;
                Some(item_link(relation.name, relation.to, id))
            })
            .collect();
        links.extend(shown.links.continues.map(|id| item_link("continues", collection, id)));
        let continued_by = shown.links.continued_by.iter();
        links.extend(continued_by.map(|id| item_link("continued by", collection, *id)));
        // Children of a removed item exist only at that time.
        let at = as_of.map(|time| TIME.timestamp_to_string(&time));
        let at = at.map(|time| format!("?as_of={}", escaped(&time))).unwrap_or_default();
        let may_read = |of: &Collection| self.may(caller, *of, Operation::Read);
        for child in collection.children().filter(may_read) {
            let href = format!("{}{at}", self.links.children(collection, item.id, child));
            links.push((child.name(), GroupSpec::of(child).items_name, href));
        }
        for other in collection.referrers().filter(may_read) {
            for reference in other.spec().references.iter().filter(|it| it.to == collection.name())
            {
                let href = self.links.filtered(other, reference.member, &item.id.to_string());
                links.push((other.name(), GroupSpec::of(other).items_name, href));
            }
        }
        links
    }

    pub(super) fn tag(&self, shown: &ShownItem) -> String {
        let tag = EntityTag::of_item(shown.item.version, &shown.links).header();
        let history = self.context.log.history();
        let tag = completed(&tag, &history).unwrap_or(tag);
        tag.to_str().unwrap_or_default().to_owned()
    }
}

/// In decimal units, as `content.js` shows it.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
#[expect(clippy::trivially_copy_pass_by_ref, reason = "templates pass references")]
fn readable_size(bytes: &u64) -> String {
    let bytes = *bytes;
    let units = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    match units.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", bytes as f64 / *unit as f64),
        None if bytes == 1 => "1 byte".to_owned(),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::readable_size;

    #[test]
    fn sizes_are_readable() {
        for (bytes, expected) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (999, "999 bytes"),
            (1_000, "1.0 kB"),
            (4_250_000, "4.2 MB"),
            (5 << 30, "5.4 GB"),
        ] {
            assert_eq!(readable_size(&bytes), expected);
        }
    }
}
