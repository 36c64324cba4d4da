//! From page to page by links. Each has a cursor in addition to the page number, so no item is
//! skipped or repeated.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use tests::Service;

use crate::queries::{FILES, encoded, parameter, walk};
use crate::{PROPOSAL, UNKNOWN_ID};

const COLLECTION: &str = "/v1/cashprogram";

/// Queries of different orders, selections and views that find all items of `store_many`.
const QUERIES: &[&str] = &[
    "",
    "sort=-id",
    "sort=x",
    "sort=-x",
    "sort=-x,n",
    "sort=y,-x",
    "sort=-nothing",
    "sort=-x,id,y",
    "sort=created_at",
    "sort=-updated_at",
    "filter[keep]=yes",
    "filter[keep]=yes&sort=-x&fields=n,keep",
    "q=word",
    "q=word&sort=x",
    "q=word&sort=created_at",
    "total=none",
    "total=none&q=word&filter[keep]=yes",
];

tests::cases![
    the_pages_of_links_and_of_bare_numbers_are_those_of_the_whole_order,
    a_walk_skips_and_repeats_nothing_while_others_write,
    a_walk_during_many_writes_shows_each_lasting_item_once,
    links_keep_the_other_parameters_as_they_were_sent,
    a_cursor_damaged_in_any_one_character_is_refused,
    a_cursor_of_another_query_or_collection_is_refused,
    a_cursor_goes_with_another_view_and_page_size,
    a_place_whose_item_is_gone_stays_a_place,
    long_keys_walk_too,
    the_nested_library_is_walked_on_its_own,
    a_page_beyond_the_last_of_a_selection_is_409_and_of_none_is_empty,
];

/// Replaces the collection by items with values of all types, some absent and many equal; the last
/// four have different times.
fn store_many(service: &Service, count: usize) {
    let values =
        ["1", "2", "2.0", "10", r#""a""#, r#""b""#, r#""é""#, "true", "null", "[1]", r#""a""#];
    let bodies = (0..count).map(|n| {
        let (x, words) = (values[n % values.len()], "word ".repeat(n % 3 + 1));
        format!(r#"{{"n":{n},"x":{x},"y":{},"keep":"yes","text":"{words}"}}"#, n % 2)
    });
    let bodies: Vec<_> = bodies.collect();
    let (at_once, one_by_one) = bodies.split_at(count - 4);
    service.replace(COLLECTION, format!("[{}]", at_once.join(",")));
    for body in one_by_one {
        service.create(COLLECTION, body);
    }
}

fn ns(items: &[Value]) -> Vec<u64> {
    items.iter().map(|item| item["n"].as_u64().expect("a number")).collect()
}

/// The numbers of all items that a query finds.
fn whole(service: &Service, query: &str) -> Vec<u64> {
    ns(&service.list(COLLECTION, &format!("{query}&page_size=250")).items())
}

/// The pages that `next` leads to, and the path of the last one.
fn pages(service: &Service, query: &str) -> (Vec<Vec<Value>>, String) {
    let mut last = String::new();
    let pages = walk(service, &format!("{COLLECTION}?{query}"), "next", |answer| {
        last = answer.link("self").expect("a link to itself");
    });
    (pages, last)
}

fn the_pages_of_links_and_of_bare_numbers_are_those_of_the_whole_order(service: &Service) {
    store_many(service, 23);
    for query in QUERIES {
        let (pages, last) = pages(service, &format!("{query}&page_size=5"));
        assert_eq!((pages.len(), ns(&pages.concat())), (5, whole(service, query)), "{query}");
        let mut back = walk(service, &last, "prev", |_| {});
        back.reverse();
        assert_eq!(back, pages, "{query} backwards");
        for (page, items) in (1..).zip(&pages) {
            let answer = service.list(COLLECTION, &format!("{query}&page_size=5&page={page}"));
            assert_eq!((&answer.items(), answer.value()["page"].as_u64()), (items, Some(page)));
            let link_to = |relation| {
                let link = answer.link(relation)?;
                Some((parameter(&link, "page")?, parameter(&link, "cursor").is_some()))
            };
            let is_counted = !query.contains("total=none");
            let expected = [
                ("first", Some((1, false))),
                ("prev", (page > 1).then(|| (page - 1, true))),
                ("next", (page < 5).then(|| (page + 1, true))),
                ("last", is_counted.then_some((5, false))),
            ];
            for (relation, expected) in expected {
                let expected = expected.map(|(page, has_cursor)| (page.to_string(), has_cursor));
                assert_eq!(link_to(relation), expected, "{relation} of {answer}");
            }
        }
    }
    let odd = format!("filter[{}][exists]=false&page_size=2", encoded("a\"b<\\>"));
    service.read(&service.list(COLLECTION, &odd).link("next").expect("a next page"));
}

fn a_walk_skips_and_repeats_nothing_while_others_write(service: &Service) {
    for (query, relation) in QUERIES.iter().flat_map(|query| [(query, "next"), (query, "prev")]) {
        store_many(service, 20);
        let whole = whole(service, query);
        let start = match relation {
            "next" => format!("{COLLECTION}?{query}&page_size=3"),
            _ => pages(service, &format!("{query}&page_size=3")).1,
        };
        let (mut gone, mut pages) = (BTreeSet::new(), 0);
        let mut seen = walk(service, &start, relation, |answer| {
            pages += 1;
            // Items stored at the end are read as well, so the walk would never end.
            if pages <= 7 {
                gone.extend(disturb(service, &answer.items()));
            }
        });
        if relation == "prev" {
            seen.reverse();
        }
        let seen: Vec<_> = ns(&seen.concat()).into_iter().filter(|n| *n < 1_000).collect();
        let expected: Vec<_> =
            whole.into_iter().filter(|n| seen.contains(n) || !gone.contains(n)).collect();
        assert_eq!(seen, expected, "{relation} of {query}, while {gone:?} were deleted");
    }
}

/// Deletes the first and the last item of a page, and stores items before, between and after all
/// others.
fn disturb(service: &Service, items: &[Value]) -> Vec<u64> {
    let ends: Vec<_> = [items.first(), items.last()].into_iter().flatten().collect();
    for item in &ends {
        let id = item["id"].as_str().expect("an id");
        service.delete(&format!("{COLLECTION}/{id}")).send();
    }
    let rows = ["-5", "2", r#""a""#, "null"]
        .map(|x| format!(r#"{{"n":1000,"x":{x},"y":0,"keep":"yes","text":"word"}}"#));
    let import = service.post("/imports/cashprogram");
    import.body("application/x-ndjson", rows.join("\n")).expect(200);
    ends.iter().map(|item| item["n"].as_u64().expect("a number")).collect()
}

fn a_walk_during_many_writes_shows_each_lasting_item_once(service: &Service) {
    store_many(service, 40);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !is_done.load(Ordering::SeqCst) {
                    let x = fastrand::i32(-3..12);
                    let body = format!(r#"{{"n":1000,"x":{x},"keep":"yes","text":"word"}}"#);
                    service.remove(&service.create(COLLECTION, &body).path);
                }
            });
        }
        let _ending = Ending(&is_done);
        for query in ["", "sort=-x,n", "sort=x", "filter[keep]=yes&sort=-id", "q=word"] {
            let whole = whole(service, &format!("filter[n][lt]=1000&{query}"));
            let pages = pages(service, &format!("{query}&page_size=4")).0;
            let seen: Vec<_> = ns(&pages.concat()).into_iter().filter(|n| *n < 1_000).collect();
            assert_eq!(seen, whole, "{query}");
        }
    });
}

/// Ends the writers, also after a failed assertion.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn links_keep_the_other_parameters_as_they_were_sent(service: &Service) {
    for n in 0..3 {
        service.create(FILES, &format!(r#"{{"a b&c=₱":"x,y","n":{n},"text":"rice","[":"+"}}"#));
    }
    for other in [
        "filter[a%20b%26c%3D%E2%82%B1]=x%2Cy&fields=n",
        "filter%5Ba+b%26c%3d%e2%82%b1%5D%5Beq%5D=x%2cy&sort=-n%2Cid",
        "q=%22rice%22&filter[%5B]=%2B&filter[n][gte]=0&filter[n][gte]=0",
        "%66ields=n&sort=n",
        "total=exact&filter[n][in]=0,1,2",
    ] {
        let target = format!("{FILES}?{other}&page=2&page_size=1");
        let answer = service.read(&target);
        assert_eq!(answer.link("self"), Some(target), "{answer}");
        for (relation, page) in [("first", 1), ("prev", 1), ("next", 3), ("last", 3)] {
            let link = answer.link(relation).unwrap_or_else(|| panic!("{relation} of {answer}"));
            let beginning = format!("{FILES}?{other}&page_size=1&");
            assert!(link.starts_with(&beginning), "{relation} of {answer}");
            let shown = service.read(&link);
            let found = (shown.value()["page"].as_u64(), shown.items().len());
            assert_eq!(found, (Some(page), 1), "{shown}");
        }
    }
}

/// The cursor of the link to the next page.
fn cursor_of(service: &Service, target: &str) -> String {
    let link = service.read(target).link("next");
    let cursor = link.as_deref().and_then(|link| parameter(link, "cursor"));
    cursor.unwrap_or_else(|| panic!("no cursor in {link:?} of {target}"))
}

fn a_cursor_damaged_in_any_one_character_is_refused(service: &Service) {
    const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    store_many(service, 6);
    for query in ["page_size=2", "page_size=2&sort=-x", "page_size=2&q=word"] {
        let target = format!("{COLLECTION}?{query}");
        let cursor = cursor_of(service, &target);
        let mut damaged = vec![
            format!("{cursor}A"),
            format!("{cursor}%3D"),
            format!("A{cursor}"),
            cursor.to_lowercase(),
            cursor.repeat(2),
        ];
        for (at, letter) in cursor.char_indices() {
            let next = ALPHABET.find(letter).map_or(0, |index| index + 1) % 64;
            let far = (next + 30) % 64;
            let others = [&ALPHABET[next..=next], &ALPHABET[far..=far]];
            for other in others.into_iter().chain(["%3D", "%2B", "%20", ".", ""]) {
                damaged.push(format!("{}{other}{}", &cursor[..at], &cursor[at + 1..]));
            }
        }
        for damaged in damaged {
            let request = service.get(&format!("{target}&page=2&cursor={damaged}"));
            request.send().refusing_query(&["Invalid cursor"]);
        }
    }
    for nonsense in ["", "x", "1", "AAAA", UNKNOWN_ID, "%00", "%ff", &"A".repeat(5_000)] {
        service.get(&format!("{COLLECTION}?cursor={nonsense}")).send().refusing_query(&["cursor"]);
    }
}

fn a_cursor_of_another_query_or_collection_is_refused(service: &Service) {
    store_many(service, 12);
    let libraries =
        [(); 2].map(|()| format!("{}/lib", service.create("/v1/proposals", PROPOSAL).path));
    for collection in ["/v1/statuses", "/lib", &libraries[0], &libraries[1]] {
        (0..6).for_each(|_| {
            drop(service.create(collection, r#"{"keep":"yes","x":1,"text":"word"}"#));
        });
    }
    let continue_at = |target: &str, cursor: &str, is_own: bool| {
        let answer = service.get(&format!("{target}&cursor={cursor}")).send();
        drop(if is_own {
            answer.expect(200)
        } else {
            answer.refusing_query(&["`cursor` belongs to another"])
        });
    };
    let queries = [
        "",
        "sort=x",
        "sort=-x",
        "sort=x,n",
        "filter[keep]=yes",
        "filter[keep][ne]=no",
        "filter[x]=1",
        "q=word",
        "q=words",
    ];
    for (own, query) in queries[..8].iter().enumerate() {
        let cursor = cursor_of(service, &format!("{COLLECTION}?{query}&page_size=1"));
        for (at, other) in queries.iter().enumerate() {
            continue_at(&format!("{COLLECTION}?{other}&page_size=1"), &cursor, at == own);
        }
        continue_at(&format!("/v1/statuses?{query}"), &cursor, false);
    }
    for from in ["/lib", &libraries[0], &libraries[1]] {
        let cursor = cursor_of(service, &format!("{from}?page_size=1"));
        for to in ["/lib", &libraries[0], &libraries[1], "/v1/statuses", COLLECTION] {
            continue_at(&format!("{to}?"), &cursor, to == from);
        }
    }
}

fn a_cursor_goes_with_another_view_and_page_size(service: &Service) {
    store_many(service, 9);
    let cursor = cursor_of(service, &format!("{COLLECTION}?sort=-n&page_size=3"));
    for (query, expected) in [
        ("page_size=3", &[5, 4, 3][..]),
        ("page_size=1", &[5]),
        ("page_size=250", &[5, 4, 3, 2, 1, 0]),
        ("page=2&page_size=3&fields=n", &[5, 4, 3]),
        ("page=7&page_size=3&total=none", &[5, 4, 3]),
    ] {
        let answer = service.list(COLLECTION, &format!("sort=-n&{query}&cursor={cursor}"));
        assert_eq!(ns(&answer.items()), expected, "{query}");
        if !query.contains("page=") {
            assert_eq!(answer.value()["page"], 1, "{query}");
        }
    }
}

fn a_place_whose_item_is_gone_stays_a_place(service: &Service) {
    store_many(service, 4);
    for query in ["page_size=2", "sort=-x&page_size=2"] {
        let answer = service.list(COLLECTION, query);
        let next = answer.link("next").expect("a next page");
        let expected = service.read(&next).items();
        let gone = answer.items()[1].clone();
        service.remove(&format!("{COLLECTION}/{}", gone["id"].as_str().expect("an id")));
        assert_eq!(service.read(&next).items(), expected, "{query}");
        service.create(COLLECTION, &format!(r#"{{"x":{},"n":9}}"#, gone["x"]));
    }
    let next = service.list(COLLECTION, "page_size=2").link("next").expect("a next page");
    service.replace(COLLECTION, "[]");
    assert_eq!(service.read(&next).items(), Vec::<Value>::new());
}

fn long_keys_walk_too(service: &Service) {
    let titles: Vec<_> = (0..9).map(|n| format!("{}{n}", "ñ".repeat(n % 3 * 2_000))).collect();
    for (n, title) in titles.iter().enumerate() {
        service.create(COLLECTION, &format!(r#"{{"n":{n},"title":"{title}"}}"#));
    }
    for order in ["title", "-title", "title,-n"] {
        let whole = ns(&service.list(COLLECTION, &format!("sort={order}")).items());
        let pages =
            walk(service, &format!("{COLLECTION}?sort={order}&page_size=2"), "next", |_| {});
        assert_eq!(ns(&pages.concat()), whole, "{order}");
    }
}

fn the_nested_library_is_walked_on_its_own(service: &Service) {
    let [mine, theirs] =
        [(); 2].map(|()| format!("{}/lib", service.create("/v1/proposals", PROPOSAL).path));
    for n in 0..14 {
        service.create([&mine, &theirs][n % 2], &format!(r#"{{"n":{n},"text":"word"}}"#));
    }
    for query in ["", "sort=-n", "q=word&sort=n", "filter[n][gte]=0", "embed=proposal"] {
        let mut seen =
            ns(&walk(service, &format!("{mine}?{query}&page_size=2"), "next", |_| {}).concat());
        seen.sort_unstable();
        assert_eq!(seen, [0, 2, 4, 6, 8, 10, 12], "{query}");
    }
}

fn a_page_beyond_the_last_of_a_selection_is_409_and_of_none_is_empty(service: &Service) {
    store_many(service, 5);
    for (query, status) in [
        ("filter[keep]=yes&page=2", 409),
        ("filter[keep]=yes&page=3&page_size=2", 200),
        ("filter[keep]=yes&page=4&page_size=2", 409),
        ("filter[keep]=yes&page=9223372036854775807", 409),
        ("filter[keep]=yes&page=18446744073709551615&page_size=250", 409),
        ("filter[keep]=yes&page=2&total=none", 409),
        ("page=2&total=none", 409),
        ("q=word&page=2", 409),
        ("q=word&page=2&total=none", 409),
        ("sort=-x&page=2", 409),
        ("filter[keep]=no&page=2", 200),
        ("filter[keep]=no&page=2&total=none", 200),
        ("filter[keep]=no", 200),
        ("q=nothing&page=7", 200),
    ] {
        let answer = service.get(&format!("{COLLECTION}?{query}")).expect(status);
        if status == 409 {
            assert_eq!(answer.value()["code"], "page-out-of-range", "{answer}");
        } else if query.contains("=no") {
            assert_eq!(answer.items(), Vec::<Value>::new(), "{answer}");
        }
    }
}
