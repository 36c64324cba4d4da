use std::ops::Range;
use std::sync::Arc;

use domain::Members;
use thiserror::Error;

use super::tokenizer::{each_text, each_word, words};

/// The limit of words in a search, including those in phrases.
const MOST_WORDS: usize = 32;

/// The fewest characters of a prefix. A single one matches a large part of all words.
const SHORTEST_BEGINNING: usize = 2;

/// The words of a snippet before the first match, and in total.
const SNIPPET_WORDS: (usize, usize) = (8, 32);

/// A conjunction of words and phrases.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Search {
    /// Never empty.
    pub terms: Vec<SearchTerm>,
}

/// Consecutive folded words in one text; mostly one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SearchTerm {
    pub words: Vec<Arc<str>>,
    /// True when the last word is a prefix.
    pub is_prefix: bool,
}

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum SearchError {
    #[error("contains no word")]
    NoWord,
    #[error("contains more than {MOST_WORDS} words")]
    TooManyWords,
    #[error("has an unclosed quotation mark")]
    OpenPhrase,
    /// An asterisk is not at the end of a word.
    #[error(
        "has a misplaced `*`: put it after the first {SHORTEST_BEGINNING} or more characters of a word, as in ric*, outside of quotation marks"
    )]
    MisplacedAsterisk,
}

impl Search {
    /// Parses words, `"phrases"` and prefixes such as `ric*`. A word with punctuation, such as
    /// `R&D`, is a phrase of its parts.
    pub fn read(written: &str) -> Result<Self, SearchError> {
        let parts: Vec<_> = written.split(['"', '“', '”']).collect();
        if parts.len() % 2 == 0 {
            return Err(SearchError::OpenPhrase);
        }
        let terms = parts.iter().enumerate().flat_map(|(index, part)| {
            let is_phrase = index % 2 == 1;
            if is_phrase {
                vec![SearchTerm::exact(part)]
            } else {
                part.split_whitespace().map(SearchTerm::read).collect()
            }
        });
        let mut terms = terms.collect::<Result<Vec<_>, _>>()?;
        terms.retain(|term| !term.words.is_empty());
        match terms.iter().map(|term| term.words.len()).sum() {
            0 => Err(SearchError::NoWord),
            count if count > MOST_WORDS => Err(SearchError::TooManyWords),
            _ => Ok(Self { terms }),
        }
    }

    /// Returns an excerpt of the first text with a match. Matches are within `<mark>`; the rest is
    /// escaped for HTML.
    pub fn snippet(&self, members: &Members) -> Option<String> {
        let mut snippet = None;
        for (_, value) in members.iter() {
            each_text(value, &mut |text| {
                if snippet.is_none() {
                    snippet = self.snippet_of(text);
                }
            });
        }
        snippet
    }

    fn snippet_of(&self, text: &str) -> Option<String> {
        let mut places = Vec::new();
        each_word(text, |place, word| places.push((place, word.to_owned())));
        let found = self.found_in(&places);
        let first = found.iter().position(|is_found| *is_found)?;
        let (before, length) = SNIPPET_WORDS;
        let from = first.saturating_sub(before);
        let to = (from + length).min(places.len());
        let start = if from == 0 { 0 } else { places[from].0.start };
        let end = if to == places.len() { text.len() } else { places[to - 1].0.end };
        let marked = places
            .iter()
            .zip(&found)
            .take(to)
            .skip(from)
            .filter(|(_, is_found)| **is_found)
            .map(|((place, _), _)| place.clone());
        Some(marked_up(text, start..end, marked))
    }

    fn found_in(&self, places: &[(Range<usize>, String)]) -> Vec<bool> {
        let mut found = vec![false; places.len()];
        for term in &self.terms {
            let length = term.words.len();
            for start in 0..(places.len() + 1).saturating_sub(length) {
                if term.is_at(&places[start..start + length]) {
                    found[start..start + length].fill(true);
                }
            }
        }
        found
    }
}

impl SearchTerm {
    fn exact(written: &str) -> Result<Self, SearchError> {
        if written.contains('*') {
            return Err(SearchError::MisplacedAsterisk);
        }
        Ok(Self { words: words(written).into_iter().map(Arc::from).collect(), is_prefix: false })
    }

    /// Parses a word, or a prefix that ends with an asterisk.
    fn read(written: &str) -> Result<Self, SearchError> {
        let Some(beginning) = written.strip_suffix('*') else { return Self::exact(written) };
        let (mut end, mut length) = (0, 0);
        each_word(beginning, |place, word| (end, length) = (place.end, word.chars().count()));
        if end < beginning.len() || length < SHORTEST_BEGINNING {
            return Err(SearchError::MisplacedAsterisk);
        }
        Ok(Self { is_prefix: true, ..Self::exact(beginning)? })
    }

    /// Returns the words, and whether each is a prefix.
    pub fn each_word(&self) -> impl Iterator<Item = (&str, bool)> {
        let last = self.words.len().saturating_sub(1);
        let words = self.words.iter().enumerate();
        words.map(move |(index, word)| (word.as_ref(), self.is_prefix && index == last))
    }

    fn is_at(&self, places: &[(Range<usize>, String)]) -> bool {
        self.each_word().zip(places).all(|((wanted, is_beginning), (_, word))| {
            if is_beginning { word.starts_with(wanted) } else { word == wanted }
        })
    }
}

fn marked_up(
    text: &str,
    piece: Range<usize>,
    marked: impl Iterator<Item = Range<usize>>,
) -> String {
    let mut out = String::new();
    if piece.start > 0 {
        out.push('…');
    }
    let mut at = piece.start;
    for word in marked {
        push_escaped(&mut out, &text[at..word.start]);
        out.push_str("<mark>");
        push_escaped(&mut out, &text[word.clone()]);
        out.push_str("</mark>");
        at = word.end;
    }
    push_escaped(&mut out, &text[at..piece.end]);
    if piece.end < text.len() {
        out.push('…');
    }
    out
}

fn push_escaped(out: &mut String, text: &str) {
    for letter in text.chars() {
        match letter {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            other => out.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::Members;

    use super::{Search, SearchError, SearchTerm};

    #[test]
    fn words_phrases_and_beginnings_are_distinguished() {
        for (written, expected) in [
            ("\"sweet\"ri*\"corn\"", Ok("sweet|ri*|corn")),
            ("ß*", Ok("ss*")),
            ("e\u{301}*", Err(SearchError::MisplacedAsterisk)),
            ("*", Err(SearchError::MisplacedAsterisk)),
            ("\"\"", Err(SearchError::NoWord)),
            ("\"rice", Err(SearchError::OpenPhrase)),
            (&"x ".repeat(33), Err(SearchError::TooManyWords)),
        ] {
            let read = Search::read(written).map(|search| {
                let written = |term: &SearchTerm| {
                    format!("{}{}", term.words.join(" "), if term.is_prefix { "*" } else { "" })
                };
                search.terms.iter().map(written).collect::<Vec<_>>().join("|")
            });
            assert_eq!(read, expected.map(str::to_owned), "{written}");
        }
    }

    #[test]
    fn a_snippet_marks_the_words_of_a_phrase_and_of_a_beginning() {
        let members = r#"{"a":"nothing","b":["x","<b>Río</b> & rice, rice"]}"#;
        let members = Members::read(members.as_bytes()).unwrap().unwrap();
        for (written, expected) in [
            ("\"rice rice\"", Some("Río&lt;/b&gt; &amp; <mark>rice</mark>, <mark>rice</mark>")),
            ("b-ric*", Some("Río&lt;/<mark>b</mark>&gt; &amp; <mark>rice</mark>, rice")),
            ("rices*", None),
        ] {
            let snippet = Search::read(written).unwrap().snippet(&members);
            assert_eq!(snippet, expected.map(|end| format!("&lt;b&gt;{end}")), "{written}");
        }
    }
}
