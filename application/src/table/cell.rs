use std::borrow::Cow;
use std::ops::RangeInclusive;

use domain::json::{Kind, Value, encode_string, read};
use domain::proposal::FieldKind;

use super::truncation::{is_beginning_of, is_truncated, lines};

/// Initial characters that spreadsheets treat as a formula, or drop.
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// The prefix of a string that looks like another type.
const MARK: char = '\'';

/// The significant digits that every double keeps.
const DIGITS_OF_A_DOUBLE: usize = 15;

/// The range in which every double has all its digits.
const EXACT_SIZES: RangeInclusive<f64> = 1e-300..=1e300;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell<'a> {
    Empty,
    /// A number in the grammar of JSON.
    Number(Cow<'a, str>),
    String(Cow<'a, str>),
}

impl<'a> Cell<'a> {
    /// The cell of a value. `kind` is that of the field.
    pub fn of(value: Option<Value<'a>>, kind: Option<FieldKind>) -> Self {
        let Some(value) = value else { return Self::Empty };
        match value.kind() {
            Kind::Number => Self::Number(value.encoded().into()),
            Kind::String => Self::String(marked(value.as_string().unwrap_or_default(), kind)),
            _ => Self::String(value.encoded().into()),
        }
    }

    pub fn sent(string: impl Into<Cow<'a, str>>) -> Self {
        let string = string.into();
        if string.is_empty() { Self::Empty } else { Self::String(string) }
    }

    /// Returns the JSON text of the cell's value; `None` for an empty cell.
    pub fn encoded(&self, kind: Option<FieldKind>) -> Option<String> {
        match self {
            Self::Empty => None,
            Self::Number(digits) if takes(kind, Kind::Number) => Some(digits.to_string()),
            Self::Number(digits) => Some(encode_string(digits)),
            Self::String(string) => Some(match string.strip_prefix(MARK) {
                Some(marked) => encode_string(marked),
                None => as_json(string, kind).unwrap_or_else(|| encode_string(string)),
            }),
        }
    }

    /// Returns true if a sent cell equals this one except for number formatting and line ends.
    pub fn is_shown_by(&self, sent: &Cell<'_>) -> bool {
        match (self.as_written(), sent.as_written()) {
            (Some(own), Some(sent)) => {
                own == sent
                    || (matches!(self, Self::Number(_)) && is_same_number(own, sent))
                    || lines(own) == lines(sent)
                    || is_beginning_of(sent, own)
            }
            (own, sent) => own == sent,
        }
    }

    pub(crate) fn is_truncated(&self) -> bool {
        self.as_written().is_some_and(is_truncated)
    }

    pub fn as_written(&self) -> Option<&str> {
        match self {
            Self::Empty => None,
            Self::Number(written) | Self::String(written) => Some(written),
        }
    }
}

pub(super) fn marked(string: Cow<'_, str>, kind: Option<FieldKind>) -> Cow<'_, str> {
    let is_special = |first: char| first == MARK || FORMULA.contains(&first);
    let needs_mark =
        string.chars().next().is_none_or(is_special) || as_json(&string, kind).is_some();
    if needs_mark { format!("{MARK}{string}").into() } else { string }
}

pub(super) fn unmarked(string: &str) -> Option<&str> {
    string.strip_prefix(MARK)
}

/// Returns the JSON text that an unmarked string means, unless it means a string.
fn as_json(string: &str, kind: Option<FieldKind>) -> Option<String> {
    let may_begin = |byte: &u8| b"-0123456789tfn[{ \t\r\n".contains(byte);
    string.as_bytes().first().filter(|byte| may_begin(byte))?;
    let read = read(string.as_bytes()).ok()?;
    let value = read.value();
    takes(kind, value.kind()).then(|| value.encoded().to_owned())
}

/// Returns true if a member of this kind may have this JSON, apart from strings.
const fn takes(kind: Option<FieldKind>, json: Kind) -> bool {
    match kind {
        None => !matches!(json, Kind::String),
        Some(FieldKind::StringOrInteger) => matches!(json, Kind::Number),
        Some(FieldKind::StringOrList) => matches!(json, Kind::Array),
        Some(FieldKind::Date | FieldKind::String) => false,
    }
}

/// Returns true if a double keeps the number: at most 15 significant digits, and no extreme size.
pub fn is_exact_in_a_double(number: &str) -> bool {
    let mantissa = number.split(['e', 'E']).next().unwrap_or_default();
    let digits = mantissa.trim_start_matches('-').replace('.', "");
    let significant = digits.trim_start_matches('0').trim_end_matches('0');
    let size = number.parse::<f64>().map_or(f64::INFINITY, f64::abs);
    significant.is_empty()
        || (significant.len() <= DIGITS_OF_A_DOUBLE && EXACT_SIZES.contains(&size))
}

#[expect(clippy::float_cmp, reason = "both are exact")]
fn is_same_number(own: &str, sent: &str) -> bool {
    let number = |written: &str| {
        is_exact_in_a_double(written).then(|| written.parse::<f64>().ok()).flatten()
    };
    matches!((number(own), number(sent)), (Some(own), Some(sent)) if own == sent)
}

#[cfg(test)]
mod tests {
    use domain::json::Value;
    use domain::proposal::FieldKind;
    use proptest::prelude::*;

    use super::{Cell, is_exact_in_a_double};

    const KINDS: [Option<FieldKind>; 5] = [
        None,
        Some(FieldKind::Date),
        Some(FieldKind::String),
        Some(FieldKind::StringOrInteger),
        Some(FieldKind::StringOrList),
    ];

    fn written(encoded: &str, kind: Option<FieldKind>) -> Option<String> {
        Cell::of(Some(Value::from_encoded(encoded)), kind).as_written().map(str::to_owned)
    }

    #[test]
    fn values_stand_in_cells_as_people_write_them() {
        let cases = [
            (r#""rice""#, "rice"),
            (r#""""#, "'"),
            (r#""=1+1""#, "'=1+1"),
            (r#""+63 2""#, "'+63 2"),
            (r#""-5""#, "'-5"),
            (r#""@home""#, "'@home"),
            (r#""'quoted""#, "''quoted"),
            (r#""\tx""#, "'\tx"),
            (r#""\rx""#, "'\rx"),
            (r#""42""#, "'42"),
            (r#"" 42""#, "' 42"),
            (r#""0042""#, "0042"),
            (r#""true""#, "'true"),
            (r#""[1]""#, "'[1]"),
            (r#""[draft] title""#, "[draft] title"),
            ("-5", "-5"),
            ("1.50", "1.50"),
            ("true", "true"),
            ("null", "null"),
            (r#"["a",1]"#, r#"["a",1]"#),
            ("{}", "{}"),
        ];
        for (value, cell) in cases {
            assert_eq!(written(value, None).as_deref(), Some(cell), "{value}");
            let read = Cell::sent(cell).encoded(None);
            assert_eq!(read.as_deref(), Some(value), "{cell}");
        }
        assert_eq!(Cell::of(None, None), Cell::Empty);
        assert_eq!(Cell::sent("").encoded(None), None);
    }

    #[test]
    fn fields_read_cells_by_their_kind() {
        let read = |cell: &str, kind| Cell::sent(cell.to_owned()).encoded(Some(kind)).unwrap();
        assert_eq!(read("2024", FieldKind::String), r#""2024""#);
        assert_eq!(read("2024", FieldKind::StringOrInteger), "2024");
        assert_eq!(read("'2024", FieldKind::StringOrInteger), r#""2024""#);
        assert_eq!(read(r#"["a", "b"]"#, FieldKind::StringOrList), r#"["a","b"]"#);
        assert_eq!(read("[1", FieldKind::StringOrList), r#""[1""#);
        let number = Cell::Number("2024".into());
        assert_eq!(number.encoded(Some(FieldKind::String)).as_deref(), Some(r#""2024""#));
        assert_eq!(number.encoded(None).as_deref(), Some("2024"));
        assert_eq!(written(r#""2024""#, Some(FieldKind::String)).as_deref(), Some("2024"));
        assert_eq!(written(r#""true""#, Some(FieldKind::StringOrList)).as_deref(), Some("true"));
    }

    #[test]
    fn a_cell_that_a_program_rewrote_shows_the_same() {
        let shows = |value: &str, cell: &str| {
            Cell::of(Some(Value::from_encoded(value)), None).is_shown_by(&Cell::sent(cell))
        };
        assert!(shows("1.50", "1.5") && shows("1e3", "1000") && shows(r#""a\r\nb""#, "a\nb"));
        assert!(!shows(r#""007""#, "7") && !shows(r#"".5""#, "0.5"), "they are strings");
        assert!(!shows("1.50", "1.51") && !shows(r#""1.50""#, "1.5") && !shows("1", ""));
        assert!(!shows("12345678901234567890", "12345678901234567891"));
        assert!(Cell::Empty.is_shown_by(&Cell::sent("")));
    }

    #[test]
    fn numbers_that_a_double_cannot_keep_are_reported() {
        for exact in ["0", "-1.5", "123456789012345", "1e100", "0.000001", "1000000000000000000"] {
            assert!(is_exact_in_a_double(exact), "{exact}");
        }
        for inexact in
            ["1234567890123456", "1e400", "0.1234567890123456", "1e-400", "1e99999999999999999999"]
        {
            assert!(!is_exact_in_a_double(inexact), "{inexact}");
        }
    }

    proptest! {
        #[test]
        fn any_string_is_read_back(string in r#"[-=+@'\t\r\n \[\]{}"0-9a-z.,é]{0,8}|\PC*"#) {
            let encoded = domain::json::encode_string(&string);
            for kind in KINDS {
                let cell = Cell::of(Some(Value::from_encoded(&encoded)), kind);
                let sent = Cell::sent(cell.as_written().unwrap());
                prop_assert_eq!(sent.encoded(kind), Some(encoded.clone()));
                prop_assert!(cell.is_shown_by(&sent));
                prop_assert!(!cell.as_written().unwrap().starts_with(['=', '+', '-', '@', '\t', '\r']));
            }
        }
    }
}
