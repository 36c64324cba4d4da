//! From items to HAL (draft-kelly-json-hal): stored members are spliced into the text as they are, never rebuilt.

use std::fmt::Write;

use application::query::{Embed, Total};
use application::{Embedded, ListedItem, Listing, ShownItem};
use domain::json::push_text;
use domain::{Item, ItemId};
use jiff::Timestamp;
use jiff::fmt::temporal::DateTimePrinter;

use crate::base_url::BaseUrl;
use crate::embedded::{self, Beside};
use crate::group::{Group, ItemLink};
use crate::groups::{Library, Proposals, ProposedPrograms};
use crate::query::PageLinks;

/// RFC 3339 in UTC, always with microseconds, so that the texts sort as the times do.
pub const TIME: DateTimePrinter = DateTimePrinter::new().precision(Some(6));

/// Room for a link to an item.
const LINK: usize = 128;

/// Room for what surrounds an item's members.
const ENVELOPE: usize = 640;

/// Room for what surrounds a page's items: links with cursors, mostly.
const COLLECTION_ENVELOPE: usize = 1536;

/// The URL of an item's collection as it was asked for.
#[must_use]
pub fn collection_url<G: Group>(base_url: &BaseUrl, owner: Option<ItemId>) -> String {
    format!("{base_url}{}", G::collection_path(owner))
}

/// An item, and what a representation of it has beside it.
#[derive(Clone, Copy)]
struct Shown<'a> {
    item: &'a ShownItem,
    embedded: Option<&'a Embedded>,
    score: Option<f64>,
    snippet: Option<&'a str>,
}

impl<'a> Shown<'a> {
    const fn alone(item: &'a ShownItem) -> Self {
        Self { item, embedded: None, score: None, snippet: None }
    }

    fn listed(listed: &'a ListedItem, embedded: &'a Embedded) -> Self {
        Self { item: &listed.shown, embedded: Some(embedded), score: listed.score, snippet: listed.snippet.as_deref() }
    }
}

/// About how many bytes an item's representation has.
#[must_use]
pub fn item_size<G: Group>(shown: &ShownItem, embedded: &Embedded) -> usize {
    own_size(shown) + embedded::all(G::EMBEDS, shown, embedded).map(own_size).sum::<usize>()
}

fn own_size(shown: &ShownItem) -> usize {
    shown.item.members.len() + ENVELOPE + shown.relations.continued_by.len() * LINK
}

/// About how many bytes a page's representation has.
#[must_use]
pub fn collection_size<G: Group>(listing: &Listing) -> usize {
    let size = |listed: &ListedItem| item_size::<G>(&listed.shown, &listing.embedded) + listed.snippet.as_ref().map_or(0, String::len);
    listing.items().iter().map(size).sum::<usize>() + COLLECTION_ENVELOPE
}

/// An item on its own, with what it is shown with.
#[must_use]
pub fn item<G: Group>(base_url: &BaseUrl, owner: Option<ItemId>, shown: &ShownItem, embedded: &Embedded) -> String {
    let mut out = String::with_capacity(item_size::<G>(shown, embedded));
    let shown = Shown { embedded: Some(embedded), ..Shown::alone(shown) };
    push_item::<G>(&mut out, base_url, &collection_url::<G>(base_url, owner), shown);
    out
}

/// A page of a collection.
#[must_use]
pub fn collection<G: Group>(base_url: &BaseUrl, owner: Option<ItemId>, links: &PageLinks<'_>, listing: &Listing) -> String {
    let mut out = String::with_capacity(collection_size::<G>(listing));
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
    for (index, listed) in listing.items().iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        push_item::<G>(&mut out, base_url, &url, Shown::listed(listed, &listing.embedded));
    }
    out.push_str("]}");
    push_counts(&mut out, listing);
    out.push('}');
    out
}

/// What is known of how many items and pages there are.
fn push_counts(out: &mut String, listing: &Listing) {
    let Listing { page, page_size, page_count, total, .. } = listing;
    if let Some(page_count) = page_count {
        let _ = write!(out, ",\"page_count\":{page_count}");
    }
    let _ = write!(out, ",\"page_size\":{page_size}");
    if let Total::Exact(count) | Total::AtLeast(count) = total {
        let _ = write!(out, ",\"total_items\":{count}");
    }
    let _ = write!(out, ",\"page\":{page}");
    if let Total::AtLeast(_) = total {
        out.push_str(",\"_meta\":{\"total\":\"at_least\"}");
    }
}

fn push_item<G: Group>(out: &mut String, base_url: &BaseUrl, collection_url: &str, shown: Shown<'_>) {
    let Item { id, version, created_at, updated_at, members, .. } = &shown.item.item;
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
        push_relation::<G>(out, base_url, *link, shown.item);
    }
    close_links(out);
    if let Some(embedded) = shown.embedded {
        push_embedded::<G>(out, base_url, shown.item, embedded);
    }
    let _ = write!(out, ",\"_meta\":{{\"version\":{version},\"created_at\":\"");
    push_time(out, created_at);
    out.push_str("\",\"updated_at\":\"");
    push_time(out, updated_at);
    out.push('"');
    // JSON has no word for what is no number.
    if let Some(score) = shown.score.filter(|score| score.is_finite()) {
        let _ = write!(out, ",\"score\":{score}");
    }
    if let Some(snippet) = shown.snippet {
        out.push_str(",\"snippet\":");
        push_text(out, snippet);
    }
    out.push_str("}}");
}

/// Appends what an item is shown with, if anything was asked for.
fn push_embedded<G: Group>(out: &mut String, base_url: &BaseUrl, shown: &ShownItem, embedded: &Embedded) {
    let mut is_first = true;
    for (name, embed) in G::EMBEDS {
        let Some(beside) = Beside::of(*embed, shown, embedded) else { continue };
        out.push_str(if is_first { ",\"_embedded\":{" } else { "" });
        is_first = false;
        match beside {
            Beside::One(None) => {}
            Beside::One(Some(item)) => {
                let _ = write!(out, "\"{name}\":");
                push_under_own_path(out, base_url, *embed, item);
                out.push(',');
            }
            Beside::Many(items) => {
                let _ = write!(out, "\"{name}\":[");
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    push_under_own_path(out, base_url, *embed, item);
                }
                out.push_str("],");
            }
        }
    }
    if !is_first {
        close_links(out);
    }
}

/// Appends an embedded item as it is shown in its own group, with nothing embedded in turn.
fn push_under_own_path(out: &mut String, base_url: &BaseUrl, embed: Embed, item: &ShownItem) {
    let shown = Shown::alone(item);
    match embed {
        Embed::Library => push_item::<Library>(out, base_url, &collection_url::<Library>(base_url, None), shown),
        Embed::Program => push_item::<ProposedPrograms>(out, base_url, &collection_url::<ProposedPrograms>(base_url, None), shown),
        Embed::Proposal => push_item::<Proposals>(out, base_url, &collection_url::<Proposals>(base_url, None), shown),
    }
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

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use application::{ListedPage, Relations, Revision};
    use domain::Version;
    use serde_json::{Value, json};

    use super::*;
    use crate::query::CollectionQuery;

    const PROPOSAL: &str = "01890a5d-ac96-774b-bcce-b302099a8050";
    const PROGRAM: &str = "01890a5d-ac96-774b-bcce-b302099a8010";
    const LIBRARY_ITEM: &str = "01890a5d-ac96-774b-bcce-b302099a8061";

    fn shown(id: &str, parent: Option<&str>, program: Option<&str>) -> ShownItem {
        let item = Item {
            id: ItemId::parse(id).unwrap(),
            version: Version::FIRST,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
            members: r#"{"a":1}"#.into(),
            parent: parent.and_then(ItemId::parse),
            continues: None,
        };
        ShownItem { item, relations: Relations { program: program.and_then(ItemId::parse), ..Relations::default() } }
    }

    fn by_id(shown: ShownItem) -> HashMap<ItemId, ShownItem> {
        HashMap::from([(shown.item.id, shown)])
    }

    fn base_url() -> BaseUrl {
        "http://example.org".parse().unwrap()
    }

    fn proposal(embedded: &Embedded) -> Value {
        let text = item::<Proposals>(&base_url(), None, &shown(PROPOSAL, None, Some(PROGRAM)), embedded);
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn what_is_embedded_stands_under_its_own_path() {
        let library = vec![shown(LIBRARY_ITEM, Some(PROPOSAL), None)];
        let embedded = Embedded {
            libraries: Some(HashMap::from([(ItemId::parse(PROPOSAL).unwrap(), library)])),
            programs: Some(by_id(shown(PROGRAM, None, None))),
            proposals: None,
        };
        let whole = proposal(&embedded);
        let beside = &whole["_embedded"];
        assert_eq!(beside["lib"][0]["_links"]["self"]["href"], format!("http://example.org/lib/{LIBRARY_ITEM}"));
        assert_eq!(beside["lib"][0]["_links"]["proposal"]["href"], format!("http://example.org/v1/proposals/{PROPOSAL}"));
        assert_eq!(beside["program"]["_links"]["collection"]["href"], "http://example.org/v1/proposedprograms");
        assert_eq!(beside["program"]["_meta"]["version"], 1);
    }

    #[test]
    fn what_there_is_none_of_is_left_out_or_empty() {
        let nothing = || Some(HashMap::new());
        let asked = Embedded { libraries: Some(HashMap::new()), programs: nothing(), proposals: None };
        assert_eq!(proposal(&asked)["_embedded"], json!({ "lib": [] }));
        assert_eq!(proposal(&Embedded { programs: nothing(), ..Embedded::default() })["_embedded"], json!({}));
        assert_eq!(proposal(&Embedded::default()).get("_embedded"), None);
    }

    fn page(total: Total, page_count: Option<u64>) -> Value {
        let found =
            ListedItem { shown: shown(PROPOSAL, None, None), score: Some(0.25), snippet: Some("<mark>rice</mark> &amp; \"x\"".to_owned()) };
        let content = ListedPage { total, revision: Revision(1), items: vec![found], first: None, last: None, goes_on: false };
        let listing = Listing {
            page: 1,
            page_size: 25,
            page_count,
            total,
            revision: Revision(1),
            content: content.into(),
            previous: None,
            next: None,
            embedded: Embedded::default(),
        };
        let links = CollectionQuery::plain::<Proposals>(None).links();
        serde_json::from_str(&collection::<Proposals>(&base_url(), None, &links, &listing)).unwrap()
    }

    #[test]
    fn a_page_says_what_is_known_of_the_numbers() {
        for (total, page_count, expected) in [
            (Total::Exact(1), Some(1), json!({ "page_count": 1, "page_size": 25, "total_items": 1, "page": 1 })),
            (Total::AtLeast(10_000), None, json!({ "page_size": 25, "total_items": 10_000, "page": 1, "_meta": { "total": "at_least" } })),
            (Total::NotCounted, None, json!({ "page_size": 25, "page": 1 })),
        ] {
            let mut found = page(total, page_count);
            let links = found["_links"].take();
            assert_eq!(links.get("last").is_some(), page_count.is_some(), "{total:?}");
            assert!(links.get("first").is_some(), "{total:?}");
            let members = found.as_object_mut().unwrap();
            members.retain(|name, _| !["_links", "_embedded"].contains(&name.as_str()));
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn what_was_found_says_how_and_where() {
        let meta = page(Total::Exact(1), Some(1))["_embedded"]["proposals"][0]["_meta"].take();
        assert_eq!((&meta["score"], &meta["snippet"]), (&json!(0.25), &json!("<mark>rice</mark> &amp; \"x\"")));
    }
}
