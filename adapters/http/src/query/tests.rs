//! Whole queries, from the text to what is asked of the use case.

use application::Search;
use application::query::{Condition, PageStart, SortKey, Subject};
use domain::ItemId;
use proptest::prelude::*;

use super::parameters::Parameters;
use super::{ChangesQuery, CollectionQuery, ItemQuery, shows_a_part};
use crate::groups::named;

fn error(query: &str) -> String {
    CollectionQuery::read(named("proposals"), query, None)
        .err()
        .map(|problem| problem.to_string())
        .unwrap_or_default()
}

#[test]
fn a_query_is_read_as_a_whole() {
    let raw = "filter[research_type]=Applied&sort=-start_date&fields=project_title&embed=lib&q=rice&page=2&page_size=10&total=none";
    let request = CollectionQuery::read(named("proposals"), raw, None).unwrap().request;
    assert_eq!(
        (request.page, request.page_size, request.is_counted, request.position),
        (2, 10, false, None)
    );
    assert_eq!(request.selection.filters.len(), 1);
    assert_eq!(request.selection.search, Search::read("rice").ok());
    assert!(matches!(
        &request.order[..],
        [SortKey { subject: Subject::Member { .. }, descending: true }]
    ));
    assert_eq!(
        (request.view.fields.map(|fields| fields.len()), request.view.embed[0].name),
        (Some(1), "lib")
    );
}

#[test]
fn errors_name_what_is_wrong() {
    for (query, expected) in [
        ("pagesize=10", "Did you mean `page_size`?"),
        ("q=%21", "`q` contains no word"),
        ("q=%22rice", "quotation mark"),
        ("cursor=x", "Invalid cursor."),
        ("cursor=", "Invalid cursor."),
        ("fields=titel", "Unknown field `titel` of a proposal in `fields`."),
    ] {
        assert!(error(query).contains(expected), "{query}: {}", error(query));
    }
}

#[test]
fn writes_know_no_parameters_and_items_two() {
    let takes = |query: &str| Parameters::read(query, &[]).is_ok();
    assert!(takes("") && !takes("a=1") && !takes("filter[a]=1"));
    for (query, expected) in [
        ("", true),
        ("&", true),
        ("fields=a&embed=proposal", true),
        ("page=1", false),
        ("filter[a]=1", false),
    ] {
        assert_eq!(ItemQuery::read(named("lib"), query).is_ok(), expected, "{query}");
    }
}

#[test]
fn a_selection_differs_from_the_whole_collection() {
    for (query, expected) in [
        ("", false),
        ("page=1&page_size=250&sort=a&total=exact", false),
        ("filter%5Ba%5D=1", true),
        ("page=1&q=a", true),
        ("fields=a", true),
    ] {
        assert_eq!(shows_a_part(query), expected, "{query}");
    }
}

/// A cursor to the item before or after a page, as the page's own links have it.
fn linked(raw: &str, keys: Vec<application::query::SortValue>) -> (String, PageStart) {
    let query = CollectionQuery::read(named("files"), raw, None).unwrap();
    let id = ItemId::parse("01890a5d-ac96-774b-bcce-b302099a8050").unwrap();
    let position = PageStart::After(application::query::SortPosition { keys, id });
    let next = query.page("", 2, Some(&position)).split_off(1);
    (next, position)
}

#[test]
fn the_next_link_leads_to_its_place() {
    use application::query::SortValue::{Absent, Number, String};
    for (raw, keys) in [
        ("", vec![]),
        ("filter[a]=1&page_size=3", vec![]),
        ("sort=-n,title", vec![Number("7".into()), String("x".into())]),
        ("sort=-n,id,title", vec![Absent]),
        ("q=rice", vec![Number("0.5".into())]),
        ("q=rice&sort=created_at", vec![Number("1771200000000000".into())]),
    ] {
        let (next, position) = linked(raw, keys);
        let request = CollectionQuery::read(named("files"), &next, None).unwrap().request;
        assert_eq!((request.page, request.position), (2, Some(position)), "{next}");
        let elsewhere = CollectionQuery::read(named("lib"), &next, None);
        assert!(elsewhere.is_err(), "another collection: {next}");
        assert!(
            CollectionQuery::read(named("files"), &format!("{next}&filter[b]=1"), None).is_err(),
            "another selection: {next}"
        );
        let bare = next.replace("page=2&", "");
        assert_eq!(
            CollectionQuery::read(named("files"), &bare, None).unwrap().request.page,
            1,
            "{bare}"
        );
    }
}

proptest! {
    #[test]
    fn no_query_makes_it_panic(query in "((filter\\[[a-z%0-9]{0,4}\\](\\[[a-z]{0,4}\\])?|sort|fields|q|cursor|page|[a-z]{0,4})=?[ -~]{0,20}&){0,4}") {
        drop(CollectionQuery::read(named("files"), &query, None));
        drop(ItemQuery::read(named("files"), &query));
    }

    #[test]
    fn any_bytes_are_a_query_or_an_error(query in "[!-~]{0,60}|(%[0-9a-fA-F]{2}|[a-z=&\\[\\]]){0,30}") {
        for read in [CollectionQuery::read(named("files"), &query, None), CollectionQuery::read(named("proposals"), &query, None)] {
            if let Err(problem) = read {
                prop_assert!(problem.to_string().starts_with("invalid-query: "), "{problem}");
            }
        }
        drop((ItemQuery::read(named("files"), &query), Parameters::read(&query, &[]), shows_a_part(&query), ChangesQuery::read(&query)));
    }

    #[test]
    fn a_filter_asks_for_what_was_written(member in "[^\0]{1,20}", value in "[^\0,{]{1,30}") {
        let encode = |text: &str| percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string();
        prop_assume!(!["id", "created_at", "updated_at"].contains(&member.as_str()));
        let query = format!("filter[{}]={}", encode(&member), encode(&value));
        let filters = CollectionQuery::read(named("files"), &query, None).unwrap().request.selection.filters;
        let Subject::Member { name, .. } = &filters[0].subject else { panic!("{filters:?}") };
        let Condition::Compare(_, operand) = &filters[0].condition else { panic!("{filters:?}") };
        prop_assert_eq!((&**name, operand.text.as_deref()), (member.as_str(), Some(value.as_str())));
    }
}
