//! Whole queries, from the text to what is asked of the use case.

use application::query::{Condition, Subject};
use proptest::prelude::*;

use super::parameters::Parameters;
use super::{ChangesQuery, CollectionQuery, ItemQuery, shows_a_part};
use crate::groups::named;

proptest! {
    #[test]
    fn any_bytes_are_a_query_or_an_error(query in prop_oneof![
        "[!-~]{0,60}",
        "(%[0-9a-fA-F]{2}|[a-z=&\\[\\]]){0,30}",
        "((filter\\[[a-z%0-9]{0,4}\\](\\[[a-z]{0,4}\\])?|sort|fields|q|cursor|page|[a-z]{0,4})=?[ -~]{0,20}&){0,4}",
    ]) {
        for group in ["files", "proposals"] {
            if let Err(problem) = CollectionQuery::read(named(group), &query, None) {
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
