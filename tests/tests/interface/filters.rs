//! `filter[member][operator]=value`: which items are found, the same on both stores.

use serde_json::Value;
use tests::Service;

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

/// Queries, and the items among the `VALUES` that each finds.
const FOUND: &[(&str, &str)] = &[
    // Equality, which knows the type of the stored value.
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
    // Orders: of numbers, and of texts by code point.
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
    // Lists, presence and pieces.
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
    // Several filters.
    ("filter[x][gte]=7.0&filter[x][lt]=10.0", "0 5 6 17"),
    ("filter[x]=7&filter[n]=7", "7"),
    ("filter[x]=7&filter[x]=7", "5 6 7 17"),
    ("filter[x]=7&filter[n][ne]=7&filter[n][lt]=10", "5 6"),
    ("filter[x]=7&filter[x]=8", ""),
    ("filter[x][exists]=false&filter[n][gt]=14", "15"),
    ("filter[x][exists]=true&filter[n][in]=14,15,16", "16"),
    ("filter[x][ne]=a&filter[x][contains]=b", "9"),
];

tests::cases![
    values_of_every_type_are_found,
    an_invalid_filter_is_refused,
    identifiers_are_found_as_texts_and_as_numbers,
    large_integers_are_compared_exactly,
    pieces_are_found_without_regard_to_case_and_without_wildcards,
    members_with_odd_names_are_found,
    times_of_items_are_compared,
    every_field_of_a_proposal_is_found,
    dates_are_compared_as_dates,
    every_collection_is_filtered,
    the_nested_library_is_filtered_on_its_own,
];

fn pieces_are_found_without_regard_to_case_and_without_wildcards(service: &Service) {
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
    store_values(service, &values);
    for (expected, pieces) in [
        ("", &["pena", "[a-z]", "x.y", "one,", "\"", "\\n"][..]),
        ("0 1", &["peñaranda", "Peña"]),
        ("0", &["%", "100"]),
        ("2", &["_", "a_b", "*", "*c?", "?", "[D]", "[", "]^", "^", "^E\\F", "\\", "."]),
        ("5", &["two ("]),
        ("6", &["'; drop table"]),
        ("7", &["ωΜΈΓΑ", "🐟 ₱"]),
        ("8", &["E\nB", "k\tT"]),
    ] {
        for piece in pieces {
            let query = format!("filter[x][contains]={}", encoded(piece));
            assert_eq!(found(service, &query), expected, "{piece:?}");
        }
    }
}

fn members_with_odd_names_are_found(service: &Service) {
    for (n, name) in ODD_NAMES.iter().enumerate() {
        let member = Value::from(*name).to_string();
        service.create(FILES, &format!(r#"{{{member}:"v{n}","n":{n}}}"#));
    }
    for (n, name) in ODD_NAMES.iter().enumerate() {
        let name = encoded(name);
        for condition in [format!("=v{n}"), format!("[contains]=V{n}"), "[exists]=true".to_owned()]
        {
            let query = format!("filter[{name}]{condition}");
            assert_eq!(found(service, &query), n.to_string(), "{query}");
        }
        let others = service.list(FILES, &format!("filter[{name}][exists]=false"));
        assert_eq!(others.value()["total_items"], ODD_NAMES.len() - 1, "{name}");
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
}

fn times_of_items_are_compared(service: &Service) {
    let items = store_values(service, &["-", "-", "-"]);
    let meta = |at: usize, time: &str| {
        let meta = service.read(&items[at].path).value()["_meta"].clone();
        encoded(meta[time].as_str().expect("a time"))
    };
    let created = meta(1, "created_at");
    for (condition, expected) in [
        (&*format!("[eq]={created}"), "1"),
        (&format!("={created}"), "1"),
        (&format!("[ne]={created}"), "0 2"),
        (&format!("[lt]={created}"), "0"),
        (&format!("[lte]={created}"), "0 1"),
        (&format!("[gt]={created}"), "2"),
        (&format!("[gte]={created}"), "1 2"),
        (&format!("[in]={},{created}", meta(0, "created_at")), "0 1"),
        ("[gte]=2020-01-01", "0 1 2"),
        ("[lt]=2020-01-01", ""),
        ("[gt]=2020-01-01T00:00:00%2B08:00", "0 1 2"),
        ("[gt]=2020-01-01T00:00:00+08:00", "0 1 2"),
        ("[lt]=2999-12-31T23:59:59.999999Z", "0 1 2"),
        ("[exists]=true", "0 1 2"),
        ("[exists]=false", ""),
    ] {
        assert_eq!(
            found(service, &format!("filter[created_at]{condition}")),
            expected,
            "{condition}"
        );
    }
    service.change(&items[0].path, r#"{"y":1}"#);
    let updated = meta(0, "updated_at");
    for (query, expected) in [
        (format!("filter[updated_at]={updated}"), "0"),
        (format!("filter[updated_at][gte]={updated}"), "0"),
        (format!("filter[updated_at][lt]={updated}&filter[created_at][gte]={created}"), "1 2"),
    ] {
        assert_eq!(found(service, &query), expected, "{query}");
    }
}

fn every_field_of_a_proposal_is_found(service: &Service) {
    let bare = r#"{"proposal_type":"Another","project_title":"Something else"}"#;
    let [full, bare] = [FULL, bare].map(|body| service.create(PROPOSALS, body).id);
    let ids = |query: String| service.list(PROPOSALS, &query).embedded_ids("proposals");
    let members: Value = serde_json::from_str(FULL).expect("JSON");
    for field in [TEXT, TEXT_OR_TEXTS, TEXT_OR_INTEGER, DATES, REQUIRED].concat() {
        let (mut with, mut without) = (vec![full.clone()], vec![bare.clone()]);
        let value = members[field].as_array().map_or(&members[field], |list| &list[0]);
        let text = encoded(value.as_str().unwrap_or(&value.to_string()));
        // A comma separates the values of `in`.
        let in_list = if text.contains("%2C") { "[eq]" } else { "[in]" };
        for operator in ["", "[eq]", in_list, "[gte]", "[lte]"] {
            let found = ids(format!("filter[{field}]{operator}={text}"));
            assert!(found.contains(&full), "{field}{operator}={text}: {found:?}");
        }
        if value.as_str().is_some_and(|text| !text.is_empty()) {
            assert_eq!(ids(format!("filter[{field}][contains]={text}")), with, "{field}");
        }
        if REQUIRED.contains(&field) {
            assert_eq!(ids(format!("filter[{field}][ne]={text}")), without, "{field}");
            with.append(&mut without);
        } else {
            assert_eq!(ids(format!("filter[{field}][ne]={text}")), [""; 0], "{field}");
        }
        assert_eq!(ids(format!("filter[{field}][exists]=true")), with, "{field}");
        assert_eq!(ids(format!("filter[{field}][exists]=false")), without, "{field}");
    }
}

fn dates_are_compared_as_dates(service: &Service) {
    let dates = [r#""2025-12-31""#, r#""2026-01-01""#, r#""2026-01-31""#, r#""2026-02-01""#];
    store_proposals(service, "start_date", &dates);
    service.create(PROPOSALS, r#"{"proposal_type":4,"project_title":"T"}"#);
    for (conditions, expected) in [
        ("[gte]=2026-01-01", "1 2 3"),
        ("[gte]=2026-01-01&filter[start_date][lt]=2026-02-01", "1 2"),
        ("[gt]=2026-01-01", "2 3"),
        ("[lte]=2026-01-01", "0 1"),
        ("=2026-01-31", "2"),
        ("[ne]=2026-01-31", "0 1 3"),
        ("[in]=2026-01-31,2025-12-31,1999-01-01", "0 2"),
        ("[contains]=2026-01", "1 2"),
        ("[exists]=false", "4"),
    ] {
        assert_eq!(types(service, "start_date", conditions), expected, "{conditions}");
    }
}

fn identifiers_are_found_as_texts_and_as_numbers(service: &Service) {
    let large = "123456789012345678901234567890";
    let values = ["112", r#""112""#, r#""PRG-7""#, "0", "-7", large, r#""0112""#, "-0"];
    for field in TEXT_OR_INTEGER {
        store_proposals(service, field, &values);
        for (condition, expected) in [
            ("=112", "0 1"),
            ("=112.0", "0"),
            ("=PRG-7", "2"),
            ("=0112", "6"),
            ("=0", "3 7"),
            ("=-0", "3 7"),
            ("=-7", "4"),
            (&format!("={large}"), "5"),
            ("[ne]=112", "2 3 4 5 6 7"),
            ("[in]=112,PRG-7", "0 1 2"),
            ("[in]=0,PRG-7", "2 3 7"),
            ("[lt]=0.0", "4"),
            ("[gt]=100.0", "0 5"),
            ("[contains]=112", "1 6"),
        ] {
            assert_eq!(types(service, field, condition), expected, "{field}{condition}");
        }
    }
}

fn large_integers_are_compared_exactly(service: &Service) {
    store_values(service, &["9007199254740992", "9007199254740993"]);
    for (operator, expected) in [("", "1"), ("[lt]", "0"), ("[gte]", "1"), ("[ne]", "0")] {
        let query = format!("filter[x]{operator}=9007199254740993");
        assert_eq!(found(service, &query), expected, "{query}");
    }
}

fn every_collection_is_filtered(service: &Service) {
    for collection in every_collection(service) {
        let bodies = [
            r#"{"proposal_type":"A","project_title":"one"}"#,
            r#"{"proposal_type":"B","project_title":"two"}"#,
        ];
        let [one, two] = bodies.map(|body| Value::from(service.create(&collection, body).id));
        for (query, expected) in [
            ("filter[proposal_type]=A", &[one.clone()][..]),
            (
                "filter[project_title][contains]=O&filter[proposal_type][in]=A,B",
                &[one, two.clone()],
            ),
            ("filter[proposal_type][gt]=A&filter[project_title]=two", &[two]),
            ("filter[proposal_type]=C", &[]),
        ] {
            let answer = service.list(&collection, query);
            assert_eq!(answer.each("id"), expected, "{answer}");
            assert_eq!(answer.value()["total_items"], expected.len(), "{answer}");
        }
    }
}

fn the_nested_library_is_filtered_on_its_own(service: &Service) {
    let [one, other] =
        [(); 2].map(|()| format!("{}/lib", service.create(PROPOSALS, crate::PROPOSAL).path));
    for (n, library) in [&one, &other, &one, "/lib"].into_iter().enumerate() {
        service.create(library, &format!(r#"{{"x":"same","n":{n}}}"#));
    }
    for (library, expected) in [(&*one, "0 2"), (&other, "1"), ("/lib", "0 1 2 3")] {
        assert_eq!(numbers(&service.list(library, "filter[x]=same")), expected, "{library}");
    }
}

fn an_invalid_filter_is_refused(service: &Service) {
    let long = format!("filter[research_type]={}", "x".repeat(2_000));
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
}

fn values_of_every_type_are_found(service: &Service) {
    store_values(service, VALUES);
    for (query, expected) in FOUND {
        let answer = service.list(FILES, query);
        assert_eq!(numbers(&answer), *expected, "{query}");
        let total = expected.split_whitespace().count();
        assert_eq!(answer.value()["total_items"], total, "{answer}");
    }
}

/// Stores a proposal whose type is its number for each value of a field.
fn store_proposals(service: &Service, field: &str, values: &[&str]) {
    for (n, value) in values.iter().enumerate() {
        let body = format!(r#"{{"proposal_type":{n},"project_title":"T","{field}":{value}}}"#);
        service.create(PROPOSALS, &body);
    }
}

/// The types of the proposals that a filter of a field finds.
fn types(service: &Service, field: &str, condition: &str) -> String {
    let types =
        service.list(PROPOSALS, &format!("filter[{field}]{condition}")).each("proposal_type");
    types.iter().map(Value::to_string).collect::<Vec<_>>().join(" ")
}
