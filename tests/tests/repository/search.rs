//! `page` with a search: which items hold the words, in step with every write.

use std::sync::Arc;

use application::{Scope, Search};
use tokio::task::JoinSet;

use crate::store::{
    CASH, FILES, LIB, NOW, PROPOSALS, TestStore, at, best_first, content, lib_of, new_item, reach,
    replacement, searching,
};

on_both_stores! {
    the_index_has_a_row_for_each_item_that_exists
    a_search_finds_what_was_acknowledged_while_others_write
    ; every_server:
    words_and_phrases_are_found_in_one_text_without_regard_to_case_and_accents
    beginnings_find_all_words_that_have_them
    operators_of_the_engines_are_words
    the_best_match_comes_first
    texts_of_any_size_are_indexed
}

async fn found(store: &TestStore, scope: Scope, written: &str) -> String {
    let page = store.select(scope, &searching(scope, written)).await;
    let have_scores = page.items.iter().all(|listed| listed.score.is_some_and(|score| score > 0.0));
    assert!(have_scores, "{page:?}");
    let text = |members: &str| members.split('"').nth(3).unwrap().to_owned();
    let texts = page.items.iter().map(|listed| text(&listed.shown.item.members));
    texts.collect::<Vec<_>>().join("|")
}

async fn store_texts(store: &TestStore, texts: &[&str]) {
    for text in texts {
        store.insert(FILES, &format!("{{\"text\":\"{text}\"}}")).await;
    }
}

async fn words_and_phrases_are_found_in_one_text_without_regard_to_case_and_accents(
    store: &TestStore,
) {
    let texts = ["the rice", "the wheat of the north", "a rice of the north", "ricefield"];
    store_texts(store, &texts).await;
    store_texts(store, &["sweet potato", "potato, sweet", "sweet-potato pie"]).await;
    store.insert(FILES, r#"{"x":"sweet","y":"potato"}"#).await;
    store_texts(store, &["Peñaranda", "PENARANDA", "Straße", "研究 計画", "R&D 18,000"]).await;
    for (written, expected) in [
        ("rice", "the rice|a rice of the north"),
        ("the", "the rice|the wheat of the north|a rice of the north"),
        ("north rice", "a rice of the north"),
        ("a", "a rice of the north"),
        ("or", ""),
        ("NOT rice", ""),
        ("text", ""),
        ("\"sweet potato\"", "sweet potato|sweet-potato pie"),
        ("sweet-potato pie", "sweet-potato pie"),
        ("potato sweet", "sweet potato|potato, sweet|sweet-potato pie|sweet"),
        ("peñaranda", "Peñaranda|PENARANDA"),
        ("Penaranda", "Peñaranda|PENARANDA"),
        ("STRASSE", "Straße"),
        ("計画", "研究 計画"),
        ("r&d", "R&D 18,000"),
        ("000", "R&D 18,000"),
    ] {
        assert_eq!(found(store, FILES, written).await, expected, "{written}");
    }
}

async fn beginnings_find_all_words_that_have_them(store: &TestStore) {
    let long = "x".repeat(300);
    store_texts(store, &["rice", "ricefields of the north", "Río", "ri", "r", &long]).await;
    store_texts(store, &["sweet potatoes", "sweet, potted rice"]).await;
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
                let item = new_item(&format!("{{\"text\":\"{word}\"}}"));
                items.insert(FILES, item, at(NOW)).await.unwrap();
                let page = items.page(&reach(FILES), &searching(FILES, &word)).await.unwrap();
                assert_eq!(page.items.len(), 1, "{word}");
            }
        });
    }
    writers.join_all().await;
}

async fn texts_of_any_size_are_indexed(store: &TestStore) {
    let many: Vec<_> = (0..60_000).map(|number| format!("w{number}")).collect();
    let (long, same) = ("x".repeat(3_000_000), "same ".repeat(100_000));
    store_texts(store, &[&many.join(" "), &long, &same]).await;
    for word in ["w0", "w59999", "same"] {
        assert_eq!(store.select(FILES, &searching(FILES, word)).await.items.len(), 1, "{word}");
    }
}
