//! `sort`: the order of a collection, total and the same on both stores.

use serde_json::Value;
use tests::Service;

use crate::PROPOSAL;
use crate::proposals::{DATES, FULL, REQUIRED, TEXT, TEXT_OR_INTEGER, TEXT_OR_TEXTS};
use crate::queries::{FILES, ODD_NAMES, encoded, every_collection, found, numbers, store_values};

const PROPOSALS: &str = "/v1/proposals";

/// Values in no order, ten in a line. The tables name them by their numbers.
const VALUES: &str = r#"
    "b"    10          -    "a"   9               null      "B"      true   -1.5      ""
    "\u00e9"  [2,1]       1e1  "10"  {"a":1}         9.5       "🐟"     "\uffee"  0  "a\u0020b"
    false  10.0        "ab"
"#;

tests::cases![
    numbers_come_before_texts_and_absent_values_last,
    the_order_is_that_of_creation_unless_asked_otherwise,
    every_field_of_a_proposal_sorts,
    identifiers_sort_as_numbers_and_then_as_texts_also_among_other_keys,
    members_with_odd_names_sort,
    every_collection_is_sorted,
    an_order_that_makes_no_sense_is_refused,
];

fn numbers_come_before_texts_and_absent_values_last(service: &Service) {
    store_values(service, &VALUES.split_whitespace().collect::<Vec<_>>());
    for (query, expected) in [
        ("sort=x", "8 18 4 15 1 12 21 9 13 6 3 19 22 0 10 17 16 11 20 7 14 2 5"),
        ("sort=-x", "14 7 20 11 16 17 10 0 22 19 3 6 13 9 1 12 21 15 4 18 8 2 5"),
        ("sort=x,-n", "8 18 4 15 21 12 1 9 13 6 3 19 22 0 10 17 16 11 20 7 14 5 2"),
        ("sort=-x,-id", "14 7 20 11 16 17 10 0 22 19 3 6 13 9 21 12 1 15 4 18 8 5 2"),
        ("sort=x&filter[x][gt]=9.0", "15 1 12 21"),
        ("sort=-x&filter[x][exists]=false", "2 5"),
    ] {
        assert_eq!(found(service, query), expected, "{query}");
    }
}

fn the_order_is_that_of_creation_unless_asked_otherwise(service: &Service) {
    let items = store_values(service, &["3", "1", "2", "1", "3"]);
    service.change(&items[1].path, r#"{"y":1}"#);
    for (query, expected) in [
        ("", "0 1 2 3 4"),
        ("sort=id", "0 1 2 3 4"),
        ("sort=-id", "4 3 2 1 0"),
        ("sort=created_at", "0 1 2 3 4"),
        ("sort=-created_at", "4 3 2 1 0"),
        ("sort=updated_at", "0 2 3 4 1"),
        ("sort=-updated_at", "1 4 3 2 0"),
        ("sort=nothing", "0 1 2 3 4"),
        ("sort=-nothing", "0 1 2 3 4"),
        ("sort=x", "1 3 2 0 4"),
        ("sort=-x", "0 4 2 1 3"),
        ("sort=x,id", "1 3 2 0 4"),
        ("sort=x,-id", "3 1 2 4 0"),
        ("sort=x,-created_at", "3 1 2 4 0"),
        ("sort=nothing,-x,n", "0 4 2 1 3"),
        ("sort=-x%2C-id", "4 0 2 3 1"),
    ] {
        assert_eq!(found(service, query), expected, "{query}");
    }
}

fn identifiers_sort_as_numbers_and_then_as_texts_also_among_other_keys(service: &Service) {
    let ids = r#""b" 10 9 "10" -3 "9" 9007199254740993 9007199254740992"#.split(' ');
    for (n, id) in ids.enumerate() {
        let title = ["A", "B"][n % 2];
        let body =
            format!(r#"{{"proposal_type":{n},"project_title":"{title}","researcher_id":{id}}}"#);
        service.create(PROPOSALS, &body);
    }
    for (sort, expected) in [
        ("researcher_id", "4 2 1 7 6 3 5 0"),
        ("-researcher_id", "0 5 3 6 7 1 2 4"),
        ("project_title,-researcher_id", "0 6 2 4 5 3 7 1"),
        ("-project_title,researcher_id", "1 7 3 5 4 2 6 0"),
    ] {
        let types = service.list(PROPOSALS, &format!("sort={sort}")).each("proposal_type");
        let types: Vec<_> = types.iter().map(Value::to_string).collect();
        assert_eq!(types.join(" "), expected, "{sort}");
    }
}

fn every_field_of_a_proposal_sorts(service: &Service) {
    let [bare, full] = [PROPOSAL, FULL].map(|body| service.create(PROPOSALS, body).id);
    let optional = [TEXT, TEXT_OR_TEXTS, TEXT_OR_INTEGER, DATES].concat();
    for field in optional.iter().chain(REQUIRED) {
        // A required field has the same value in both.
        let is_tie = REQUIRED.contains(field);
        let expected = if is_tie { [&bare, &full] } else { [&full, &bare] };
        for sort in [(*field).to_owned(), format!("-{field}")] {
            let answer = service.list(PROPOSALS, &format!("sort={sort}"));
            assert_eq!(answer.embedded_ids("proposals"), expected.map(Clone::clone), "{sort}");
        }
    }
}

fn members_with_odd_names_sort(service: &Service) {
    // A comma parts names, and a hyphen before one is a direction.
    for name in ODD_NAMES.iter().filter(|name| !name.contains([',', '-'])) {
        let member = Value::from(*name).to_string();
        let items =
            [2, 1, 3].map(|n| service.create(FILES, &format!(r#"{{{member}:{n},"n":{n}}}"#)));
        for (sort, expected) in [(encoded(name), "1 2 3"), (format!("-{}", encoded(name)), "3 2 1")]
        {
            let query = format!("sort={sort}&filter[{}][exists]=true", encoded(name));
            assert_eq!(found(service, &query), expected, "{query}");
        }
        for item in items {
            service.remove(&item.path);
        }
    }
}

fn every_collection_is_sorted(service: &Service) {
    for collection in every_collection(service) {
        for title in ["b", "c", "a"] {
            let body = format!(r#"{{"proposal_type":"sorted","project_title":"{title}"}}"#);
            service.create(&collection, &body);
        }
        let answer = service.list(&collection, "sort=-project_title&filter[proposal_type]=sorted");
        assert_eq!(answer.each("project_title"), ["c", "b", "a"], "{answer}");
    }
}

fn an_order_that_makes_no_sense_is_refused(service: &Service) {
    service.create(PROPOSALS, FULL);
    for (query, mentioned) in [
        ("sort=startdate", &["`sort`", "startdate", "`start_date`"][..]),
        ("sort=-start_date,projct_title", &["`sort`", "projct_title", "`project_title`"]),
        ("sort=update_at", &["`sort`", "update_at", "`updated_at`"]),
        ("sort=colour", &["`sort`", "colour"]),
        ("sort=", &["`sort`"]),
        ("sort=-", &["`sort`"]),
        ("sort=start_date,", &["`sort`"]),
        ("sort=start_date,-start_date", &["`sort`", "start_date"]),
        ("sort=+start_date", &["`sort`", "`start_date`"]),
        ("sort=start_date%20desc", &["`sort`"]),
        ("sort=start_date&sort=project_title", &["`sort`"]),
        ("sort[start_date]=desc", &["sort"]),
        ("sort=%00", &["sort"]),
    ] {
        service.get(&format!("{PROPOSALS}?{query}")).send().refusing_query(mentioned);
    }
    for query in ["sort=", "sort=,", "sort=a,a", "sort=a,,b", "sort=id,-id"] {
        service.get(&format!("{FILES}?{query}")).send().refusing_query(&["`sort`"]);
    }
    assert_eq!(numbers(&service.list(FILES, "sort=anything,-at%20all")), "");
}
