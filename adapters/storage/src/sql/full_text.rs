//! Full-text search: the items with the words, and their scores. `application::query` folds words
//! to letters and digits, so both engines find the same items, and no word is an operator. Only the
//! newest matches are ranked, so common words cost no more in a large store. A score depends on its
//! item alone, unlike `bm25()`, so places in the order of scores stay while others write.

use application::query::COUNTED_MATCHES;
use application::{Search, SearchTerm};
use sea_orm::DbBackend;

use crate::sql::sql_text::SqlText;
use crate::sql::statements::with_members;

pub(crate) const SOURCE: &str = "(SELECT i.*, f.score FROM ranked f JOIN items i ON i.id = f.id)";

/// The last code point. No word has it, so that it ends the words with a beginning.
const LAST: char = char::MAX;

pub(crate) const MATCHES: &str = "(SELECT COUNT(*) FROM found)";

/// The tables `found` (the newest items `w` with all terms and conditions) and `ranked` (scores).
pub(crate) fn tables(text: &mut SqlText, search: &Search, conditions: &str) -> String {
    let (found, number, ranked) = match text.dialect.backend {
        DbBackend::Sqlite => sqlite(text, search),
        _ => postgres(text, search, conditions),
    };
    format!(
        "found AS MATERIALIZED ({found} AND {conditions} ORDER BY {number} DESC LIMIT {one_more}), \
         best AS MATERIALIZED (SELECT * FROM found ORDER BY number DESC LIMIT {COUNTED_MATCHES}), \
         ranked AS ({ranked})",
        one_more = COUNTED_MATCHES + 1,
    )
}

/// Walks the items in the index from the newest. A word scores as in BM25 without the inverse
/// document frequency: `n / (n + 1.2 · (0.25 + 0.75 · length / 4096))`.
fn sqlite(text: &mut SqlText, search: &Search) -> (String, &'static str, String) {
    let words = search.terms.iter().flat_map(SearchTerm::each_word);
    let counted = words.map(|(word, is_beginning)| {
        let is_word = if is_beginning {
            format!("term BETWEEN {} AND {}", text.bind(word), text.bind(format!("{word}{LAST}")))
        } else {
            format!("term = {}", text.bind(word))
        };
        format!(
            "SELECT doc, COUNT(*) AS n FROM search_words \
             WHERE {is_word} AND doc >= (SELECT MIN(number) FROM best) GROUP BY doc"
        )
    });
    let counted: Vec<_> = counted.collect();
    let phrase = |term: &SearchTerm| {
        format!("\"{}\"{}", term.words.join(" "), if term.is_prefix { " *" } else { "" })
    };
    let phrases: Vec<_> = search.terms.iter().map(phrase).collect();
    let found = format!(
        "SELECT w.id, s.rowid AS number, octet_length(w.members) AS length FROM search_index s \
         CROSS JOIN changes f ON f.sequence = s.rowid CROSS JOIN {items} w ON w.id = f.item_id WHERE search_index MATCH {wanted}",
        items = with_members("items", &["w.members"]),
        wanted = text.bind(phrases.join(" ")),
    );
    let ranked = format!(
        "SELECT b.id, ROUND(SUM(m.n / (m.n + 1.2 * (0.25 + 0.75 * b.length / 4096.0))), 6) AS score \
         FROM ({}) m CROSS JOIN best b ON b.number = m.doc GROUP BY b.number",
        counted.join(" UNION ALL "),
    );
    (found, "s.rowid", ranked)
}

/// Ranks by `ts_rank` and the logarithm of the item's length (normalization 1). `ts_rank` is 0 if
/// two terms find only one word, as in `rice ri*`.
fn postgres(
    text: &mut SqlText,
    search: &Search,
    conditions: &str,
) -> (String, &'static str, String) {
    let lexeme = |(word, is_beginning): (&str, bool)| {
        format!("'{word}'{}", if is_beginning { ":*" } else { "" })
    };
    let phrase = |term: &SearchTerm| {
        let words: Vec<_> = term.each_word().map(lexeme).collect();
        format!("({})", words.join(" <-> "))
    };
    let wanted: Vec<_> = search.terms.iter().map(phrase).collect();
    let wanted = format!("{}::text::tsquery", text.bind(wanted.join(" & ")));
    let found = format!(
        "SELECT w.id, w.id AS number FROM search_index s JOIN {items} w ON w.id = s.item_id WHERE s.words @@ {wanted}",
        items = with_members("items", &[conditions]),
    );
    let ranked = format!(
        "SELECT b.id, GREATEST(ROUND(ts_rank(s.words, {wanted}, 1)::numeric, 6), 0.000001)::float8 AS score \
         FROM best b JOIN search_index s ON s.item_id = b.id"
    );
    (found, "w.id", ranked)
}
