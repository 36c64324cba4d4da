//! `q`: full text over all texts of an item.

use serde_json::{Value, json};
use tests::{Item, Service};

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

/// Searches by the items that they find.
const WORDS_AND_PHRASES: &[(&str, &[&str])] = &[
    ("0 1 5", &["rice", "RICE", "  rice  ", "\"rice\"", "rice rice"]),
    ("", &["ric", "rice,lowlands", "rice wheat", "\"potato sweet\"", "\"lowlands of the\""]),
    ("0", &["rice lowlands", "lowlands rice", "\"bato catanduanes\""]),
    ("0 3", &["lowlands"]),
    ("1", &["\"sweet potato\"", "“sweet potato”", "\"sweet potato\" rice"]),
    ("1", &["\"the potato is\" corn"]),
    ("1 3", &["sweet potato"]),
    ("", &["\"catanduanes pili\""]),
];

/// No word is too common, and all texts count.
const ALL_TEXTS: &[(&str, &[&str])] = &[
    ("0 1 3 4", &["the"]),
    ("4", &["to", "be or not", "\"to be or not to be\""]),
    ("", &["a", "title", "4711", "true"]),
    ("5", &["n", "50"]),
    ("2", &["d"]),
    ("0", &["treasure", "hidden rice", "pili"]),
];

/// Case and accents are folded.
const FOLDED: &[(&str, &[&str])] = &[
    ("1", &["penaranda", "PEÑARANDA", "Pen\u{303}aranda"]),
    ("2", &["strasse", "STRASSE", "straße", "ωμεγα", "ΩΜΈΓΑ", "lodz", "field", "x2", "研究"]),
    ("2", &["\"研究 計画\"", "r&d", "R & D", "\"d project\""]),
    ("5", &["rice-wine", "more_than", "than"]),
    ("", &["wine-rice"]),
];

/// The syntax of a search engine is text.
const SYNTAX: &[(&str, &[&str])] = &[
    ("1 5", &["AND"]),
    ("4 5", &["OR"]),
    ("5", &["NEAR"]),
    ("", &["rice OR wheat", "rice NOT corn", "NEAR(rice lowlands)", "title:rice", "title : rice"]),
    ("", &["rice'; DROP TABLE items; --", "$1 rice"]),
    ("0 1 5", &["-rice", "^rice", "(rice)", "!rice", "'rice'", "\\rice\\", "{rice}"]),
    ("0", &["rice & lowlands", "rice <-> in", "rice + lowlands"]),
    ("1", &["rice | corn"]),
];

/// A beginning finds all words that have it.
const BEGINNINGS: &[(&str, &[&str])] = &[
    ("0 1 5", &["ric*", "RIC*", "rice*"]),
    ("", &["rices*", "lowlands-of-th*", "47*"]),
    ("1", &["peña*", "\"sweet potato\" pe*", "sweet-pot*"]),
    ("2", &["stras*", "研究*", "x2*", "R&D-pro*"]),
    ("0 3", &["lo* th*"]),
    ("5", &["rice-wi*"]),
    ("3", &["lowlands-of*"]),
    ("4 5", &["or* no* no*"]),
];

tests::cases![
    every_search_finds_its_items,
    an_asterisk_elsewhere_is_refused,
    every_match_has_a_score_and_a_snippet_best_first,
    a_snippet_marks_what_was_found_and_is_safe_in_html,
    a_search_goes_with_filters_fields_and_pages,
    every_collection_is_searched_and_keeps_to_itself,
    every_write_is_searchable_at_once,
    concurrent_writes_leave_the_index_correct,
    long_texts_are_searched_to_their_end,
    a_search_for_nothing_is_refused,
];

fn every_search_finds_its_items(service: &Service) {
    store(service);
    let tables = [WORDS_AND_PHRASES, ALL_TEXTS, FOLDED, SYNTAX, BEGINNINGS].concat();
    let table = tables.iter().flat_map(|(expected, searches)| {
        searches.iter().map(|search| ((*search).to_owned(), *expected))
    });
    for (q, expected) in table.chain([(format!("{}*", "x".repeat(900)), "")]) {
        let answer = service.list(FILES, &format!("q={}&sort=n", encoded(&q)));
        assert_eq!(numbers(&answer), expected, "{q}");
        let count = expected.split_whitespace().count();
        assert_eq!(answer.value()["total_items"], count, "{answer}");
        for meta in answer.each("_meta") {
            let snippet = meta["snippet"].as_str().unwrap_or_default();
            assert!(snippet.contains("<mark>"), "{q}: {snippet}");
        }
    }
}

fn an_asterisk_elsewhere_is_refused(service: &Service) {
    let alone = ["*", "**", "r*", "é*", "rice *", "* rice", "ri*ce", "*ice", "ric**", "R&D*"];
    let with_signs = ["ric*,", "(ric*)", "rice:*", "ric*)OR(x", "ric*'", "'ric':*"];
    for q in alone.iter().chain(&with_signs).chain(&["\"ric*\"", "\"sweet pot*\"", "\"rice\"*"]) {
        let answer = service.get(&format!("{FILES}?q={}", encoded(q))).send();
        answer.refusing_query(&["`q`", "`*`"]);
    }
}

fn every_match_has_a_score_and_a_snippet_best_first(service: &Service) {
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
    let scores: Vec<_> =
        answer.each("_meta").iter().map(|meta| meta["score"].as_f64().expect("a number")).collect();
    assert!(scores.is_sorted_by(|better, worse| better > worse) && scores[2] > 0.0, "{scores:?}");
    for (query, expected) in [
        ("q=oats&sort=id", "0 1 2"),
        ("q=oats&sort=-n", "2 1 0"),
        ("q=oats&page_size=1&page=2", "2"),
    ] {
        let answer = service.list(FILES, query);
        assert_eq!(numbers(&answer), expected, "{query}");
        let metas = answer.each("_meta");
        let is_whole = |meta: &Value| meta["score"].is_number() && meta["snippet"].is_string();
        assert!(metas.iter().all(is_whole), "{answer}");
    }
    for meta in service.list(FILES, "").each("_meta") {
        assert_eq!((meta.get("score"), meta.get("snippet")), (None, None), "{meta}");
    }
}

fn a_snippet_marks_what_was_found_and_is_safe_in_html(service: &Service) {
    store(service);
    let [before, after] = ["before ", "after "].map(|word| word.repeat(500));
    service.create(FILES, &format!(r#"{{"n":7,"b":["{before}Nadél & co {after}"]}}"#));
    let rest = "wine 'n' more_than 50 %";
    let bold = "&lt;b&gt;<mark>Bold</mark> &amp; &quot;quoted&quot;&lt;/b&gt; rice-";
    let rice = "&lt;b&gt;Bold &amp; &quot;<mark>quoted</mark>&quot;&lt;/b&gt; <mark>rice</mark>-";
    for (q, expected) in [
        ("bold", &*format!("{bold}{rest}")),
        ("rice quoted", &format!("{rice}{rest}")),
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
    let snippet = answer.items()[0]["_meta"]["snippet"].as_str().expect("a text").to_owned();
    let is_piece = snippet.contains("before <mark>Nadél</mark> &amp; co after");
    let is_cut = snippet.starts_with('…') && snippet.ends_with('…');
    assert!(is_piece && is_cut && snippet.len() < 400, "{snippet}");
}

fn a_search_goes_with_filters_fields_and_pages(service: &Service) {
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
    // The snippet is of a member that is not shown.
    assert_eq!(first["_meta"]["snippet"], "<mark>Rice</mark> in the lowlands", "{first}");
}

fn every_collection_is_searched_and_keeps_to_itself(service: &Service) {
    let collections = every_collection(service);
    for (number, collection) in collections.iter().enumerate() {
        let body = format!(r#"{{"proposal_type":"T","project_title":"common unique{number}"}}"#);
        service.create(collection, &body);
    }
    for (number, collection) in collections.iter().enumerate() {
        let other = (number + 1) % (collections.len() - 1);
        for (word, expected) in [
            // An item that is created in the nested library is in /lib too.
            ("common".to_owned(), if collection == "/lib" { 2 } else { 1 }),
            (format!("UNIQUE{number}"), 1),
            (format!("unique{other}"), 0),
        ] {
            let answer = service.list(collection, &format!("q={word}"));
            assert_eq!(answer.value()["total_items"], expected, "{answer}");
        }
    }
}

fn every_write_is_searchable_at_once(service: &Service) {
    let finds = |expected: &[(&str, &str)]| {
        for (word, numbers) in expected {
            assert_eq!(found(service, &format!("q={word}&sort=n")), *numbers, "{word}");
        }
    };
    let item = service.create(FILES, r#"{"n":0,"text":"alpha beta"}"#);
    finds(&[("alpha", "0"), ("gamma", "")]);
    service.replace(&item.path, r#"{"n":0,"text":"beta gamma"}"#);
    finds(&[("alpha", ""), ("beta", "0"), ("gamma", "0")]);
    service.change(&item.path, r#"{"text":null,"other":["delta"]}"#);
    finds(&[("beta", ""), ("delta", "0")]);
    service.create(FILES, r#"{"n":1,"text":"delta"}"#);
    finds(&[("delta", "0 1")]);
    service.remove(&item.path);
    finds(&[("delta", "1")]);

    let collection = "/v1/cashprogram";
    let of = |word: &str| numbers(&service.list(collection, &format!("q={word}&sort=n")));
    let Item { id, .. } = service.create(collection, r#"{"n":0,"text":"alpha"}"#);
    service.create(collection, r#"{"n":1,"text":"alpha"}"#);
    assert_eq!(of("alpha"), "0 1");
    let new = r#"{"n":2,"text":"alpha beta"},{"n":3,"text":"beta"}"#;
    service.replace(collection, format!(r#"[{{"id":"{id}","n":0,"text":"beta"}},{new}]"#));
    assert_eq!([of("alpha"), of("beta")], ["2", "0 2 3"]);
    service.replace(collection, "[]");
    assert_eq!([of("alpha"), of("beta")], ["", ""]);

    let proposal = service.create("/v1/proposals", crate::PROPOSAL);
    service.create(&format!("{}/lib", proposal.path), r#"{"n":0,"text":"alpha"}"#);
    service.create("/lib", r#"{"n":1,"text":"alpha"}"#);
    assert_eq!(numbers(&service.list("/lib", "q=alpha&sort=n")), "0 1");
    service.remove(&proposal.path);
    assert_eq!(numbers(&service.list("/lib", "q=alpha")), "1");
    assert_eq!(service.list("/v1/proposals", "q=kit").value()["total_items"], 0);
}

fn concurrent_writes_leave_the_index_correct(service: &Service) {
    std::thread::scope(|scope| {
        for writer in 0..8 {
            scope.spawn(move || {
                for n in 0..10 {
                    let body = format!(r#"{{"n":{n},"text":"first{writer}"}}"#);
                    let item = service.create(FILES, &body);
                    service.change(&item.path, format!(r#"{{"text":"second{writer}"}}"#));
                    let query = format!("q=second{writer}&filter[n]={n}");
                    assert_eq!(found(service, &query), n.to_string());
                    if n % 2 == 0 {
                        service.remove(&item.path);
                    }
                }
            });
        }
    });
    for writer in 0..8 {
        assert_eq!(found(service, &format!("q=second{writer}&sort=n")), "1 3 5 7 9");
        assert_eq!(found(service, &format!("q=first{writer}")), "");
    }
}

fn long_texts_are_searched_to_their_end(service: &Service) {
    let text = format!("{} needle", "hay stack ".repeat(20_000));
    service.create(FILES, &json!({"n": 0, "text": text, "more": "x".repeat(100_000)}).to_string());
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
}

fn a_search_for_nothing_is_refused(service: &Service) {
    let (many, long) = ("x+".repeat(33), "x".repeat(2_000));
    for (q, mentioned) in [
        ("", "`q`"),
        ("%20", "`q`"),
        ("%21%3F", "contains no word"),
        ("%22%22", "`q`"),
        ("%22rice", "quotation mark"),
        ("rice%20%22sweet%20potato%22%22", "quotation mark"),
        (&many, "32"),
        (&long, "`q`"),
        ("rice&q=corn", "`q`"),
    ] {
        service.get(&format!("{FILES}?q={q}")).send().refusing_query(&["`q`", mentioned]);
    }
    for bytes in ["%00", "%ff"] {
        service.get(&format!("{FILES}?q={bytes}")).send().refusing_query(&["q"]);
    }
    let query = service.get(&format!("{FILES}?query=rice")).send().refusing_query(&["query"]);
    assert!(query.text().contains("`q`"), "{query}");
}

fn store(service: &Service) {
    for body in BODIES {
        service.create(FILES, body);
    }
}
