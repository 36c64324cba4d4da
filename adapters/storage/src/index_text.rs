//! What the full-text index is given of an item: its folded words, in each engine's own notation.

use std::fmt::Write;

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
    // All words one after the other, and where each begins and ends and stands.
    let (mut letters, mut words) = (String::with_capacity(members.encoded().len()), Vec::new());
    let mut place = 0;
    for (_, value) in members.iter() {
        each_text(value, &mut |text| {
            each_word(text, |_, word| {
                place += 1;
                let start = letters.len();
                letters.push_str(word);
                words.push((start..letters.len(), place));
            });
            place += 1;
        });
    }
    words.sort_unstable_by(|(one, at), (other, then)| letters[one.clone()].cmp(&letters[other.clone()]).then(at.cmp(then)));
    let mut out = String::with_capacity(letters.len() * 2);
    let mut size = 0;
    for same in words.chunk_by(|(one, _), (other, _)| letters[one.clone()] == letters[other.clone()]) {
        let Some((word, _)) = same.first() else { continue };
        let places = same.iter().map(|(_, place)| *place);
        push_lexeme(&mut out, &mut size, &letters[word.clone()], places);
    }
    out
}

/// Adds a word and its places, as far as there is room.
fn push_lexeme(out: &mut String, size: &mut usize, word: &str, places: impl Iterator<Item = usize>) {
    if *size + word.len() + 8 > LARGEST_VECTOR {
        return;
    }
    *size += word.len() + 6;
    out.push_str(if out.is_empty() { "'" } else { " '" });
    out.push_str(word);
    // The first place is told at least, if only as the last that can be.
    for (number, place) in places.enumerate().take_while(|(number, place)| *number == 0 || (*number < MOST_PLACES && *place <= LAST_PLACE))
    {
        *size += 2;
        // Writing to a String cannot fail.
        let _ = write!(out, "{}{}", if number == 0 { "':" } else { "," }, place.min(LAST_PLACE));
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
        assert_eq!(vector, "'grande':2 'rio':1,4");
    }
}
