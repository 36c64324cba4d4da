//! A view of a value within compact JSON text.

use std::borrow::Cow;
use std::iter;

/// A value as [`super::read()`] wrote it: valid, compact, canonical strings. Nothing is decoded
/// before it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value<'a>(&'a str);

/// The six kinds of JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean,
    /// A number of any size and precision.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl Kind {
    /// The kind in an error message, with its article.
    pub const fn with_article(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        }
    }
}

impl<'a> Value<'a> {
    /// The value of a string that this crate encoded: what
    /// [`Members::encoded`](crate::Members::encoded) gave, or a part of it. Nothing is checked, so
    /// text from elsewhere is read with [`Members::read`](crate::Members::read).
    pub const fn from_encoded(encoded: &'a str) -> Self {
        Self(encoded)
    }

    /// The compact JSON text.
    pub const fn encoded(self) -> &'a str {
        self.0
    }

    /// Returns its kind, one of six.
    pub fn kind(self) -> Kind {
        match self.0.as_bytes().first() {
            Some(b'"') => Kind::String,
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b't' | b'f') => Kind::Boolean,
            Some(b'n') | None => Kind::Null,
            Some(_) => Kind::Number,
        }
    }

    /// Returns `true` if the value is `null`.
    pub fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }

    /// The decoded text, if it is one.
    pub fn as_string(self) -> Option<Cow<'a, str>> {
        (self.kind() == Kind::String).then(|| decode(&self.0[1..self.0.len() - 1]))
    }

    /// The digits as written, if it is a number.
    pub fn as_number(self) -> Option<&'a str> {
        (self.kind() == Kind::Number).then_some(self.0)
    }

    /// Returns the content of a string or a number. A string is decoded; a number is returned as
    /// its digits.
    pub fn as_written(self) -> Option<Cow<'a, str>> {
        self.as_string().or_else(|| self.as_number().map(Cow::Borrowed))
    }

    /// The value of a member, if it is an object that has it. Names that need escaping are not
    /// found.
    pub fn member(self, name: &str) -> Option<Self> {
        self.entries()?.find(|(candidate, _)| *candidate == name).map(|(_, value)| value)
    }

    /// The elements in order, if it is an array.
    pub fn elements(self) -> Option<impl Iterator<Item = Self> + Clone> {
        let mut rest = self.0.strip_prefix('[')?;
        Some(iter::from_fn(move || take_value(&mut rest).map(Self)))
    }

    /// The members in order, if it is an object: names in canonical escaping without quotes, and
    /// values.
    pub fn entries(self) -> Option<impl Iterator<Item = (&'a str, Self)> + Clone> {
        let mut rest = self.0.strip_prefix('{')?;
        Some(iter::from_fn(move || {
            let name = take_value(&mut rest)?;
            let value = take_value(&mut rest)?;
            Some((&name[1..name.len() - 1], Self(value)))
        }))
    }
}

/// Splits the next value off the front of `rest`, which may begin with a comma or a colon; `None` at
/// the closing bracket.
fn take_value<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let text = rest.strip_prefix([',', ':']).unwrap_or(rest);
    if text.starts_with([']', '}']) {
        return None;
    }
    let (value, after) = text.split_at_checked(value_length(text.as_bytes())?)?;
    *rest = after;
    Some(value)
}

fn value_length(bytes: &[u8]) -> Option<usize> {
    match bytes.first()? {
        b'"' => string_length(bytes),
        b'{' | b'[' => {
            let (mut at, mut depth) = (0, 0_usize);
            loop {
                match bytes.get(at)? {
                    b'"' => at += string_length(&bytes[at..])? - 1,
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' if depth == 1 => return Some(at + 1),
                    b'}' | b']' => depth -= 1,
                    _ => {}
                }
                at += 1;
            }
        }
        _ => Some(
            bytes.iter().position(|byte| matches!(byte, b',' | b']' | b'}')).unwrap_or(bytes.len()),
        ),
    }
}

fn string_length(bytes: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Undoes the canonical escaping, which is valid JSON.
pub(crate) fn decode(escaped: &str) -> Cow<'_, str> {
    if !escaped.contains('\\') {
        return Cow::Borrowed(escaped);
    }
    serde_json::from_str(&format!("\"{escaped}\"")).map_or_else(|_| escaped.into(), Cow::Owned)
}
