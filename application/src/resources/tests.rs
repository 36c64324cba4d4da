//! The use cases over mocked ports: what comes out, and what must never be called.

mod conditions;
mod imports;

use std::sync::Arc;

use domain::{Collection, Item, ItemId, Members, Pointer, Version, WriteOperation};
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use super::{ReplacementBody, ResourceService, Written};
use crate::ports::{
    Answered, MockCallerDirectory, MockChangeLog, MockClock, MockHistory, MockIdGenerator,
    MockItemRepository, MockReadiness, MockRuleBook, MockRuleTrials, PageRevision,
};
use crate::query::{PageStart, SortPosition, Subject, Total};
use crate::{
    ApplicationError, Caller, IdempotencyKey, ItemAddress, ItemWrite, Links, ListedItem,
    ListedPage, Named, PageRequest, Ports, Precondition, RepositoryError, ResourceLimits, Revision,
    Rules, Search, ShownItem, Totals, View, WriteOptions,
};

const ANYONE: &Caller = &Caller::Anonymous;

const WRITE: &WriteOptions = &WriteOptions::by(Caller::Anonymous);

/// The page that a replacement shows.
const FIRST: &PageRequest = &PageRequest::plain(1, 25);

/// Bytes an item may have here.
const LARGEST: usize = 200;

fn id(number: u128) -> ItemId {
    ItemId::from_uuid(Uuid::from_u128(0x7000_8000_0000_0000_0000 | number))
}

fn item() -> ItemAddress {
    ItemAddress { parent: None, id: id(1) }
}

fn write(precondition: &Precondition<Version>) -> ItemWrite<'_> {
    ItemWrite { options: WRITE, item: item(), precondition }
}

/// Patches any version of the item.
async fn patch(service: &ResourceService, patch: &str) -> crate::Result<Written> {
    let write = write(&Precondition::NONE);
    service.patch(&write, service.to_patch(&write).await?, members(patch)).await
}

fn revision(number: i64) -> PageRevision {
    PageRevision { revision: Revision(number), unseen: Vec::new() }
}

fn members(text: &str) -> Members {
    Members::read(text.as_bytes()).unwrap().unwrap()
}

fn stored(number: u128, version: i64, members: &str) -> ShownItem {
    let item = Item {
        id: id(number),
        version: Version::from_number(version),
        created_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
        members: members.into(),
        parent: None,
        continues: None,
    };
    ShownItem { item, links: Links::default() }
}

fn content(total: Total, items: &[ShownItem]) -> ListedPage {
    let place = |shown: &ShownItem| SortPosition { keys: Vec::new(), id: shown.item.id };
    let (first, last) = (items.first().map(place), items.last().map(place));
    let listed = |shown: &ShownItem| {
        let shown = shown.clone();
        ListedItem { shown, score: Some(1.0), snippet: None, removed_at: None }
    };
    let items = items.iter().map(listed).collect();
    ListedPage { total, revision: Revision(1), items, first, last, has_more: true, counts: None }
}

fn service(collection: Collection, repository: MockItemRepository) -> ResourceService {
    ruled_service(collection, repository, [].into())
}

fn files(repository: MockItemRepository) -> ResourceService {
    service(Collection::known("files"), repository)
}

fn ruled_service(
    collection: Collection,
    repository: MockItemRepository,
    book: Rules,
) -> ResourceService {
    let mut clock = MockClock::new();
    clock.expect_now().return_const(Timestamp::UNIX_EPOCH);
    clock.expect_day_of().return_const(jiff::civil::date(1970, 1, 1));
    let mut ids = MockIdGenerator::new();
    let mut next = 7..;
    ids.expect_next_id().returning(move || id(next.next().expect("a number")));
    let mut rules = MockRuleBook::new();
    rules.expect_rules().returning(move |_| book.clone());
    let (history, rules) = (Arc::new(MockHistory::new()), Arc::new(rules));
    let ports = Ports {
        identity: None,
        standbys: None,
        policies: Arc::new(crate::NoPolicies::Open),
        items: Arc::new(repository),
        history,
        ids: Arc::new(ids),
        clock: Arc::new(clock),
        rules,
        changes: Arc::new(MockChangeLog::new()),
        callers: Arc::new(MockCallerDirectory::new()),
        readiness: Arc::new(MockReadiness::new()),
        trials: Arc::new(MockRuleTrials::new()),
    };
    let key_lifetime = SignedDuration::from_hours(24);
    ResourceService::new(collection, &ports, ResourceLimits { largest: LARGEST, key_lifetime })
}

/// The violations of a refusal, each as `POINTER CODE`.
fn codes<T: std::fmt::Debug>(refused: crate::Result<T>) -> Vec<String> {
    match refused {
        Err(ApplicationError::Invalid(violations)) => {
            violations.iter().map(|error| format!("{} {}", error.pointer, error.code)).collect()
        }
        other => panic!("not a refusal: {other:?}"),
    }
}

/// A repository in which each item is found with these members.
fn finding(version: i64, members: impl Into<String>) -> MockItemRepository {
    let (mut repository, members) = (MockItemRepository::new(), members.into());
    repository.expect_find().returning(move |_, _| Ok(Some(stored(1, version, &members))));
    repository
}

#[tokio::test]
async fn a_refused_create_reports_everything_and_stores_nothing() {
    let service = service(Collection::known("proposals"), MockItemRepository::new());
    let refused =
        service.create(WRITE, None, members(r#"{"id":"x","_meta":1,"start_date":"soon"}"#)).await;
    assert_eq!(
        codes(refused),
        [
            "/id id_not_allowed",
            "/start_date invalid_date",
            "/proposal_type required",
            "/project_title required",
        ]
    );
}

#[tokio::test]
async fn a_create_stores_the_members_without_those_of_the_service() {
    let mut repository = MockItemRepository::new();
    repository
        .expect_insert()
        .once()
        .withf(|_, item, _| &*item.members == r#"{"b":1.0,"a":2}"# && item.id == id(7))
        .returning(|_, _, _| Ok(stored(7, 1, "{}")));
    let created = files(repository)
        .create(WRITE, None, members(r#"{"b":1.0,"_links":{},"a":2,"_embedded":[]}"#))
        .await;
    assert_eq!(created.unwrap().shown.item.version, Version::FIRST);
}

#[tokio::test]
async fn a_create_for_an_unknown_parent_is_not_judged() {
    let mut repository = MockItemRepository::new();
    repository.expect_find().once().returning(|_, _| Ok(None));
    let refused = service(Collection::known("lib"), repository)
        .create(WRITE, Some(id(1)), members(r#"{"id":1}"#))
        .await;
    assert!(matches!(refused, Err(ApplicationError::ParentNotFound)));
}

#[tokio::test]
async fn a_key_is_looked_up_only_when_its_request_cannot_be_done() {
    let [path, key, fingerprint] = ["/v1/lib", "k", "same"].map(str::to_owned);
    let key = Some(IdempotencyKey { path, key, fingerprint });
    let options = WriteOptions { key, ..WriteOptions::by(Caller::Anonymous) };
    let answered = || Answered {
        fingerprint: "same".into(),
        kind: WriteOperation::Create,
        shown: stored(7, 1, "{}"),
        remarks: "[]".into(),
    };
    let body = || members("{}");

    let mut new = MockItemRepository::new();
    new.expect_insert().once().returning(|_, _, _| Ok(stored(7, 1, "{}")));
    files(new).create(&options, None, body()).await.unwrap();

    let mut repeated = MockItemRepository::new();
    repeated.expect_insert().once().returning(|_, _, _| Err(RepositoryError::AnsweredBefore));
    repeated.expect_answered().once().returning(move |_| Ok(Some(answered())));
    let again = files(repeated).create(&options, None, body()).await;
    assert_eq!(again.unwrap().shown.item.id, id(7));

    let mut without_parent = MockItemRepository::new();
    without_parent.expect_find().once().returning(|_, _| Ok(None));
    without_parent.expect_answered().once().returning(move |_| Ok(Some(answered())));
    let service = service(Collection::known("lib"), without_parent);
    let again = service.create(&options, Some(id(1)), body()).await;
    assert_eq!(again.unwrap().shown.item.id, id(7), "its parent was removed since");
}

#[tokio::test]
async fn an_unconditional_change_starts_over_when_another_comes_in_between() {
    let mut repository = MockItemRepository::new();
    let mut version = 0;
    repository.expect_find().times(3).returning(move |_, _| {
        version += 1;
        Ok(Some(stored(1, version, &format!("{{\"n\":{version}}}"))))
    });
    repository
        .expect_update()
        .times(2)
        .withf(|_, replacement, _, _| replacement.expected.number() < 3)
        .returning(|_, _, _, _| Err(RepositoryError::VersionConflict));
    repository
        .expect_update()
        .once()
        .withf(|_, replacement, kind, _| {
            &*replacement.members == r#"{"n":3,"m":1}"# && *kind == WriteOperation::Patch
        })
        .returning(|_, _, _, _| Ok(stored(1, 4, "{}")));
    let service = files(repository);
    let patched = patch(&service, r#"{"m":1}"#).await;
    assert_eq!(patched.unwrap().shown.item.version.number(), 4);
}

#[tokio::test]
async fn a_change_gives_up_in_the_end() {
    let mut repository = finding(1, "{}");
    repository
        .expect_update()
        .times(super::write::MAX_ATTEMPTS)
        .returning(|_, _, _, _| Err(RepositoryError::VersionConflict));
    let replaced = files(repository)
        .replace(&write(&Precondition { is: Some(Named::Any), is_not: None }), members("{}"))
        .await;
    assert!(matches!(replaced, Err(ApplicationError::TooManyConflicts)));
}

#[tokio::test]
async fn a_patch_that_changes_nothing_writes_nothing() {
    let service = files(finding(5, r#"{"a":1}"#));
    for text in ["{}", r#"{"a":1}"#, r#"{"b":null}"#, r#"{"_meta":{"version":1}}"#] {
        let patched = patch(&service, text).await;
        assert_eq!(patched.unwrap().shown.item.version.number(), 5, "{text}");
    }
}

#[tokio::test]
async fn patches_do_not_make_an_item_larger_than_a_body_may_be() {
    let large = finding(5, format!(r#"{{"a":"{}"}}"#, "x".repeat(LARGEST - 20)));
    let refused = patch(&files(large), r#"{"b":"one more member"}"#).await;
    assert_eq!(codes(refused), [" item_too_large"]);
}

#[tokio::test]
async fn a_patch_is_judged_by_its_result() {
    let before = r#"{"proposal_type":"R","project_title":"T","start_date":"2026-05-01"}"#;
    let service = service(Collection::known("proposals"), finding(1, before));
    let refused = patch(&service, r#"{"project_title":null,"end_date":"2026-04-30"}"#).await;
    assert_eq!(codes(refused), ["/project_title required", "/end_date dates_in_order"]);
}

#[tokio::test]
async fn only_pages_beyond_the_last_of_a_collection_that_is_not_empty_are_out_of_range() {
    for (total_items, page, in_range) in [
        (0, 1, true),
        (0, 9, true),
        (25, 1, true),
        (25, 2, false),
        (26, 2, true),
        (26, u64::MAX, false),
    ] {
        let mut repository = MockItemRepository::new();
        repository
            .expect_page()
            .returning(move |_, _| Ok(content(Total::Exact(total_items), &[]).into()));
        let listed = files(repository).list(ANYONE, None, &PageRequest::plain(page, 25)).await;
        assert_eq!(listed.is_ok(), in_range, "page {page} of {total_items} items");
    }
}

#[tokio::test]
async fn a_collection_is_replaced_as_a_whole_or_not_at_all() {
    let known = "00000000-0000-7000-8000-000000000001";
    let mut repository = MockItemRepository::new();
    repository.expect_find_many().returning(|_, ids| {
        Ok(ids.contains(&id(1)).then(|| stored(1, 4, "{}")).into_iter().collect())
    });
    let bodies = [
        format!(r#"{{"id":"{known}","n":1}}"#),
        r#"{"n":2}"#.to_owned(),
        format!(r#"{{"id":"{known}"}}"#),
        r#"{"id":"00000000-0000-7000-8000-000000000009"}"#.to_owned(),
        r#"{"id":5}"#.to_owned(),
        "[]".to_owned(),
    ];
    let elements = bodies.iter().enumerate().map(|(index, text)| {
        (Pointer::root().index(index), Members::read(text.as_bytes()).unwrap())
    });
    let service = service(Collection::known("cashprogram"), repository);
    let body = ReplacementBody { elements: elements.collect() };
    let refused = service.replace_all(WRITE, &Precondition::NONE, &body, FIRST).await;
    assert_eq!(
        codes(refused),
        ["/2/id duplicate_id", "/3/id unknown_id", "/4/id unknown_id", "/5 not_an_object"]
    );
}

#[tokio::test]
async fn adjacent_pages_are_linked_by_the_places_at_the_ends() {
    let (first, last) = (stored(1, 1, "{}"), stored(2, 1, "{}"));
    let place = |shown: &ShownItem| SortPosition { keys: Vec::new(), id: shown.item.id };
    let before = || Some((2, PageStart::Before(place(&first))));
    let after = || Some((4, PageStart::After(place(&last))));
    for (number, position, has_more, expected) in [
        (3, None, true, (before(), after())),
        (3, None, false, (before(), None)),
        (3, Some(PageStart::After(place(&first))), false, (before(), None)),
        (3, Some(PageStart::Before(place(&last))), true, (before(), after())),
        (3, Some(PageStart::Before(place(&last))), false, (None, after())),
    ] {
        let mut repository = MockItemRepository::new();
        let both = content(Total::NotCounted, &[first.clone(), last.clone()]);
        let found = ListedPage { has_more, ..both };
        repository.expect_page().return_once(move |_, _| Ok(found.into()));
        let request = PageRequest { position: position.clone(), ..PageRequest::plain(number, 2) };
        let listed = files(repository).list(ANYONE, None, &request).await.unwrap();
        let way = |neighbour: Option<crate::AdjacentPage>| {
            neighbour.map(|neighbour| (neighbour.page, neighbour.position))
        };
        assert_eq!((way(listed.previous), way(listed.next)), expected, "{position:?} {has_more}");
    }
}

#[tokio::test]
async fn a_page_beyond_the_last_is_recognized_without_a_count() {
    for (found, is_beyond) in [(vec![stored(1, 1, "{}")], true), (Vec::new(), false)] {
        let mut repository = MockItemRepository::new();
        repository
            .expect_page()
            .once()
            .returning(|_, _| Ok(content(Total::NotCounted, &[]).into()));
        let first = content(Total::NotCounted, &found);
        repository
            .expect_page()
            .once()
            .withf(|_, query| query.limit == 1 && query.position == PageStart::Offset(0))
            .return_once(move |_, _| Ok(first.into()));
        let request = PageRequest { is_counted: false, ..PageRequest::plain(9, 25) };
        let listed = files(repository).list(ANYONE, None, &request).await;
        assert_eq!(
            matches!(listed, Err(ApplicationError::PageOutOfRange { page: 9, page_count: None })),
            is_beyond
        );
    }
}

#[tokio::test]
async fn a_search_is_answered_best_first_with_snippets_and_then_cut_to_the_fields() {
    let mut repository = MockItemRepository::new();
    repository
        .expect_page()
        .once()
        .withf(|_, query| {
            query.fields.is_none()
                && query.order.len() == 1
                && query.order[0].subject == Subject::Score
        })
        .returning(|_, _| {
            Ok(content(Total::Exact(1), &[stored(1, 1, r#"{"a":"some rice","b":1}"#)]).into())
        });
    let mut request = PageRequest::plain(1, 25);
    request.selection.search = Search::read("RICE").ok();
    request.view.fields = Some(vec![Arc::from("b")].into());
    let listed = files(repository).list(ANYONE, None, &request).await.unwrap();
    assert_eq!(listed.items()[0].snippet.as_deref(), Some("some <mark>rice</mark>"));
    assert_eq!(&*listed.items()[0].shown.item.members, r#"{"b":1}"#);
}

#[tokio::test]
async fn what_is_embedded_is_found_with_one_query_of_each_sort() {
    let mut repository = MockItemRepository::new();
    let with_program = |number| {
        let mut shown = stored(number, 1, "{}");
        shown.links.references = vec![Some(id(9))];
        shown
    };
    let found = content(Total::Exact(2), &[with_program(1), with_program(2)]);
    repository.expect_page().return_once(move |_, _| Ok(found.into()));
    repository
        .expect_find_many()
        .once()
        .withf(|_, ids| ids == [id(9)])
        .returning(|_, _| Ok(vec![stored(9, 1, "{}")]));
    let mut owned = stored(5, 1, "{}");
    owned.item.parent = Some(id(2));
    repository
        .expect_belonging_to()
        .once()
        .withf(|_, parents, _| parents == [id(1), id(2)])
        .return_once(move |_, _, _| Ok(vec![owned]));
    let links: Vec<_> = Collection::known("proposals").relations().collect();
    let [library, program] = links[..] else { panic!("{links:?}") };
    let view = View { fields: None, embed: vec![library, program] };
    let request = PageRequest { view, ..PageRequest::plain(1, 25) };
    let listed = service(Collection::known("proposals"), repository)
        .list(ANYONE, None, &request)
        .await
        .unwrap();
    let second = &listed.items()[1].shown;
    for relation in [library, program] {
        assert_eq!(listed.embedded.of(relation, second).unwrap().len(), 1);
    }
}

mod rights;
mod rules;
