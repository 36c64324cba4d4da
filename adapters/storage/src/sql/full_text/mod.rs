//! Full-text search: the items with the words, and their scores. `application::query` folds words
//! to letters and digits, so both engines find the same items, and no word is an operator. Only the
//! newest matches are ranked, so common words cost no more in a large store. A score depends on its
//! item alone, unlike `bm25()`, so places in the order of scores stay while others write.

mod masked;

use application::query::COUNTED_MATCHES;
use application::{Reach, Search, SearchTerm};
use domain::{MemberSet, Predicate};
use sea_orm::DbBackend;

use crate::sql::sql_text::SqlText;
use crate::sql::statements::with_members;

pub(crate) const SOURCE: &str = "(SELECT i.*, f.score FROM ranked f JOIN items i ON i.id = f.id)";

/// The last code point. No word has it, so that it ends the words with a beginning.
const LAST: char = char::MAX;

pub(crate) const MATCHES: &str = "(SELECT COUNT(*) FROM found)";

/// The weights of the labels D, C, B and A: the places of members do not count.
const WEIGHTS: &str = "'{0.1, 0.2, 0.4, 0}'";

/// The parts of the tables of a search.
struct Found {
    /// The matches `w`, without the end of the statement.
    matches: String,
    /// The order of the matches.
    number: &'static str,
    /// The scores of the items `best`.
    ranked: String,
}

/// The tables `found` (the newest items `w` with all terms and conditions) and `ranked` (scores).
pub(crate) fn tables(
    text: &mut SqlText,
    reach: &Reach,
    search: &Search,
    conditions: &str,
) -> String {
    let sets = reach.mask().map(|mask| mask.whole_members()).unwrap_or_default();
    let is_whole =
        matches!(&sets[..], [] | [(Predicate::TRUE, MemberSet::Except(_))]) && is_all(&sets);
    let Found { matches, number, ranked } = match text.dialect.backend {
        _ if reach.mask().is_some() && !is_whole => {
            masked::found(text, reach, (search, &sets), conditions)
        }
        DbBackend::Sqlite => sqlite(text, search),
        _ => postgres(text, search, conditions),
    };
    format!(
        "found AS MATERIALIZED ({matches} AND {conditions} ORDER BY {number} DESC LIMIT {one_more}), \
         best AS MATERIALIZED (SELECT * FROM found ORDER BY number DESC LIMIT {COUNTED_MATCHES}), \
         ranked AS ({ranked})",
        one_more = COUNTED_MATCHES + 1,
    )
}

/// Returns whether these are all members.
fn is_all(sets: &[(Predicate, MemberSet)]) -> bool {
    matches!(sets, [(_, MemberSet::Except(none))] if none.is_empty())
}

/// The condition that a row of `search_words` has the word.
fn is_word(text: &mut SqlText, (word, is_beginning): (&str, bool)) -> String {
    if is_beginning {
        format!("term BETWEEN {} AND {}", text.bind(word), text.bind(format!("{word}{LAST}")))
    } else {
        format!("term = {}", text.bind(word))
    }
}

/// The word in the query language of `PostgreSQL`.
fn lexeme((word, is_beginning): (&str, bool)) -> String {
    format!("'{word}'{}", if is_beginning { ":*" } else { "" })
}

/// The term in the query language of FTS5.
fn phrase(term: &SearchTerm) -> String {
    format!("\"{}\"{}", term.words.join(" "), if term.is_prefix { " *" } else { "" })
}

/// Walks the items in the index from the newest. A word scores as in BM25 without the inverse
/// document frequency: `n / (n + 1.2 · (0.25 + 0.75 · length / 4096))`.
fn sqlite(text: &mut SqlText, search: &Search) -> Found {
    let words = search.terms.iter().flat_map(SearchTerm::each_word);
    let counted = words.map(|word| {
        format!(
            "SELECT doc, COUNT(*) AS n FROM search_words \
             WHERE {is_word} AND doc >= (SELECT MIN(number) FROM best) GROUP BY doc",
            is_word = is_word(text, word),
        )
    });
    let counted: Vec<_> = counted.collect();
    let phrases: Vec<_> = search.terms.iter().map(phrase).collect();
    let matches = format!(
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
    Found { matches, number: "s.rowid", ranked }
}

/// Ranks by `ts_rank` and the logarithm of the item's length (normalization 1). `ts_rank` is 0 if
/// two terms find only one word, as in `rice ri*`.
fn postgres(text: &mut SqlText, search: &Search, conditions: &str) -> Found {
    let phrase = |term: &SearchTerm| {
        let words: Vec<_> = term.each_word().map(lexeme).collect();
        format!("({})", words.join(" <-> "))
    };
    let wanted: Vec<_> = search.terms.iter().map(phrase).collect();
    let wanted = format!("{}::text::tsquery", text.bind(wanted.join(" & ")));
    let matches = format!(
        "SELECT w.id, w.id AS number FROM search_index s JOIN {items} w ON w.id = s.item_id WHERE s.words @@ {wanted}",
        items = with_members("items", &[conditions]),
    );
    let ranked = format!(
        "SELECT b.id, GREATEST(ROUND(ts_rank({WEIGHTS}, s.words, {wanted}, 1)::numeric, 6), 0.000001)::float8 AS score \
         FROM best b JOIN search_index s ON s.item_id = b.id"
    );
    Found { matches, number: "w.id", ranked }
}
