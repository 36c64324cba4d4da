//! The kinds of value a proposal field takes.

use jiff::civil::Date;
use serde::Serialize;
use validator::ValidationError;

use crate::json::{Kind, Value};
use crate::{Pointer, Violation, Violations};

/// Which values a field takes; what the `OpenAPI` schema, filters and messages need to know of its
/// type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldKind {
    /// A calendar day, `YYYY-MM-DD` (RFC 3339 `full-date`).
    Date,
    /// A string.
    String,
    /// A string or an integer of any size, kept as given.
    StringOrInteger,
    /// A string or a list of texts.
    StringOrList,
}

impl FieldKind {
    /// Returns a description of the expected value, for use in an error message.
    #[must_use]
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
pub(super) trait FieldType: Sized {
    const KIND: FieldKind;

    /// The value, or everything that is wrong with it.
    fn read(value: Value<'_>) -> Result<Self, Vec<FieldError>>;
}

/// Why a value is not of a field's type.
pub(super) struct FieldError {
    code: &'static str,
    detail: String,
    element: Option<usize>,
}

impl FieldError {
    fn wrong_kind<T: FieldType>(code: &'static str, value: Value<'_>) -> Vec<Self> {
        let detail = format!(
            "{} is not accepted here; send {}",
            value.kind().with_article(),
            T::KIND.wanted()
        );
        vec![Self { code, detail, element: None }]
    }

    fn wrong_element(index: usize, element: Value<'_>) -> Self {
        let detail =
            format!("{} is not accepted in this list; send strings", element.kind().with_article());
        Self { code: "not_a_string", detail, element: Some(index) }
    }

    pub(super) fn in_member(self, name: &str) -> Violation {
        let member = Pointer::to_member(name);
        let pointer = self.element.map_or(member.clone(), |index| member.index(index));
        Violation::new(pointer, self.code, self.detail)
    }
}

impl FieldType for Date {
    const KIND: FieldKind = FieldKind::Date;

    fn read(value: Value<'_>) -> Result<Self, Vec<FieldError>> {
        let Some(text) = value.as_string() else {
            return Err(FieldError::wrong_kind::<Self>("invalid_date", value));
        };
        let has_form = text.len() == 10
            && text.bytes().enumerate().all(|(at, byte)| {
                if at == 4 || at == 7 { byte == b'-' } else { byte.is_ascii_digit() }
            });
        let day = has_form.then(|| text.parse().ok()).flatten();
        day.ok_or_else(|| {
            let error =
                if has_form { "there is no such day in the calendar" } else { "this is not a day" };
            vec![FieldError {
                code: "invalid_date",
                detail: format!("{error}; send {}", Self::KIND.wanted()),
                element: None,
            }]
        })
    }
}

/// A string.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StringValue(String);

impl StringValue {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FieldType for StringValue {
    const KIND: FieldKind = FieldKind::String;

    fn read(value: Value<'_>) -> Result<Self, Vec<FieldError>> {
        let text = value
            .as_string()
            .ok_or_else(|| FieldError::wrong_kind::<Self>("not_a_string", value))?;
        Ok(Self(text.into_owned()))
    }
}

/// A string or an integer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum StringOrInteger {
    /// A string.
    String(String),
    /// An integer of any size, its digits as written.
    Integer(String),
}

impl FieldType for StringOrInteger {
    const KIND: FieldKind = FieldKind::StringOrInteger;

    fn read(value: Value<'_>) -> Result<Self, Vec<FieldError>> {
        if let Some(text) = value.as_string() {
            return Ok(Self::String(text.into_owned()));
        }
        match value.as_number() {
            Some(digits) if !digits.contains(['.', 'e', 'E']) => {
                Ok(Self::Integer(digits.to_owned()))
            }
            _ => Err(FieldError::wrong_kind::<Self>("not_string_or_integer", value)),
        }
    }
}

/// A string or a list of texts, decoded only when asked for: a list may have millions of elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StringOrList {
    encoded: Box<str>,
}

impl StringOrList {
    /// The texts in order; a single text is a list of one.
    pub fn texts(&self) -> impl Iterator<Item = std::borrow::Cow<'_, str>> {
        let value = Value::from_encoded(&self.encoded);
        value
            .as_string()
            .into_iter()
            .chain(value.elements().into_iter().flatten().filter_map(Value::as_string))
    }
}

impl FieldType for StringOrList {
    const KIND: FieldKind = FieldKind::StringOrList;

    fn read(value: Value<'_>) -> Result<Self, Vec<FieldError>> {
        let kept = || Self { encoded: value.encoded().into() };
        match value.kind() {
            Kind::String => Ok(kept()),
            Kind::Array => {
                let elements = value.elements().into_iter().flatten().enumerate();
                let wrong = elements
                    .filter(|(_, element)| element.kind() != Kind::String)
                    .take(Violations::LIMIT);
                let errors: Vec<_> = wrong
                    .map(|(index, element)| FieldError::wrong_element(index, element))
                    .collect();
                if errors.is_empty() { Ok(kept()) } else { Err(errors) }
            }
            _ => Err(FieldError::wrong_kind::<Self>("not_string_or_list", value)),
        }
    }
}

/// A value that may be blank.
pub(super) trait Blank {
    fn is_blank(&self) -> bool;
}

impl<B: Blank> Blank for &B {
    fn is_blank(&self) -> bool {
        (*self).is_blank()
    }
}

impl Blank for StringValue {
    fn is_blank(&self) -> bool {
        self.0.trim().is_empty()
    }
}

impl Blank for StringOrInteger {
    fn is_blank(&self) -> bool {
        matches!(self, Self::String(text) if text.trim().is_empty())
    }
}

/// A `validator` function: refuses texts of nothing but white space.
pub(super) fn not_blank(value: &impl Blank) -> Result<(), ValidationError> {
    if value.is_blank() { Err(ValidationError::new("blank")) } else { Ok(()) }
}
