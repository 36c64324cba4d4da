//! A page of a collection as HAL.

use std::collections::HashMap;
use std::fmt::Write;

use application::query::Total;
use application::{ListedItem, Listing, MemberCounts, ValueCount};
use domain::{ItemId, Operations, Violations};

use super::item::{DRY_RUN, ItemView, Snapshot, item_size, push_item};
use super::writer::{close_object, push_escaped_link, push_link, remarks};
use crate::base_url::BaseUrl;
use crate::groups::Group;
use crate::headers::link::Targets;
use crate::links;

/// Reserved bytes around a page's items, mostly links with cursors.
const ENVELOPE: usize = 1536;

/// Reserved bytes per counted value.
const COUNT: usize = 40;

pub struct PageView<'a> {
    pub listing: &'a Listing,
    pub parent: Option<ItemId>,
    pub targets: Targets,
    pub snapshot: Snapshot<'a>,
    pub warnings: Option<&'a Violations>,
    /// The operations that the caller may perform on each item; empty if they are not shown.
    pub allowed: HashMap<ItemId, Operations>,
}

impl<'a> PageView<'a> {
    pub fn new(
        listing: &'a Listing,
        parent: Option<ItemId>,
        targets: Targets,
        snapshot: Snapshot<'a>,
    ) -> Self {
        Self { listing, parent, targets, snapshot, warnings: None, allowed: HashMap::new() }
    }
}

/// Estimates the bytes of a representation.
pub fn collection_size(group: Group, listing: &Listing) -> usize {
    let size = |listed: &ListedItem| {
        item_size(group, &ItemView::listed(listed, &listing.embedded, Snapshot::Now))
            + listed.snippet.as_ref().map_or(0, String::len)
    };
    let counts = listing.content.counts.iter().flat_map(|counts| &counts.values);
    let counts = counts.map(|count| count.value.len() + COUNT).sum::<usize>();
    listing.items().iter().map(size).sum::<usize>() + counts + ENVELOPE
}

pub fn collection(base_url: &BaseUrl, group: Group, page: &PageView<'_>) -> String {
    let PageView { listing, parent, snapshot, .. } = *page;
    let mut out = String::with_capacity(collection_size(group, listing));
    let url = links::collection(base_url, group, parent);
    out.push_str("{\"_links\":{");
    for (relation, target) in &page.targets {
        push_escaped_link(&mut out, relation, target);
    }
    let up = match (group.parent(), parent) {
        (Some(of), Some(id)) => links::item(base_url, of, None, id),
        _ => format!("{base_url}/"),
    };
    push_link(&mut out, "up", &[&up]);
    close_object(&mut out);
    let _ = write!(out, ",\"_embedded\":{{\"{}\":[", group.collection.name());
    for (index, listed) in listing.items().iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        let view = ItemView::listed(listed, &listing.embedded, snapshot);
        let allowed = page.allowed.get(&listed.shown.item.id).copied();
        push_item(&mut out, base_url, group, &url, ItemView { allowed, ..view });
    }
    out.push(']');
    let counts = listing.content.counts.as_ref();
    if let Some(counts) = counts {
        push_value_counts(&mut out, &counts.values);
    }
    out.push('}');
    push_numbers(&mut out, listing);
    let total =
        matches!(listing.content.total, Total::AtLeast(_)).then(|| "\"total\":\"at_least\"".into());
    let dry_run = matches!(snapshot, Snapshot::DryRun).then(|| DRY_RUN.into());
    let warnings = page.warnings.map(|found| format!("\"warnings\":{}", remarks(base_url, found)));
    let counts = counts.map(|MemberCounts { rest, absent, .. }| {
        format!("\"counts\":{{\"rest\":{rest},\"absent\":{absent}}}")
    });
    let meta: Vec<_> = [total, counts, dry_run, warnings].into_iter().flatten().collect();
    if !meta.is_empty() {
        let _ = write!(out, ",\"_meta\":{{{}}}", meta.join(","));
    }
    out.push('}');
    out
}

fn push_value_counts(out: &mut String, counts: &[ValueCount]) {
    out.push_str(",\"counts\":[");
    for (index, ValueCount { value, items }) in counts.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let _ = write!(out, "{comma}{{\"value\":{value},\"count\":{items}}}");
    }
    out.push(']');
}

fn push_numbers(out: &mut String, listing: &Listing) {
    let Listing { page, page_size, page_count, content, .. } = listing;
    if let Some(page_count) = page_count {
        let _ = write!(out, ",\"page_count\":{page_count}");
    }
    let _ = write!(out, ",\"page_size\":{page_size}");
    if let Total::Exact(count) | Total::AtLeast(count) = content.total {
        let _ = write!(out, ",\"total_items\":{count}");
    }
    let _ = write!(out, ",\"page\":{page}");
}
