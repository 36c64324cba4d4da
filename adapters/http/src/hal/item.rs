//! An item as HAL (draft-kelly-json-hal): stored members are copied as text, never reserialized.

use std::fmt::Write;

use application::{
    ChangeAuthor, Embedded, Links, ListedItem, LoggedChange, PastVersion, ShownItem, WriteOptions,
};
use domain::json::push_string;
use domain::{Content, Item, ItemId, Operation, Operations, RelationKind, Version, Violations};
use jiff::Timestamp;

use super::writer::{close_object, push_all, push_link, push_time, remarks};
use crate::base_url::BaseUrl;
use crate::groups::Group;
use crate::links::{self, ItemLink};

/// Reserved bytes per link.
const LINK: usize = 128;

/// Reserved bytes around an item's members.
const ENVELOPE: usize = 1024;

pub(super) const DRY_RUN: &str = "\"dry_run\":true";

#[derive(Clone, Copy)]
pub struct ItemView<'a> {
    pub item: &'a ShownItem,
    pub embedded: Option<&'a Embedded>,
    pub score: Option<f64>,
    /// HTML.
    pub snippet: Option<&'a str>,
    pub removed_at: Option<Timestamp>,
    pub snapshot: Snapshot<'a>,
    pub warnings: Option<&'a Violations>,
    pub errors: Option<&'a Violations>,
    /// The operations that the caller may perform.
    pub allowed: Option<Operations>,
}

#[derive(Clone, Copy, Debug)]
pub enum Snapshot<'a> {
    Now,
    DryRun,
    /// A time in RFC 3339.
    At(&'a str),
    Version(&'a PastVersion),
}

impl Snapshot<'_> {
    pub const fn of_write(options: &WriteOptions) -> Self {
        if options.is_dry_run { Self::DryRun } else { Self::Now }
    }

    /// The latest version, and true if the item exists; only for a snapshot of a version.
    pub const fn latest(self) -> Option<(Version, bool)> {
        match self {
            Self::Version(past) => Some((past.latest, past.exists)),
            _ => None,
        }
    }
}

impl<'a> ItemView<'a> {
    pub const fn new(item: &'a ShownItem, snapshot: Snapshot<'a>) -> Self {
        Self {
            item,
            embedded: None,
            score: None,
            snippet: None,
            removed_at: None,
            snapshot,
            warnings: None,
            errors: None,
            allowed: None,
        }
    }

    pub(super) fn listed(
        listed: &'a ListedItem,
        embedded: &'a Embedded,
        snapshot: Snapshot<'a>,
    ) -> Self {
        let ListedItem { shown, score, snippet, removed_at } = listed;
        let (score, removed_at) = (*score, *removed_at);
        let (embedded, snippet) = (embedded.requested(), snippet.as_deref());
        Self { embedded, score, snippet, removed_at, ..Self::new(shown, snapshot) }
    }
}

pub fn embedded_items<'a>(
    group: Group,
    shown: &'a ShownItem,
    embedded: &'a Embedded,
) -> impl Iterator<Item = &'a ShownItem> {
    ItemLink::of(group).iter().filter_map(|link| embedded.of(link.relation, shown)).flatten()
}

/// Estimates the bytes of a representation.
pub fn item_size(group: Group, view: &ItemView<'_>) -> usize {
    let embedded =
        view.embedded.into_iter().flat_map(|embedded| embedded_items(group, view.item, embedded));
    own_size(view.item) + embedded.map(own_size).sum::<usize>()
}

fn own_size(shown: &ShownItem) -> usize {
    shown.item.members.len() + ENVELOPE + shown.links.continued_by.len() * LINK
}

pub fn item(
    base_url: &BaseUrl,
    group: Group,
    parent: Option<ItemId>,
    view: &ItemView<'_>,
) -> String {
    let mut out = String::with_capacity(item_size(group, view));
    push_item(&mut out, base_url, group, &links::collection(base_url, group, parent), *view);
    out
}

/// An item without links.
pub fn document(base_url: &BaseUrl, item: &Item, removed_at: Option<Timestamp>) -> String {
    let shown = ShownItem { item: item.clone(), links: Links::default() };
    let view = ItemView { removed_at, ..ItemView::new(&shown, Snapshot::Now) };
    let mut out = format!("{{\"id\":\"{}\"", item.id);
    let own = Content::other_members(&item.members);
    push_all(&mut out, &[if own.is_empty() { "" } else { "," }, own]);
    push_meta(&mut out, base_url, view);
    out.push_str("}\n");
    out
}

pub(super) fn push_item(
    out: &mut String,
    base_url: &BaseUrl,
    group: Group,
    collection_url: &str,
    view: ItemView<'_>,
) {
    let Item { id, members, .. } = &view.item.item;
    let mut id_text = [0; 36];
    let id: &str = id.uuid().hyphenated().encode_lower(&mut id_text);
    push_all(out, &["{\"id\":\"", id, "\""]);
    let own = Content::other_members(members);
    if !own.is_empty() {
        out.push(',');
        out.push_str(own);
    }
    out.push_str(",\"_links\":{");
    push_own_links(out, collection_url, id, view);
    if group.collection.spec().holds_content {
        push_content_links(out, collection_url, id, view);
    }
    if matches!(view.snapshot, Snapshot::Now | Snapshot::DryRun) {
        push_related(out, base_url, group, id, view.item);
    }
    close_object(out);
    if let Some(embedded) = view.embedded {
        push_embedded(out, base_url, group, view.item, embedded);
    }
    push_meta(out, base_url, view);
    out.push('}');
}

fn push_meta(out: &mut String, base_url: &BaseUrl, view: ItemView<'_>) {
    let Item { version, created_at, updated_at, .. } = &view.item.item;
    let _ = write!(out, ",\"_meta\":{{\"version\":{version},\"created_at\":");
    push_time(out, created_at);
    out.push_str(",\"updated_at\":");
    push_time(out, updated_at);
    if let Some(removed_at) = &view.removed_at {
        out.push_str(",\"body\":\"removed\",\"removed_at\":");
        push_time(out, removed_at);
    }
    if let Some(content) = Content::encoded_in(&view.item.item.members) {
        push_all(out, &[",\"content\":", content]);
    }
    match view.snapshot {
        Snapshot::Now | Snapshot::At(_) => {}
        Snapshot::DryRun => {
            let _ = write!(out, ",{DRY_RUN}");
        }
        Snapshot::Version(past) => push_change(out, &past.change),
    }
    if let Some(allowed) = view.allowed {
        let names: Vec<_> = allowed.iter().map(Operation::name).collect();
        let _ = write!(out, ",\"allowed\":[\"{}\"]", names.join("\",\""));
    }
    // JSON has no infinity and no NaN.
    if let Some(score) = view.score.filter(|score| score.is_finite()) {
        let _ = write!(out, ",\"score\":{score}");
    }
    if let Some(snippet) = view.snippet {
        out.push_str(",\"snippet\":");
        push_string(out, snippet);
    }
    for (name, violations) in [("warnings", view.warnings), ("errors", view.errors)] {
        if let Some(violations) = violations {
            let _ = write!(out, ",\"{name}\":{}", remarks(base_url, violations));
        }
    }
    out.push('}');
}

/// Links to the item, its collection and its versions (RFC 5829). Each ends with a comma.
fn push_own_links(out: &mut String, collection: &str, id: &str, view: ItemView<'_>) {
    let version = view.item.item.version.number();
    let at = |out: &mut String, relation, version: i64| {
        push_link(out, relation, &[collection, "/", id, "/versions/", &version.to_string()]);
    };
    match view.snapshot {
        Snapshot::Now | Snapshot::DryRun => push_link(out, "self", &[collection, "/", id]),
        Snapshot::At(time) => {
            push_link(out, "self", &[collection, "/", id, "?as_of=", time]);
            at(out, "memento", version);
        }
        Snapshot::Version(_) => at(out, "self", version),
    }
    push_link(out, "collection", &[collection]);
    push_link(out, "version-history", &[collection, "/", id, "/versions"]);
    let mut previous = Some(version - 1).filter(|number| *number > 0);
    match view.snapshot {
        Snapshot::Version(past) if !past.exists => {
            at(out, "latest-version", past.latest.number() - 1);
        }
        Snapshot::Now | Snapshot::DryRun | Snapshot::Version(_) => {
            push_link(out, "latest-version", &[collection, "/", id]);
        }
        Snapshot::At(_) => {}
    }
    if let Snapshot::Version(past) = view.snapshot {
        previous = past.change.previous_version().map(Version::number);
    }
    let Some(previous) = previous else { return };
    at(out, "predecessor-version", previous);
    if let Snapshot::Version(_) = view.snapshot {
        let diff = format!("/versions/{version}/diff?from={previous}");
        push_link(out, "diff", &[collection, "/", id, &diff]);
    }
}

/// Links to the content (RFC 4287), and to the place to PUT it (RFC 5023 section 11.1). Each ends with
/// a comma.
fn push_content_links(out: &mut String, collection: &str, id: &str, view: ItemView<'_>) {
    let content = Content::of(&view.item.item.members);
    let version = view.item.item.version.to_string();
    let (place, time) = match view.snapshot {
        Snapshot::Version(_) => (["/versions/", &version, "/content"].concat(), ""),
        Snapshot::At(time) => ("/content?as_of=".to_owned(), time),
        Snapshot::Now | Snapshot::DryRun => {
            push_link(out, "edit-media", &[collection, "/", id, "/content"]);
            ("/content".to_owned(), "")
        }
    };
    let Some(content) = content else { return };
    push_all(
        out,
        &["\"enclosure\":{\"href\":\"", collection, "/", id, &place, time, "\",\"type\":"],
    );
    push_string(out, &content.media_type);
    if let Some(name) = &content.filename {
        out.push_str(",\"title\":");
        push_string(out, name);
    }
    out.push_str("},");
}

fn push_change(out: &mut String, change: &LoggedChange) {
    let _ = write!(out, ",\"kind\":\"{}\"", change.kind.change_name());
    let ChangeAuthor { caller, acting, client, request_id } = &change.author;
    for (name, value) in
        [("caller", caller), ("acting", acting), ("client", client), ("request_id", request_id)]
    {
        let _ = write!(out, ",\"{name}\":");
        match value {
            Some(value) => push_string(out, value),
            None => out.push_str("null"),
        }
    }
}

/// Links to existing related items. Each ends with a comma.
fn push_related(
    out: &mut String,
    base_url: &BaseUrl,
    group: Group,
    own_id: &str,
    shown: &ShownItem,
) {
    for ItemLink { relation, around, .. } in ItemLink::of(group) {
        let Some((before, after)) = around else { continue };
        let mut push = |id: &str| {
            push_link(out, relation.name, &[base_url.as_str(), before, "/", id, after]);
        };
        if relation.kind == RelationKind::Children {
            push(own_id);
        } else if let Some(id) = shown.related(relation.kind) {
            push(id.uuid().hyphenated().encode_lower(&mut [0; 36]));
        }
    }
    // Only items of top-level groups have continuations.
    if let Some(continued) = shown.links.continues {
        let id = continued.to_string();
        push_link(out, "continues", &[base_url.as_str(), group.path, "/", &id]);
    }
    if shown.links.continued_by.is_empty() {
        return;
    }
    out.push_str("\"continued-by\":[");
    for (index, by) in shown.links.continued_by.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let _ = write!(out, "{comma}{{\"href\":\"{base_url}{}/{by}\"}}", group.path);
    }
    out.push_str("],");
}

fn push_embedded(
    out: &mut String,
    base_url: &BaseUrl,
    group: Group,
    shown: &ShownItem,
    embedded: &Embedded,
) {
    let mut is_first = true;
    for link in ItemLink::of(group) {
        let Some(items) = embedded.of(link.relation, shown) else { continue };
        out.push_str(if is_first { ",\"_embedded\":{" } else { "" });
        is_first = false;
        // Embedded items embed no further items.
        let url = links::collection(base_url, link.group, None);
        let push = |out: &mut String, item| {
            push_item(out, base_url, link.group, &url, ItemView::new(item, Snapshot::Now));
            out.push(',');
        };
        let name = link.relation.name;
        if link.relation.kind == RelationKind::Children {
            let _ = write!(out, "\"{name}\":[");
            for item in items {
                push(out, item);
            }
            if !items.is_empty() {
                out.pop();
            }
            out.push_str("],");
        } else if let [item] = items {
            let _ = write!(out, "\"{name}\":");
            push(out, item);
        }
    }
    if !is_first {
        close_object(out);
    }
}
