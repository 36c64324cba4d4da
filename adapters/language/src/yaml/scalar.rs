//! Scalar in its source form, and its value in the core schema of YAML 1.2 (section 10.3.2).

use std::ops::Range;
use std::sync::Arc;

use granit_parser::ScalarStyle;

use crate::error::Location;

#[derive(Debug)]
pub struct Scalar {
    pub text: String,
    pub(super) style: ScalarStyle,
    pub place: Location,
    pub(super) range: Range<usize>,
    pub(super) file: Arc<str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScalarKind {
    Null,
    Boolean,
    Number,
    /// Number that JSON writes differently or not at all: `0x1F`, `007`, `.inf`.
    OddNumber,
    String,
}

impl ScalarKind {
    pub const fn with_article(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "a boolean",
            Self::Number | Self::OddNumber => "a number",
            Self::String => "a string",
        }
    }
}

impl Scalar {
    pub fn is_null(&self) -> bool {
        self.kind() == ScalarKind::Null
    }

    pub(crate) fn kind(&self) -> ScalarKind {
        match self.style {
            ScalarStyle::Plain => kind_of_plain(&self.text),
            _ => ScalarKind::String,
        }
    }

    /// Returns the position in the file of a byte of the text.
    ///
    /// A string and its source differ only in white space, quotes and escapes. So both positions
    /// have the same number of preceding characters other than white space.
    pub fn place_of(&self, offset: usize) -> Location {
        let before = self.text.char_indices().take_while(|(index, _)| *index < offset);
        let mut before = before.filter(|(_, character)| !character.is_whitespace()).count();
        let raw = self.file.get(self.range.clone()).unwrap_or_default();
        let is_quoted = matches!(self.style, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted);
        let (mut at, mut end) = (usize::from(is_quoted), 0);
        while let Some(rest) = raw.get(at..).filter(|rest| !rest.is_empty()) {
            let (length, is_visible) = self.first_character(rest);
            if is_visible && before == 0 {
                return self.place.after(&raw[..at]);
            }
            at += length;
            if is_visible {
                before -= 1;
                end = at;
            }
        }
        // Past the last character: the position of missing text.
        self.place.after(&raw[..end])
    }

    /// Returns the length in bytes of the first character in the source, and true unless it is
    /// white space.
    fn first_character(&self, source: &str) -> (usize, bool) {
        let mut characters = source.chars();
        let first = characters.next().unwrap_or(' ');
        match (self.style, first, characters.next()) {
            (ScalarStyle::SingleQuoted, '\'', second) => (2, second == Some('\'')),
            (ScalarStyle::DoubleQuoted, '"', _) => (1, false),
            (ScalarStyle::DoubleQuoted, '\\', Some(escape)) => match escape {
                'x' => (4, true),
                'u' => (6, true),
                'U' => (10, true),
                't' | 'n' | 'v' | 'f' | 'r' | 'N' | '_' | 'L' | 'P' => (2, false),
                _ => (1 + escape.len_utf8(), !escape.is_whitespace()),
            },
            _ => (first.len_utf8(), !first.is_whitespace()),
        }
    }
}

fn kind_of_plain(text: &str) -> ScalarKind {
    let is_number = |text: &str| {
        text.contains(|character: char| character.is_ascii_digit()) && text.parse::<f64>().is_ok()
    };
    let has_radix = |prefix: &str, radix| {
        let digits = text.strip_prefix(prefix).filter(|digits| !digits.is_empty());
        digits.is_some_and(|digits| digits.chars().all(|digit| digit.is_digit(radix)))
    };
    match text {
        "" | "~" | "null" | "Null" | "NULL" => ScalarKind::Null,
        "true" | "True" | "TRUE" | "false" | "False" | "FALSE" => ScalarKind::Boolean,
        ".nan" | ".NaN" | ".NAN" => ScalarKind::OddNumber,
        _ if is_number(text) && domain::json::read(text.as_bytes()).is_ok() => ScalarKind::Number,
        _ if is_number(text) || has_radix("0x", 16) || has_radix("0o", 8) => ScalarKind::OddNumber,
        _ => match text.strip_prefix(['+', '-']).unwrap_or(text) {
            ".inf" | ".Inf" | ".INF" => ScalarKind::OddNumber,
            _ => ScalarKind::String,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{ScalarKind, kind_of_plain};

    #[test]
    fn plain_scalars_stand_for_what_the_core_schema_says() {
        for (texts, kind) in [
            (" ~ null Null NULL", ScalarKind::Null),
            ("true True TRUE false False FALSE", ScalarKind::Boolean),
            ("0 -0 12 1.50 -1e5 1E+10 123456789012345678901234567890", ScalarKind::Number),
            ("007 +1 1. .5 -.5e3 0x1F 0o17 .inf -.INF .nan 01.5", ScalarKind::OddNumber),
            ("2026-01-01 1.2.3 yes on No tRue nULL 1e e5 . - + 1_000 0x 12:30", ScalarKind::String),
        ] {
            for text in texts.split(' ') {
                assert_eq!(kind_of_plain(text), kind, "{text:?}");
            }
        }
    }
}
