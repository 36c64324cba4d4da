//! Rules of the rule book: who is asked, what refuses, what warns, and what a decision rests on.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{
    About, Collection, Found, Lookup, LookupKey, Pointer, Severity, Transition, Version, Violation,
    WriteOperation,
};

use super::{
    ANYONE, FIRST, ResourceService, WRITE, codes, finding, id, item, members, patch, ruled_service,
    stored, write,
};
use crate::ports::{ListedPage, MockItemRepository};
use crate::query::Total;
use crate::{
    CollectionWrite, Precondition, ReadDependency, ReplacementBody, RepositoryError, Revision,
    Rule, Rules, Totals, View,
};

/// Refuses what has a member `bad`, or what finds any other item.
struct Test {
    severity: Severity,
    operations: &'static [WriteOperation],
    looks_up: bool,
}

const REFUSING: Test =
    Test { severity: Severity::Error, operations: &WriteOperation::ALL, looks_up: false };

#[async_trait]
impl Rule for Test {
    fn about(&self) -> About<'_> {
        About {
            code: "test",
            operations: self.operations,
            severity: self.severity,
            ..About::DEFAULT
        }
    }

    fn fields(&self) -> Vec<&str> {
        vec!["bad"]
    }

    async fn lookups(&self, transition: &Transition<'_>) -> Result<Vec<Lookup>, Violation> {
        let lookup = Lookup {
            collection: Collection::known("files"),
            key: LookupKey::Parent(id(9)),
            without: transition.context.id,
        };
        Ok(if self.looks_up { vec![lookup] } else { Vec::new() })
    }

    async fn check(&self, transition: &Transition<'_>) -> Result<(), Violation> {
        let found_any = matches!(transition.found, [Found::Items(items)] if !items.is_empty());
        let is_bad = transition.after.get("bad").is_some() || found_any;
        if is_bad { Err(Violation::of_member("bad", "test", "remove it")) } else { Ok(()) }
    }
}

fn book(rule: Test) -> Rules {
    [Arc::new(rule) as Arc<dyn Rule>].into()
}

fn judged_files(repository: MockItemRepository, rule: Test) -> ResourceService {
    ruled_service(Collection::known("files"), repository, book(rule))
}

const REFUSED: [&str; 1] = ["/bad test"];

#[tokio::test]
async fn a_rule_of_the_book_refuses_every_kind_of_write() {
    let service = judged_files(finding(1, r#"{"bad":1}"#), REFUSING);
    let bad = || members(r#"{"bad":2}"#);
    let write = write(&Precondition::NONE);
    assert_eq!(codes(service.create(WRITE, None, bad()).await), REFUSED);
    assert_eq!(codes(service.continue_from(&write, bad()).await), REFUSED);
    assert_eq!(codes(service.replace(&write, bad()).await), REFUSED);
    assert_eq!(codes(patch(&service, "{}").await), REFUSED);
    assert_eq!(codes(service.delete(&write).await), REFUSED);
}

#[tokio::test]
async fn a_warning_is_returned_and_the_write_is_done() {
    let mut repository = MockItemRepository::new();
    repository.expect_insert().once().returning(|_, item, _| Ok(stored(7, 1, &item.members)));
    let service = judged_files(repository, Test { severity: Severity::Warning, ..REFUSING });
    let written = service.create(WRITE, None, members(r#"{"bad":2}"#)).await.unwrap();
    let warning = written.warnings.iter().next().unwrap();
    assert_eq!(
        (warning.rule.as_deref(), warning.pointer.to_string()),
        (Some("test"), "/bad".to_owned())
    );
}

#[tokio::test]
async fn an_operation_that_a_rule_does_not_name_is_not_judged() {
    let mut repository = finding(1, r#"{"bad":1}"#);
    repository.expect_delete().once().returning(|_, _, _, _| Ok(()));
    let service =
        judged_files(repository, Test { operations: &[WriteOperation::Create], ..REFUSING });
    service.delete(&write(&Precondition::NONE)).await.unwrap();
}

#[tokio::test]
async fn a_decision_is_made_again_if_its_read_set_has_changed() {
    let mut repository = MockItemRepository::new();
    let mut looks = 0;
    repository.expect_look_up().times(2).returning(move |_| {
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
    let service = judged_files(repository, Test { looks_up: true, ..REFUSING });
    assert_eq!(codes(service.create(WRITE, None, members("{}")).await), REFUSED);
}

#[tokio::test]
async fn a_write_does_not_rest_on_what_only_warns() {
    let mut repository = MockItemRepository::new();
    repository
        .expect_look_up()
        .once()
        .returning(|_| Ok(Found::Items(vec![stored(2, 1, "{}").item])));
    repository
        .expect_insert()
        .once()
        .withf(|_, _, change| change.read_set.is_empty())
        .returning(|_, _, _| Ok(stored(7, 1, "{}")));
    let warning = Test { looks_up: true, severity: Severity::Warning, ..REFUSING };
    let written = ruled_service(Collection::known("files"), repository, book(warning))
        .create(WRITE, None, members("{}"))
        .await;
    assert!(!written.unwrap().warnings.is_empty());
}

#[tokio::test]
async fn what_a_replacement_removes_is_judged_too() {
    let mut repository = MockItemRepository::new();
    repository.expect_find_many().returning(|_, _| Ok(Vec::new()));
    repository.expect_totals().returning(|_, _| Ok(Totals { items: 1, revision: Revision(8) }));
    repository.expect_page().returning(|_, _| {
        let content = super::content(Total::Exact(1), &[stored(1, 1, r#"{"bad":1}"#)]);
        Ok(ListedPage { has_more: false, ..content }.into())
    });
    let service = ruled_service(Collection::known("cashprogram"), repository, book(REFUSING));
    let elements = vec![(Pointer::root().index(0), Some(members("{}")))];
    let refused =
        service.replace_all(WRITE, &Precondition::NONE, &ReplacementBody { elements }, FIRST).await;
    assert_eq!(codes(refused), [" test"]);
}

/// Admits one item of each year.
struct OneAYear;

#[async_trait]
impl Rule for OneAYear {
    fn about(&self) -> About<'_> {
        About { code: "one_a_year", ..About::DEFAULT }
    }

    fn fields(&self) -> Vec<&str> {
        vec!["year"]
    }

    async fn lookups(&self, transition: &Transition<'_>) -> Result<Vec<Lookup>, Violation> {
        let year = transition
            .after
            .get("year")
            .and_then(|year| year.as_written().map(Into::into))
            .unwrap_or_default();
        let key = LookupKey::Member { name: "year".into(), value: year };
        Ok(vec![Lookup {
            collection: Collection::known("cashprogram"),
            key,
            without: transition.context.id,
        }])
    }

    async fn check(&self, transition: &Transition<'_>) -> Result<(), Violation> {
        match transition.found {
            [Found::Items(others)] if others.is_empty() => Ok(()),
            _ => Err(Violation::of_member("year", "one_a_year", "take another")),
        }
    }
}

const WRITTEN: CollectionWrite =
    CollectionWrite { time: jiff::Timestamp::UNIX_EPOCH, revision: Revision(9) };

/// Replaces the collection, which holds 1 and 2 of the years 2025 and 2026; what refuses it.
async fn replaced_by(elements: &[&str]) -> Vec<String> {
    let mut repository = MockItemRepository::new();
    let held = [stored(1, 1, r#"{"year":2025}"#), stored(2, 1, r#"{"year":2026}"#)];
    repository.expect_find_many().returning(move |_, ids| {
        Ok(held.iter().filter(|shown| ids.contains(&shown.item.id)).cloned().collect())
    });
    repository.expect_replace_all().returning(|_, _, change| {
        assert!(change.read_set.is_empty(), "it rests on nothing but itself");
        Ok(WRITTEN)
    });
    let rules = [Arc::new(OneAYear) as Arc<dyn Rule>].into();
    let service = ruled_service(Collection::known("cashprogram"), repository, rules);
    let element =
        |(place, text): (usize, &&str)| (Pointer::root().index(place), Some(members(text)));
    let body = ReplacementBody { elements: elements.iter().enumerate().map(element).collect() };
    let replaced = service.replace_all(WRITE, &Precondition::NONE, &body, FIRST).await;
    if replaced.is_ok() { Vec::new() } else { codes(replaced) }
}

#[tokio::test]
async fn the_elements_of_a_replacement_are_judged_together() {
    let (one, two) = (id(1), id(2));
    let refused = ["/0/year one_a_year", "/1/year one_a_year"];
    assert_eq!(replaced_by(&[r#"{"year":2030}"#, r#"{"year":2030}"#]).await, refused);
    let kept = format!(r#"{{"id":"{one}","year":2025}}"#);
    assert_eq!(replaced_by(&[&kept, r#"{"year":"2025"}"#]).await, refused);
    let freed = replaced_by(&[&kept, r#"{"year":2026}"#]).await;
    assert_eq!(freed, [""; 0], "a removed item has no year");
    let swapped =
        [format!(r#"{{"id":"{one}","year":2026}}"#), format!(r#"{{"id":"{two}","year":2025}}"#)];
    assert_eq!(replaced_by(&[&swapped[0], &swapped[1]]).await, [""; 0]);
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
        .returning(|_, _, _| Ok(WRITTEN));
    let service = ruled_service(Collection::known("cashprogram"), repository, book(REFUSING));
    let first = Precondition::one_of(vec![super::revision(1)]);
    let body = ReplacementBody { elements: Vec::new() };
    service.replace_all(WRITE, &first, &body, FIRST).await.unwrap();
}

#[tokio::test]
async fn an_examination_shows_the_verdict_on_a_replacement_and_writes_nothing() {
    for severity in Severity::ALL {
        let service = judged_files(finding(3, r#"{"bad":1}"#), Test { severity, ..REFUSING });
        let (shown, _, verdict) = service.examine(ANYONE, item(), &View::default()).await.unwrap();
        assert_eq!(shown.item.version, Version::from_number(3));
        assert_eq!(
            (verdict.errors.is_empty(), verdict.warnings.is_empty()),
            match severity {
                Severity::Error => (false, true),
                Severity::Warning => (true, false),
            }
        );
    }
}
