//! The page of an item: members, links, and remarks of rules.

use application::{ApplicationError, Caller, Links, ShownItem, View};
use askama::Template;
use domain::content::META;
use domain::{Collection, Content, ItemId, Operation, Operations, Value, Verdict, Violation};
use jiff::Timestamp;
use poem::Request;

use super::cells::{self, ShownValue};
use super::links::escaped;
use super::page::{Layout, render};
use super::{Explorer, target};
use crate::groups::{Group, GroupSpec};
use crate::headers::entity_tag::EntityTag;
use crate::headers::history::completed;
use crate::problem::Problem;
use crate::query::{VersionsQuery, item_time, query_of};
use crate::request::caller::caller_of;
use crate::time::TIME;

#[derive(Template)]
#[template(path = "explorer/item.html")]
struct ItemPage<'a> {
    layout: Layout<'a>,
    version: i64,
    created_at: String,
    updated_at: String,
    as_of: Option<String>,
    removed_at: Option<String>,
    own: String,
    playground: String,
    members: Vec<ShownMember>,
    content: Option<ShownContent>,
    links: Vec<RelatedItem>,
    errors: Vec<Violation>,
    warnings: Vec<Violation>,
    tag: String,
    noun: &'static str,
    api: String,
    after_deletion: String,
    allowed: Operations,
}

impl ItemPage<'_> {
    fn may(&self, name: &str) -> bool {
        Operation::named(name).is_some_and(|operation| self.allowed.contains(operation))
    }
}

struct ShownContent {
    name: String,
    media_type: String,
    size: String,
    /// `None` if it needs credentials, which a link does not send.
    href: Option<String>,
}

struct ShownMember {
    name: String,
    description: &'static str,
    value: ShownValue,
    href: Option<String>,
}

struct RelatedItem {
    relation: &'static str,
    text: &'static str,
    href: String,
}

impl Explorer {
    pub(super) async fn show_item(
        &self,
        group: Group,
        request: &Request,
    ) -> Result<String, Problem> {
        let raw = query_of(request);
        let as_of = item_time(raw)?;
        let address = target(request)?;
        let service = self.service(group)?;
        let (shown, verdict, removed_at) = match as_of {
            Some(time) => {
                let (past, item) = service.get_at(caller_of(request), address, time, None).await?;
                let shown = ShownItem { item, links: Links::default() };
                (shown, Verdict::default(), past.change.removed_at)
            }
            None => match service.examine(caller_of(request), address, &View::default()).await {
                Ok((shown, _, verdict)) => (shown, verdict, None),
                // A removed item is shown by its history.
                Err(ApplicationError::ItemNotFound) => {
                    let first = VersionsQuery::read("")?;
                    return self.history(caller_of(request), group, address, &first).await;
                }
                Err(error) => return Err(error.into()),
            },
        };
        let item = &shown.item;
        cells::require_small(&item.members)?;
        let allowed = service.allowed(caller_of(request), &[item.id]).await?;
        let allowed = allowed.get(&item.id).copied().unwrap_or_default();
        let (title, path) =
            (cells::title(item, group.columns), format!("{}/{}", group.path, item.id));
        let command = self.command(&path, raw);
        render(&ItemPage {
            layout: self.layout(title, group.collection.name(), command),
            version: item.version.number(),
            created_at: TIME.timestamp_to_string(&item.created_at),
            updated_at: TIME.timestamp_to_string(&item.updated_at),
            as_of: as_of.map(|time| TIME.timestamp_to_string(&time)),
            removed_at: removed_at.map(|time| TIME.timestamp_to_string(&time)),
            own: self.links.item(group.collection, item.id),
            playground: self.links.playground(group.collection, item.id),
            members: self.members(group, &shown),
            content: self.content(&path, &shown, as_of),
            links: self.links_of(caller_of(request), group, &shown, as_of),
            errors: verdict.errors.iter().cloned().collect(),
            warnings: verdict.warnings.iter().cloned().collect(),
            tag: self.tag(&shown),
            noun: group.noun(),
            api: self.links.to(&path),
            after_deletion: if allowed.contains(Operation::History) {
                format!("{}/history", self.links.item(group.collection, item.id))
            } else {
                self.links.collection(group.collection)
            },
            allowed,
        })
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

    fn content(
        &self,
        path: &str,
        shown: &ShownItem,
        as_of: Option<Timestamp>,
    ) -> Option<ShownContent> {
        let Content { media_type, filename, size, .. } = Content::of(&shown.item.members)?;
        let at = as_of.map(|time| TIME.timestamp_to_string(&time));
        let at = at.map(|time| format!("?as_of={}", escaped(&time))).unwrap_or_default();
        let is_open = !self.context.gate.knows_callers();
        Some(ShownContent {
            name: filename.map_or_else(|| "Content".to_owned(), Into::into),
            media_type: media_type.into(),
            size: format!("{size} bytes"),
            href: is_open.then(|| self.links.to(&format!("{path}/content{at}"))),
        })
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
    ) -> Vec<RelatedItem> {
        let (collection, item) = (group.collection, &shown.item);
        let to = |relation, text, href| RelatedItem { relation, text, href };
        let item_link = |relation, of, id: ItemId| {
            to(relation, GroupSpec::of(of).noun(), self.links.item(of, id))
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
            links.push(to(child.name(), GroupSpec::of(child).items_name, href));
        }
        for other in collection.referrers().filter(may_read) {
            for reference in other.spec().references.iter().filter(|it| it.to == collection.name())
            {
                let href = self.links.filtered(other, reference.member, &item.id.to_string());
                links.push(to(other.name(), GroupSpec::of(other).items_name, href));
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
