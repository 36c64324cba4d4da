//! Requests with a mocked standby: which database is asked, and the headers of the answer.

use std::sync::Arc;
use std::time::Duration;

use application::ports::{MockHistory, MockItemRepository, MockStandbys};
use application::{ChosenStandby, LogPosition, RepositoryError, StandbyStore};
use poem::http::HeaderValue;
use poem::http::header::{AGE, CACHE_CONTROL, CONTENT_TYPE, VARY};
use tokio::time::Instant;

use super::*;
use crate::app::tests::hanging::{HangingHistory, HangingStandbys};
use crate::headers::consistency_token::{CONSISTENCY_TOKEN, token};

const FILE: &str = "/v1/files/01890a5d-ac96-774b-bcce-b302099a8050";

fn position(offset: u64) -> LogPosition {
    LogPosition { history: "h".into(), offset }
}

fn token_of(offset: u64) -> HeaderValue {
    token(&position(offset)).parse().unwrap()
}

fn holding(version: i64) -> MockItemRepository {
    let mut items = MockItemRepository::new();
    items.expect_find().returning(move |_, _| Ok(Some(shown(PROGRAM, version))));
    items.expect_page().returning(|_, _| Ok(page(9)));
    items
}

fn standby(items: MockItemRepository) -> MockStandbys {
    chosen(items, true)
}

/// A standby that is chosen. `is_confirmed`: it is still the same server when its answer has come.
fn chosen(items: MockItemRepository, is_confirmed: bool) -> MockStandbys {
    let mut standbys = unchosen(items);
    standbys.expect_choose().returning(|least| {
        let connections = least.map(|_| 1);
        let lag = Duration::from_millis(2_500);
        Some(ChosenStandby { index: 0, history: "h".into(), lag, connections })
    });
    standbys.expect_confirm().return_const(is_confirmed);
    standbys
}

fn unchosen(items: MockItemRepository) -> MockStandbys {
    let store = StandbyStore { items: Arc::new(items), history: Arc::new(MockHistory::new()) };
    let mut standbys = MockStandbys::new();
    standbys.expect_stores().returning(move || vec![store.clone()]);
    standbys
}

async fn answer_with_standby(
    items: MockItemRepository,
    standbys: MockStandbys,
    request: RequestBuilder,
) -> Response {
    let (ports, options) = mocked(items);
    let ports = Ports { standbys: Some(Arc::new(standbys)), ..ports };
    service(&ports, options).call(request.finish()).await.unwrap()
}

fn get(target: &str) -> RequestBuilder {
    request(Method::GET, target)
}

#[tokio::test]
async fn a_standby_answers_with_its_age_and_its_own_kind_of_tag() {
    for (target, tag) in [(FILE, "\"2.h\""), ("/v1/files", "\"sr7.h\"")] {
        let response =
            answer_with_standby(MockItemRepository::new(), standby(holding(2)), get(target)).await;
        assert_eq!((response.status(), response.header(ETAG)), (StatusCode::OK, Some(tag)));
        assert_eq!(response.header(AGE), Some("2"));
        let vary: Vec<_> = response.headers().get_all(VARY).iter().collect();
        assert!(vary.contains(&&HeaderValue::from_static("Consistency-Token")), "{vary:?}");
    }
}

#[tokio::test]
async fn what_a_standby_lacks_or_cannot_tell_is_read_from_the_store() {
    let mut without = MockItemRepository::new();
    without.expect_find().returning(|_, _| Ok(None));
    let mut failing = MockItemRepository::new();
    failing.expect_find().returning(|_, _| Err(RepositoryError::Unavailable));
    let restarted = chosen(holding(1), false);
    let mut none = unchosen(MockItemRepository::new());
    none.expect_choose().returning(|_| None);
    for standbys in [standby(without), standby(failing), restarted, none] {
        let response = answer_with_standby(holding(2), standbys, get(FILE)).await;
        assert_eq!((response.status(), response.header(ETAG)), (StatusCode::OK, Some("\"2.h\"")));
        assert_eq!(response.header(AGE), None);
    }
}

#[tokio::test]
async fn some_requests_are_not_for_standbys() {
    for request in [
        get(FILE).header(CACHE_CONTROL, "max-age=0, No-Cache"),
        get("/v1/cashprogram"),
        get(FILE).header(CONTENT_TYPE, "application/json").header("content-length", "2"),
    ] {
        let mut standbys = unchosen(MockItemRepository::new());
        standbys.expect_choose().never();
        let response = answer_with_standby(holding(2), standbys, request).await;
        assert_eq!((response.status(), response.header(AGE)), (StatusCode::OK, None));
    }
}

#[tokio::test]
async fn a_standby_is_asked_for_the_position_of_the_token() {
    let mut standbys = unchosen(holding(2));
    standbys.expect_choose().once().withf(|least| *least == Some(position(7))).returning(|_| None);
    let request = get(FILE).header(CONSISTENCY_TOKEN, token_of(7));
    assert_eq!(answer_with_standby(holding(2), standbys, request).await.status(), StatusCode::OK);
    for method in [Method::GET, Method::PUT, Method::DELETE] {
        let request = request_with_token(method, "7-h-00000000");
        let unused = MockItemRepository::new;
        let response = answer_with_standby(unused(), unchosen(unused()), request).await;
        assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    }
}

fn request_with_token(method: Method, token: &'static str) -> RequestBuilder {
    request(method, FILE).header(CONSISTENCY_TOKEN, token)
}

#[tokio::test]
async fn not_modified_is_confirmed_by_the_primary() {
    let of = |history: &'static str| Ok(LogPosition { history: history.into(), offset: 9 });
    for (position, status, age) in [
        (of("h"), StatusCode::NOT_MODIFIED, Some("2")),
        (of("next"), StatusCode::OK, None),
        (Err(RepositoryError::Unavailable), StatusCode::OK, Some("2")),
    ] {
        let mut standbys = standby(holding(2));
        standbys.expect_position().once().return_const(position.clone());
        let request = get(FILE).header(IF_NONE_MATCH, "\"2.h\"");
        // The store has another version by now.
        let response = answer_with_standby(holding(3), standbys, request).await;
        assert_eq!((response.status(), response.header(AGE)), (status, age), "{position:?}");
    }
}

#[tokio::test]
async fn a_write_is_answered_with_a_token() {
    use RepositoryError::{Full, Unavailable};
    let created = || request(Method::POST, "/v1/files").content_type("application/json");
    for (inserted, found, status, expected) in [
        (Ok(shown(PROGRAM, 1)), Ok(position(7)), StatusCode::CREATED, Some(7)),
        (Ok(shown(PROGRAM, 1)), Err(Unavailable), StatusCode::CREATED, Some(u64::MAX)),
        (Err(Unavailable), Ok(position(7)), StatusCode::SERVICE_UNAVAILABLE, Some(u64::MAX)),
        (Err(Full), Ok(position(7)), StatusCode::INSUFFICIENT_STORAGE, None),
    ] {
        let mut items = MockItemRepository::new();
        items.expect_insert().returning(move |_, _, _| inserted.clone());
        let mut standbys = unchosen(MockItemRepository::new());
        standbys.expect_position().return_const(found);
        let (mut ports, options) = writable(items);
        ports.standbys = Some(Arc::new(standbys));
        let response = service(&ports, options).call(created().body("{}")).await.unwrap();
        assert_eq!(response.status(), status);
        assert_eq!(response.headers().get(CONSISTENCY_TOKEN), expected.map(token_of).as_ref());
    }
}

fn writable(items: MockItemRepository) -> (Ports, crate::HttpOptions) {
    let (mut ports, options) = mocked(items);
    let mut clock = application::ports::MockClock::new();
    clock.expect_now().return_const(Timestamp::UNIX_EPOCH);
    clock.expect_day_of().return_const(jiff::civil::date(1970, 1, 1));
    ports.clock = Arc::new(clock);
    (ports, options)
}

#[tokio::test]
async fn errors_differ_by_the_token_too() {
    let mut without = MockItemRepository::new();
    without.expect_find().returning(|_, _| Ok(None));
    let mut none = unchosen(MockItemRepository::new());
    none.expect_choose().returning(|_| None);
    let malformed = request_with_token(Method::GET, "7-h-00000000");
    for (request, standbys, status) in [
        (get(FILE), none, StatusCode::NOT_FOUND),
        (malformed, unchosen(MockItemRepository::new()), StatusCode::BAD_REQUEST),
    ] {
        let response = answer_with_standby(std::mem::take(&mut without), standbys, request).await;
        assert_eq!(response.status(), status);
        let vary: Vec<_> = response.headers().get_all(VARY).iter().collect();
        assert!(vary.contains(&&HeaderValue::from_static("Consistency-Token")), "{vary:?}");
    }
}

/// Whichever of the two hangs, or both.
#[tokio::test(start_paused = true)]
async fn a_standby_and_the_store_share_the_time_of_a_request() {
    let version = format!("{FILE}/versions/1");
    for (is_choice_slow, is_position_slow) in [(true, false), (false, true)] {
        let standbys = HangingStandbys {
            inner: standby(MockItemRepository::new()),
            is_choice_slow,
            is_position_slow,
        };
        let (ports, options) = mocked(MockItemRepository::new());
        let limit = options.request_timeout;
        let (history, standbys) = (Arc::new(HangingHistory), Some(Arc::new(standbys) as _));
        let ports = Ports { history, standbys, ..ports };
        let began = Instant::now();
        let response = service(&ports, options).call(get(&version).finish()).await.unwrap();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        let took = began.elapsed();
        assert!(took >= limit && took < limit + Duration::from_millis(100), "{took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_position_is_unknown() {
    let slow = |inner| HangingStandbys { inner, is_choice_slow: false, is_position_slow: true };
    let (mut ports, options) = mocked(holding(3));
    ports.standbys = Some(Arc::new(slow(standby(holding(2)))));
    let began = Instant::now();
    let known = get(FILE).header(IF_NONE_MATCH, "\"2.h\"").finish();
    let response = service(&ports, options).call(known).await.unwrap();
    assert_eq!((response.status(), response.header(AGE)), (StatusCode::OK, Some("2")));

    let mut items = MockItemRepository::new();
    items.expect_insert().returning(|_, _, _| Ok(shown(PROGRAM, 1)));
    let (mut ports, options) = writable(items);
    ports.standbys = Some(Arc::new(slow(unchosen(MockItemRepository::new()))));
    let create = request(Method::POST, "/v1/files").content_type("application/json").body("{}");
    let response = service(&ports, options).call(create).await.unwrap();
    assert_eq!(response.status(), StatusCode::CREATED);
    assert_eq!(response.headers().get(CONSISTENCY_TOKEN), Some(&token_of(u64::MAX)));
    let took = began.elapsed();
    assert!(took < Duration::from_millis(2_500), "{took:?}");
}
