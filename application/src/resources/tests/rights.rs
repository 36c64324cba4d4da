//! The rights that a deletion needs in the items that are deleted with it.

use domain::predicate::{Literal, Operand, Subject};
use domain::{Operation, Operations, Predicate};

use super::*;
use crate::access_control::undeletable_below;
use crate::ports::{ConcerningPolicy, DeletableItems, MockPolicies, Permissions, Policies};
use crate::{Access, AccessControl};

const PROPOSALS: Collection = Collection::known("proposals");

const LIBRARY: Collection = Collection::known("lib");

/// Holds of the items of the caller `ana`.
fn own() -> Predicate {
    let creator = Operand::current(Subject::CreatedBy);
    Predicate::equals(creator, Literal::String("ana".into()))
}

/// Everything is permitted but to delete library items that others created.
fn policies() -> impl Policies {
    let mut policies = MockPolicies::new();
    policies.expect_permissions().returning(|_| {
        Permissions::new(Collection::all().map(|collection| {
            let mut access = Access::uniform(Operations::ALL);
            if collection == LIBRARY {
                access.items[Operation::Delete as usize] = Arc::new(own());
            }
            access
        }))
    });
    policies.expect_concerning().returning(|_, collection, _| {
        assert_eq!(collection, LIBRARY);
        let (id, items) = ("their_own".into(), own().negated());
        vec![ConcerningPolicy { id, denies: true, writes: items.clone(), items }]
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

fn own_items() -> Vec<DeletableItems> {
    vec![DeletableItems { collection: LIBRARY, deletable: Arc::new(own()) }]
}

#[tokio::test]
async fn a_deletion_by_a_caller_who_may_delete_everything_reads_nothing_more() {
    let mut repository = MockItemRepository::new();
    repository.expect_find().once().returning(|_, _| Ok(Some(stored(1, 1, "{}"))));
    repository
        .expect_delete()
        .once()
        .withf(|_, _, _, metadata| metadata.warrant.deletable().is_empty())
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
        .withf(|parent, deletable| *parent == id(1) && deletable == own_items())
        .returning(move |_, _| {
            looks += 1;
            Ok(looks == 2)
        });
    repository
        .expect_delete()
        .once()
        .withf(|_, _, _, metadata| metadata.warrant.deletable() == own_items())
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
async fn the_collection_that_has_an_item_is_found_among_several() {
    let limits = [LIBRARY, PROPOSALS]
        .map(|collection| DeletableItems { collection, deletable: Arc::new(own()) });
    for has_item in [LIBRARY, PROPOSALS] {
        let mut repository = MockItemRepository::new();
        repository
            .expect_has_undeletable()
            .returning(move |_, limits| Ok(limits.iter().any(|it| it.collection == has_item)));
        let found = undeletable_below(&repository, id(1), &limits).await.unwrap();
        assert_eq!(found, Some(has_item));
    }
    let mut repository = MockItemRepository::new();
    repository.expect_has_undeletable().once().returning(|_, _| Ok(false));
    assert_eq!(undeletable_below(&repository, id(1), &limits).await.unwrap(), None);
}
