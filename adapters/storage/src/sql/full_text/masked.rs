//! Full-text search by a caller who does not see all members. A word counts in members that are
//! visible on the item. The score depends on the number of visible members that have a word.

use std::fmt::Write;

use application::{Reach, Search, SearchTerm};
use domain::{Collection, MemberSet, Predicate};
use sea_orm::DbBackend;

use super::{Found, is_word, lexeme, phrase};
use crate::search_index::indexed_words::{LAST_PLACE, MARK, quoted};
use crate::sql::predicate::{Row, condition};
use crate::sql::sql_text::{SqlText, json, literal, texts};
use crate::sql::statements::with_members;

/// Members with a condition on the item under which they are visible.
type Sets<'a> = &'a [(Predicate, MemberSet)];

pub(super) fn found(
    text: &mut SqlText,
    reach: &Reach,
    (search, sets): (&Search, Sets<'_>),
    conditions: &str,
) -> Found {
    let row = Row::of("w", "w.members");
    let visible: Vec<_> = sets.iter().map(|(it, _)| condition(text, it, &row)).collect();
    let mut columns = String::new();
    for (number, visible) in visible.iter().enumerate() {
        // Writing to a String cannot fail.
        let _ = write!(columns, ", {visible} AS visible_{number}");
    }
    let collection = reach.scope().collection;
    let items = with_members("items", &[conditions, &columns]);
    if text.dialect.backend == DbBackend::Sqlite {
        sqlite(text, collection, (search, sets, &visible), (&columns, &items))
    } else {
        postgres(text, collection, (search, sets, &visible), (&columns, &items))
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
    (columns, items): (&str, &str),
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
    for phrase in &phrases {
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
        "SELECT w.id, s.rowid AS number{columns} FROM search_index s CROSS JOIN changes f ON f.sequence = s.rowid \
         CROSS JOIN {items} w ON w.id = f.item_id WHERE search_index MATCH {possible}{judged}",
    );
    let ranked = sqlite_scores(text, search, (&conditions, &is_of));
    Found { matches, number: "s.rowid", ranked }
}

/// Counts the visible members that have a word.
fn sqlite_scores(
    text: &mut SqlText,
    search: &Search,
    (conditions, is_of): (&[String], &str),
) -> String {
    let counts = conditions.iter().enumerate().map(|(number, members)| {
        format!(
            ", COUNT(DISTINCT CASE WHEN col IN (SELECT 'm' || k.number FROM search_columns k WHERE {is_of} AND {members}) THEN col END) AS n_{number}"
        )
    });
    let counts: String = counts.collect();
    let words = search.terms.iter().flat_map(SearchTerm::each_word);
    let words = words.map(|word| {
        format!(
            "SELECT doc{counts} FROM search_words \
             WHERE {is_word} AND doc >= (SELECT MIN(number) FROM best) GROUP BY doc",
            is_word = is_word(text, word),
        )
    });
    let words: Vec<_> = words.collect();
    let seen: Vec<_> = (0..conditions.len())
        .map(|number| format!(" + b.visible_{number} * m.n_{number}"))
        .collect();
    format!(
        "SELECT c.id, ROUND(c.n / (c.n + 1.2), 6) AS score FROM (SELECT b.id, SUM(0.0{seen}) AS n FROM ({words}) m \
         CROSS JOIN best b ON b.number = m.doc GROUP BY b.number) c",
        words = words.join(" UNION ALL "),
        seen = seen.concat(),
    )
}

fn postgres(
    text: &mut SqlText,
    collection: Collection,
    (search, sets, visible): (&Search, Sets<'_>, &[String]),
    (columns, items): (&str, &str),
) -> Found {
    let possible = search.terms.iter().map(|term| {
        let of_set = |(_, set): &(Predicate, MemberSet)| format!("({})", of_term(term, set));
        let within = sets.iter().map(of_set).collect::<Vec<_>>().join(" | ");
        let words: Vec<_> = term.each_word().map(lexeme).collect();
        let phrase =
            if words.len() > 1 { format!(" & ({})", words.join(" <-> ")) } else { String::new() };
        format!("({within}){phrase}")
    });
    let possible = possible.collect::<Vec<_>>().join(" & ");
    let possible = if sets.is_empty() { String::new() } else { possible };
    let is_certain = matches!(sets, [(Predicate::TRUE, _)]);
    let mut judged = String::new();
    for term in search.terms.iter().filter(|term| !is_certain || term.words.len() > 1) {
        let found = in_some_set((sets, visible), |set| {
            let wanted = text.bind(of_term(term, set));
            let adjacent =
                if term.words.len() > 1 { adjacent(text, term, set) } else { String::new() };
            format!("a.places @@ {wanted}::text::tsquery{adjacent}")
        });
        let _ = write!(judged, " AND {found}");
    }
    let places = if judged.contains("a.places") { OF_MEMBERS } else { "" };
    let matches = format!(
        "SELECT w.id, w.id AS number{columns} FROM search_index s JOIN {items} w ON w.id = s.item_id{places} \
         WHERE s.words @@ {possible}::text::tsquery{judged}",
        possible = text.bind(possible),
    );
    let mut count = String::from("0");
    for (number, (_, set)) in sets.iter().enumerate() {
        let words = search.terms.iter().flat_map(SearchTerm::each_word);
        let pairs = words.flat_map(|word| {
            let members = named(collection, set).into_iter();
            members.map(move |member| format!("{} <0> {}", in_members(word), mark(&member)))
        });
        let pairs = text.bind(texts(pairs));
        let _ = write!(
            count,
            " + CASE WHEN b.visible_{number} THEN \
             (SELECT COUNT(*) FROM unnest((SELECT {pairs}::text[]::tsquery[])) q WHERE a.places @@ q) ELSE 0 END"
        );
    }
    let ranked = format!(
        "SELECT c.id, ROUND(c.n / (c.n + 1.2), 6)::float8 AS score FROM (SELECT b.id, GREATEST({count}, 1)::numeric AS n \
         FROM best b JOIN search_index s ON s.item_id = b.id{OF_MEMBERS}) c"
    );
    Found { matches, number: "w.id", ranked }
}

/// The lexemes at the places of members alone: the whole vector would be read for each query.
const OF_MEMBERS: &str =
    " CROSS JOIN LATERAL (SELECT ts_filter(s.words, '{a}') AS places OFFSET 0) a";

/// The members of a set that a score counts.
fn named(collection: Collection, set: &MemberSet) -> Vec<String> {
    match set {
        MemberSet::Only(names) => names.clone(),
        MemberSet::Except(names) => {
            let known = collection.known_members().map(|(name, _)| name.to_owned());
            known.filter(|name| !names.contains(name)).collect()
        }
    }
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
