//! The rights that a deletion needs in the items that are deleted with it.

use domain::Operation;

use super::*;
use crate::access_control::undeletable_below;
use crate::ports::{MockPolicies, Policies, UndeletableItems};
use crate::{Access, AccessControl, Ownership};

const PROPOSALS: Collection = Collection::known("proposals");

const LIBRARY: Collection = Collection::known("lib");

/// Everything is permitted but to delete library items that others created.
fn policies() -> impl Policies {
    let mut policies = MockPolicies::new();
    policies.expect_access().returning(|_, collection| {
        if collection == LIBRARY {
            let delete = [Operation::Delete].into_iter().collect();
            Access { others: Access::ALL.others.without(delete), ..Access::ALL }
        } else {
            Access::ALL
        }
    });
    policies.expect_deciding().returning(|_, collection, _, ownerships| {
        assert_eq!((collection, ownerships), (LIBRARY, &[Ownership::Others][..]));
        vec!["their_own".into()]
    });
    policies
}

fn limited(repository: MockItemRepository) -> ResourceService {
    let mut service = service(PROPOSALS, repository);
    service.access = AccessControl::new(Arc::new(policies()));
    service
}

fn caller() -> WriteOptions {
    WriteOptions::by(Caller::Known(Arc::new(domain::Principal::named("ana"))))
}

fn those_of_others() -> Vec<UndeletableItems> {
    let (collection, ownership) = (LIBRARY, Ownership::Others);
    vec![UndeletableItems { collection, ownership, caller: Some("ana".into()) }]
}

#[tokio::test]
async fn a_deletion_by_a_caller_who_may_delete_everything_reads_nothing_more() {
    let mut repository = MockItemRepository::new();
    repository.expect_find().once().returning(|_, _| Ok(Some(stored(1, 1, "{}"))));
    repository
        .expect_delete()
        .once()
        .withf(|_, _, _, metadata| metadata.warrant.undeletable().is_empty())
        .returning(|_, _, _, _| Ok(()));
    let service = service(PROPOSALS, repository);
    service.delete(&write(&Precondition::NONE)).await.unwrap();
}

#[tokio::test]
async fn a_deletion_is_decided_again_when_an_item_was_added_below() {
    let mut repository = MockItemRepository::new();
    repository.expect_find().times(2).returning(|_, _| Ok(Some(stored(1, 1, "{}"))));
    let mut looks = 0;
    repository
        .expect_has_undeletable()
        .times(2)
        .withf(|parent, undeletable| *parent == id(1) && undeletable == those_of_others())
        .returning(move |_, _| {
            looks += 1;
            Ok(looks == 2)
        });
    repository
        .expect_delete()
        .once()
        .withf(|_, _, _, metadata| metadata.warrant.undeletable() == those_of_others())
        .returning(|_, _, _, _| Err(RepositoryError::VersionConflict));
    let options = caller();
    let precondition = Precondition::NONE;
    let write = ItemWrite { options: &options, ..write(&precondition) };
    let refused = limited(repository).delete(&write).await.unwrap_err();
    let ApplicationError::NotPermittedBelow { collection, policies } = refused else {
        panic!("{refused}")
    };
    assert_eq!((collection, policies), (LIBRARY, vec!["their_own".into()]));
}

#[tokio::test]
async fn a_collection_is_replaced_by_callers_who_may_delete_all_that_belongs_to_its_items() {
    let service = limited(MockItemRepository::new());
    let body = ReplacementBody { elements: Vec::new() };
    let refused = service.replace_all(&caller(), &Precondition::NONE, &body, FIRST).await;
    assert!(matches!(refused, Err(ApplicationError::WholeCollectionNeeded)));
}

#[tokio::test]
async fn the_kind_that_has_an_item_is_found_among_several() {
    let kind = |ownership| UndeletableItems { collection: LIBRARY, ownership, caller: None };
    let kinds = Ownership::ALL.map(kind);
    for has_item in Ownership::ALL {
        let mut repository = MockItemRepository::new();
        repository
            .expect_has_undeletable()
            .returning(move |_, kinds| Ok(kinds.iter().any(|kind| kind.ownership == has_item)));
        let found = undeletable_below(&repository, id(1), &kinds).await.unwrap();
        assert_eq!(found, Some(&kind(has_item)));
    }
    let mut repository = MockItemRepository::new();
    repository.expect_has_undeletable().once().returning(|_, _| Ok(false));
    assert_eq!(undeletable_below(&repository, id(1), &kinds).await.unwrap(), None);
}
