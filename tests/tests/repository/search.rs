//! `page` with a search: which items hold the words, in step with every write.

use std::sync::Arc;

use application::query::{PageQuery, PageStart, Selection, Subject};
use application::{Scope, Search};
use tokio::task::JoinSet;

use crate::store::{
    CASH, FILES, LIB, NOW, PROPOSALS, TestStore, at, content, everything, lib_of, new_item, reach,
    replacement,
};

on_both_stores! {
    the_index_has_a_row_for_each_item_that_exists
    a_search_finds_what_was_acknowledged_while_others_write
    matches_can_be_walked
    ; every_server:
    every_word_must_be_found_and_no_word_is_too_common
    phrases_are_found_in_one_text
    beginnings_find_all_words_that_have_them
    operators_of_the_engines_are_words
    case_and_accents_are_folded
    the_best_match_comes_first
    texts_of_any_size_are_indexed
}

fn searching(scope: Scope, written: &str) -> PageQuery {
    let search = Some(Search::read(written).unwrap());
    PageQuery { selection: Selection { filters: Vec::new(), search }, ..everything(scope) }
}

fn best_first(query: PageQuery) -> PageQuery {
    let order = vec![application::query::SortKey { subject: Subject::Score, descending: true }];
    PageQuery { order, ..query }
}

async fn found(store: &TestStore, scope: Scope, written: &str) -> String {
    let page = store.select(scope, &searching(scope, written)).await;
    assert!(
        page.items.iter().all(|listed| listed.score.is_some_and(|score| score > 0.0)),
        "{page:?}"
    );
    let texts = page
        .items
        .iter()
        .map(|listed| listed.shown.item.members.split('"').nth(3).unwrap().to_owned());
    texts.collect::<Vec<_>>().join("|")
}

async fn store_texts(store: &TestStore, texts: &[&str]) {
    for text in texts {
        store.insert(FILES, &format!("{{\"text\":\"{text}\"}}")).await;
    }
}

async fn every_word_must_be_found_and_no_word_is_too_common(store: &TestStore) {
    store_texts(store, &["the rice", "the wheat of the north", "a rice of the north", "ricefield"])
        .await;
    for (written, expected) in [
        ("rice", "the rice|a rice of the north"),
        ("the", "the rice|the wheat of the north|a rice of the north"),
        ("north rice", "a rice of the north"),
        ("a", "a rice of the north"),
        ("or", ""),
        ("NOT rice", ""),
        ("text", ""),
    ] {
        assert_eq!(found(store, FILES, written).await, expected, "{written}");
    }
}

async fn phrases_are_found_in_one_text(store: &TestStore) {
    store_texts(store, &["sweet potato", "potato, sweet", "sweet-potato pie"]).await;
    store.insert(FILES, r#"{"x":"sweet","y":"potato"}"#).await;
    assert_eq!(found(store, FILES, "\"sweet potato\"").await, "sweet potato|sweet-potato pie");
    assert_eq!(found(store, FILES, "sweet-potato pie").await, "sweet-potato pie");
    assert_eq!(
        found(store, FILES, "potato sweet").await,
        "sweet potato|potato, sweet|sweet-potato pie|sweet"
    );
}

async fn beginnings_find_all_words_that_have_them(store: &TestStore) {
    store_texts(
        store,
        &[
            "rice",
            "ricefields of the north",
            "Río",
            "ri",
            "r",
            "sweet potatoes",
            "sweet, potted rice",
        ],
    )
    .await;
    let long = "x".repeat(300);
    store_texts(store, &[&long]).await;
    for (written, expected) in [
        ("ri*", "rice|ricefields of the north|Río|ri|sweet, potted rice"),
        ("ric*", "rice|ricefields of the north|sweet, potted rice"),
        ("rice*", "rice|ricefields of the north|sweet, potted rice"),
        ("ricef*", "ricefields of the north"),
        ("ricefields*", "ricefields of the north"),
        ("ricefieldss*", ""),
        ("ric* nor*", "ricefields of the north"),
        ("ric* swe*", "sweet, potted rice"),
        ("sweet-pot*", "sweet potatoes|sweet, potted rice"),
        ("sweet-ric*", ""),
        ("\"potted rice\" sw*", "sweet, potted rice"),
        ("ri* ri* rice", "rice|sweet, potted rice"),
        ("xx*", &long),
        (&format!("{long}*"), &long),
    ] {
        assert_eq!(found(store, FILES, written).await, expected, "{written}");
    }
    let page = store.select(FILES, &best_first(searching(FILES, "ric*"))).await;
    assert!(page.items.is_sorted_by(|one, next| one.score >= next.score), "{page:?}");
}

async fn operators_of_the_engines_are_words(store: &TestStore) {
    let texts = ["or and not near", "words term doc", "é\u{10FFFF}", "𝔘𝔫𝔦 code"];
    store_texts(store, &texts).await;
    for (written, expected) in [
        ("OR AND", "or and not near"),
        ("or* AN*", "or and not near"),
        ("NEAR(or 5", ""),
        ("wor* -term", "words term doc"),
        ("words:term", "words term doc"),
        ("{words} : ter*", "words term doc"),
        ("te\u{10FFFF}*", "refused"),
        ("un* cod*", "𝔘𝔫𝔦 code"),
        ("'or' <-> 'and'", "or and not near"),
        ("or';--*", "refused"),
        ("or \\* an*", "refused"),
        ("$1 an*", ""),
    ] {
        let found = match Search::read(written) {
            Ok(_) => found(store, FILES, written).await,
            Err(_) => "refused".to_owned(),
        };
        assert_eq!(found, expected, "{written}");
    }
}

async fn case_and_accents_are_folded(store: &TestStore) {
    store_texts(store, &["Peñaranda", "PENARANDA", "Straße", "研究 計画", "R&D 18,000"]).await;
    assert_eq!(found(store, FILES, "peñaranda").await, "Peñaranda|PENARANDA");
    assert_eq!(found(store, FILES, "Penaranda").await, "Peñaranda|PENARANDA");
    assert_eq!(found(store, FILES, "STRASSE").await, "Straße");
    assert_eq!(found(store, FILES, "計画").await, "研究 計画");
    assert_eq!(found(store, FILES, "r&d").await, "R&D 18,000");
    assert_eq!(found(store, FILES, "000").await, "R&D 18,000");
}

async fn the_best_match_comes_first(store: &TestStore) {
    let filler = "about other things ".repeat(40);
    store_texts(store, &[&format!("{filler} rice"), "rice and rice", "rice and wheat", &filler])
        .await;
    let page = store.select(FILES, &best_first(searching(FILES, "rice"))).await;
    let members: Vec<_> =
        page.items.iter().map(|listed| listed.shown.item.members.to_string()).collect();
    assert_eq!(members.len(), 3);
    assert!(members[0].contains("rice and rice") && members[2].contains(&filler), "{members:?}");
    assert!(page.items.is_sorted_by(|one, next| one.score >= next.score));
}

async fn the_index_has_a_row_for_each_item_that_exists(store: &TestStore) {
    let shown = store.insert(FILES, r#"{"text":"before"}"#).await;
    let updated = store.update(FILES, &shown, r#"{"text":"after"}"#).await.unwrap();
    assert_eq!(found(store, FILES, "before").await, "");
    store.delete(FILES, &updated).await.unwrap();
    let proposal = store.insert(PROPOSALS, r#"{"text":"owner"}"#).await;
    store.insert(lib_of(&proposal), r#"{"text":"owned"}"#).await;
    store.delete(PROPOSALS, &proposal).await.unwrap();
    let kept = store.insert(CASH, r#"{"text":"kept"}"#).await;
    store.insert(CASH, r#"{"text":"gone"}"#).await;
    let (update, addition) = (replacement(&kept, r#"{"text":"new"}"#), r#"{"text":"added"}"#);
    let whole = content(vec![update], vec![new_item(addition)]);
    store.items.replace_all(CASH.collection, whole, at(NOW)).await.unwrap();
    let words =
        [(FILES, "after"), (LIB, "owned"), (PROPOSALS, "owner"), (CASH, "kept"), (CASH, "gone")];
    for (scope, word) in words {
        assert_eq!(found(store, scope, word).await, "", "{word}");
    }
    assert_eq!(found(store, CASH, "new").await + &found(store, CASH, "added").await, "newadded");
    assert_eq!(rows_of_the_index(store), 2);
}

fn rows_of_the_index(store: &TestStore) -> usize {
    let table = if store.database.is_sqlite() { "search_index_docsize" } else { "search_index" };
    let indexed = store.database.query(&format!("SELECT CAST(COUNT(*) AS TEXT) FROM {table}"));
    indexed[0][0].as_deref().unwrap().parse().unwrap()
}

async fn a_search_finds_what_was_acknowledged_while_others_write(store: &TestStore) {
    let mut writers = JoinSet::new();
    for writer in 0..8 {
        let items = Arc::clone(&store.items);
        writers.spawn(async move {
            for number in 0..8 {
                let word = format!("word{writer}x{number}");
                items
                    .insert(FILES, new_item(&format!("{{\"text\":\"{word}\"}}")), at(NOW))
                    .await
                    .unwrap();
                assert_eq!(
                    items.page(&reach(FILES), &searching(FILES, &word)).await.unwrap().items.len(),
                    1,
                    "{word}"
                );
            }
        });
    }
    writers.join_all().await;
}

async fn texts_of_any_size_are_indexed(store: &TestStore) {
    let many: Vec<_> = (0..60_000).map(|number| format!("w{number}")).collect();
    store.insert(FILES, &format!("{{\"text\":\"{}\"}}", many.join(" "))).await;
    store.insert(FILES, &format!("{{\"text\":\"{}\"}}", "x".repeat(3_000_000))).await;
    store.insert(FILES, &format!("{{\"text\":\"{}\"}}", "same ".repeat(100_000))).await;
    for word in ["w0", "w59999", "same"] {
        assert_eq!(store.select(FILES, &searching(FILES, word)).await.items.len(), 1, "{word}");
    }
}

async fn matches_can_be_walked(store: &TestStore) {
    for number in 0..23 {
        store.insert(FILES, &format!("{{\"text\":\"{}\"}}", "rice ".repeat(1 + number % 5))).await;
    }
    let whole = store.select(FILES, &best_first(searching(FILES, "rice"))).await;
    let expected: Vec<_> = whole.items.iter().map(|listed| listed.shown.item.id).collect();
    let mut query = PageQuery { limit: 4, ..best_first(searching(FILES, "rice")) };
    let mut seen = Vec::new();
    loop {
        let page = store.select(FILES, &query).await;
        seen.extend(page.items.iter().map(|listed| listed.shown.item.id));
        // Others write; the scores of those that are walked do not move.
        store.insert(FILES, r#"{"text":"wheat wheat"}"#).await;
        let Some(last) = page.last.clone().filter(|_| page.has_more) else { break };
        query.position = PageStart::After(last);
    }
    assert_eq!(seen, expected);
}
