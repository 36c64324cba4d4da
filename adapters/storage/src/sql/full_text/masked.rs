//! Full-text search by a caller who does not see all members. Words are found in members that are
//! visible on the item. The newest items are first.

use std::fmt::Write;

use application::{Reach, Search, SearchTerm};
use domain::{Collection, MemberSet, Predicate};
use sea_orm::DbBackend;

use super::{Found, lexeme, phrase};
use crate::search_index::indexed_words::{LAST_PLACE, MARK, quoted};
use crate::sql::predicate::{Row, condition};
use crate::sql::sql_text::{SqlText, json, literal, texts};
use crate::sql::statements::with_members;

/// Members with a condition on the item under which they are visible.
type Sets<'a> = &'a [(Predicate, MemberSet)];

/// Scores by the time of creation in milliseconds. A score that counts visible members takes
/// longer than the search itself.
const RANKED: &str = "SELECT id, CAST(created_at / 1000 AS double precision) AS score FROM best";

pub(super) fn found(
    text: &mut SqlText,
    reach: &Reach,
    (search, sets): (&Search, Sets<'_>),
    conditions: &str,
) -> Found {
    let row = Row::of("w", "w.members");
    let visible: Vec<_> = sets.iter().map(|(it, _)| condition(text, it, &row)).collect();
    let items = with_members("items", &[conditions, &visible.concat()]);
    if text.dialect.backend == DbBackend::Sqlite {
        sqlite(text, reach.scope().collection, (search, sets, &visible), &items)
    } else {
        postgres(text, (search, sets, &visible), &items)
    }
}

/// The visible members, if they are the same on all items.
const fn visible_on_all(sets: Sets<'_>) -> Option<&MemberSet> {
    match sets {
        [(Predicate::TRUE, set)] => Some(set),
        _ => None,
    }
}

/// The condition that one of the sets has something that `of_set` finds, where it is visible.
fn in_some_set(
    (sets, visible): (Sets<'_>, &[String]),
    mut of_set: impl FnMut(&MemberSet) -> String,
) -> String {
    let sets = sets.iter().zip(visible);
    let holds = sets.map(|((_, set), visible)| format!("({visible} AND {})", of_set(set)));
    let holds: Vec<_> = holds.chain(["FALSE".to_owned()]).collect();
    format!("({})", holds.join(" OR "))
}

fn sqlite(
    text: &mut SqlText,
    collection: Collection,
    (search, sets, visible): (&Search, Sets<'_>, &[String]),
    items: &str,
) -> Found {
    let is_of = format!("k.collection = {}", literal(collection.name()));
    let members = |text: &mut SqlText, set: &MemberSet| {
        let (not, names) = match set {
            MemberSet::Only(names) => ("", names),
            MemberSet::Except(names) => ("NOT ", names),
        };
        format!("k.member {not}IN (SELECT value FROM json_each({}))", text.bind(json(names)))
    };
    let within = |text: &mut SqlText, members: &str, phrases: &str| {
        format!(
            "(SELECT '{{none ' || COALESCE(string_agg('m' || k.number, ' '), '') || '}} : (' || {} || ')' \
             FROM search_columns k WHERE {is_of} AND ({members}))",
            text.bind(phrases)
        )
    };
    let conditions: Vec<_> = sets.iter().map(|(_, set)| members(text, set)).collect();
    let phrases: Vec<_> = search.terms.iter().map(phrase).collect();
    let any = [&conditions[..], &["FALSE".to_owned()]].concat().join(" OR ");
    let possible = within(text, &any, &phrases.join(" "));
    let mut judged = String::new();
    let certain = visible_on_all(sets);
    for phrase in phrases.iter().filter(|_| certain.is_none()) {
        let mut conditions = conditions.iter();
        let found = in_some_set((sets, visible), |_| {
            let members = conditions.next().map_or("FALSE", String::as_str);
            let pattern = within(text, members, phrase);
            format!(
                "s.rowid IN (SELECT rowid FROM search_index WHERE search_index MATCH {pattern})"
            )
        });
        let _ = write!(judged, " AND {found}");
    }
    let matches = format!(
        "SELECT w.id, s.rowid AS number, w.created_at FROM search_index s CROSS JOIN changes f ON f.sequence = s.rowid \
         CROSS JOIN {items} w ON w.id = f.item_id WHERE search_index MATCH {possible}{judged}",
    );
    Found { matches, number: "s.rowid", ranked: RANKED.to_owned() }
}

fn postgres(
    text: &mut SqlText,
    (search, sets, visible): (&Search, Sets<'_>, &[String]),
    items: &str,
) -> Found {
    let certain = visible_on_all(sets);
    let possible = search.terms.iter().map(|term| {
        let phrase = term.each_word().map(lexeme).collect::<Vec<_>>().join(" <-> ");
        let in_set = certain.map(|set| format!(" & {}", of_term(term, set)));
        format!("({phrase}){}", in_set.unwrap_or_default())
    });
    let possible = text.bind(possible.collect::<Vec<_>>().join(" & "));
    let mut judged = String::new();
    for term in search.terms.iter().filter(|term| certain.is_none() || term.words.len() > 1) {
        let found = in_some_set((sets, visible), |set| {
            let wanted = text.bind(of_term(term, set));
            let adjacent =
                if term.words.len() > 1 { adjacent(text, term, set) } else { String::new() };
            format!("s.words @@ {wanted}::text::tsquery{adjacent}")
        });
        let _ = write!(judged, " AND {found}");
    }
    let matches = format!(
        "SELECT w.id, w.id AS number, w.created_at FROM search_index s JOIN {items} w ON w.id = s.item_id \
         WHERE s.words @@ {possible}::text::tsquery{judged}",
    );
    Found { matches, number: "w.id", ranked: RANKED.to_owned() }
}

fn mark(member: &str) -> String {
    quoted(&format!("{MARK}{member}"))
}

/// A word at the places of members.
fn in_members((word, is_beginning): (&str, bool)) -> String {
    format!("'{word}':{}A", if is_beginning { "*" } else { "" })
}

/// The query that each word of a term is in a member of the set.
fn of_term(term: &SearchTerm, set: &MemberSet) -> String {
    let (not, names) = match set {
        MemberSet::Only(names) => ("", names),
        MemberSet::Except(names) => ("!", names),
    };
    let marks: Vec<_> = names.iter().map(|name| mark(name)).collect();
    let members = match (not, marks.is_empty()) {
        (_, false) => format!(" <0> {not}({})", marks.join(" | ")),
        ("!", true) => String::new(),
        // No lexeme is empty.
        _ => format!(" <0> {}", quoted(&MARK.to_string())),
    };
    let words = term.each_word().map(|word| format!("({}{members})", in_members(word)));
    words.collect::<Vec<_>>().join(" & ")
}

/// The condition that the words of a term follow each other in a text of a member of the set.
fn adjacent(text: &mut SqlText, term: &SearchTerm, set: &MemberSet) -> String {
    let (not, names) = match set {
        MemberSet::Only(names) => ("", names.clone()),
        MemberSet::Except(names) => ("NOT ", [&names[..], &[String::new()]].concat()),
    };
    let marks = text.bind(texts(names.iter().map(|name| format!("{MARK}{name}"))));
    let is_mark = format!("starts_with(lexeme, {})", text.bind(MARK.to_string()));
    let words = term.each_word().map(|(word, is_beginning)| {
        let word = text.bind(word);
        if is_beginning {
            format!("starts_with(lexeme, {word})")
        } else {
            format!("lexeme = {word}")
        }
    });
    let words: Vec<_> = words.collect();
    let mut follow = String::new();
    for (number, is_word) in words.iter().enumerate().skip(1) {
        let _ = write!(
            follow,
            " AND EXISTS (SELECT 1 FROM t WHERE {is_word} AND (p.place + {number})::int2 = ANY (positions))"
        );
    }
    format!(
        " AND EXISTS (WITH t AS MATERIALIZED (SELECT lexeme, positions FROM unnest(s.words) WHERE {is_mark} OR {any}) \
         SELECT 1 FROM t CROSS JOIN LATERAL unnest(positions) p (place) WHERE {first} AND p.place <= {LAST_PLACE}{follow} \
         AND {not}COALESCE((SELECT k.lexeme FROM t k CROSS JOIN LATERAL unnest(k.positions) b (place) \
         WHERE starts_with(k.lexeme, {mark}) AND b.place <= p.place ORDER BY b.place DESC LIMIT 1), '') = ANY ({marks}::text[]))",
        any = words.join(" OR "),
        first = words[0],
        mark = text.bind(MARK.to_string()),
    )
}
