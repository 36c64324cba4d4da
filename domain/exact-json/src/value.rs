use std::borrow::Cow;
use std::iter;

use memchr::memchr2;

/// A value that [`super::read()`] wrote: valid and compact, with canonical strings. Decodes on
/// demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value<'a>(&'a str);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Null,
    Boolean,
    /// A number of any size and precision.
    Number,
    String,
    Array,
    Object,
}

impl Kind {
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
    /// Wraps text that this crate encoded, without validation. Read other text with
    /// [`Members::read`](crate::Members::read).
    pub const fn from_encoded(encoded: &'a str) -> Self {
        Self(encoded)
    }

    pub const fn encoded(self) -> &'a str {
        self.0
    }

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

    pub fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }

    pub fn as_string(self) -> Option<Cow<'a, str>> {
        (self.kind() == Kind::String).then(|| decode(&self.0[1..self.0.len() - 1]))
    }

    pub fn as_number(self) -> Option<&'a str> {
        (self.kind() == Kind::Number).then_some(self.0)
    }

    /// Returns a decoded string, or the digits of a number.
    pub fn as_written(self) -> Option<Cow<'a, str>> {
        self.as_string().or_else(|| self.as_number().map(Cow::Borrowed))
    }

    /// Returns a member of an object. Does not find names that need escaping.
    pub fn member(self, name: &str) -> Option<Self> {
        self.entries()?.find(|(candidate, _)| *candidate == name).map(|(_, value)| value)
    }

    pub fn elements(self) -> Option<impl Iterator<Item = Self> + Clone> {
        let mut rest = self.0.strip_prefix('[')?;
        Some(iter::from_fn(move || take_value(&mut rest).map(Self)))
    }

    /// Returns names in canonical escaping without quotes, and values, in order.
    pub fn entries(self) -> Option<impl Iterator<Item = (&'a str, Self)> + Clone> {
        let mut rest = self.0.strip_prefix('{')?;
        Some(iter::from_fn(move || {
            let name = take_value(&mut rest)?;
            let value = take_value(&mut rest)?;
            Some((&name[1..name.len() - 1], Self(value)))
        }))
    }
}

/// Takes the next value from `rest`, which may begin with a comma or a colon; `None` at the closing
/// bracket.
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
        at += memchr2(b'"', b'\\', bytes.get(at..)?)?;
        match bytes[at] {
            b'"' => return Some(at + 1),
            _ => at += 2,
        }
    }
}

/// Undoes the canonical escaping, which must be valid JSON.
pub fn decode(escaped: &str) -> Cow<'_, str> {
    if !escaped.contains('\\') {
        return Cow::Borrowed(escaped);
    }
    serde_json::from_str(&format!("\"{escaped}\"")).map_or_else(|_| escaped.into(), Cow::Owned)
}
