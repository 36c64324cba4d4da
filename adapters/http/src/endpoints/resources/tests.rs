//! Whole requests over a mocked store: in which order errors are found, and
//! what is never asked.

mod standbys;

use std::sync::Arc;

use application::ports::{MockChangeLog, MockItemRepository};
use application::query::Total;
use application::{Links, ListedPage, PageHash, Ports, Revision, ShownItem, Totals};
use jiff::Timestamp;
use poem::http::header::{ETAG, HOST, IF_NONE_MATCH};
use poem::http::{Method, StatusCode};
use poem::{Endpoint, Request, RequestBuilder, Response};

use crate::app::tests::{item, mocked};
use crate::service;

const PROGRAM: &str = "01890a5d-ac96-774b-bcce-b302099a8010";

fn shown(id: &str, version: i64) -> ShownItem {
    ShownItem { item: item(id, version), links: Links::default() }
}

fn page(items: u64) -> Arc<ListedPage> {
    let (total, revision) = (Total::Exact(items), Revision(7));
    Arc::new(ListedPage {
        total,
        revision,
        items: Vec::new(),
        first: None,
        last: None,
        has_more: false,
        counts: None,
        hash: PageHash::default(),
    })
}

fn counted() -> MockItemRepository {
    let mut items = MockItemRepository::new();
    let totals = Totals { items: 9, revision: Revision(7) };
    items.expect_totals().once().returning(move |_, _| Ok(totals));
    items
}

async fn answer(items: MockItemRepository, request: Request) -> Response {
    let (ports, options) = mocked(items);
    service(&ports, options).call(request).await.unwrap()
}

fn request(method: Method, target: &str) -> RequestBuilder {
    Request::builder().method(method).uri(target.parse().unwrap()).header(HOST, "example.org")
}

#[tokio::test]
async fn a_query_is_refused_before_the_store_is_asked() {
    for (method, target, expected) in [
        (Method::GET, "/v1/files?nothing=1", StatusCode::BAD_REQUEST),
        (Method::GET, "/v1/files/none?fields=", StatusCode::BAD_REQUEST),
        (Method::GET, "/v1/files/none?page=1", StatusCode::BAD_REQUEST),
        (Method::GET, "/v1/files/none?fields=a", StatusCode::NOT_FOUND),
        (Method::GET, "/v1/proposals/none/lib?sort=", StatusCode::BAD_REQUEST),
        (Method::GET, "/v1/proposals/none/lib?sort=a", StatusCode::NOT_FOUND),
        (Method::DELETE, "/v1/files/none?x", StatusCode::BAD_REQUEST),
        (Method::POST, "/v1/files?fields=a", StatusCode::BAD_REQUEST),
        (Method::PUT, "/v1/files/none?x", StatusCode::BAD_REQUEST),
        (Method::PATCH, "/v1/files/none?page=1", StatusCode::BAD_REQUEST),
        (Method::OPTIONS, "/v1/files?x", StatusCode::NO_CONTENT),
    ] {
        let request = request(method.clone(), target).content_type("application/json").body("{}");
        let response = answer(MockItemRepository::new(), request).await;
        assert_eq!(response.status(), expected, "{method} {target}");
    }
}

#[tokio::test]
async fn a_current_page_is_answered_without_reading_items() {
    for target in
        ["/v1/files", "/v1/files?filter[a]=1&sort=-a&q=rice", "/v1/files?page=2&page_size=5"]
    {
        let mut items = counted();
        items.expect_page().never();
        let request = request(Method::GET, target).header(IF_NONE_MATCH, "\"r7.h\"").finish();
        assert_eq!(answer(items, request).await.status(), StatusCode::NOT_MODIFIED, "{target}");
    }
}

/// Another server takes over while a page is read, and its collection is at the same revision.
#[tokio::test]
async fn a_tag_of_before_matches_nothing_when_its_history_ends_meanwhile() {
    let mut items = MockItemRepository::new();
    items.expect_totals().returning(|_, _| Ok(Totals { items: 9, revision: Revision(7) }));
    items.expect_page().once().returning(|_, _| Ok(page(9)));
    let mut changes = MockChangeLog::new();
    changes.expect_history_id().once().returning(|| "h".into());
    changes.expect_history_id().returning(|| "next".into());
    let request = request(Method::GET, "/v1/files").header(IF_NONE_MATCH, "\"r7.h\"").finish();
    let (ports, options) = mocked(items);
    let ports = Ports { changes: Arc::new(changes), ..ports };
    let response = service(&ports, options).call(request).await.unwrap();
    assert_eq!((response.status(), response.header(ETAG)), (StatusCode::OK, Some("\"r7.next\"")));
}

#[tokio::test]
async fn a_page_is_listed_when_it_may_have_changed_or_may_not_exist() {
    for (target, tag, expected) in [
        ("/v1/files", "\"r6.h\"", StatusCode::OK),
        ("/v1/files?filter[a]=1&page=2", "\"r7.h\"", StatusCode::CONFLICT),
        ("/v1/files?page=3&page_size=5", "\"r7.h\"", StatusCode::CONFLICT),
    ] {
        let mut items = counted();
        items.expect_page().once().returning(|_, _| Ok(page(9)));
        let request = request(Method::GET, target).header(IF_NONE_MATCH, tag).finish();
        assert_eq!(answer(items, request).await.status(), expected, "{target}");
    }
}
