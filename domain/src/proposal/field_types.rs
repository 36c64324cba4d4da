//! The kinds of value a proposal field takes.

use std::borrow::Cow;

use jiff::civil::Date;
use serde::Serialize;
use validator::ValidationError;

use crate::json::{Kind, Value};
use crate::{Pointer, Violation, Violations};

/// The kind of values a field takes, for the `OpenAPI` schema, filters and messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldKind {
    /// A calendar day, `YYYY-MM-DD` (RFC 3339 `full-date`).
    Date,
    /// A string.
    String,
    /// A string or an integer of any size, kept as given.
    StringOrInteger,
    /// A string or a list of strings.
    StringOrList,
}

impl FieldKind {
    /// Returns a description of the expected value, for use in an error message.
    pub const fn wanted(self) -> &'static str {
        match self {
            Self::Date => "a day as \"YYYY-MM-DD\"",
            Self::String => "a string",
            Self::StringOrInteger => "a string or an integer",
            Self::StringOrList => "a string or a list of strings",
        }
    }
}

/// A Rust type that holds the values of one [`FieldKind`].
pub(super) trait FieldType<'a>: Sized {
    const KIND: FieldKind;

    /// The value of the field `at` a pointer, or everything that is wrong with it.
    fn read(value: Value<'a>, at: &Pointer) -> Result<Self, Vec<Violation>>;

    fn wrong_kind<T>(
        code: &'static str,
        value: Value<'_>,
        at: &Pointer,
    ) -> Result<T, Vec<Violation>> {
        let (found, wanted) = (value.kind().with_article(), Self::KIND.wanted());
        let detail = format!("{found} is not accepted here; send {wanted}");
        Err(vec![Violation::new(at.clone(), code, detail)])
    }
}

impl FieldType<'_> for Date {
    const KIND: FieldKind = FieldKind::Date;

    fn read(value: Value<'_>, at: &Pointer) -> Result<Self, Vec<Violation>> {
        let Some(text) = value.as_string() else {
            return Self::wrong_kind("invalid_date", value, at);
        };
        let has_form = text.len() == 10
            && text.bytes().enumerate().all(|(at, byte)| {
                if at == 4 || at == 7 { byte == b'-' } else { byte.is_ascii_digit() }
            });
        let day = has_form.then(|| text.parse().ok()).flatten();
        day.ok_or_else(|| {
            let error =
                if has_form { "there is no such day in the calendar" } else { "this is not a day" };
            let detail = format!("{error}; send {}", Self::KIND.wanted());
            vec![Violation::new(at.clone(), "invalid_date", detail)]
        })
    }
}

/// A string.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StringValue<'a>(Cow<'a, str>);

impl StringValue<'_> {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for StringValue<'_> {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl<'a> FieldType<'a> for StringValue<'a> {
    const KIND: FieldKind = FieldKind::String;

    fn read(value: Value<'a>, at: &Pointer) -> Result<Self, Vec<Violation>> {
        match value.as_string() {
            Some(text) => Ok(Self(text)),
            None => Self::wrong_kind("not_a_string", value, at),
        }
    }
}

/// A string or an integer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum StringOrInteger<'a> {
    /// A string.
    String(Cow<'a, str>),
    /// An integer of any size, its digits as written.
    Integer(&'a str),
}

impl AsRef<str> for StringOrInteger<'_> {
    fn as_ref(&self) -> &str {
        match self {
            Self::String(text) => text,
            Self::Integer(digits) => digits,
        }
    }
}

impl<'a> FieldType<'a> for StringOrInteger<'a> {
    const KIND: FieldKind = FieldKind::StringOrInteger;

    fn read(value: Value<'a>, at: &Pointer) -> Result<Self, Vec<Violation>> {
        if let Some(text) = value.as_string() {
            return Ok(Self::String(text));
        }
        match value.as_number() {
            Some(digits) if !digits.contains(['.', 'e', 'E']) => Ok(Self::Integer(digits)),
            _ => Self::wrong_kind("not_string_or_integer", value, at),
        }
    }
}

/// A string or a list of strings, decoded only when asked for: a list may have millions of elements.
#[derive(Clone, Debug)]
pub struct StringOrList<'a>(Value<'a>);

impl<'a> StringOrList<'a> {
    /// The texts in order; a single text is a list of one.
    pub fn texts(&self) -> impl Iterator<Item = Cow<'a, str>> {
        let elements = self.0.elements().into_iter().flatten().filter_map(Value::as_string);
        self.0.as_string().into_iter().chain(elements)
    }
}

impl<'a> FieldType<'a> for StringOrList<'a> {
    const KIND: FieldKind = FieldKind::StringOrList;

    fn read(value: Value<'a>, at: &Pointer) -> Result<Self, Vec<Violation>> {
        match value.kind() {
            Kind::String => Ok(Self(value)),
            Kind::Array => {
                let elements = value.elements().into_iter().flatten().enumerate();
                let wrong = elements.filter(|(_, element)| element.kind() != Kind::String);
                let error = |(index, element): (usize, Value<'_>)| {
                    let found = element.kind().with_article();
                    let detail = format!("{found} is not accepted in this list; send strings");
                    Violation::new(at.index(index), "not_a_string", detail)
                };
                let errors: Vec<_> = wrong.take(Violations::LIMIT).map(error).collect();
                if errors.is_empty() { Ok(Self(value)) } else { Err(errors) }
            }
            _ => Self::wrong_kind("not_string_or_list", value, at),
        }
    }
}

/// A `validator` function: refuses strings of nothing but white space.
pub(super) fn not_blank(value: &impl AsRef<str>) -> Result<(), ValidationError> {
    if value.as_ref().trim().is_empty() { Err(ValidationError::new("blank")) } else { Ok(()) }
}
