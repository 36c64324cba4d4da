//! Writes under a condition, also one of another history than that of the store now.

use super::*;

#[tokio::test]
async fn a_failed_precondition_writes_nothing_and_shows_the_current_version() {
    let service = files(finding(3, "{}"));
    let condition = Precondition::one_of(vec![Version::from_number(2)]);
    let replaced = service.replace(&write(&condition), members(r#"{"id":"also wrong"}"#)).await;
    assert!(
        matches!(replaced, Err(ApplicationError::PreconditionFailed { current, .. }) if current.number() == 3)
    );
    let deleted = service.delete(&write(&condition)).await;
    assert!(matches!(deleted, Err(ApplicationError::PreconditionFailed { .. })));
}

#[tokio::test]
async fn a_collection_that_has_changed_is_not_replaced() {
    let mut repository = MockItemRepository::new();
    repository.expect_totals().returning(|_, _| Ok(Totals { items: 1, revision: Revision(8) }));
    let service = service(Collection::known("cashprogram"), repository);
    let (condition, body) =
        (Precondition::one_of(vec![revision(7)]), ReplacementBody { elements: Vec::new() });
    let refused = service.replace_all(WRITE, &condition, &body, FIRST).await;
    let Err(ApplicationError::CollectionChanged { current }) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(current, revision(8));
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
        let mut log = MockChangeLog::new();
        log.expect_history_id().returning(|| "next".into());
        let mut service = files(repository);
        service.ports.changes = Arc::new(log);
        service
    };
    let unavailable =
        |error| matches!(error, ApplicationError::Store(RepositoryError::Unavailable));
    assert!(unavailable(found().replace(&write, members("{}")).await.unwrap_err()));
    assert!(unavailable(found().to_patch(&write).await.unwrap_err()));
    assert!(unavailable(found().delete(&write).await.unwrap_err()));
}
