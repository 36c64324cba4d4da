use std::borrow::Cow;

use jiff::civil::Date;
use serde::Serialize;
use validator::ValidationError;

use crate::json::{Kind, Value};
use crate::{Pointer, Violation, Violations};

/// The kind of values of a field, for the `OpenAPI` schema, filters and messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldKind {
    /// A calendar day, `YYYY-MM-DD` (RFC 3339 `full-date`).
    Date,
    String,
    /// A string or an integer of any size, kept as given.
    StringOrInteger,
    StringOrList,
}

impl FieldKind {
    pub const fn wanted(self) -> &'static str {
        match self {
            Self::Date => "a date as \"YYYY-MM-DD\"",
            Self::String => "a string",
            Self::StringOrInteger => "a string or an integer",
            Self::StringOrList => "a string or a list of strings",
        }
    }
}

pub(super) trait FieldType<'a>: Sized {
    const KIND: FieldKind;

    /// Reads a field, or returns all its errors.
    fn read(value: Value<'a>, name: &str) -> Result<Self, Vec<Violation>>;

    fn wrong_kind<T>(
        code: &'static str,
        value: Value<'_>,
        name: &str,
    ) -> Result<T, Vec<Violation>> {
        let (found, wanted) = (value.kind().with_article(), Self::KIND.wanted());
        let detail = format!("Expected {wanted}, found {found}.");
        Err(vec![Violation::of_member(name, code, detail)])
    }
}

impl FieldType<'_> for Date {
    const KIND: FieldKind = FieldKind::Date;

    fn read(value: Value<'_>, name: &str) -> Result<Self, Vec<Violation>> {
        let Some(text) = value.as_string() else {
            return Self::wrong_kind("invalid_date", value, name);
        };
        let has_form = text.len() == 10
            && text.bytes().enumerate().all(|(at, byte)| {
                if at == 4 || at == 7 { byte == b'-' } else { byte.is_ascii_digit() }
            });
        let day = has_form.then(|| text.parse().ok()).flatten();
        day.ok_or_else(|| {
            let error = if has_form { "This date does not exist." } else { "This is not a date." };
            let detail = format!("{error} Send {}.", Self::KIND.wanted());
            vec![Violation::of_member(name, "invalid_date", detail)]
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StringValue<'a>(Cow<'a, str>);

impl StringValue<'_> {
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

    fn read(value: Value<'a>, name: &str) -> Result<Self, Vec<Violation>> {
        match value.as_string() {
            Some(text) => Ok(Self(text)),
            None => Self::wrong_kind("not_a_string", value, name),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum StringOrInteger<'a> {
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

    fn read(value: Value<'a>, name: &str) -> Result<Self, Vec<Violation>> {
        if let Some(text) = value.as_string() {
            return Ok(Self::String(text));
        }
        match value.as_number() {
            Some(digits) if !digits.contains(['.', 'e', 'E']) => Ok(Self::Integer(digits)),
            _ => Self::wrong_kind("not_string_or_integer", value, name),
        }
    }
}

/// A string or a list of strings. It decodes on demand, because a list may have millions of
/// elements.
#[derive(Clone, Debug)]
pub struct StringOrList<'a>(Value<'a>);

impl<'a> StringOrList<'a> {
    /// Returns the texts in order; a single text is a list of one.
    pub fn texts(&self) -> impl Iterator<Item = Cow<'a, str>> {
        let elements = self.0.elements().into_iter().flatten().filter_map(Value::as_string);
        self.0.as_string().into_iter().chain(elements)
    }
}

impl<'a> FieldType<'a> for StringOrList<'a> {
    const KIND: FieldKind = FieldKind::StringOrList;

    fn read(value: Value<'a>, name: &str) -> Result<Self, Vec<Violation>> {
        match value.kind() {
            Kind::String => Ok(Self(value)),
            Kind::Array => {
                let elements = value.elements().into_iter().flatten().enumerate();
                let wrong = elements.filter(|(_, element)| element.kind() != Kind::String);
                let error = |(index, element): (usize, Value<'_>)| {
                    let found = element.kind().with_article();
                    let detail = format!("Expected a list of strings, found {found} in it.");
                    Violation::new(Pointer::to_member(name).index(index), "not_a_string", detail)
                };
                let errors: Vec<_> = wrong.take(Violations::LIMIT).map(error).collect();
                if errors.is_empty() { Ok(Self(value)) } else { Err(errors) }
            }
            _ => Self::wrong_kind("not_string_or_list", value, name),
        }
    }
}

pub(super) fn not_blank(value: &impl AsRef<str>) -> Result<(), ValidationError> {
    if value.as_ref().trim().is_empty() { Err(ValidationError::new("blank")) } else { Ok(()) }
}
