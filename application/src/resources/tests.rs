//! The use cases over mocked ports: what comes out, and what must never be called.

mod imports;
mod rights;
mod rules;

use std::sync::Arc;

use domain::{Collection, Item, ItemId, Members, Pointer, Version, WriteOperation};
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use super::{ReplacementBody, ResourceService};
use crate::ports::{
    Answered, MockCallerDirectory, MockChangeLog, MockClock, MockContentRegister, MockHistory,
    MockIdGenerator, MockItemRepository, MockReadiness, MockRuleBook, MockRuleTrials,
    MockSessionStore,
};
use crate::query::{SortPosition, Total};
use crate::{
    ApplicationError, Caller, IdempotencyKey, ItemAddress, ItemWrite, Links, ListedItem,
    ListedPage, Named, PageHash, PageRequest, Ports, Precondition, RepositoryError, ResourceLimits,
    Revision, Rules, ShownItem, View, WriteOptions,
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

fn write(precondition: &Precondition<Version>) -> ItemWrite<'_> {
    ItemWrite { options: WRITE, item: ItemAddress { parent: None, id: id(1) }, precondition }
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
        created_by: None,
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
    ListedPage {
        total,
        revision: Revision(1),
        items,
        first,
        last,
        has_more: true,
        counts: None,
        hash: PageHash::default(),
    }
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
        contents: None,
        content_register: Arc::new(MockContentRegister::new()),
        sessions: Arc::new(MockSessionStore::new()),
        policies: Arc::new(crate::NoPolicies::Open),
        items: Arc::new(repository),
        history,
        ids: Arc::new(ids),
        clock: Arc::new(clock),
        rules,
        changes: Arc::new(log_of("h")),
        callers: Arc::new(MockCallerDirectory::new()),
        readiness: Arc::new(MockReadiness::new()),
        trials: Arc::new(MockRuleTrials::new()),
    };
    let key_lifetime = SignedDuration::from_hours(24);
    ResourceService::new(
        collection,
        &ports,
        ResourceLimits { largest: LARGEST, key_lifetime, content_per_proposal: None },
    )
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
    let write = write(&Precondition::NONE);
    let to_patch = service.to_patch(&write).await.unwrap();
    let patched = service.patch(&write, to_patch, members(r#"{"m":1}"#)).await;
    assert_eq!(patched.unwrap().shown.item.version.number(), 4);
}

#[tokio::test]
async fn a_change_gives_up_in_the_end() {
    let mut repository = MockItemRepository::new();
    repository.expect_find().returning(|_, _| Ok(Some(stored(1, 1, "{}"))));
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

fn log_of(history: &'static str) -> MockChangeLog {
    let mut log = MockChangeLog::new();
    log.expect_history_id().returning(|| history.into());
    log
}

/// Another server takes over between the read and the commit.
#[tokio::test]
async fn a_write_that_was_decided_in_another_history_is_decided_again() {
    let mut repository = MockItemRepository::new();
    repository.expect_find().times(2).returning(|_, _| Ok(Some(stored(7, 1, "{}"))));
    repository.expect_update().times(2).returning(|_, _, _, metadata| {
        match metadata.history.as_deref() {
            Some("next") => Ok(stored(7, 2, "{}")),
            _ => Err(RepositoryError::VersionConflict),
        }
    });
    let mut service = files(repository);
    service.ports.changes = Arc::new(log_of("next"));
    let options =
        WriteOptions { history: Some("lost".into()), ..WriteOptions::by(Caller::Anonymous) };
    let item = ItemAddress { parent: None, id: id(7) };
    let write = ItemWrite { options: &options, item, precondition: &Precondition::NONE };
    let written = service.replace(&write, members(r#"{"a":1}"#)).await.unwrap();
    assert_eq!(written.shown.item.version.number(), 2);
}

#[tokio::test]
async fn a_version_of_another_history_is_compared_with_none() {
    let options =
        WriteOptions { history: Some("lost".into()), ..WriteOptions::by(Caller::Anonymous) };
    let precondition = Precondition::one_of(vec![Version::FIRST]);
    let item = ItemAddress { parent: None, id: id(7) };
    let write = ItemWrite { options: &options, item, precondition: &precondition };
    let found = || {
        let mut repository = MockItemRepository::new();
        repository.expect_find().once().returning(|_, _| Ok(Some(stored(7, 1, "{}"))));
        let mut service = files(repository);
        service.ports.changes = Arc::new(log_of("next"));
        service
    };
    let unavailable =
        |error| matches!(error, ApplicationError::Store(RepositoryError::Unavailable));
    assert!(unavailable(found().replace(&write, members("{}")).await.unwrap_err()));
    assert!(unavailable(found().to_patch(&write).await.unwrap_err()));
    assert!(unavailable(found().delete(&write).await.unwrap_err()));
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
