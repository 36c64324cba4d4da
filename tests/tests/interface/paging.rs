//! From page to page by links: each has a cursor beside the page number, so that nothing is skipped
//! or shown twice.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use tests::{Service, Store, on_each_store};

use crate::queries::{FILES, encoded, found, parameter, store_values, walk};
use crate::{PROPOSAL, UNKNOWN_ID};

/// Queries of different orders, selections and views, all of which find the items that `store_many`
/// stores.
const QUERIES: &[&str] = &[
    "",
    "sort=-id",
    "sort=x",
    "sort=-x",
    "sort=-x,n",
    "sort=y,-x",
    "sort=-nothing",
    "sort=created_at",
    "sort=-updated_at",
    "filter[keep]=yes",
    "filter[keep]=yes&sort=-x&fields=n,keep",
    "q=word",
    "q=word&sort=x",
    "total=none",
    "total=none&q=word&filter[keep]=yes",
];

/// Items with values of all types, some absent and many equal.
fn store_many(service: &Service, count: usize) {
    let values =
        ["1", "2", "2.0", "10", r#""a""#, r#""b""#, r#""é""#, "true", "null", "[1]", r#""a""#];
    for n in 0..count {
        let (x, words) = (values[n % values.len()], "word ".repeat(n % 3 + 1));
        let body = format!(r#"{{"n":{n},"x":{x},"y":{},"keep":"yes","text":"{words}"}}"#, n % 2);
        service.create(FILES, &body);
    }
}

fn ns(items: &[Value]) -> Vec<u64> {
    items.iter().map(|item| item["n"].as_u64().expect("a number")).collect()
}

#[test]
fn next_and_prev_walk_the_whole_order() {
    on_each_store(|service| {
        store_many(service, 23);
        for query in QUERIES {
            let whole = ns(&service.list(FILES, &format!("{query}&page_size=250")).items());
            assert_eq!(whole.len(), 23, "{query}");
            let mut last_page = String::new();
            let pages = walk(service, &format!("{FILES}?{query}&page_size=5"), "next", |answer| {
                last_page = answer.link("self").unwrap();
                let page = answer.value()["page"].as_u64().unwrap();
                assert_eq!(answer.link("prev").is_some(), page > 1, "{answer}");
            });
            assert_eq!((pages.len(), ns(&pages.concat())), (5, whole.clone()), "{query}");
            let mut back = walk(service, &last_page, "prev", |_| {});
            back.reverse();
            assert_eq!(back, pages, "{query} backwards");
        }
    });
}

#[test]
fn a_bare_page_number_shows_the_same_page() {
    on_each_store(|service| {
        store_many(service, 23);
        for query in QUERIES {
            let pages = walk(service, &format!("{FILES}?{query}&page_size=4"), "next", |_| {});
            assert_eq!(pages.len(), 6, "{query}");
            for (at, items) in pages.iter().enumerate() {
                let answer = service.list(FILES, &format!("{query}&page_size=4&page={}", at + 1));
                assert_eq!(
                    (answer.items(), answer.value()["page"].as_u64()),
                    (items.clone(), Some(at as u64 + 1)),
                    "{answer}"
                );
            }
        }
    });
}

#[test]
fn a_walk_skips_and_repeats_nothing_while_others_write() {
    on_each_store(|service| {
        for (query, relation) in QUERIES.iter().flat_map(|query| [(query, "next"), (query, "prev")])
        {
            clear(service);
            store_many(service, 20);
            let whole = ns(&service.list(FILES, &format!("{query}&page_size=250")).items());
            let start = if relation == "next" {
                format!("{FILES}?{query}&page_size=3")
            } else {
                last_page(service, query, 3)
            };
            let (mut gone, mut pages) = (BTreeSet::new(), 0);
            let mut seen = walk(service, &start, relation, |answer| {
                pages += 1;
                // What is stored at the end is read too: the walk would never end.
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
    });
}

/// Deletes the first and the last item of a page, and stores new items that come before and after
/// everything.
fn disturb(service: &Service, items: &[Value]) -> Vec<u64> {
    let ends: Vec<_> = [items.first(), items.last()].into_iter().flatten().collect();
    for item in &ends {
        service.delete(&format!("{FILES}/{}", item["id"].as_str().expect("an id"))).send();
    }
    for x in ["-5", "2", r#""a""#, "null"] {
        service.create(FILES, &format!(r#"{{"n":1000,"x":{x},"y":0,"keep":"yes","text":"word"}}"#));
    }
    ends.iter().map(|item| item["n"].as_u64().expect("a number")).collect()
}

fn clear(service: &Service) {
    for item in service.list(FILES, "page_size=250").items() {
        service
            .delete(&format!("{FILES}/{}", item["id"].as_str().expect("an id")))
            .send()
            .expect(204);
    }
}

/// The last page, reached by links.
fn last_page(service: &Service, query: &str, page_size: usize) -> String {
    let mut last = String::new();
    walk(service, &format!("{FILES}?{query}&page_size={page_size}"), "next", |answer| {
        last = answer.link("self").expect("a link to itself");
    });
    last
}

#[test]
fn a_walk_beside_many_writers_shows_each_lasting_item_once() {
    on_each_store(|service| {
        store_many(service, 40);
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for writer in 0..3 {
                let is_done = &is_done;
                scope.spawn(move || {
                    while !is_done.load(Ordering::SeqCst) {
                        let x = fastrand::i32(-3..12);
                        let item = service.create(
                            FILES,
                            &format!(
                                r#"{{"n":{},"x":{x},"keep":"yes","text":"word"}}"#,
                                1_000 + writer
                            ),
                        );
                        service.delete(&item.path).send().expect(204);
                    }
                });
            }
            let _ending = Ending(&is_done);
            for query in ["", "sort=-x,n", "sort=x", "filter[keep]=yes&sort=-id", "q=word"] {
                let whole = ns(&service
                    .list(FILES, &format!("filter[n][lt]=1000&{query}&page_size=250"))
                    .items());
                let pages = walk(service, &format!("{FILES}?{query}&page_size=4"), "next", |_| {});
                let seen: Vec<_> = ns(&pages.concat()).into_iter().filter(|n| *n < 1_000).collect();
                assert_eq!(seen, whole, "{query}");
            }
        });
    });
}

/// Says on its end, however it comes, that something is done.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn links_keep_the_other_parameters_as_they_were_sent() {
    on_each_store(|service| {
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
            let answer = service.list(FILES, &format!("{other}&page=2&page_size=1"));
            assert_eq!(
                answer.link("self"),
                Some(format!("{FILES}?{other}&page=2&page_size=1")),
                "{answer}"
            );
            for (relation, page) in [("first", 1), ("prev", 1), ("next", 3), ("last", 3)] {
                let link =
                    answer.link(relation).unwrap_or_else(|| panic!("{relation} of {answer}"));
                assert!(
                    link.starts_with(&format!("{FILES}?{other}&page_size=1&")),
                    "{relation} of {answer}"
                );
                let shown = service.get(&link).send().expect(200);
                assert_eq!(
                    (shown.value()["page"].as_u64(), shown.items().len()),
                    (Some(page), 1),
                    "{shown}"
                );
            }
        }
    });
}

/// A link with a cursor, its cursor, and the same link without.
fn linked(service: &Service, target: &str) -> (String, String, String) {
    let link = service
        .get(target)
        .send()
        .expect(200)
        .link("next")
        .unwrap_or_else(|| panic!("no next page of {target}"));
    let cursor = parameter(&link, "cursor").unwrap_or_else(|| panic!("no cursor in {link}"));
    let bare = link.replace(&format!("&cursor={cursor}"), "");
    assert!(!bare.contains("cursor"), "{link}");
    (link, cursor, bare)
}

#[test]
fn a_cursor_damaged_in_any_one_character_is_refused() {
    const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    on_each_store(|service| {
        store_many(service, 6);
        for query in ["page_size=2", "page_size=2&sort=-x", "page_size=2&q=word"] {
            let (_, cursor, bare) = linked(service, &format!("{FILES}?{query}"));
            for (at, letter) in cursor.char_indices() {
                let next = ALPHABET.find(letter).map_or(0, |index| index + 1) % 64;
                let others = [
                    &ALPHABET[next..=next],
                    &ALPHABET[(next + 30) % 64..=(next + 30) % 64],
                    "%3D",
                    "%2B",
                    "%20",
                    ".",
                ];
                for other in others.into_iter().chain([""]) {
                    let damaged = format!("{}{other}{}", &cursor[..at], &cursor[at + 1..]);
                    service
                        .get(&format!("{bare}&cursor={damaged}"))
                        .send()
                        .refusing_query(&["`cursor`"]);
                }
            }
            for damaged in [
                format!("{cursor}A"),
                format!("{cursor}%3D"),
                format!("A{cursor}"),
                cursor.to_lowercase(),
                cursor.repeat(2),
            ] {
                service
                    .get(&format!("{bare}&cursor={damaged}"))
                    .send()
                    .refusing_query(&["`cursor`"]);
            }
        }
        for nonsense in ["", "x", "1", "AAAA", UNKNOWN_ID, "%00", "%ff", &"A".repeat(5_000)] {
            service.get(&format!("{FILES}?cursor={nonsense}")).send().refusing_query(&["cursor"]);
        }
    });
}

#[test]
fn a_cursor_of_another_query_or_collection_is_refused() {
    on_each_store(|service| {
        store_many(service, 12);
        let libraries =
            [(); 2].map(|()| format!("{}/lib", service.create("/v1/proposals", PROPOSAL).path));
        for collection in ["/v1/statuses", "/lib", &libraries[0], &libraries[1]] {
            (0..6).for_each(|_| {
                drop(service.create(collection, r#"{"keep":"yes","x":1,"text":"word"}"#));
            });
        }
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
        let cursors: Vec<_> = queries[..8]
            .iter()
            .map(|query| linked(service, &format!("{FILES}?{query}&page_size=1")).1)
            .collect();
        for (own, cursor) in cursors.iter().enumerate() {
            for (at, query) in queries.iter().enumerate() {
                let answer =
                    service.get(&format!("{FILES}?{query}&page_size=1&cursor={cursor}")).send();
                if at == own {
                    drop(answer.expect(200));
                } else {
                    drop(answer.refusing_query(&["`cursor`"]));
                }
            }
            service
                .get(&format!("/v1/statuses?{}&cursor={cursor}", queries[own]))
                .send()
                .refusing_query(&["`cursor`"]);
        }
        for from in ["/lib", &libraries[0], &libraries[1]] {
            let cursor = linked(service, &format!("{from}?page_size=1")).1;
            for to in ["/lib", &libraries[0], &libraries[1], "/v1/statuses", FILES] {
                let answer = service.get(&format!("{to}?cursor={cursor}")).send();
                if to == from {
                    drop(answer.expect(200));
                } else {
                    drop(answer.refusing_query(&["`cursor`"]));
                }
            }
        }
    });
}

#[test]
fn a_cursor_goes_with_another_view_and_page_size() {
    on_each_store(|service| {
        store_many(service, 9);
        let (_, cursor, _) = linked(service, &format!("{FILES}?sort=-n&page_size=3"));
        for (query, expected) in [
            ("page_size=3", "5 4 3"),
            ("page_size=1", "5"),
            ("page_size=250", "5 4 3 2 1 0"),
            ("page=2&page_size=3&fields=n", "5 4 3"),
            ("page=7&page_size=3&total=none", "5 4 3"),
        ] {
            assert_eq!(
                found(service, &format!("sort=-n&{query}&cursor={cursor}")),
                expected,
                "{query}"
            );
        }
    });
}

#[test]
fn a_place_whose_item_is_gone_stays_a_place() {
    on_each_store(|service| {
        store_values(service, &["1", "2", "3", "4"]);
        for query in ["page_size=2", "sort=-x&page_size=2"] {
            let answer = service.list(FILES, query);
            let next = answer.link("next").unwrap();
            let expected = service.get(&next).send().expect(200).items();
            let gone = answer.items()[1].clone();
            service.delete(&format!("{FILES}/{}", gone["id"].as_str().unwrap())).send().expect(204);
            assert_eq!(service.get(&next).send().expect(200).items(), expected, "{query}");
            service.create(FILES, &format!(r#"{{"x":{},"n":9}}"#, gone["x"]));
        }
        let next = service.list(FILES, "page_size=2").link("next").unwrap();
        clear(service);
        assert_eq!(service.get(&next).send().expect(200).items(), Vec::<Value>::new());
    });
}

#[test]
fn an_item_that_matches_in_several_ways_counts_once() {
    on_each_store(|service| {
        let values = [r#"["ab","ba",7,8]"#, r#""a""#, "7", r#"["7",7]"#, r#""ab""#];
        store_values(service, &values);
        for query in [
            "filter[x][gte]=7",
            "filter[x][contains]=a",
            "filter[x][ne]=9",
            "filter[x][lt]=b",
            "filter[x][in]=ab,ba,7",
            "q=ab",
        ] {
            let whole = ns(&service.list(FILES, query).items());
            let pages = (1..=whole.len()).map(|page| {
                service.list(FILES, &format!("{query}&page_size=1&page={page}")).items()
            });
            assert_eq!(ns(&pages.collect::<Vec<_>>().concat()), whole, "{query}");
        }
    });
}

#[test]
fn long_keys_walk_too() {
    on_each_store(|service| {
        let titles: Vec<_> = (0..9).map(|n| format!("{}{n}", "ñ".repeat(n % 3 * 2_000))).collect();
        for (n, title) in titles.iter().enumerate() {
            service.create(FILES, &format!(r#"{{"n":{n},"title":"{title}"}}"#));
        }
        for order in ["title", "-title", "title,-n"] {
            let whole = ns(&service.list(FILES, &format!("sort={order}")).items());
            let pages = walk(service, &format!("{FILES}?sort={order}&page_size=2"), "next", |_| {});
            assert_eq!(ns(&pages.concat()), whole, "{order}");
        }
    });
}

#[test]
fn the_nested_library_is_walked_on_its_own() {
    on_each_store(|service| {
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
    });
}

#[test]
fn a_page_beyond_the_last_of_a_selection_is_409_and_of_none_is_empty() {
    on_each_store(|service| {
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
            let answer = service.get(&format!("{FILES}?{query}")).send().expect(status);
            if status == 409 {
                assert_eq!(answer.value()["code"], "page-out-of-range", "{answer}");
            } else if query.contains("=no") {
                assert_eq!(answer.items(), Vec::<Value>::new(), "{answer}");
            }
        }
    });
}

#[test]
fn first_and_last_are_bare_numbers() {
    let service = Service::start(Store::Sqlite);
    store_many(&service, 9);
    for query in QUERIES {
        let answer = service.list(FILES, &format!("{query}&page_size=2&page=3"));
        for relation in ["first", "last"] {
            let cursor = answer.link(relation).and_then(|link| parameter(&link, "cursor"));
            assert_eq!(cursor, None, "{relation} of {answer}");
        }
        assert_eq!(answer.link("last").is_none(), query.contains("total=none"), "{answer}");
        let both = [answer.link("prev").unwrap(), answer.link("next").unwrap()]
            .map(|link| parameter(&link, "page"));
        assert_eq!(both, [Some("2".to_owned()), Some("4".to_owned())], "{answer}");
    }
    let odd =
        service.list(FILES, &format!("filter[{}][exists]=false&page_size=2", encoded("a\"b<\\>")));
    service.get(&odd.link("next").unwrap()).send().expect(200);
}
