//! Stored values as text for people.

use domain::json::Kind;
use domain::{Item, Value};

use crate::problem::{Problem, Result, kinds};

/// In characters.
pub const SHORT: usize = 120;

/// The bytes of a value that may be printed on several pages: about half of one.
const LONG: usize = 1500;

/// Limit of bytes per page: the HTML is several times as large.
const MOST_SHOWN: usize = 512 * 1024;

pub fn require_small(members: &str) -> Result<()> {
    if members.len() <= MOST_SHOWN {
        return Ok(());
    }
    let detail = format!(
        "This record is too large for a page: {} bytes. Use the API to read or change it.",
        members.len()
    );
    Err(Problem::new(&kinds::TOO_LARGE_FOR_A_PAGE, detail))
}

#[derive(Debug, PartialEq, Eq)]
pub enum ShownValue {
    Absent,
    Simple(String),
    List(Vec<String>),
    Json(String),
}

impl ShownValue {
    pub fn of(value: Option<Value<'_>>) -> Self {
        let Some(value) = value else { return Self::Absent };
        let elements = || {
            let list = value.elements()?.map(simple).collect::<Option<Vec<_>>>();
            list.filter(|list| !list.is_empty())
        };
        match value.kind() {
            Kind::Null => Self::Absent,
            Kind::Array => elements().map_or_else(|| json(value), Self::List),
            Kind::Object => json(value),
            Kind::String | Kind::Number | Kind::Boolean => {
                Self::Simple(simple(value).unwrap_or_default())
            }
        }
    }

    fn length(&self) -> usize {
        match self {
            Self::Absent => 0,
            Self::Simple(text) | Self::Json(text) => text.len(),
            Self::List(list) => list.iter().map(String::len).sum(),
        }
    }

    pub fn is_long(&self) -> bool {
        self.length() > LONG
    }

    /// True for a value of one line with at most this number of bytes.
    pub fn is_short(&self, most: usize) -> bool {
        matches!(self, Self::Simple(text) if text.len() <= most && !text.contains('\n'))
    }

    pub fn short(&self) -> String {
        match self {
            Self::Absent => String::new(),
            Self::Simple(text) | Self::Json(text) => shortened(text, SHORT),
            Self::List(list) => shortened(&list.join("; "), SHORT),
        }
    }
}

/// A cell of a table.
pub struct Cell {
    pub text: String,
    pub href: Option<String>,
}

impl Cell {
    /// In characters.
    const SHORT: usize = 20;

    pub fn is_short(&self) -> bool {
        self.text.chars().count() <= Self::SHORT
    }
}

pub fn title(item: &Item, columns: &[&str]) -> String {
    let named = columns.first().and_then(|name| Value::from_encoded(&item.members).member(name));
    let title = ShownValue::of(named).short();
    if title.trim().is_empty() { item.id.to_string() } else { title }
}

/// Unescapes a canonically escaped member name.
pub fn name(escaped: &str) -> String {
    let quoted = format!("\"{escaped}\"");
    simple(Value::from_encoded(&quoted)).unwrap_or_default()
}

pub fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

pub fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(characters).collect()
}

fn simple(value: Value<'_>) -> Option<String> {
    match value.kind() {
        Kind::String => value.as_string().map(std::borrow::Cow::into_owned),
        Kind::Number | Kind::Boolean => Some(value.encoded().to_owned()),
        Kind::Null | Kind::Array | Kind::Object => None,
    }
}

/// In decimal units, as `content.js` shows it.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
#[expect(clippy::trivially_copy_pass_by_ref, reason = "templates pass references")]
pub fn readable_size(bytes: &u64) -> String {
    let bytes = *bytes;
    let units = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    match units.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", bytes as f64 / *unit as f64),
        None if bytes == 1 => "1 byte".to_owned(),
        None => format!("{bytes} bytes"),
    }
}

fn json(value: Value<'_>) -> ShownValue {
    ShownValue::Json(value.encoded().to_owned())
}

#[cfg(test)]
mod tests {
    use domain::Value;

    use super::{SHORT, ShownValue, readable_size};

    #[test]
    fn values_are_shown_as_people_read_them() {
        for (encoded, expected) in [
            ("null", ShownValue::Absent),
            (r#""a\"b""#, ShownValue::Simple("a\"b".to_owned())),
            ("1.50", ShownValue::Simple("1.50".to_owned())),
            ("true", ShownValue::Simple("true".to_owned())),
            (r#"["a",1]"#, ShownValue::List(vec!["a".to_owned(), "1".to_owned()])),
            ("[]", ShownValue::Json("[]".to_owned())),
            (r#"[{"a":1}]"#, ShownValue::Json(r#"[{"a":1}]"#.to_owned())),
        ] {
            assert_eq!(ShownValue::of(Some(Value::from_encoded(encoded))), expected, "{encoded}");
        }
        let long = format!("\"{}\"", "é".repeat(SHORT + 1));
        let short = ShownValue::of(Some(Value::from_encoded(&long))).short();
        assert_eq!(short.chars().count(), SHORT + 1);
        assert!(short.ends_with('…'));
    }

    #[test]
    fn sizes_are_readable() {
        for (bytes, expected) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (999, "999 bytes"),
            (1_000, "1.0 kB"),
            (4_250_000, "4.2 MB"),
            (5 << 30, "5.4 GB"),
        ] {
            assert_eq!(readable_size(&bytes), expected);
        }
    }
}
