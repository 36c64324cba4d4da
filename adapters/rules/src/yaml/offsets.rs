//! From a byte of a scalar to its place in the file.

use std::sync::Arc;

use crate::error::Location;

/// The file a scalar is in, and the bytes it takes up there, with its quotes.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub file: Arc<str>,
    pub start: usize,
    pub end: usize,
    pub place: Location,
    pub quotes: Quotes,
}

/// How a scalar is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quotes {
    /// Plain, or a block: what is no white space stands there as it is.
    None,
    Single,
    Double,
}

impl Source {
    /// Where the byte of the text stands.
    ///
    /// Whatever the style, a string and its source differ in white space, quotes and escapes only. So
    /// the byte's character is the one that has as many before it that are no white space.
    pub fn place_of(&self, text: &str, offset: usize) -> Location {
        let wanted = text
            .char_indices()
            .take_while(|(index, _)| *index < offset)
            .filter(|(_, character)| !character.is_whitespace())
            .count();
        let raw = self.file.get(self.start..self.end).unwrap_or_default();
        let (mut seen, mut end) = (0, None);
        let characters =
            Characters { raw, quotes: self.quotes, at: usize::from(self.quotes != Quotes::None) };
        for (index, length, is_visible) in characters {
            if is_visible && seen == wanted {
                return self.advance(&raw[..index]);
            }
            if is_visible {
                seen += 1;
                end = Some(index + length);
            }
        }
        // Past the last character: what is missing there.
        end.map_or(self.place, |end| self.advance(&raw[..end]))
    }

    fn advance(&self, passed: &str) -> Location {
        let count = |text: &str| u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
        match passed.rsplit_once('\n') {
            None => Location { line: self.place.line, column: self.place.column + count(passed) },
            Some((before, last)) => {
                let lines = u32::try_from(before.matches('\n').count() + 1).unwrap_or(u32::MAX);
                Location { line: self.place.line + lines, column: count(last) + 1 }
            }
        }
    }
}

/// The characters that a source writes: where each begins, how long it is there, and whether it is
/// no white space.
struct Characters<'a> {
    raw: &'a str,
    quotes: Quotes,
    at: usize,
}

impl Iterator for Characters<'_> {
    type Item = (usize, usize, bool);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.raw.get(self.at..)?;
        let first = rest.chars().next()?;
        let (length, is_visible) = match (self.quotes, first) {
            (Quotes::Single, '\'') => (2, rest.starts_with("''")),
            (Quotes::Double, '"') => (1, false),
            (Quotes::Double, '\\') => escape(&rest[1..]),
            _ => (first.len_utf8(), !first.is_whitespace()),
        };
        let index = self.at;
        self.at += length;
        Some((index, length, is_visible))
    }
}

/// How long an escape is with its backslash, and whether what it stands for is no white space.
fn escape(after: &str) -> (usize, bool) {
    let Some(sign) = after.chars().next() else { return (1, false) };
    let code = |digits: usize| {
        let code_point =
            after.get(1..=digits).and_then(|digits| u32::from_str_radix(digits, 16).ok());
        (
            2 + digits,
            code_point.and_then(char::from_u32).is_some_and(|character| !character.is_whitespace()),
        )
    };
    match sign {
        'x' => code(2),
        'u' => code(4),
        'U' => code(8),
        ' ' | 't' | '\t' | 'n' | '\n' | 'v' | 'f' | 'r' | 'N' | '_' | 'L' | 'P' => (2, false),
        sign => (1 + sign.len_utf8(), true),
    }
}
