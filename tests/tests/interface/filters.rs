//! `filter[member][operator]=value`: which items are found, the same on both stores.

use serde_json::Value;
use tests::{Service, on_each_store};

use crate::proposals::{DATES, FULL, REQUIRED, TEXT, TEXT_OR_INTEGER, TEXT_OR_TEXTS};
use crate::queries::{FILES, ODD_NAMES, encoded, every_collection, found, numbers, store_values};

const PROPOSALS: &str = "/v1/proposals";

/// Values of every type. The tables name them by their numbers.
const VALUES: &[&str] = &[
    "9",            // 0
    "10",           // 1
    "14.50",        // 2
    "-2",           // 3
    "1e1",          // 4
    "7",            // 5
    "7.0",          // 6
    r#""7""#,       // 7
    r#""14.50""#,   // 8
    r#""b""#,       // 9
    r#""Z""#,       // 10
    "true",         // 11
    r#""true""#,    // 12
    "false",        // 13
    "null",         // 14
    "-",            // 15
    r#"{"a":"a"}"#, // 16
    r#"["a",7]"#,   // 17
    "[]",           // 18
    r#""""#,        // 19
    "[null]",       // 20
    r#"[["b"]]"#,   // 21
];

const PRESENT: &str = "0 1 2 3 4 5 6 7 8 9 10 11 12 13 16 17 18 19 20 21";

#[test]
fn equality_knows_the_type_of_what_is_stored() {
    finds(&[
        ("filter[x]=7", "5 6 7 17"),
        ("filter[x][eq]=7", "5 6 7 17"),
        ("filter[x]=7.00", "5 6 17"),
        ("filter[x]=14.5", "2"),
        ("filter[x]=14.50", "2"),
        ("filter[x]=1450e-2", "2"),
        ("filter[x]=10", "1 4"),
        ("filter[x]=-2", "3"),
        ("filter[x]=true", "11 12"),
        ("filter[x]=false", "13"),
        ("filter[x]=b", "9"),
        ("filter[x]=B", ""),
        ("filter[x]=a", "17"),
        ("filter[x]=", "19"),
        ("filter[x]", "19"),
        ("filter[x]=null", ""),
        ("filter[x]=07", ""),
        ("filter[x]=+7", ""),
        ("filter[x]=[]", ""),
        ("filter[y]=7", ""),
        ("filter[x][ne]=7", "0 1 2 3 4 8 9 10 11 12 13 16 18 19 20 21"),
        ("filter[x][ne]=14.50", "0 1 3 4 5 6 7 8 9 10 11 12 13 16 17 18 19 20 21"),
        ("filter[x][ne]=nothing", PRESENT),
        ("filter[y][ne]=7", ""),
    ]);
}

#[test]
fn orders_compare_numbers_as_numbers_and_texts_by_code_point() {
    finds(&[
        ("filter[x][lt]=10", "0 3 5 6 17 19"),
        ("filter[x][lte]=10", "0 1 3 4 5 6 17 19"),
        ("filter[x][gt]=10", "2 7 8 9 10 12 17"),
        ("filter[x][gte]=10", "1 2 4 7 8 9 10 12 17"),
        ("filter[x][gt]=9.5", "1 2 4"),
        ("filter[x][lte]=-2.0", "3"),
        ("filter[x][lt]=-2.0", ""),
        ("filter[x][lt]=b", "7 8 10 17 19"),
        ("filter[x][gte]=Z", "9 10 12 17"),
        ("filter[x][gt]=", "7 8 9 10 12 17"),
        ("filter[x][lt]=", ""),
    ]);
}

#[test]
fn lists_presence_and_pieces_are_told_apart() {
    finds(&[
        ("filter[x][in]=9,b,true", "0 9 11 12"),
        ("filter[x][in]=9%2Cb%2Ctrue", "0 9 11 12"),
        ("filter[x][in]=14.5,nothing", "2"),
        ("filter[x][in]=7", "5 6 7 17"),
        ("filter[x][in]=b,", "9 19"),
        ("filter[x][in]=nothing", ""),
        ("filter[x][exists]=true", PRESENT),
        ("filter[x][exists]=false", "14 15"),
        ("filter[y][exists]=false", "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21"),
        ("filter[y][exists]=true", ""),
        ("filter[x][contains]=B", "9"),
        ("filter[x][contains]=7", "7"),
        ("filter[x][contains]=RU", "12"),
        ("filter[x][contains]=.", "8"),
        ("filter[x][contains]=a", "17"),
        ("filter[x][contains]=nothing", ""),
    ]);
}

#[test]
fn filters_hold_together() {
    finds(&[
        ("filter[x][gte]=7.0&filter[x][lt]=10.0", "0 5 6 17"),
        ("filter[x]=7&filter[n]=7", "7"),
        ("filter[x]=7&filter[x]=7", "5 6 7 17"),
        ("filter[x]=7&filter[n][ne]=7&filter[n][lt]=10", "5 6"),
        ("filter[x]=7&filter[x]=8", ""),
        ("filter[x][exists]=false&filter[n][gt]=14", "15"),
        ("filter[x][exists]=true&filter[n][in]=14,15,16", "16"),
        ("filter[x][ne]=a&filter[x][contains]=b", "9"),
    ]);
}

#[test]
fn pieces_are_found_without_regard_to_case_and_without_wildcards() {
    let values = [
        r#""100 % Peñaranda""#,
        r#""PEÑARANDA""#,
        r#""a_b*c?[d]^e\\f.g""#,
        r#""axbyc""#,
        "100",
        r#"["one","TWO (2)"]"#,
        r#""'; DROP TABLE items; --""#,
        r#""Ωμέγα 🐟 ₱""#,
        r#""line\nbreak\ttab""#,
    ];
    on_each_store(|service| {
        store_values(service, &values);
        for (piece, expected) in [
            ("peñaranda", "0 1"),
            ("Peña", "0 1"),
            ("pena", ""),
            ("%", "0"),
            ("_", "2"),
            ("a_b", "2"),
            ("*", "2"),
            ("*c?", "2"),
            ("?", "2"),
            ("[D]", "2"),
            ("[a-z]", ""),
            ("[", "2"),
            ("]^", "2"),
            ("^", "2"),
            ("^E\\F", "2"),
            ("\\", "2"),
            (".", "2"),
            ("x.y", ""),
            ("100", "0"),
            ("two (", "5"),
            ("one,", ""),
            ("\"", ""),
            ("'; drop table", "6"),
            ("ωΜΈΓΑ", "7"),
            ("🐟 ₱", "7"),
            ("E\nB", "8"),
            ("\\n", ""),
            ("k\tT", "8"),
        ] {
            assert_eq!(
                found(service, &format!("filter[x][contains]={}", encoded(piece))),
                expected,
                "{piece:?}"
            );
        }
    });
}

#[test]
fn members_with_odd_names_are_found() {
    on_each_store(|service| {
        for (n, name) in ODD_NAMES.iter().enumerate() {
            let member = Value::from(*name).to_string();
            service.create(FILES, &format!(r#"{{{member}:"v{n}","n":{n}}}"#));
        }
        for (n, name) in ODD_NAMES.iter().enumerate() {
            let (name, expected) = (encoded(name), n.to_string());
            for query in [
                format!("filter[{name}]=v{n}"),
                format!("filter[{name}][contains]=V{n}"),
                format!("filter[{name}][exists]=true"),
            ] {
                assert_eq!(found(service, &query), expected, "{query}");
            }
            assert_eq!(
                service.list(FILES, &format!("filter[{name}][exists]=false")).value()["total_items"],
                ODD_NAMES.len() - 1,
                "{name}"
            );
        }
        service.create(FILES, r#"{"₱ ñ":"x","n":1000}"#);
        for query in [
            "filter[%E2%82%B1%20%C3%B1]=x",
            "filter[%e2%82%b1+%c3%b1][eq]=x",
            "filter%5B%E2%82%B1%20%C3%B1%5D=x",
            "filter%5B%E2%82%B1+%C3%B1%5D%5Beq%5D=x",
            "%66ilter[%E2%82%B1%20%C3%B1]=x",
        ] {
            assert_eq!(found(service, query), "1000", "{query}");
        }
    });
}

#[test]
fn times_of_items_are_compared() {
    on_each_store(|service| {
        let items = store_values(service, &["-", "-", "-"]);
        let meta = |at: usize, time: &str| {
            encoded(service.get(&items[at].path).send().value()["_meta"][time].as_str().unwrap())
        };
        let created = meta(1, "created_at");
        for (condition, expected) in [
            (format!("[eq]={created}"), "1"),
            (format!("={created}"), "1"),
            (format!("[ne]={created}"), "0 2"),
            (format!("[lt]={created}"), "0"),
            (format!("[lte]={created}"), "0 1"),
            (format!("[gt]={created}"), "2"),
            (format!("[gte]={created}"), "1 2"),
            (format!("[in]={},{created}", meta(0, "created_at")), "0 1"),
            ("[gte]=2020-01-01".to_owned(), "0 1 2"),
            ("[lt]=2020-01-01".to_owned(), ""),
            ("[gt]=2020-01-01T00:00:00%2B08:00".to_owned(), "0 1 2"),
            ("[gt]=2020-01-01T00:00:00+08:00".to_owned(), "0 1 2"),
            ("[lt]=2999-12-31T23:59:59.999999Z".to_owned(), "0 1 2"),
            ("[exists]=true".to_owned(), "0 1 2"),
            ("[exists]=false".to_owned(), ""),
        ] {
            assert_eq!(
                found(service, &format!("filter[created_at]{condition}")),
                expected,
                "{condition}"
            );
        }
        service.patch(&items[0].path).json(r#"{"y":1}"#).send().expect(200);
        let updated = meta(0, "updated_at");
        assert_eq!(found(service, &format!("filter[updated_at]={updated}")), "0");
        assert_eq!(found(service, &format!("filter[updated_at][gte]={updated}")), "0");
        assert_eq!(
            found(
                service,
                &format!("filter[updated_at][lt]={updated}&filter[created_at][gte]={created}")
            ),
            "1 2"
        );
    });
}

#[test]
fn every_field_of_a_proposal_is_found() {
    on_each_store(|service| {
        let full = service.create(PROPOSALS, FULL).id;
        let bare = service
            .create(PROPOSALS, r#"{"proposal_type":"Another","project_title":"Something else"}"#)
            .id;
        let ids = |query: String| service.list(PROPOSALS, &query).embedded_ids("proposals");
        let members: Value = serde_json::from_str(FULL).unwrap();
        for field in [TEXT, TEXT_OR_TEXTS, TEXT_OR_INTEGER, DATES, REQUIRED].concat() {
            let of_both = if REQUIRED.contains(&field) { vec![bare.clone()] } else { vec![] };
            let value = members[field].as_array().map_or(&members[field], |list| &list[0]);
            let text = encoded(value.as_str().unwrap_or(&value.to_string()));
            // A comma parts the values of `in`.
            let in_list = if text.contains("%2C") { "[eq]" } else { "[in]" };
            for operator in ["", "[eq]", in_list, "[gte]", "[lte]"] {
                let found = ids(format!("filter[{field}]{operator}={text}"));
                assert!(found.contains(&full), "{field}{operator}={text}: {found:?}");
            }
            assert_eq!(ids(format!("filter[{field}][ne]={text}")), of_both, "{field}");
            let (with, without) = if of_both.is_empty() {
                (vec![full.clone()], vec![bare.clone()])
            } else {
                (vec![full.clone(), bare.clone()], vec![])
            };
            assert_eq!(ids(format!("filter[{field}][exists]=true")), with, "{field}");
            assert_eq!(ids(format!("filter[{field}][exists]=false")), without, "{field}");
            if value.as_str().is_some_and(|text| !text.is_empty()) {
                assert_eq!(
                    ids(format!("filter[{field}][contains]={text}")),
                    std::slice::from_ref(&full),
                    "{field}"
                );
            }
        }
    });
}

#[test]
fn dates_are_compared_as_dates() {
    on_each_store(|service| {
        for (n, date) in ["2025-12-31", "2026-01-01", "2026-01-31", "2026-02-01"].iter().enumerate()
        {
            service.create(
                PROPOSALS,
                &format!(r#"{{"proposal_type":{n},"project_title":"T","start_date":"{date}"}}"#),
            );
        }
        service.create(PROPOSALS, r#"{"proposal_type":4,"project_title":"T"}"#);
        for (query, expected) in [
            ("filter[start_date][gte]=2026-01-01", "1 2 3"),
            ("filter[start_date][gte]=2026-01-01&filter[start_date][lt]=2026-02-01", "1 2"),
            ("filter[start_date][gt]=2026-01-01", "2 3"),
            ("filter[start_date][lte]=2026-01-01", "0 1"),
            ("filter[start_date]=2026-01-31", "2"),
            ("filter[start_date][ne]=2026-01-31", "0 1 3"),
            ("filter[start_date][in]=2026-01-31,2025-12-31,1999-01-01", "0 2"),
            ("filter[start_date][contains]=2026-01", "1 2"),
            ("filter[start_date][exists]=false", "4"),
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
fn identifiers_are_found_as_texts_and_as_numbers() {
    let values = [
        "112",
        r#""112""#,
        r#""PRG-7""#,
        "0",
        "-7",
        "123456789012345678901234567890",
        r#""0112""#,
        "-0",
    ];
    on_each_store(|service| {
        for field in TEXT_OR_INTEGER {
            let first = service.list(PROPOSALS, "").value()["total_items"].as_u64().unwrap();
            for (n, value) in values.iter().enumerate() {
                let body = format!(
                    r#"{{"proposal_type":{n},"project_title":"{first}","{field}":{value}}}"#
                );
                service.create(PROPOSALS, &body);
            }
            for (condition, expected) in [
                ("=112", "0 1"),
                ("=112.0", "0"),
                ("=PRG-7", "2"),
                ("=0112", "6"),
                ("=0", "3 7"),
                ("=-0", "3 7"),
                ("=-7", "4"),
                ("=123456789012345678901234567890", "5"),
                ("[ne]=112", "2 3 4 5 6 7"),
                ("[in]=112,PRG-7", "0 1 2"),
                ("[in]=0,PRG-7", "2 3 7"),
                ("[lt]=0.0", "4"),
                ("[gt]=100.0", "0 5"),
                ("[contains]=112", "1 6"),
            ] {
                let types = service
                    .list(PROPOSALS, &format!("filter[{field}]{condition}"))
                    .each("proposal_type");
                assert_eq!(
                    types.iter().map(Value::to_string).collect::<Vec<_>>().join(" "),
                    expected,
                    "{field}{condition}"
                );
            }
        }
    });
}

#[test]
fn every_collection_is_filtered() {
    on_each_store(|service| {
        for collection in every_collection(service) {
            let bodies = [
                r#"{"proposal_type":"A","project_title":"one"}"#,
                r#"{"proposal_type":"B","project_title":"two"}"#,
            ];
            let [one, two] = bodies.map(|body| service.create(&collection, body).id);
            for (query, expected) in [
                ("filter[proposal_type]=A", vec![&one]),
                (
                    "filter[project_title][contains]=O&filter[proposal_type][in]=A,B",
                    vec![&one, &two],
                ),
                ("filter[proposal_type][gt]=A&filter[project_title]=two", vec![&two]),
                ("filter[proposal_type]=C", vec![]),
            ] {
                let answer = service.list(&collection, query);
                let ids = answer.each("id");
                assert_eq!(
                    ids.iter().filter_map(Value::as_str).collect::<Vec<_>>(),
                    expected,
                    "{answer}"
                );
                assert_eq!(answer.value()["total_items"], expected.len(), "{answer}");
            }
        }
    });
}

#[test]
fn the_nested_library_is_filtered_on_its_own() {
    on_each_store(|service| {
        let libraries =
            [(); 2].map(|()| format!("{}/lib", service.create(PROPOSALS, crate::PROPOSAL).path));
        for (n, library) in [&libraries[0], &libraries[1], &libraries[0], &"/lib".to_owned()]
            .into_iter()
            .enumerate()
        {
            service.create(library, &format!(r#"{{"x":"same","n":{n}}}"#));
        }
        for (library, expected) in
            [(libraries[0].as_str(), "0 2"), (&libraries[1], "1"), ("/lib", "0 1 2 3")]
        {
            assert_eq!(numbers(&service.list(library, "filter[x]=same")), expected, "{library}");
        }
    });
}

#[test]
fn a_filter_that_makes_no_sense_is_refused() {
    let long = format!("filter[research_type]={}", "x".repeat(2_000));
    on_each_store(|service| {
        service.create(PROPOSALS, FULL);
        for (query, mentioned) in [
            ("filter[researchtype]=x", &["filter", "researchtype", "`research_type`"][..]),
            ("filter[Start_Date]=2026-01-01", &["Start_Date", "`start_date`"]),
            ("filter[start-date][gt]=2026-01-01", &["start-date", "`start_date`"]),
            ("filter[create_at][gt]=2026-01-01", &["create_at", "`created_at`"]),
            ("filter[colour]=x", &["filter", "colour"]),
            ("filter[_meta]=x", &["filter", "_meta"]),
            ("filter[start_date][gteq]=2026-01-01", &["gteq", "`gte`"]),
            ("filter[start_date][after]=2026-01-01", &["after", "`eq`", "`exists`"]),
            ("filter[start_date][]=2026-01-01", &["filter"]),
            ("filter[start_date]=2026", &["filter[start_date]", "a day"]),
            ("filter[start_date]=2026-02-30", &["filter[start_date]", "a day"]),
            ("filter[start_date][gte]=", &["filter[start_date]", "`gte`"]),
            ("filter[end_date][in]=2026-01-01,soon", &["filter[end_date]", "`in`"]),
            ("filter[research_type][exists]=yes", &["filter[research_type]", "`true` or `false`"]),
            ("filter[research_type][exists]=", &["filter[research_type]", "`true` or `false`"]),
            ("filter[updated_at][gt]=yesterday", &["filter[updated_at]", "a time"]),
            ("filter[created_at]=2026-02-30T00:00:00Z", &["filter[created_at]", "a time"]),
            ("filter=x", &["`filter`"]),
            ("filter[]=x", &["`filter`"]),
            ("filter[research_type=x", &["filter"]),
            ("filter[research_type]]=x", &["filter"]),
            ("filter[a][b][c]=1", &["filter"]),
            ("filter[research_type]=%00", &["filter[research_type]"]),
            ("filter[research_type]=%ff", &["filter[research_type]"]),
            ("filters[research_type]=x", &["filters", "`filter`"]),
            (&long, &["filter[research_type]"]),
        ] {
            service.get(&format!("{PROPOSALS}?{query}")).send().refusing_query(mentioned);
        }
    });
}

/// Asserts what each query finds among the `VALUES`.
fn finds(table: &[(&str, &str)]) {
    on_each_store(|service: &Service| {
        store_values(service, VALUES);
        for (query, expected) in table {
            let answer = service.list(FILES, query);
            assert_eq!(numbers(&answer), *expected, "{query}");
            assert_eq!(
                answer.value()["total_items"],
                expected.split_whitespace().count(),
                "{answer}"
            );
        }
    });
}
