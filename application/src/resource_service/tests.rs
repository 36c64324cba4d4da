//! The use cases over mocked ports: what comes out, and what must never be called.

use std::sync::Arc;

use domain::{Collection, Document, Item, ItemId, Members, Pointer, Proposal, Version};
use jiff::Timestamp;
use uuid::Uuid;

use super::{PageRequest, Precondition, ReplacementBody, ResourceService};
use crate::ports::{MockClock, MockIdGenerator, MockItemRepository};
use crate::{ApplicationError, Caller, ChangeKind, ListedPage, Relations, RepositoryError, Revision, ShownItem};

const ANYONE: &Caller = &Caller::Anonymous;

/// Bytes an item may have here.
const LARGEST: usize = 200;

fn id(number: u128) -> ItemId {
    ItemId::from_uuid(Uuid::from_u128(0x7000_8000_0000_0000_0000 | number))
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
    ShownItem { item, relations: Relations::default() }
}

fn service<R: domain::Resource>(collection: Collection, repository: MockItemRepository) -> ResourceService<R> {
    let mut clock = MockClock::new();
    clock.expect_now().return_const(Timestamp::UNIX_EPOCH);
    let mut ids = MockIdGenerator::new();
    ids.expect_next_id().return_const(id(7));
    ResourceService::new(collection, Arc::new(repository), Arc::new(ids), Arc::new(clock), LARGEST)
}

fn codes(error: ApplicationError) -> Vec<(String, &'static str)> {
    match error {
        ApplicationError::Invalid(violations) => violations.iter().map(|fault| (fault.pointer.to_string(), fault.code)).collect(),
        other => panic!("not a refusal: {other}"),
    }
}

#[tokio::test]
async fn a_refused_create_reports_everything_and_stores_nothing() {
    let service = service::<Proposal>(Collection::PROPOSALS, MockItemRepository::new());
    let refused = service.create(ANYONE, None, members(r#"{"id":"x","_meta":1,"start_date":"soon"}"#)).await;
    let expected =
        [("/id", "id_not_allowed"), ("/start_date", "invalid_date"), ("/proposal_type", "required"), ("/project_title", "required")];
    assert_eq!(codes(refused.unwrap_err()), expected.map(|(pointer, code)| (pointer.to_owned(), code)));
}

#[tokio::test]
async fn a_create_stores_the_members_without_what_is_the_services_own() {
    let mut repository = MockItemRepository::new();
    repository
        .expect_insert()
        .once()
        .withf(|_, item, _| &*item.members == r#"{"b":1.0,"a":2}"# && item.id == id(7))
        .returning(|_, _, _| Ok(stored(7, 1, "{}")));
    let created = service::<Document>(Collection::FILES, repository)
        .create(ANYONE, None, members(r#"{"b":1.0,"_links":{},"a":2,"_embedded":[]}"#))
        .await;
    assert_eq!(created.unwrap().item.version, Version::FIRST);
}

#[tokio::test]
async fn a_create_for_an_unknown_owner_is_not_judged() {
    let mut repository = MockItemRepository::new();
    repository.expect_find().once().returning(|_, _| Ok(None));
    let refused = service::<Document>(Collection::LIB, repository).create(ANYONE, Some(id(1)), members(r#"{"id":1}"#)).await;
    assert!(matches!(refused, Err(ApplicationError::OwnerMissing)));
}

#[tokio::test]
async fn a_failed_precondition_writes_nothing_and_tells_the_current_version() {
    let mut repository = MockItemRepository::new();
    repository.expect_find().returning(|_, _| Ok(Some(stored(1, 3, "{}"))));
    let service = service::<Document>(Collection::FILES, repository);
    let condition = Precondition::OneOf(vec![Version::from_number(2)]);
    let replaced = service.replace(ANYONE, None, id(1), &condition, members(r#"{"id":"also wrong"}"#)).await;
    assert!(matches!(replaced, Err(ApplicationError::PreconditionFailed { current, .. }) if current.number() == 3));
    let deleted = service.delete(ANYONE, None, id(1), &condition).await;
    assert!(matches!(deleted, Err(ApplicationError::PreconditionFailed { .. })));
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
        .withf(|_, replacement, kind, _| &*replacement.members == r#"{"n":3,"m":1}"# && *kind == ChangeKind::Patched)
        .returning(|_, _, _, _| Ok(stored(1, 4, "{}")));
    let patched = service::<Document>(Collection::FILES, repository)
        .patch(ANYONE, None, id(1), &Precondition::Unconditional, members(r#"{"m":1}"#))
        .await;
    assert_eq!(patched.unwrap().item.version.number(), 4);
}

#[tokio::test]
async fn a_change_gives_up_in_the_end() {
    let mut repository = MockItemRepository::new();
    repository.expect_find().returning(|_, _| Ok(Some(stored(1, 1, "{}"))));
    repository.expect_update().times(super::MAX_ATTEMPTS).returning(|_, _, _, _| Err(RepositoryError::VersionConflict));
    let replaced = service::<Document>(Collection::FILES, repository).replace(ANYONE, None, id(1), &Precondition::Any, members("{}")).await;
    assert!(matches!(replaced, Err(ApplicationError::Contended)));
}

#[tokio::test]
async fn a_patch_that_changes_nothing_writes_nothing() {
    let mut repository = MockItemRepository::new();
    repository.expect_find().returning(|_, _| Ok(Some(stored(1, 5, r#"{"a":1}"#))));
    let service = service::<Document>(Collection::FILES, repository);
    for patch in ["{}", r#"{"a":1}"#, r#"{"b":null}"#, r#"{"_meta":{"version":1}}"#] {
        let patched = service.patch(ANYONE, None, id(1), &Precondition::Unconditional, members(patch)).await;
        assert_eq!(patched.unwrap().item.version.number(), 5, "{patch}");
    }
}

#[tokio::test]
async fn patches_do_not_make_an_item_larger_than_a_body_may_be() {
    let mut repository = MockItemRepository::new();
    repository.expect_find().returning(|_, _| Ok(Some(stored(1, 5, &format!(r#"{{"a":"{}"}}"#, "x".repeat(LARGEST - 20))))));
    let patch = members(r#"{"b":"one more member"}"#);
    let refused = service::<Document>(Collection::FILES, repository).patch(ANYONE, None, id(1), &Precondition::Unconditional, patch).await;
    assert_eq!(codes(refused.unwrap_err()), [(String::new(), "item_too_large")]);
}

#[tokio::test]
async fn a_patch_is_judged_by_its_result() {
    let mut repository = MockItemRepository::new();
    repository
        .expect_find()
        .returning(|_, _| Ok(Some(stored(1, 1, r#"{"proposal_type":"R","project_title":"T","start_date":"2026-05-01"}"#))));
    let service = service::<Proposal>(Collection::PROPOSALS, repository);
    let refused = service
        .patch(ANYONE, None, id(1), &Precondition::Unconditional, members(r#"{"project_title":null,"end_date":"2026-04-30"}"#))
        .await;
    assert_eq!(codes(refused.unwrap_err()), [("/project_title".to_owned(), "required"), ("/end_date".to_owned(), "dates_in_order")]);
}

#[tokio::test]
async fn only_pages_beyond_the_last_of_a_collection_that_is_not_empty_are_out_of_range() {
    for (total_items, page, in_range) in [(0, 1, true), (0, 9, true), (25, 1, true), (25, 2, false), (26, 2, true), (26, u64::MAX, false)] {
        let mut repository = MockItemRepository::new();
        repository.expect_page().returning(move |_, _| Ok(ListedPage { total_items, revision: Revision(1), items: Vec::new() }));
        let listed = service::<Document>(Collection::FILES, repository).list(ANYONE, None, PageRequest { page, page_size: 25 }).await;
        assert_eq!(listed.is_ok(), in_range, "page {page} of {total_items} items");
    }
}

#[tokio::test]
async fn a_collection_is_replaced_as_a_whole_or_not_at_all() {
    let known = "00000000-0000-7000-8000-000000000001";
    let mut repository = MockItemRepository::new();
    repository
        .expect_find_many()
        .returning(|_, ids| Ok(ids.iter().filter(|found| **found == id(1)).map(|_| stored(1, 4, "{}")).take(1).collect()));
    let bodies = [
        format!(r#"{{"id":"{known}","n":1}}"#),
        r#"{"n":2}"#.to_owned(),
        format!(r#"{{"id":"{known}"}}"#),
        r#"{"id":"00000000-0000-7000-8000-000000000009"}"#.to_owned(),
        r#"{"id":5}"#.to_owned(),
        "[]".to_owned(),
    ];
    let elements = bodies.iter().enumerate().map(|(index, text)| (Pointer::root().index(index), Members::read(text.as_bytes()).unwrap()));
    let service = service::<Document>(Collection::CASH_PROGRAM, repository);
    let refused = service.replace_all(ANYONE, &Precondition::Unconditional, &ReplacementBody { elements: elements.collect() }).await;
    let expected = [("/2/id", "duplicate_id"), ("/3/id", "unknown_id"), ("/4/id", "unknown_id"), ("/5", "not_an_object")];
    assert_eq!(codes(refused.unwrap_err()), expected.map(|(pointer, code)| (pointer.to_owned(), code)));
}

#[tokio::test]
async fn a_collection_that_has_changed_is_not_replaced() {
    let mut repository = MockItemRepository::new();
    repository.expect_page().returning(|_, _| Ok(ListedPage { total_items: 1, revision: Revision(8), items: Vec::new() }));
    let service = service::<Document>(Collection::CASH_PROGRAM, repository);
    let refused = service.replace_all(ANYONE, &Precondition::OneOf(vec![Revision(7)]), &ReplacementBody { elements: Vec::new() }).await;
    assert!(matches!(refused, Err(ApplicationError::CollectionChanged { current: Revision(8) })));
}
