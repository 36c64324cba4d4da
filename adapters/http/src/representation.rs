//! From items to HAL (draft-kelly-json-hal): stored members are spliced into the text as they are, never rebuilt.

use std::fmt::Write;

use application::{Listing, ShownItem};
use domain::json::push_text;
use domain::{Item, ItemId};
use jiff::Timestamp;
use jiff::fmt::temporal::DateTimePrinter;

use crate::base_url::BaseUrl;
use crate::group::{Group, ItemLink};
use crate::groups::{Library, Proposals, ProposedPrograms};
use crate::page_query::PageLinks;

/// RFC 3339 in UTC, always with microseconds, so that the texts sort as the times do.
const TIME: DateTimePrinter = DateTimePrinter::new().precision(Some(6));

/// Room for a link to an item.
const LINK: usize = 128;

/// Room for what surrounds an item's members.
const ENVELOPE: usize = 640;

/// The URL of an item's collection as it was asked for.
#[must_use]
pub fn collection_url<G: Group>(base_url: &BaseUrl, owner: Option<ItemId>) -> String {
    format!("{base_url}{}", G::collection_path(owner))
}

/// About how many bytes an item's representation has.
#[must_use]
pub fn item_size(shown: &ShownItem) -> usize {
    shown.item.members.len() + ENVELOPE + shown.relations.continued_by.len() * LINK
}

/// About how many bytes a page's representation has.
#[must_use]
pub fn collection_size(listing: &Listing) -> usize {
    listing.items.iter().map(item_size).sum::<usize>() + ENVELOPE
}

/// An item on its own.
#[must_use]
pub fn item<G: Group>(base_url: &BaseUrl, owner: Option<ItemId>, shown: &ShownItem) -> String {
    let mut out = String::with_capacity(item_size(shown));
    push_item::<G>(&mut out, base_url, &collection_url::<G>(base_url, owner), shown);
    out
}

/// A page of a collection.
#[must_use]
pub fn collection<G: Group>(base_url: &BaseUrl, owner: Option<ItemId>, links: &PageLinks<'_>, listing: &Listing) -> String {
    let mut out = String::with_capacity(collection_size(listing));
    let url = collection_url::<G>(base_url, owner);
    out.push_str("{\"_links\":{");
    links.push(&mut out, &url, listing);
    let up = match (G::OWNER, owner) {
        (Some(of), Some(id)) => format!("{base_url}{}/{id}", of.path),
        _ => format!("{base_url}/"),
    };
    push_link(&mut out, "up", &up);
    close_links(&mut out);
    let name = G::COLLECTION.name();
    let _ = write!(out, ",\"_embedded\":{{\"{name}\":[");
    for (index, shown) in listing.items.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        push_item::<G>(&mut out, base_url, &url, shown);
    }
    let Listing { page, page_size, page_count, total_items, .. } = listing;
    let _ = write!(out, "]}},\"page_count\":{page_count},\"page_size\":{page_size},\"total_items\":{total_items},\"page\":{page}}}");
    out
}

fn push_item<G: Group>(out: &mut String, base_url: &BaseUrl, collection_url: &str, shown: &ShownItem) {
    let Item { id, version, created_at, updated_at, members, .. } = &shown.item;
    let _ = write!(out, "{{\"id\":\"{id}\"");
    let own = &members[1..members.len() - 1];
    if !own.is_empty() {
        out.push(',');
        out.push_str(own);
    }
    out.push_str(",\"_links\":{");
    push_link(out, "self", &format_args!("{collection_url}/{id}"));
    push_link(out, "collection", &collection_url);
    for link in G::LINKS {
        push_relation::<G>(out, base_url, *link, shown);
    }
    close_links(out);
    let _ = write!(out, ",\"_meta\":{{\"version\":{version},\"created_at\":\"");
    push_time(out, created_at);
    out.push_str("\",\"updated_at\":\"");
    push_time(out, updated_at);
    out.push_str("\"}}");
}

fn push_relation<G: Group>(out: &mut String, base_url: &BaseUrl, link: ItemLink, shown: &ShownItem) {
    match link {
        ItemLink::Library => {
            let proposal = Proposals::PATH;
            push_link(out, "lib", &format_args!("{base_url}{proposal}/{}{}", shown.item.id, Library::PATH));
        }
        ItemLink::Program => {
            if let Some(program) = shown.relations.program {
                push_link(out, "program", &format_args!("{base_url}{}/{program}", ProposedPrograms::PATH));
            }
        }
        ItemLink::Proposal => {
            if let Some(proposal) = shown.item.parent {
                push_link(out, "proposal", &format_args!("{base_url}{}/{proposal}", Proposals::PATH));
            }
        }
        ItemLink::Continuations => push_continuations::<G>(out, base_url, shown),
    }
}

/// An item has continuations under its own group's path: nested groups have none.
fn push_continuations<G: Group>(out: &mut String, base_url: &BaseUrl, shown: &ShownItem) {
    if let Some(continued) = shown.relations.continues {
        push_link(out, "continues", &format_args!("{base_url}{}/{continued}", G::PATH));
    }
    if shown.relations.continued_by.is_empty() {
        return;
    }
    out.push_str("\"continued-by\":[");
    for (index, by) in shown.relations.continued_by.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let _ = write!(out, "{comma}{{\"href\":\"{base_url}{}/{by}\"}}", G::PATH);
    }
    out.push_str("],");
}

/// Appends a link and a comma. The URL needs no escaping: base URLs, paths and identifiers hold no such character.
pub(crate) fn push_link(out: &mut String, relation: &str, url: &impl std::fmt::Display) {
    let _ = write!(out, "\"{relation}\":{{\"href\":\"{url}\"}},");
}

/// Appends a link to a URL that holds what a client sent, and a comma.
pub(crate) fn push_escaped_link(out: &mut String, relation: &str, url: &str) {
    let _ = write!(out, "\"{relation}\":{{\"href\":");
    push_text(out, url);
    out.push_str("},");
}

/// Closes an object whose last member left a comma.
pub(crate) fn close_links(out: &mut String) {
    if out.ends_with(',') {
        out.pop();
    }
    out.push('}');
}

fn push_time(out: &mut String, time: &Timestamp) {
    // Writing to a String cannot fail.
    let _ = TIME.print_timestamp(time, out);
}
