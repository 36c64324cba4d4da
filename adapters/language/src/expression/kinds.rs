//! Kinds of values, and sets of them: static types.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    Null,
    Boolean,
    Integer,
    Double,
    Decimal,
    String,
    List,
    Map,
    Timestamp,
    Duration,
    Type,
}

const KINDS: [(ValueKind, &str, &str); 11] = [
    (ValueKind::Null, "null", "null_type"),
    (ValueKind::Boolean, "a boolean", "bool"),
    (ValueKind::Integer, "an integer", "int"),
    (ValueKind::Double, "a double", "double"),
    (ValueKind::Decimal, "a decimal", "decimal"),
    (ValueKind::String, "a string", "string"),
    (ValueKind::List, "a list", "list"),
    (ValueKind::Map, "a map", "map"),
    (ValueKind::Timestamp, "a timestamp", "google.protobuf.Timestamp"),
    (ValueKind::Duration, "a duration", "google.protobuf.Duration"),
    (ValueKind::Type, "a type", "type"),
];

impl ValueKind {
    pub(super) const fn with_article(self) -> &'static str {
        KINDS[self as usize].1
    }

    /// Returns CEL's name of the type, which is also a value: `type(self.title) == string`.
    pub(super) const fn type_name(self) -> &'static str {
        KINDS[self as usize].2
    }

    pub(super) fn of_type(name: &str) -> Option<Self> {
        KINDS.iter().map(|(kind, ..)| *kind).find(|kind| kind.type_name() == name)
    }

    pub(super) const fn is_number(self) -> bool {
        matches!(self, Self::Integer | Self::Double | Self::Decimal)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds(u16);

pub(super) const NONE: Kinds = Kinds(0);
pub const ANY: Kinds = Kinds(u16::MAX);
pub const NULL: Kinds = Kinds::of(ValueKind::Null);
pub const BOOLEAN: Kinds = Kinds::of(ValueKind::Boolean);
pub(super) const INTEGER: Kinds = Kinds::of(ValueKind::Integer);
pub(super) const DOUBLE: Kinds = Kinds::of(ValueKind::Double);
pub(super) const DECIMAL: Kinds = Kinds::of(ValueKind::Decimal);
pub const STRING: Kinds = Kinds::of(ValueKind::String);
pub const LIST: Kinds = Kinds::of(ValueKind::List);
pub(super) const MAP: Kinds = Kinds::of(ValueKind::Map);
pub(super) const TIMESTAMP: Kinds = Kinds::of(ValueKind::Timestamp);
pub(super) const DURATION: Kinds = Kinds::of(ValueKind::Duration);
pub(super) const TYPE: Kinds = Kinds::of(ValueKind::Type);
pub(super) const NUMBER: Kinds = INTEGER.or(DOUBLE).or(DECIMAL);
pub(super) const JSON: Kinds = NULL.or(BOOLEAN).or(NUMBER).or(STRING).or(LIST).or(MAP);

impl Kinds {
    pub(super) const fn of(kind: ValueKind) -> Self {
        Self(1 << kind as u16)
    }

    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(super) const fn is_none(self) -> bool {
        self.0 == 0
    }

    pub(super) const fn has(self, kind: ValueKind) -> bool {
        self.0 & Self::of(kind).0 != 0
    }

    pub(super) fn iter(self) -> impl Iterator<Item = ValueKind> {
        KINDS.iter().map(|(kind, ..)| *kind).filter(move |kind| self.has(*kind))
    }

    /// Returns whether values of two sets may be equal. Numbers of all kinds compare with each
    /// other.
    pub(super) const fn may_equal(self, other: Self) -> bool {
        let are_numbers = !self.and(NUMBER).is_none() && !other.and(NUMBER).is_none();
        are_numbers || !self.and(other).is_none()
    }
}

impl fmt::Display for Kinds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == ANY {
            return formatter.write_str("anything");
        }
        if self.and(NUMBER) == NUMBER {
            let others = Self(self.0 & !NUMBER.0);
            return if others.is_none() {
                formatter.write_str("a number")
            } else {
                write!(formatter, "{others} or a number")
            };
        }
        for (index, kind) in self.iter().enumerate() {
            let joint = if index == 0 { "" } else { " or " };
            write!(formatter, "{joint}{}", kind.with_article())?;
        }
        Ok(())
    }
}
