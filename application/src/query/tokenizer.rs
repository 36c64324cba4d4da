//! The tokenizer of the search. It folds case and accents, and separates words at other characters.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use domain::json::{Kind, Value};

/// The byte limit of a word. The rest of a longer word is dropped.
const LONGEST_WORD: usize = 128;

pub fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    each_word(text, |_, word| words.push(word.to_owned()));
    words
}

/// Calls `found` with each folded word and its byte range in the text.
pub fn each_word(text: &str, mut found: impl FnMut(std::ops::Range<usize>, &str)) {
    let mut word = String::new();
    let mut start = None;
    for (at, letter) in text.char_indices() {
        if letter.is_alphanumeric() || (is_combining_mark(letter) && start.is_some()) {
            start.get_or_insert(at);
            push_folded(&mut word, letter);
        } else if let Some(start) = start.take() {
            finish(&mut word, start..at, &mut found);
        }
    }
    if let Some(start) = start {
        finish(&mut word, start..text.len(), &mut found);
    }
}

fn finish(
    word: &mut String,
    place: std::ops::Range<usize>,
    found: &mut impl FnMut(std::ops::Range<usize>, &str),
) {
    if !word.is_empty() {
        found(place, word);
        word.clear();
    }
}

fn push_folded(word: &mut String, letter: char) {
    if word.len() + 4 > LONGEST_WORD {
        return;
    }
    if letter.is_ascii() {
        word.push(letter.to_ascii_lowercase());
        return;
    }
    let bare = [letter]
        .into_iter()
        .nfkd()
        .filter(|part| part.is_alphanumeric() && !is_combining_mark(*part));
    // Through upper case, so that `ß` matches `SS` and `ς` matches `Σ`.
    for part in bare.flat_map(char::to_uppercase).flat_map(char::to_lowercase) {
        match without_stroke(part) {
            Some(plain) => word.push_str(plain),
            None if is_combining_mark(part) => {}
            None => word.push(part),
        }
    }
}

/// Folds letters with a stroke and ligatures, which Unicode does not decompose.
const fn without_stroke(letter: char) -> Option<&'static str> {
    Some(match letter {
        'ø' => "o",
        'đ' | 'ð' => "d",
        'ł' => "l",
        'ħ' => "h",
        'ŧ' => "t",
        'æ' => "ae",
        'œ' => "oe",
        'þ' => "th",
        'ı' => "i",
        _ => return None,
    })
}

/// Calls `found` with every text within a value, at any depth, except names of members.
pub fn each_text(value: Value<'_>, found: &mut impl FnMut(&str)) {
    match value.kind() {
        Kind::String => found(&value.as_string().unwrap_or_default()),
        Kind::Array => {
            value.elements().into_iter().flatten().for_each(|element| each_text(element, found));
        }
        Kind::Object => {
            value.entries().into_iter().flatten().for_each(|(_, member)| each_text(member, found));
        }
        Kind::Null | Kind::Boolean | Kind::Number => {}
    }
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn case_accents_and_punctuation_are_folded() {
        for (text, expected) in [
            ("Peñaranda José ÁÉ", "penaranda jose ae"),
            ("R&D-Project, 2nd phase.", "r d project 2nd phase"),
            ("Straße STRASSE", "strasse strasse"),
            ("ΟΔΟΣ οδος", "οδοσ οδοσ"),
            ("Łódź Ørsted œuvre", "lodz orsted oeuvre"),
            ("ﬁeld ② x²", "field 2 x2"),
            ("e\u{301}tude \u{301}x", "etude x"),
            ("₱18,000 — ...", "18 000"),
            ("研究 計画", "研究 計画"),
            ("", ""),
        ] {
            assert_eq!(words(text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn an_absurdly_long_word_is_cut() {
        assert!(words(&"x".repeat(10_000))[0].len() <= super::LONGEST_WORD);
    }
}
