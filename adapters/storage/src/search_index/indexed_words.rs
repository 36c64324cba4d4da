//! The folded words of an item for the full-text index, in each engine's own notation. Both know in
//! which top-level members a word is, so that a caller searches the visible ones.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;

use application::query::tokenizer::{each_text, each_word};
use domain::Value;
use domain::json::decode;

/// Separates texts, so that a phrase never matches across two of them.
const GAP: &str = "| ";

/// Most bytes of a `tsvector`, which must be below 1 MiB, with two bytes per place.
const LARGEST_VECTOR: usize = 1_000_000;

/// Most members of an item that have a place in its `tsvector`. Words of others are not found by
/// callers who do not see all members.
const MOST_MEMBERS: usize = 64;

/// The bytes of the longest name of a member that has a place.
const LONGEST_NAME: usize = 200;

/// The place of the first member. The others have every second place before it, so that no phrase
/// matches words at the places of members.
const FIRST_MEMBER: usize = 16_382;

/// Most places of one word in texts, and the last place, that a `tsvector` keeps.
const MOST_PLACES: usize = 255 - MOST_MEMBERS;
pub(crate) const LAST_PLACE: usize = FIRST_MEMBER - 2 * MOST_MEMBERS;

/// The beginning of the lexemes that are no words, but mark a member: its places are that of the
/// member and that of its first word. Members without a place share the lexeme without a name.
pub(crate) const MARK: char = '\u{1}';

/// The members with words, and their words with a gap after each text.
pub(crate) fn by_member(members: &str) -> Vec<(Cow<'_, str>, String)> {
    let mut texts = Vec::new();
    for (name, value) in named(members) {
        let (mut words, mut has_words) = (String::new(), false);
        each_text(value, &mut |text| {
            each_word(text, |_, word| {
                has_words = true;
                words.push_str(word);
                words.push(' ');
            });
            words.push_str(GAP);
        });
        if has_words {
            texts.push((name, words));
        }
    }
    texts
}

fn named(members: &str) -> impl Iterator<Item = (Cow<'_, str>, Value<'_>)> {
    let entries = Value::from_encoded(members).entries().into_iter().flatten();
    entries.map(|(name, value)| (decode(name), value))
}

#[derive(Default)]
struct Vector {
    /// The places of each lexeme in texts, and those of members.
    lexemes: BTreeMap<String, (Vec<usize>, Vec<usize>)>,
    size: usize,
    place: usize,
}

impl Vector {
    /// Adds a place of a lexeme. A word keeps at least its first place.
    fn add(&mut self, lexeme: &str, member: Option<usize>) {
        let has_space = self.size < LARGEST_VECTOR;
        let Some((places, members)) = self.lexemes.get_mut(lexeme) else {
            let size = lexeme.len() + 8;
            if self.size + size <= LARGEST_VECTOR {
                self.size += size;
                let places = vec![self.place.min(LAST_PLACE)];
                self.lexemes.insert(lexeme.to_owned(), (places, Vec::from_iter(member)));
            }
            return;
        };
        if places.len() < MOST_PLACES && self.place <= LAST_PLACE && has_space {
            places.push(self.place);
            self.size += 2;
        }
        if let Some(member) = member.filter(|it| members.last() != Some(it) && has_space) {
            members.push(member);
            self.size += 2;
        }
    }
}

/// A `tsvector` as it is written: `'word':1,7,16382A 'other':2,16382A`. The places of members have
/// the label `A`.
pub(crate) fn vector(members: &str) -> String {
    let (mut vector, mut count, mut unnamed) = (Vector::default(), 0, 0);
    for (name, value) in named(members) {
        let before = vector.place;
        let has_place = count < MOST_MEMBERS && name.len() <= LONGEST_NAME;
        let member = has_place.then_some(FIRST_MEMBER - 2 * count);
        let mark = if has_place { format!("{MARK}{name}") } else { MARK.to_string() };
        each_text(value, &mut |text| {
            each_word(text, |_, word| {
                vector.place += 1;
                if vector.place == before + 1 {
                    vector.add(&mark, member);
                }
                vector.add(word, member);
            });
            vector.place += 1;
        });
        if vector.place > before {
            count += usize::from(has_place);
            unnamed += usize::from(!has_place);
        }
        if unnamed == MOST_PLACES {
            // The next member without a place would not be known to begin.
            vector.place = vector.place.max(LAST_PLACE);
        }
    }
    written(&vector)
}

fn written(vector: &Vector) -> String {
    let mut out = String::new();
    for (lexeme, (places, members)) in &vector.lexemes {
        let space = if out.is_empty() { "" } else { " " };
        let lexeme = quoted(lexeme);
        let places = places.iter().map(ToString::to_string);
        let places = places.chain(members.iter().map(|member| format!("{member}A")));
        // Writing to a String cannot fail.
        let _ = write!(out, "{space}{lexeme}:{}", places.collect::<Vec<_>>().join(","));
    }
    out
}

/// A lexeme in the text of a `tsvector` or a `tsquery`.
pub(crate) fn quoted(lexeme: &str) -> String {
    format!("'{}'", lexeme.replace('\\', "\\\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::{LARGEST_VECTOR, LAST_PLACE, MOST_PLACES, by_member, vector};

    #[test]
    fn all_texts_count_and_names_do_not() {
        let members = r#"{"title":"Río Grande","n":7,"mo\"re":[{"x":"río"},true],"none":""}"#;
        let texts = by_member(members);
        let texts: Vec<_> = texts.iter().map(|(name, words)| format!("{name}: {words}")).collect();
        assert_eq!(texts, ["title: rio grande | ", "mo\"re: rio | "]);
        assert_eq!(
            vector(r#"{"title":"Río Grande","n":7,"it's":[{"x":"río"},true]}"#),
            "'\u{1}it''s':4,16380A '\u{1}title':1,16382A 'grande':2,16382A 'rio':1,4,16382A,16380A"
        );
    }

    #[test]
    fn a_vector_keeps_the_first_words_and_places_it_has_room_for() {
        let of = |text: String| vector(&format!(r#"{{"text":"{text}"}}"#));
        let same = of("x ".repeat(1_000));
        let places = same.rsplit_once("'x':").unwrap().1;
        assert_eq!(places.matches(',').count(), MOST_PLACES);
        let late = of(format!("{} end x", "x ".repeat(20_000)));
        let end = format!("'end':{LAST_PLACE},16382A 'x':1,2,");
        assert!(late.contains(&end), "{}", &late[..60]);
        let numbers: Vec<_> = (0..1_000_000).map(|number| format!("{number:08}")).collect();
        let many = of(numbers.join(" "));
        assert!(many.contains("'00000000'") && !many.contains("'00999999'"));
        assert!(many.len() < 3 * LARGEST_VECTOR, "{} bytes", many.len());
    }

    #[test]
    fn a_member_without_a_place_has_words_in_no_member() {
        let many: Vec<_> = (0..300).map(|number| format!(r#""m{number}":"w{number} x""#)).collect();
        let vector = vector(&format!("{{{}}}", many.join(",")));
        assert!(vector.contains("'w0':1,16382A") && vector.contains("'w64':193 "), "{vector}");
        assert!(vector.contains("'\u{1}':193,196,"), "{vector}");
    }
}
