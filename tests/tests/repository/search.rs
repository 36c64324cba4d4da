//! `page` with a search: which items hold the words, in step with every write.

use std::sync::Arc;

use application::query::{
    Comparison, Condition, Filter, Operand, PageQuery, PageStart, Selection, Subject,
};
use application::{Scope, Search};
use domain::Collection;
use tokio::task::JoinSet;

use crate::store::{
    NOW, TestStore, all, at, content, everything, lib_of, new_item, reach, replacement,
};

on_both_stores! {
    every_word_must_be_found_and_no_word_is_too_common
    phrases_are_found_in_one_text
    beginnings_find_all_words_that_have_them
    operators_of_the_engines_are_words
    case_and_accents_are_folded
    the_best_match_comes_first
    every_write_keeps_the_index_in_step
    a_search_finds_what_was_acknowledged_while_others_write
    a_refused_write_leaves_the_index_alone
    a_search_goes_with_filters_and_scopes
    texts_of_any_size_are_indexed
    matches_can_be_walked
}

const COLLECTION: Scope = all(Collection::known("files"));

fn searching(scope: Scope, written: &str) -> PageQuery {
    let search = Some(Search::read(written).unwrap());
    PageQuery { selection: Selection { filters: Vec::new(), search }, ..everything(scope) }
}

fn best_first(query: PageQuery) -> PageQuery {
    let order = vec![application::query::SortKey { subject: Subject::Score, descending: true }];
    PageQuery { order, ..query }
}

/// The texts of the items found.
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
        store.insert(COLLECTION, &format!("{{\"text\":\"{text}\"}}")).await;
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
        assert_eq!(found(store, COLLECTION, written).await, expected, "{written}");
    }
}

async fn phrases_are_found_in_one_text(store: &TestStore) {
    store_texts(store, &["sweet potato", "potato, sweet", "sweet-potato pie"]).await;
    store.insert(COLLECTION, r#"{"x":"sweet","y":"potato"}"#).await;
    assert_eq!(found(store, COLLECTION, "\"sweet potato\"").await, "sweet potato|sweet-potato pie");
    assert_eq!(found(store, COLLECTION, "sweet-potato pie").await, "sweet-potato pie");
    assert_eq!(
        found(store, COLLECTION, "potato sweet").await,
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
        assert_eq!(found(store, COLLECTION, written).await, expected, "{written}");
    }
    let page = store.select(COLLECTION, &best_first(searching(COLLECTION, "ric*"))).await;
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
            Ok(_) => found(store, COLLECTION, written).await,
            Err(_) => "refused".to_owned(),
        };
        assert_eq!(found, expected, "{written}");
    }
}

async fn case_and_accents_are_folded(store: &TestStore) {
    store_texts(store, &["Peñaranda", "PENARANDA", "Straße", "研究 計画", "R&D 18,000"]).await;
    assert_eq!(found(store, COLLECTION, "peñaranda").await, "Peñaranda|PENARANDA");
    assert_eq!(found(store, COLLECTION, "Penaranda").await, "Peñaranda|PENARANDA");
    assert_eq!(found(store, COLLECTION, "STRASSE").await, "Straße");
    assert_eq!(found(store, COLLECTION, "計画").await, "研究 計画");
    assert_eq!(found(store, COLLECTION, "r&d").await, "R&D 18,000");
    assert_eq!(found(store, COLLECTION, "000").await, "R&D 18,000");
}

async fn the_best_match_comes_first(store: &TestStore) {
    let filler = "about other things ".repeat(40);
    store_texts(store, &[&format!("{filler} rice"), "rice and rice", "rice and wheat", &filler])
        .await;
    let page = store.select(COLLECTION, &best_first(searching(COLLECTION, "rice"))).await;
    let members: Vec<_> =
        page.items.iter().map(|listed| listed.shown.item.members.to_string()).collect();
    assert_eq!(members.len(), 3);
    assert!(members[0].contains("rice and rice") && members[2].contains(&filler), "{members:?}");
    assert!(page.items.is_sorted_by(|one, next| one.score >= next.score));
}

async fn every_write_keeps_the_index_in_step(store: &TestStore) {
    let shown = store.insert(COLLECTION, r#"{"text":"before"}"#).await;
    let updated = store.update(COLLECTION, &shown, r#"{"text":"after"}"#).await.unwrap();
    assert_eq!(
        (found(store, COLLECTION, "before").await, found(store, COLLECTION, "after").await),
        (String::new(), "after".to_owned())
    );
    store.delete(COLLECTION, &updated).await.unwrap();
    assert_eq!(found(store, COLLECTION, "after").await, "");
    let proposal = store.insert(all(Collection::known("proposals")), r#"{"text":"owner"}"#).await;
    store.insert(lib_of(&proposal), r#"{"text":"owned"}"#).await;
    store.delete(all(Collection::known("proposals")), &proposal).await.unwrap();
    assert_eq!(
        (
            found(store, all(Collection::known("lib")), "owned").await,
            found(store, all(Collection::known("proposals")), "owner").await
        ),
        Default::default()
    );
    let cash = all(Collection::known("cashprogram"));
    let (kept, gone) = (
        store.insert(cash, r#"{"text":"kept"}"#).await,
        store.insert(cash, r#"{"text":"gone"}"#).await,
    );
    let whole = content(
        vec![replacement(&kept, r#"{"text":"changed"}"#)],
        vec![new_item(r#"{"text":"added"}"#)],
    );
    store.items.replace_all(Collection::known("cashprogram"), whole, at(NOW)).await.unwrap();
    for (word, expected) in [("kept", ""), ("gone", ""), ("changed", "changed"), ("added", "added")]
    {
        assert_eq!(found(store, cash, word).await, expected, "{word}");
    }
    assert_eq!(store.find(cash, &gone).await, None);
    assert_eq!(rows_of_the_index(store), 2);
}

/// How many items the index knows.
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
                    .insert(COLLECTION, new_item(&format!("{{\"text\":\"{word}\"}}")), at(NOW))
                    .await
                    .unwrap();
                assert_eq!(
                    items
                        .page(&reach(COLLECTION), &searching(COLLECTION, &word))
                        .await
                        .unwrap()
                        .items
                        .len(),
                    1,
                    "{word}"
                );
            }
        });
    }
    writers.join_all().await;
}

async fn a_refused_write_leaves_the_index_alone(store: &TestStore) {
    let first = store.insert(COLLECTION, r#"{"text":"first"}"#).await;
    let second = store.update(COLLECTION, &first, r#"{"text":"second"}"#).await.unwrap();
    assert!(store.update(COLLECTION, &first, r#"{"text":"stale"}"#).await.is_err());
    assert!(store.delete(COLLECTION, &first).await.is_err());
    assert_eq!(
        (
            found(store, COLLECTION, "stale").await.as_str(),
            found(store, COLLECTION, "second").await.as_str()
        ),
        ("", "second")
    );
    assert_eq!(store.find(COLLECTION, &second).await.as_ref(), Some(&second));
}

async fn a_search_goes_with_filters_and_scopes(store: &TestStore) {
    let proposal = store.insert(all(Collection::known("proposals")), r#"{"text":"rice"}"#).await;
    store.insert(lib_of(&proposal), r#"{"text":"rice","year":2026}"#).await;
    store.insert(lib_of(&proposal), r#"{"text":"rice","year":2025}"#).await;
    store.insert(all(Collection::known("lib")), r#"{"text":"rice","year":2026}"#).await;
    let subject = Subject::Member { name: "year".into(), kind: None };
    let year = Filter {
        condition: Condition::Compare(Comparison::Equal, Operand::read(&subject, "2026").unwrap()),
        subject,
    };
    for (scope, all, of_the_year) in [
        (lib_of(&proposal), 2, 1),
        (all(Collection::known("lib")), 3, 2),
        (all(Collection::known("proposals")), 1, 0),
    ] {
        let mut query = searching(scope, "rice");
        assert_eq!(store.select(scope, &query).await.items.len(), all);
        query.selection.filters.push(year.clone());
        assert_eq!(store.select(scope, &query).await.items.len(), of_the_year);
    }
}

async fn texts_of_any_size_are_indexed(store: &TestStore) {
    let many: Vec<_> = (0..60_000).map(|number| format!("w{number}")).collect();
    store.insert(COLLECTION, &format!("{{\"text\":\"{}\"}}", many.join(" "))).await;
    store.insert(COLLECTION, &format!("{{\"text\":\"{}\"}}", "x".repeat(3_000_000))).await;
    store.insert(COLLECTION, &format!("{{\"text\":\"{}\"}}", "same ".repeat(100_000))).await;
    for word in ["w0", "w59999", "same"] {
        assert_eq!(
            store.select(COLLECTION, &searching(COLLECTION, word)).await.items.len(),
            1,
            "{word}"
        );
    }
}

async fn matches_can_be_walked(store: &TestStore) {
    for number in 0..23 {
        store
            .insert(COLLECTION, &format!("{{\"text\":\"{}\"}}", "rice ".repeat(1 + number % 5)))
            .await;
    }
    let whole = store.select(COLLECTION, &best_first(searching(COLLECTION, "rice"))).await;
    let expected: Vec<_> = whole.items.iter().map(|listed| listed.shown.item.id).collect();
    let mut query = PageQuery { limit: 4, ..best_first(searching(COLLECTION, "rice")) };
    let mut seen = Vec::new();
    loop {
        let page = store.select(COLLECTION, &query).await;
        seen.extend(page.items.iter().map(|listed| listed.shown.item.id));
        // Others write; the scores of those that are walked do not move.
        store.insert(COLLECTION, r#"{"text":"wheat wheat"}"#).await;
        let Some(last) = page.last.clone().filter(|_| page.has_more) else { break };
        query.position = PageStart::After(last);
    }
    assert_eq!(seen, expected);
}
