//! Representations as JSON.

use application::query::Total;
use application::{Embedded, Links, ListedItem, ListedPage, Listing, Revision, ShownItem};
use domain::{Item, ItemId};
use serde_json::{Value, json};

use super::{ItemView, PageView, Snapshot, collection, item};
use crate::app::tests::item as plain_item;
use crate::base_url::BaseUrl;
use crate::groups::named;
use crate::query::CollectionQuery;

const PROPOSAL: &str = "01890a5d-ac96-774b-bcce-b302099a8050";
const PROGRAM: &str = "01890a5d-ac96-774b-bcce-b302099a8010";
const LIBRARY_ITEM: &str = "01890a5d-ac96-774b-bcce-b302099a8061";

fn shown(id: &str, parent: Option<&str>, program: Option<&str>) -> ShownItem {
    let (members, parent) = (r#"{"a":1}"#.into(), parent.and_then(ItemId::parse));
    let references = vec![program.and_then(ItemId::parse)];
    ShownItem {
        item: Item { members, parent, ..plain_item(id, 1) },
        links: Links { references, ..Links::default() },
    }
}

fn base_url() -> BaseUrl {
    "http://example.org".parse().unwrap()
}

fn proposal(embedded: &Embedded) -> Value {
    let shown = shown(PROPOSAL, None, Some(PROGRAM));
    let view = ItemView { embedded: Some(embedded), ..ItemView::new(&shown, Snapshot::Now) };
    let text = item(&base_url(), named("proposals"), None, &view);
    serde_json::from_str(&text).unwrap()
}

fn relations() -> [domain::Relation; 2] {
    let relations: Vec<_> = named("proposals").collection.relations().collect();
    relations.try_into().expect("a library and a programme")
}

#[test]
fn embedded_items_have_their_own_paths() {
    let library = vec![shown(LIBRARY_ITEM, Some(PROPOSAL), None)];
    let [lib, program] = relations();
    let embedded =
        Embedded::default().with(lib, library).with(program, vec![shown(PROGRAM, None, None)]);
    let whole = proposal(&embedded);
    let embedded = &whole["_embedded"];
    assert_eq!(
        embedded["lib"][0]["_links"]["self"]["href"],
        format!("http://example.org/lib/{LIBRARY_ITEM}")
    );
    assert_eq!(
        embedded["lib"][0]["_links"]["proposal"]["href"],
        format!("http://example.org/v1/proposals/{PROPOSAL}")
    );
    assert_eq!(
        embedded["program"]["_links"]["collection"]["href"],
        "http://example.org/v1/proposedprograms"
    );
    assert_eq!(embedded["program"]["_meta"]["version"], 1);
}

#[test]
fn missing_parts_are_omitted_or_empty() {
    let [lib, program] = relations();
    let asked = Embedded::default().with(lib, Vec::new()).with(program, Vec::new());
    assert_eq!(proposal(&asked)["_embedded"], json!({ "lib": [] }));
    assert_eq!(proposal(&Embedded::default().with(program, Vec::new()))["_embedded"], json!({}));
    assert_eq!(proposal(&Embedded::default()).get("_embedded"), None);
}

fn page(total: Total, page_count: Option<u64>) -> Value {
    let found = ListedItem {
        shown: shown(PROPOSAL, None, None),
        score: Some(0.25),
        snippet: Some("<mark>rice</mark> &amp; \"x\"".to_owned()),
        removed_at: None,
    };
    let content = ListedPage {
        total,
        revision: Revision(1),
        items: vec![found],
        first: None,
        last: None,
        has_more: false,
        counts: None,
    };
    let listing = Listing {
        page: 1,
        page_size: 25,
        page_count,
        content: content.into(),
        unseen: Vec::new(),
        previous: None,
        next: None,
        embedded: Embedded::default(),
    };
    let group = named("proposals");
    let targets = CollectionQuery::plain(group, None).targets("/v1/proposals", &listing);
    let page = PageView::new(&listing, None, targets, Snapshot::Now);
    serde_json::from_str(&collection(&base_url(), group, &page)).unwrap()
}

#[test]
fn a_page_says_what_is_known_of_the_numbers() {
    for (total, page_count, expected) in [
        (
            Total::Exact(1),
            Some(1),
            json!({ "page_count": 1, "page_size": 25, "total_items": 1, "page": 1 }),
        ),
        (
            Total::AtLeast(10_000),
            None,
            json!({ "page_size": 25, "total_items": 10_000, "page": 1, "_meta": { "total": "at_least" } }),
        ),
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
    assert_eq!(
        (&meta["score"], &meta["snippet"]),
        (&json!(0.25), &json!("<mark>rice</mark> &amp; \"x\""))
    );
}

#[test]
fn a_reference_is_a_link_while_its_item_exists() {
    for (group, relation, path) in [
        ("gadscores", "proposal", "/v1/proposals"),
        ("files", "proposal", "/v1/proposals"),
        ("cashprogram", "proposal", "/v1/proposals"),
        ("proposals", "program", "/v1/proposedprograms"),
    ] {
        for named_item in [Some(PROGRAM), None] {
            let shown = shown(PROPOSAL, None, named_item);
            let view = ItemView::new(&shown, Snapshot::Now);
            let text = item(&base_url(), named(group), None, &view);
            let links = serde_json::from_str::<Value>(&text).unwrap()["_links"].take();
            let expected =
                named_item.map(|id| json!({ "href": format!("http://example.org{path}/{id}") }));
            assert_eq!(links.get(relation), expected.as_ref(), "{group}");
        }
    }
}
