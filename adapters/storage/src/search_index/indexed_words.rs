//! The folded words of an item for the full-text index, in each engine's own notation.

use std::collections::BTreeMap;
use std::fmt::Write;

use application::query::tokenizer::{each_text, each_word};
use domain::Value;
use sea_orm::DbBackend;

/// Separates texts, so that a phrase never matches across two of them.
const GAP: &str = "| ";

/// Most bytes of a `tsvector`, which must be below 1 MiB, with two bytes per place.
const LARGEST_VECTOR: usize = 1_000_000;

/// Most places of one word, and the last place, that a `tsvector` keeps.
const MOST_PLACES: usize = 255;
const LAST_PLACE: usize = 16_383;

pub(crate) fn index_text(backend: DbBackend, members: &str) -> String {
    let members = Value::from_encoded(members);
    match backend {
        DbBackend::Sqlite => spaced(members),
        _ => vector(members),
    }
}

fn spaced(members: Value<'_>) -> String {
    let mut out = String::new();
    each_text(members, &mut |text| {
        each_word(text, |_, word| {
            out.push_str(word);
            out.push(' ');
        });
        out.push_str(GAP);
    });
    out
}

/// A `tsvector` as it is written: `'word':1,7 'other':2`. A word keeps at least its first place.
fn vector(members: Value<'_>) -> String {
    let (mut words, mut size, mut place) = (BTreeMap::<String, Vec<usize>>::new(), 0, 0);
    each_text(members, &mut |text| {
        each_word(text, |_, word| {
            place += 1;
            match words.get_mut(word) {
                Some(places)
                    if places.len() < MOST_PLACES
                        && place <= LAST_PLACE
                        && size < LARGEST_VECTOR =>
                {
                    places.push(place);
                    size += 2;
                }
                None if size + word.len() + 8 <= LARGEST_VECTOR => {
                    words.insert(word.to_owned(), vec![place.min(LAST_PLACE)]);
                    size += word.len() + 8;
                }
                _ => {}
            }
        });
        place += 1;
    });
    let mut out = String::new();
    for (word, places) in words {
        let space = if out.is_empty() { "" } else { " " };
        // Writing to a String cannot fail.
        let _ = write!(out, "{space}'{word}':");
        for (number, place) in places.iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            let _ = write!(out, "{comma}{place}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use sea_orm::DbBackend;

    use super::{LARGEST_VECTOR, MOST_PLACES, index_text};

    #[test]
    fn all_texts_count_and_names_do_not() {
        let members = r#"{"title":"Río Grande","n":7,"more":[{"x":"río"},true]}"#;
        assert_eq!(index_text(DbBackend::Sqlite, members), "rio grande | rio | ");
        let vector = index_text(DbBackend::Postgres, members);
        assert_eq!(vector, "'grande':2 'rio':1,4");
    }

    #[test]
    fn a_vector_keeps_the_first_words_and_places_it_has_room_for() {
        let of = |text: String| index_text(DbBackend::Postgres, &format!(r#"{{"text":"{text}"}}"#));
        let same = of("x ".repeat(1_000));
        assert_eq!(same.matches(',').count(), MOST_PLACES - 1);
        let late = of(format!("{} end x", "x ".repeat(20_000)));
        assert!(late.starts_with("'end':16383 'x':1,2,"), "{}", &late[..40]);
        let numbers: Vec<_> = (0..1_000_000).map(|number| format!("{number:08}")).collect();
        let many = of(numbers.join(" "));
        assert!(many.contains("'00000000'") && !many.contains("'00999999'"));
        assert!(many.len() < 2 * LARGEST_VECTOR, "{} bytes", many.len());
    }
}
