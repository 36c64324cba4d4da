//! Read sets: the state of the store that a decision of a rule depends on.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{
    About, Collection, Found, Lookup, LookupKey, Severity, Transition, Verdict, Violation,
    WriteContext, WriteOperation,
};

use super::{FIRST, ResourceService, WRITE, codes, id, members, ruled_service, stored};
use crate::ports::{ListedPage, MockItemRepository, PageRevision};
use crate::query::Total;
use crate::{
    CollectionWrite, Precondition, ReadDependency, ReplacementBody, RepositoryError, Revision,
    Rule, Totals,
};

/// Refuses a write, or warns of it, when it finds any other item.
struct Test(Severity);

#[async_trait]
impl Rule for Test {
    fn about(&self) -> About<'_> {
        let operations = &WriteOperation::ALL;
        About { code: "test", severity: self.0, operations, ..About::DEFAULT }
    }

    fn fields(&self) -> Vec<&str> {
        vec!["bad"]
    }

    /// The second lookup is for the item that the first one finds.
    async fn lookups(&self, transition: &Transition<'_>) -> Result<Vec<Lookup>, Violation> {
        let key = match transition.found {
            [] => LookupKey::Parent(id(9)),
            [Found::Items(items)] => {
                items.first().map_or(LookupKey::Nothing, |item| LookupKey::Id(item.id))
            }
            _ => return Ok(Vec::new()),
        };
        let (collection, without) = (Collection::known("files"), transition.context.id);
        Ok(vec![Lookup { collection, key, without }])
    }

    async fn check(&self, transition: &Transition<'_>) -> Result<(), Violation> {
        match transition.found {
            [Found::Items(first), Found::Items(second)]
                if first.is_empty() && second.is_empty() =>
            {
                Ok(())
            }
            _ => Err(Violation::of_member("bad", "test", "remove it")),
        }
    }
}

fn judged(group: &str, repository: MockItemRepository, severity: Severity) -> ResourceService {
    let rules = [Arc::new(Test(severity)) as Arc<dyn Rule>].into();
    ruled_service(Collection::named(group).unwrap(), repository, rules)
}

#[tokio::test]
async fn a_decision_is_made_again_if_its_read_set_has_changed() {
    let mut repository = MockItemRepository::new();
    let mut looks = 0;
    repository.expect_look_up().times(3).returning(move |_| {
        looks += 1;
        let found = if looks == 1 { Vec::new() } else { vec![stored(2, 1, "{}").item] };
        Ok(Found::Items(found))
    });
    let rests_on = |read_set: &[ReadDependency]| matches!(read_set, [ReadDependency { found, lookup }] if found.is_empty() && lookup.without == id(7));
    repository
        .expect_insert()
        .once()
        .withf(move |_, _, change| rests_on(&change.read_set))
        .returning(|_, _, _| Err(RepositoryError::VersionConflict));
    let service = judged("files", repository, Severity::Error);
    assert_eq!(codes(service.create(WRITE, None, members("{}")).await), ["/bad test"]);
}

#[tokio::test]
async fn a_lookup_in_a_chain_is_part_of_the_read_set() {
    let found = |lookup: &Lookup| {
        Found::Items(match lookup.key {
            LookupKey::Parent(_) => vec![stored(2, 1, "{}").item],
            _ => Vec::new(),
        })
    };
    let mut repository = MockItemRepository::new();
    repository.expect_look_up().returning(move |lookup| Ok(found(lookup)));
    let service = judged("files", repository, Severity::Error);
    let (mut verdict, mut decision) = (Verdict::default(), service.decision());
    let (after, context) = (members("{}"), WriteContext::any(WriteOperation::Create));
    let transition = Transition { before: None, after: &after, context: &context, found: &[] };
    let asked =
        service.ask(&Test(Severity::Error), &transition, (&mut verdict, None), &mut decision);
    assert_eq!(asked.await.unwrap().map(|found| found.len()), Some(2));
    let mut read_set = decision.into_read_set();
    read_set.sort_by_key(|read| read.found.len());
    let [second, first] = &read_set[..] else { panic!("{read_set:?}") };
    assert_eq!((&first.lookup.key, first.found.len()), (&LookupKey::Parent(id(9)), 1));
    assert_eq!((&second.lookup.key, second.found.len()), (&LookupKey::Id(id(2)), 0));
}

#[tokio::test]
async fn a_write_does_not_rest_on_what_only_warns() {
    let mut repository = MockItemRepository::new();
    repository
        .expect_look_up()
        .times(2)
        .returning(|_| Ok(Found::Items(vec![stored(2, 1, "{}").item])));
    repository
        .expect_insert()
        .once()
        .withf(|_, _, change| change.read_set.is_empty())
        .returning(|_, _, _| Ok(stored(7, 1, "{}")));
    let service = judged("files", repository, Severity::Warning);
    let written = service.create(WRITE, None, members("{}")).await;
    assert!(!written.unwrap().warnings.is_empty());
}

#[tokio::test]
async fn a_replacement_under_a_condition_replaces_what_the_condition_was_compared_with() {
    let mut repository = MockItemRepository::new();
    repository.expect_find_many().returning(|_, _| Ok(Vec::new()));
    let mut revision = 0;
    repository.expect_totals().returning(move |_, _| {
        revision += 1;
        Ok(Totals { items: 1, revision: Revision(revision) })
    });
    repository.expect_page().returning(|_, _| {
        Ok(ListedPage { has_more: false, ..super::content(Total::Exact(0), &[]) }.into())
    });
    repository
        .expect_replace_all()
        .withf(|_, content, _| content.expected == Some(Revision(1)))
        .once()
        .returning(|_, _, _| {
            Ok(CollectionWrite { time: jiff::Timestamp::UNIX_EPOCH, revision: Revision(9) })
        });
    let service = judged("cashprogram", repository, Severity::Error);
    let first = PageRevision { revision: Revision(1), unseen: Vec::new() };
    let first = Precondition::one_of(vec![first]);
    let body = ReplacementBody { elements: Vec::new() };
    service.replace_all(WRITE, &first, &body, FIRST).await.unwrap();
}
