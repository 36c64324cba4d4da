//! What the full-text index is given of an item: its folded words, in each engine's own notation.

use std::collections::HashMap;

use domain::Members;
use domain::words::{each_text, each_word};
use sea_orm::DbBackend;

/// Stands between texts, so that no phrase is found across two of them. No word has such a character.
const GAP: &str = "| ";

/// Most bytes of the words of one item that `PostgreSQL` keeps: a `tsvector` is below 1 MiB, with two bytes per place.
const LARGEST_VECTOR: usize = 1_000_000;

/// Most places of one word, and the last place, that a `tsvector` keeps.
const MOST_PLACES: usize = 255;
const LAST_PLACE: usize = 16_383;

/// The words of all texts of an item.
pub(crate) fn index_text(backend: DbBackend, members: &str) -> String {
    let Some(members) = Members::read(members.as_bytes()).ok().flatten() else { return String::new() };
    match backend {
        DbBackend::Sqlite => spaced(&members),
        _ => vector(&members),
    }
}

fn spaced(members: &Members) -> String {
    let mut out = String::with_capacity(members.encoded().len());
    for (_, value) in members.iter() {
        each_text(value, &mut |text| {
            each_word(text, |_, word| {
                out.push_str(word);
                out.push(' ');
            });
            out.push_str(GAP);
        });
    }
    out
}

/// A `tsvector` as it is written: `'word':1,7 'other':2`. Beyond its limits, words and places are left out.
fn vector(members: &Members) -> String {
    let mut places: HashMap<String, Vec<usize>> = HashMap::new();
    let mut size = 0;
    let mut place = 0;
    for (_, value) in members.iter() {
        each_text(value, &mut |text| {
            each_word(text, |_, word| {
                place += 1;
                add(&mut places, &mut size, word, place);
            });
            place += 1;
        });
    }
    let mut out = String::with_capacity(size * 2);
    for (word, places) in places {
        out.push_str(if out.is_empty() { "'" } else { " '" });
        out.push_str(&word);
        out.push_str("':");
        let places: Vec<_> = places.iter().map(ToString::to_string).collect();
        out.push_str(&places.join(","));
    }
    out
}

fn add(places: &mut HashMap<String, Vec<usize>>, size: &mut usize, word: &str, place: usize) {
    if let Some(known) = places.get_mut(word) {
        if known.len() < MOST_PLACES && place <= LAST_PLACE {
            known.push(place);
            *size += 2;
        }
    } else if *size + word.len() + 8 <= LARGEST_VECTOR {
        *size += word.len() + 8;
        places.insert(word.to_owned(), vec![place.min(LAST_PLACE)]);
    }
}

#[cfg(test)]
mod tests {
    use sea_orm::DbBackend;

    use super::index_text;

    #[test]
    fn all_texts_count_and_names_do_not() {
        let members = r#"{"title":"Río Grande","n":7,"more":[{"x":"río"},true]}"#;
        assert_eq!(index_text(DbBackend::Sqlite, members), "rio grande | rio | ");
        let vector = index_text(DbBackend::Postgres, members);
        let mut words: Vec<_> = vector.split(' ').collect();
        words.sort_unstable();
        assert_eq!(words, ["'grande':2", "'rio':1,4"]);
    }
}
