//! `q`: full text over all texts of an item.

use serde_json::{Value, json};
use tests::{Service, Store, on_each_store};

use crate::queries::{FILES, encoded, every_collection, found, numbers};

/// Bodies that the tables name by their numbers.
const BODIES: &[&str] = &[
    r#"{"n":0,"title":"Rice in the lowlands","sites":["Bato, Catanduanes","Pili"],"more":{"deep":[{"note":"Hidden treasure"}]}}"#,
    r#"{"n":1,"title":"Sweet potato","text":"Peñaranda grows RICE and sweet corn; the potato is sweet."}"#,
    r#"{"n":2,"title":"R&D project","text":"Straße, Ωμέγα, Łódź, ﬁeld, x², 研究 計画","amount":4711}"#,
    r#"{"n":3,"title":"sweet","text":"potato","list":["lowlands of","the north"]}"#,
    r#"{"n":4,"rice":true,"title":null,"text":"to be or not to be, that is the question"}"#,
    r#"{"n":5,"text":"<b>Bold & \"quoted\"</b> rice-wine 'n' more_than 50 %","title":"AND OR NOT NEAR"}"#,
    r#"{"n":6}"#,
];

#[test]
fn every_word_and_phrase_must_match() {
    finds(&[
        ("rice", "0 1 5"),
        ("RICE", "0 1 5"),
        ("  rice  ", "0 1 5"),
        ("ric", ""),
        ("rice lowlands", "0"),
        ("lowlands rice", "0"),
        ("rice,lowlands", ""),
        ("rice wheat", ""),
        ("lowlands", "0 3"),
        ("\"sweet potato\"", "1"),
        ("“sweet potato”", "1"),
        ("\"potato sweet\"", ""),
        ("sweet potato", "1 3"),
        ("\"sweet potato\" rice", "1"),
        ("\"the potato is\" corn", "1"),
        ("\"lowlands of the\"", ""),
        ("\"bato catanduanes\"", "0"),
        ("\"catanduanes pili\"", ""),
        ("\"rice\"", "0 1 5"),
        ("rice rice", "0 1 5"),
    ]);
}

#[test]
fn no_word_is_too_common_and_all_texts_count() {
    finds(&[
        ("the", "0 1 3 4"),
        ("to", "4"),
        ("be or not", "4"),
        ("\"to be or not to be\"", "4"),
        ("a", ""),
        ("n", "5"),
        ("d", "2"),
        ("treasure", "0"),
        ("hidden rice", "0"),
        ("pili", "0"),
        ("title", ""),
        ("4711", ""),
        ("true", ""),
        ("50", "5"),
    ]);
}

#[test]
fn case_and_accents_are_folded() {
    finds(&[
        ("penaranda", "1"),
        ("PEÑARANDA", "1"),
        ("Pen\u{303}aranda", "1"),
        ("strasse", "2"),
        ("STRASSE", "2"),
        ("straße", "2"),
        ("ωμεγα", "2"),
        ("ΩΜΈΓΑ", "2"),
        ("lodz", "2"),
        ("field", "2"),
        ("x2", "2"),
        ("研究", "2"),
        ("\"研究 計画\"", "2"),
        ("r&d", "2"),
        ("R & D", "2"),
        ("\"d project\"", "2"),
        ("wine-rice", ""),
        ("rice-wine", "5"),
        ("more_than", "5"),
        ("than", "5"),
    ]);
}

#[test]
fn what_means_something_to_an_engine_is_only_text() {
    finds(&[
        ("AND", "1 5"),
        ("OR", "4 5"),
        ("rice OR wheat", ""),
        ("rice NOT corn", ""),
        ("NEAR", "5"),
        ("NEAR(rice lowlands)", ""),
        ("-rice", "0 1 5"),
        ("^rice", "0 1 5"),
        ("title:rice", ""),
        ("title : rice", ""),
        ("(rice)", "0 1 5"),
        ("rice & lowlands", "0"),
        ("rice | corn", "1"),
        ("!rice", "0 1 5"),
        ("rice <-> in", "0"),
        ("'rice'", "0 1 5"),
        ("rice'; DROP TABLE items; --", ""),
        ("\\rice\\", "0 1 5"),
        ("{rice}", "0 1 5"),
        ("rice + lowlands", "0"),
        ("$1 rice", ""),
    ]);
}

#[test]
fn a_beginning_finds_all_words_that_have_it() {
    finds(&[
        ("ric*", "0 1 5"),
        ("RIC*", "0 1 5"),
        ("rice*", "0 1 5"),
        ("rices*", ""),
        ("peña*", "1"),
        ("stras*", "2"),
        ("研究*", "2"),
        ("x2*", "2"),
        ("lo* th*", "0 3"),
        ("\"sweet potato\" pe*", "1"),
        ("sweet-pot*", "1"),
        ("rice-wi*", "5"),
        ("R&D-pro*", "2"),
        ("lowlands-of*", "3"),
        ("lowlands-of-th*", ""),
        ("or* no* no*", "4 5"),
        ("47*", ""),
        (&format!("{}*", "x".repeat(900)), ""),
    ]);
}

#[test]
fn an_asterisk_elsewhere_is_refused() {
    let service = Service::start(Store::Sqlite);
    for q in [
        "*",
        "**",
        "r*",
        "rice *",
        "* rice",
        "ri*ce",
        "*ice",
        "ric**",
        "ric*,",
        "(ric*)",
        "rice:*",
        "\"ric*\"",
        "\"sweet pot*\"",
        "\"rice\"*",
        "é*",
        "R&D*",
        "ric*)OR(x",
        "ric*'",
        "'ric':*",
    ] {
        let answer = service.get(&format!("{FILES}?q={}", encoded(q))).send();
        drop(answer.refusing_query(&["`q`", "`*`"]));
    }
}

#[test]
fn every_match_has_a_score_and_a_snippet_best_first() {
    on_each_store(|service| {
        let texts = [
            "oats and barley and wheat and rye",
            "oats oats oats oats and oats",
            "oats oats and wheat and barley",
            "wheat",
        ];
        for (n, text) in texts.iter().enumerate() {
            service.create(FILES, &format!(r#"{{"n":{n},"text":"{text}"}}"#));
        }
        let answer = service.list(FILES, "q=oats");
        assert_eq!(numbers(&answer), "1 2 0", "{answer}");
        let scores: Vec<_> = answer
            .each("_meta")
            .iter()
            .map(|meta| meta["score"].as_f64().expect("a number"))
            .collect();
        assert!(
            scores.is_sorted_by(|better, worse| better > worse) && scores[2] > 0.0,
            "{scores:?}"
        );
        for (query, expected) in [
            ("q=oats&sort=id", "0 1 2"),
            ("q=oats&sort=-n", "2 1 0"),
            ("q=oats&page_size=1&page=2", "2"),
        ] {
            let answer = service.list(FILES, query);
            assert_eq!(numbers(&answer), expected, "{query}");
            assert!(
                answer
                    .each("_meta")
                    .iter()
                    .all(|meta| meta["score"].is_number() && meta["snippet"].is_string()),
                "{answer}"
            );
        }
        for meta in service.list(FILES, "").each("_meta") {
            assert_eq!((meta.get("score"), meta.get("snippet")), (None, None), "{meta}");
        }
    });
}

#[test]
fn a_snippet_marks_what_was_found_and_is_safe_in_html() {
    on_each_store(|service| {
        store(service);
        let long = format!(
            r#"{{"n":7,"a":"nothing","b":["{}Nadél & co {}"]}}"#,
            "before ".repeat(500),
            "after ".repeat(500)
        );
        service.create(FILES, &long);
        for (q, expected) in [
            (
                "bold",
                "&lt;b&gt;<mark>Bold</mark> &amp; &quot;quoted&quot;&lt;/b&gt; rice-wine 'n' more_than 50 %",
            ),
            (
                "rice quoted",
                "&lt;b&gt;Bold &amp; &quot;<mark>quoted</mark>&quot;&lt;/b&gt; <mark>rice</mark>-wine 'n' more_than 50 %",
            ),
            ("treasure", "Hidden <mark>treasure</mark>"),
            ("hid* tre*", "<mark>Hidden</mark> <mark>treasure</mark>"),
            ("sweet-pot*", "<mark>Sweet</mark> <mark>potato</mark>"),
            ("\"sweet potato\"", "<mark>Sweet</mark> <mark>potato</mark>"),
            ("penaranda", "<mark>Peñaranda</mark> grows RICE and sweet corn; the potato is sweet."),
        ] {
            let answer = service.list(FILES, &format!("q={}", encoded(q)));
            assert_eq!(answer.items()[0]["_meta"]["snippet"], expected, "{answer}");
        }
        let answer = service.list(FILES, "q=nadel");
        let snippet = answer.items()[0]["_meta"]["snippet"].as_str().unwrap().to_owned();
        assert!(
            snippet.contains("before <mark>Nadél</mark> &amp; co after") && snippet.len() < 500,
            "a piece of it: {snippet}"
        );
    });
}

#[test]
fn a_search_goes_with_filters_fields_and_pages() {
    on_each_store(|service| {
        store(service);
        for (query, expected) in [
            ("q=rice&filter[n][gt]=0&sort=n", "1 5"),
            ("q=rice&filter[title][contains]=the", "0"),
            ("q=rice&filter[sites]=Pili", "0"),
            ("q=rice&filter[n]=3", ""),
            ("q=rice&sort=-n&page_size=2", "5 1"),
            ("q=rice&sort=-n&page_size=2&page=2", "0"),
            ("q=the&sort=title,n&total=none", "0 1 3 4"),
        ] {
            assert_eq!(found(service, query), expected, "{query}");
        }
        let answer = service.list(FILES, "q=rice&fields=n&sort=n");
        assert_eq!(answer.value()["total_items"], 3, "{answer}");
        let first = &answer.items()[0];
        assert_eq!((first.get("title"), &first["n"]), (None, &json!(0)), "{first}");
        assert_eq!(
            first["_meta"]["snippet"], "<mark>Rice</mark> in the lowlands",
            "of what is not shown: {first}"
        );
    });
}

#[test]
fn every_collection_is_searched_and_keeps_to_itself() {
    on_each_store(|service| {
        let collections = every_collection(service);
        for (number, collection) in collections.iter().enumerate() {
            service.create(
                collection,
                &format!(r#"{{"proposal_type":"T","project_title":"common unique{number}"}}"#),
            );
        }
        for (number, collection) in collections.iter().enumerate() {
            // What is created in the nested library is in /lib too.
            let expected = if collection == "/lib" { 2 } else { 1 };
            assert_eq!(
                service.list(collection, "q=common").value()["total_items"],
                expected,
                "{collection}"
            );
            assert_eq!(
                service.list(collection, &format!("q=UNIQUE{number}")).value()["total_items"],
                1,
                "{collection}"
            );
            let other = (number + 1) % (collections.len() - 1);
            assert_eq!(
                service.list(collection, &format!("q=unique{other}")).value()["total_items"],
                0,
                "{collection}"
            );
        }
    });
}

#[test]
fn what_was_written_is_found_at_once() {
    on_each_store(|service| {
        let of = |word: &str| found(service, &format!("q={word}&sort=n"));
        let item = service.create(FILES, r#"{"n":0,"text":"alpha beta"}"#);
        assert_eq!((of("alpha"), of("gamma")), ("0".to_owned(), String::new()));
        service.put(&item.path).json(r#"{"n":0,"text":"beta gamma"}"#).send().expect(200);
        assert_eq!(
            (of("alpha"), of("beta"), of("gamma")),
            (String::new(), "0".to_owned(), "0".to_owned())
        );
        service.patch(&item.path).json(r#"{"text":null,"other":["delta"]}"#).send().expect(200);
        assert_eq!((of("beta"), of("delta")), (String::new(), "0".to_owned()));
        service.create(FILES, r#"{"n":1,"text":"delta"}"#);
        assert_eq!(of("delta"), "0 1");
        service.delete(&item.path).send().expect(204);
        assert_eq!(of("delta"), "1");
    });
}

#[test]
fn a_replaced_collection_is_found_at_once() {
    on_each_store(|service| {
        let collection = "/v1/cashprogram";
        let of = |word: &str| numbers(&service.list(collection, &format!("q={word}&sort=n")));
        let kept = service.create(collection, r#"{"n":0,"text":"alpha"}"#);
        service.create(collection, r#"{"n":1,"text":"alpha"}"#);
        assert_eq!(of("alpha"), "0 1");
        let body = format!(
            r#"[{{"id":"{}","n":0,"text":"beta"}},{{"n":2,"text":"alpha beta"}},{{"n":3,"text":"beta"}}]"#,
            kept.id
        );
        service.put(collection).json(body).send().expect(200);
        assert_eq!((of("alpha"), of("beta")), ("2".to_owned(), "0 2 3".to_owned()));
        service.put(collection).json("[]").send().expect(200);
        assert_eq!((of("alpha"), of("beta")), (String::new(), String::new()));
    });
}

#[test]
fn what_a_deleted_proposal_held_is_not_found() {
    on_each_store(|service| {
        let proposal = service.create("/v1/proposals", crate::PROPOSAL);
        service.create(&format!("{}/lib", proposal.path), r#"{"n":0,"text":"alpha"}"#);
        service.create("/lib", r#"{"n":1,"text":"alpha"}"#);
        assert_eq!(numbers(&service.list("/lib", "q=alpha&sort=n")), "0 1");
        service.delete(&proposal.path).send().expect(204);
        assert_eq!(numbers(&service.list("/lib", "q=alpha")), "1");
        assert_eq!(service.list("/v1/proposals", "q=kit").value()["total_items"], 0);
    });
}

#[test]
fn many_writers_leave_the_index_true() {
    on_each_store(|service| {
        std::thread::scope(|scope| {
            for writer in 0..8 {
                scope.spawn(move || {
                    for n in 0..10 {
                        let item = service
                            .create(FILES, &format!(r#"{{"n":{n},"text":"first{writer}"}}"#));
                        service
                            .patch(&item.path)
                            .json(format!(r#"{{"text":"second{writer}"}}"#))
                            .send()
                            .expect(200);
                        assert_eq!(
                            found(service, &format!("q=second{writer}&filter[n]={n}")),
                            n.to_string()
                        );
                        if n % 2 == 0 {
                            service.delete(&item.path).send().expect(204);
                        }
                    }
                });
            }
        });
        for writer in 0..8 {
            assert_eq!(found(service, &format!("q=second{writer}&sort=n")), "1 3 5 7 9");
            assert_eq!(found(service, &format!("q=first{writer}")), "");
        }
    });
}

#[test]
fn long_texts_are_searched_to_their_end() {
    on_each_store(|service| {
        let text = format!("{} needle", "hay stack ".repeat(20_000));
        service
            .create(FILES, &json!({"n": 0, "text": text, "more": "x".repeat(100_000)}).to_string());
        let words: Vec<_> = (0..20_000).map(|number| format!("word{number}")).collect();
        service.create(FILES, &json!({"n": 1, "text": words.join(" ")}).to_string());
        for (q, expected) in [
            ("needle", "0"),
            ("hay needle", "0"),
            ("word19999", "1"),
            ("word0 word10000", "1"),
            ("word20000", ""),
        ] {
            assert_eq!(found(service, &format!("q={}", encoded(q))), expected, "{q}");
        }
    });
}

#[test]
fn a_search_for_nothing_is_refused() {
    let service = Service::start(Store::Sqlite);
    for (q, mentioned) in [
        (String::new(), &["`q`"][..]),
        ("%20".to_owned(), &["`q`"]),
        ("%21%3F".to_owned(), &["`q`"]),
        ("%22%22".to_owned(), &["`q`"]),
        ("%22rice".to_owned(), &["`q`", "quotation mark"]),
        ("rice%20%22sweet%20potato%22%22".to_owned(), &["`q`", "quotation mark"]),
        ("x+".repeat(33), &["`q`", "32"]),
        ("x".repeat(2_000), &["`q`"]),
        ("%00".to_owned(), &["q"]),
        ("%ff".to_owned(), &["q"]),
        ("rice&q=corn".to_owned(), &["`q`"]),
    ] {
        service.get(&format!("{FILES}?q={q}")).send().refusing_query(mentioned);
    }
    let query = service.get(&format!("{FILES}?query=rice")).send().refusing_query(&["query"]);
    assert!(query.text().contains("`q`"), "{query}");
}

fn store(service: &Service) {
    for body in BODIES {
        service.create(FILES, body);
    }
}

/// Asserts which of the `BODIES` each search finds.
fn finds(table: &[(&str, &str)]) {
    on_each_store(|service| {
        store(service);
        for (q, expected) in table {
            let answer = service.list(FILES, &format!("q={}&sort=n", encoded(q)));
            assert_eq!(numbers(&answer), *expected, "{q}");
            assert_eq!(
                answer.value()["total_items"],
                expected.split_whitespace().count(),
                "{answer}"
            );
            let snippets = answer.each("_meta").into_iter().map(|meta| meta["snippet"].clone());
            snippets.for_each(|snippet: Value| {
                assert!(
                    snippet.as_str().is_some_and(|text| text.contains("<mark>")),
                    "{q}: {snippet}"
                );
            });
        }
    });
}
