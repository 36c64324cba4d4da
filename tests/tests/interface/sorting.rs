//! `sort`: the order of a collection, total and the same on both stores.

use serde_json::Value;
use tests::on_each_store;

use crate::PROPOSAL;
use crate::proposals::{DATES, FULL, REQUIRED, TEXT, TEXT_OR_INTEGER, TEXT_OR_TEXTS};
use crate::queries::{FILES, ODD_NAMES, encoded, every_collection, found, numbers, store_values};

const PROPOSALS: &str = "/v1/proposals";

/// Values in no order. The tables name them by their numbers.
const VALUES: &[&str] = &[
    r#""b""#,      // 0
    "10",          // 1
    "-",           // 2
    r#""a""#,      // 3
    "9",           // 4
    "null",        // 5
    r#""B""#,      // 6
    "true",        // 7
    "-1.5",        // 8
    r#""""#,       // 9
    r#""é""#,      // 10
    "[2,1]",       // 11
    "1e1",         // 12
    r#""10""#,     // 13
    r#"{"a":1}"#,  // 14
    "9.5",         // 15
    r#""🐟""#,     // 16
    r#""\uffee""#, // 17
    "0",           // 18
    r#""a b""#,    // 19
    "false",       // 20
    "10.0",        // 21
    r#""ab""#,     // 22
];

#[test]
fn numbers_come_before_texts_and_absent_values_last() {
    on_each_store(|service| {
        store_values(service, VALUES);
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
    });
}

#[test]
fn the_order_is_that_of_creation_unless_asked_otherwise() {
    on_each_store(|service| {
        let items = store_values(service, &["3", "1", "2", "1", "3"]);
        service.patch(&items[1].path).json(r#"{"y":1}"#).send().expect(200);
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
    });
}

#[test]
fn several_keys_are_compared_one_after_the_other() {
    on_each_store(|service| {
        for (n, (date, title)) in [
            ("2026-01-02", "b"),
            ("2026-01-01", "a"),
            ("2026-01-02", "a"),
            ("", "A"),
            ("2026-01-01", "B"),
            ("", "z"),
        ]
        .iter()
        .enumerate()
        {
            let date = if date.is_empty() { "null".to_owned() } else { format!("\"{date}\"") };
            service.create(
                PROPOSALS,
                &format!(
                    r#"{{"proposal_type":{n},"project_title":"{title}","start_date":{date}}}"#
                ),
            );
        }
        for (query, expected) in [
            ("sort=-start_date,project_title", "2 0 4 1 3 5"),
            ("sort=start_date,project_title", "4 1 2 0 3 5"),
            ("sort=start_date,-project_title", "1 4 0 2 5 3"),
            ("sort=project_title,start_date", "3 4 1 2 0 5"),
            ("sort=-proposal_type", "5 4 3 2 1 0"),
            ("sort=-start_date", "0 2 1 4 3 5"),
        ] {
            let types = service.list(PROPOSALS, query).each("proposal_type");
            assert_eq!(
                types.iter().map(Value::to_string).collect::<Vec<_>>().join(" "),
                expected,
                "{query}"
            );
        }
    });
}

#[test]
fn every_field_of_a_proposal_sorts() {
    on_each_store(|service| {
        let [bare, full] = [PROPOSAL, FULL].map(|body| service.create(PROPOSALS, body).id);
        let ids = |query: &str| service.list(PROPOSALS, query).embedded_ids("proposals");
        for field in [TEXT, TEXT_OR_TEXTS, TEXT_OR_INTEGER, DATES].concat() {
            for direction in ["", "-"] {
                assert_eq!(
                    ids(&format!("sort={direction}{field}")),
                    [full.clone(), bare.clone()],
                    "{direction}{field}"
                );
            }
        }
        for field in REQUIRED {
            for direction in ["", "-"] {
                assert_eq!(
                    ids(&format!("sort={direction}{field}")),
                    [bare.clone(), full.clone()],
                    "{direction}{field}: a tie"
                );
            }
        }
    });
}

#[test]
fn identifiers_sort_as_numbers_and_then_as_texts() {
    on_each_store(|service| {
        for (n, value) in
            [r#""b""#, "10", "9", r#""10""#, "-3", r#""9""#, "9007199254740993", "9007199254740992"]
                .iter()
                .enumerate()
        {
            let body =
                format!(r#"{{"proposal_type":{n},"project_title":"T","researcher_id":{value}}}"#);
            service.create(PROPOSALS, &body);
        }
        for (query, expected) in
            [("sort=researcher_id", "4 2 1 7 6 3 5 0"), ("sort=-researcher_id", "0 5 3 6 7 1 2 4")]
        {
            let types = service.list(PROPOSALS, query).each("proposal_type");
            assert_eq!(
                types.iter().map(Value::to_string).collect::<Vec<_>>().join(" "),
                expected,
                "{query}"
            );
        }
    });
}

#[test]
fn members_with_odd_names_sort() {
    on_each_store(|service| {
        // A comma parts names, and a hyphen before one is a direction.
        for name in ODD_NAMES.iter().filter(|name| !name.contains([',', '-'])) {
            let member = Value::from(*name).to_string();
            let items =
                [2, 1, 3].map(|n| service.create(FILES, &format!(r#"{{{member}:{n},"n":{n}}}"#)));
            for (sort, expected) in
                [(encoded(name), "1 2 3"), (format!("-{}", encoded(name)), "3 2 1")]
            {
                let query = format!("sort={sort}&filter[{}][exists]=true", encoded(name));
                assert_eq!(found(service, &query), expected, "{query}");
            }
            for item in items {
                service.delete(&item.path).send().expect(204);
            }
        }
    });
}

#[test]
fn every_collection_is_sorted() {
    on_each_store(|service| {
        for collection in every_collection(service) {
            for title in ["b", "c", "a"] {
                service.create(
                    &collection,
                    &format!(r#"{{"proposal_type":"sorted","project_title":"{title}"}}"#),
                );
            }
            let answer =
                service.list(&collection, "sort=-project_title&filter[proposal_type]=sorted");
            assert_eq!(answer.each("project_title"), ["c", "b", "a"], "{answer}");
        }
    });
}

#[test]
fn pages_of_an_order_follow_each_other() {
    on_each_store(|service| {
        store_values(service, VALUES);
        for order in ["x", "-x", "-x,-n", "-id", "updated_at"] {
            let whole = found(service, &format!("sort={order}"));
            let pages = (1..=8)
                .map(|page| found(service, &format!("sort={order}&page_size=3&page={page}")));
            assert_eq!(pages.collect::<Vec<_>>().join(" "), whole, "{order}");
        }
    });
}

#[test]
fn an_order_that_makes_no_sense_is_refused() {
    on_each_store(|service| {
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
    });
}
