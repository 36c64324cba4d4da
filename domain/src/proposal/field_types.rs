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
    /// A text.
    Text,
    /// A text or an integer of any size, kept as given.
    TextOrInteger,
    /// A text or a list of texts.
    TextOrTexts,
}

impl FieldKind {
    /// What to send, in an error message.
    #[must_use]
    pub const fn wanted(self) -> &'static str {
        match self {
            Self::Date => "a day as \"YYYY-MM-DD\"",
            Self::Text => "a text",
            Self::TextOrInteger => "a text or an integer",
            Self::TextOrTexts => "a text or a list of texts",
        }
    }
}

/// A Rust type that holds the values of one [`FieldKind`].
pub(super) trait FieldType: Sized {
    const KIND: FieldKind;

    /// The value, or everything that is wrong with it.
    fn read(value: Value<'_>) -> Result<Self, Vec<FieldFault>>;
}

/// Why a value is not of a field's type.
pub(super) struct FieldFault {
    code: &'static str,
    detail: String,
    element: Option<usize>,
}

impl FieldFault {
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
            format!("{} is not accepted in this list; send texts", element.kind().with_article());
        Self { code: "not_a_text", detail, element: Some(index) }
    }

    pub(super) fn in_member(self, name: &str) -> Violation {
        let member = Pointer::to_member(name);
        let pointer = self.element.map_or(member.clone(), |index| member.index(index));
        Violation::new(pointer, self.code, self.detail)
    }
}

impl FieldType for Date {
    const KIND: FieldKind = FieldKind::Date;

    fn read(value: Value<'_>) -> Result<Self, Vec<FieldFault>> {
        let Some(text) = value.as_text() else {
            return Err(FieldFault::wrong_kind::<Self>("invalid_date", value));
        };
        let has_form = text.len() == 10
            && text.bytes().enumerate().all(|(at, byte)| {
                if at == 4 || at == 7 { byte == b'-' } else { byte.is_ascii_digit() }
            });
        let day = has_form.then(|| text.parse().ok()).flatten();
        day.ok_or_else(|| {
            let fault =
                if has_form { "there is no such day in the calendar" } else { "this is not a day" };
            vec![FieldFault {
                code: "invalid_date",
                detail: format!("{fault}; send {}", Self::KIND.wanted()),
                element: None,
            }]
        })
    }
}

/// A text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Text(String);

impl Text {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FieldType for Text {
    const KIND: FieldKind = FieldKind::Text;

    fn read(value: Value<'_>) -> Result<Self, Vec<FieldFault>> {
        let text =
            value.as_text().ok_or_else(|| FieldFault::wrong_kind::<Self>("not_a_text", value))?;
        Ok(Self(text.into_owned()))
    }
}

/// A text or an integer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum TextOrInteger {
    /// A text.
    Text(String),
    /// An integer of any size, its digits as written.
    Integer(String),
}

impl FieldType for TextOrInteger {
    const KIND: FieldKind = FieldKind::TextOrInteger;

    fn read(value: Value<'_>) -> Result<Self, Vec<FieldFault>> {
        if let Some(text) = value.as_text() {
            return Ok(Self::Text(text.into_owned()));
        }
        match value.as_number() {
            Some(digits) if !digits.contains(['.', 'e', 'E']) => {
                Ok(Self::Integer(digits.to_owned()))
            }
            _ => Err(FieldFault::wrong_kind::<Self>("not_text_or_integer", value)),
        }
    }
}

/// A text or a list of texts, decoded only when asked for: a list may have millions of elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextOrTexts {
    encoded: Box<str>,
}

impl TextOrTexts {
    /// The texts in order; a single text is a list of one.
    pub fn texts(&self) -> impl Iterator<Item = std::borrow::Cow<'_, str>> {
        let value = Value::from_encoded(&self.encoded);
        value
            .as_text()
            .into_iter()
            .chain(value.elements().into_iter().flatten().filter_map(Value::as_text))
    }
}

impl FieldType for TextOrTexts {
    const KIND: FieldKind = FieldKind::TextOrTexts;

    fn read(value: Value<'_>) -> Result<Self, Vec<FieldFault>> {
        let kept = || Self { encoded: value.encoded().into() };
        match value.kind() {
            Kind::Text => Ok(kept()),
            Kind::Array => {
                let elements = value.elements().into_iter().flatten().enumerate();
                let wrong = elements
                    .filter(|(_, element)| element.kind() != Kind::Text)
                    .take(Violations::LIMIT);
                let faults: Vec<_> = wrong
                    .map(|(index, element)| FieldFault::wrong_element(index, element))
                    .collect();
                if faults.is_empty() { Ok(kept()) } else { Err(faults) }
            }
            _ => Err(FieldFault::wrong_kind::<Self>("not_text_or_texts", value)),
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

impl Blank for Text {
    fn is_blank(&self) -> bool {
        self.0.trim().is_empty()
    }
}

impl Blank for TextOrInteger {
    fn is_blank(&self) -> bool {
        matches!(self, Self::Text(text) if text.trim().is_empty())
    }
}

/// A `validator` function: refuses texts of nothing but white space.
pub(super) fn not_blank(value: &impl Blank) -> Result<(), ValidationError> {
    if value.is_blank() { Err(ValidationError::new("blank")) } else { Ok(()) }
}
