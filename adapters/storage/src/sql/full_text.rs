//! Full-text search as SQL: which items hold the words, and how well they match.
//!
//! Both engines get words that `application::query` has folded already, so they find the same
//! items. The score of an item depends on the item alone: its position in the order of scores stays
//! while others write. So it is not `bm25()`, which weighs a word by how rare it is among all
//! items.

use application::{Search, Term};
use sea_orm::DbBackend;

use crate::sql::sql_text::SqlText;

/// The rows of `items` that hold all terms, with their `score`: a table expression.
pub(crate) fn source(text: &mut SqlText, search: &Search) -> String {
    match text.dialect.backend {
        DbBackend::Sqlite => sqlite(text, search),
        _ => postgres(text, search),
    }
}

/// Each word counts the more the oftener it stands in a string, up to a point, and the less the
/// longer the item is, as in BM25 without the rarity of words: `n / (n + 1.2 · (0.25 + 0.75 ·
/// length / 4096))`.
fn sqlite(text: &mut SqlText, search: &Search) -> String {
    let words = search.terms.iter().flat_map(|term| term.0.iter());
    let mut words: Vec<_> = words.map(|word| text.bind(word.as_ref())).collect();
    words.sort_unstable();
    let counted = |word| {
        format!("SELECT doc, COUNT(*) AS n FROM search_words WHERE term = {word} GROUP BY doc")
    };
    let counted: Vec<_> = words.iter().map(counted).collect();
    let phrases: Vec<_> =
        search.terms.iter().map(|term| format!("\"{}\"", term.0.join(" "))).collect();
    format!(
        "(SELECT i.*, f.score FROM (SELECT c.item_id, \
         ROUND(SUM(m.n / (m.n + 1.2 * (0.25 + 0.75 * octet_length(d.members) / 4096.0))), 6) AS score \
         FROM search_index s JOIN ({}) m ON m.doc = s.rowid JOIN changes c ON c.sequence = s.rowid JOIN items j ON j.id = c.item_id JOIN changes d ON d.sequence = j.sequence \
         WHERE search_index MATCH {} GROUP BY c.item_id) f JOIN items i ON i.id = f.item_id)",
        counted.join(" UNION ALL "),
        text.bind(phrases.join(" ")),
    )
}

/// `ts_rank` divided by the logarithm of the item's length (normalization 1).
fn postgres(text: &mut SqlText, search: &Search) -> String {
    let phrase = |Term(words): &Term| {
        let words: Vec<_> = words.iter().map(|word| format!("'{word}'")).collect();
        format!("({})", words.join(" <-> "))
    };
    let wanted: Vec<_> = search.terms.iter().map(phrase).collect();
    let wanted = format!("{}::text::tsquery", text.bind(wanted.join(" & ")));
    format!(
        "(SELECT i.*, ROUND(ts_rank(s.words, {wanted}, 1)::numeric, 6)::float8 AS score \
         FROM search_index s JOIN items i ON i.id = s.item_id WHERE s.words @@ {wanted})"
    )
}
