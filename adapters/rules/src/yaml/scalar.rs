//! A scalar as it is written, and what it stands for in the core schema of YAML 1.2 (section
//! 10.3.2).

use super::offsets::Source;
use crate::error::Location;

/// A scalar.
#[derive(Debug)]
pub(crate) struct Scalar {
    /// Its characters, without quotes, indentation and the like.
    pub text: String,
    /// True when the scalar has neither quotes nor a block indicator. Such a scalar may stand for
    /// something other than a string.
    pub is_plain: bool,
    /// How it stands in the file.
    pub source: Source,
}

/// The type that a scalar stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScalarKind {
    Null,
    Boolean,
    /// A number that is written as JSON writes it.
    Number,
    /// A number that JSON would write otherwise or not at all: `0x1F`, `007`, `.inf`.
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

    pub fn kind(&self) -> ScalarKind {
        if self.is_plain { kind_of_plain(&self.text) } else { ScalarKind::String }
    }

    /// Where in the file the byte of the text stands.
    pub fn place_of(&self, offset: usize) -> Location {
        self.source.place_of(&self.text, offset)
    }
}

fn kind_of_plain(text: &str) -> ScalarKind {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => ScalarKind::Null,
        "true" | "True" | "TRUE" | "false" | "False" | "FALSE" => ScalarKind::Boolean,
        _ if is_json_number(text) => ScalarKind::Number,
        _ if is_odd_number(text) => ScalarKind::OddNumber,
        _ => ScalarKind::String,
    }
}

/// Takes the digits off the front; `None` when there are none.
fn digits(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|character: char| character.is_ascii_digit());
    (rest.len() < text.len()).then_some(rest)
}

/// `[eE][-+]?[0-9]+` or nothing, and then the end.
fn is_exponent(text: &str) -> bool {
    let Some(exponent) = text.strip_prefix(['e', 'E']) else { return text.is_empty() };
    digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)) == Some("")
}

/// The grammar of RFC 8259.
fn is_json_number(text: &str) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text);
    let Some(after) = digits(text) else { return false };
    let has_leading_zero = text.starts_with('0') && text.len() - after.len() > 1;
    let after = after.strip_prefix('.').map_or(Some(after), digits);
    !has_leading_zero && after.is_some_and(is_exponent)
}

/// Returns `true` for the other notations that the core schema accepts as numbers.
fn is_odd_number(text: &str) -> bool {
    let is_of = |digits: &str, radix| {
        !digits.is_empty() && digits.chars().all(|character| character.is_digit(radix))
    };
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let after = match unsigned.strip_prefix('.') {
        Some(fraction) => digits(fraction),
        None => digits(unsigned).map(|after| {
            after.strip_prefix('.').map_or(after, |fraction| digits(fraction).unwrap_or(fraction))
        }),
    };
    after.is_some_and(is_exponent)
        || matches!(unsigned, ".inf" | ".Inf" | ".INF")
        || matches!(text, ".nan" | ".NaN" | ".NAN")
        || text.strip_prefix("0x").is_some_and(|digits| is_of(digits, 16))
        || text.strip_prefix("0o").is_some_and(|digits| is_of(digits, 8))
}

#[cfg(test)]
mod tests {
    use super::{ScalarKind, kind_of_plain};

    #[test]
    fn plain_scalars_stand_for_what_the_core_schema_says() {
        for (texts, kind) in [
            (&["", "~", "null", "Null", "NULL"][..], ScalarKind::Null),
            (&["true", "True", "TRUE", "false", "False", "FALSE"], ScalarKind::Boolean),
            (
                &["0", "-0", "12", "1.50", "-1e5", "1E+10", "123456789012345678901234567890"],
                ScalarKind::Number,
            ),
            (
                &[
                    "007", "+1", "1.", ".5", "-.5e3", "0x1F", "0o17", ".inf", "-.INF", ".nan",
                    "01.5",
                ],
                ScalarKind::OddNumber,
            ),
            (
                &[
                    "2026-01-01",
                    "1.2.3",
                    "yes",
                    "on",
                    "No",
                    "tRue",
                    "nULL",
                    "1e",
                    "e5",
                    ".",
                    "-",
                    "+",
                    "1_000",
                    "0x",
                    "12:30",
                ],
                ScalarKind::String,
            ),
        ] {
            for text in texts {
                assert_eq!(kind_of_plain(text), kind, "{text:?}");
            }
        }
    }
}
