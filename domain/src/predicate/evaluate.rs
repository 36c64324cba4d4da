//! The judgement of an item in memory.

use std::borrow::Cow;
use std::cmp::Ordering;

use exact_json::{Kind, escape_name};

use super::{
    Comparison, ItemState, Literal, Operand, Predicate, Related, RelatedKey, RelatedValue, Subject,
    Test, ValueKind,
};
use crate::{Found, Item, ItemId, Lookup, LookupKey, Value};

/// The item to judge. A predicate without [`ItemState::Old`] does not use `old`.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'a> {
    pub current: &'a Item,
    pub old: Option<&'a Item>,
}

/// The results of lookups that are known so far.
pub trait Lookups {
    /// Returns the result; `None` if it is not known.
    fn found(&mut self, lookup: Lookup) -> Option<&Found>;
}

/// The value of an operand.
#[derive(Clone, Copy)]
enum Held<'a> {
    Absent,
    Id(Option<ItemId>),
    String(Option<&'a str>),
    Time(jiff::Timestamp),
    Json(Value<'a>),
}

impl<'a> Judged<'a> {
    pub const fn of(current: &'a Item) -> Self {
        Self { current, old: None }
    }

    fn value(&self, operand: &Operand) -> Held<'a> {
        let item = match operand.state {
            ItemState::Present => Some(self.current),
            ItemState::Old => self.old,
        };
        let Some(item) = item else { return Held::Absent };
        match &operand.subject {
            Subject::Id => Held::Id(Some(item.id)),
            Subject::Parent => Held::Id(item.parent),
            Subject::CreatedBy => Held::String(item.created_by.as_deref()),
            Subject::CreatedAt => Held::Time(item.created_at),
            Subject::Member(path) => {
                let whole = Value::from_encoded(&item.members);
                let value = path.iter().try_fold(whole, |value, name| member(value, name));
                value.map_or(Held::Absent, Held::Json)
            }
        }
    }
}

/// Finds a member by its decoded name.
fn member<'a>(value: Value<'a>, name: &str) -> Option<Value<'a>> {
    let encoded = escape_name(name);
    value.entries()?.find(|(own, _)| *own == encoded).map(|(_, value)| value)
}

impl<'a> Held<'a> {
    fn kind(self) -> Option<ValueKind> {
        Some(match self {
            Self::Absent | Self::Time(_) => return None,
            Self::Id(None) | Self::String(None) => ValueKind::Null,
            Self::Id(Some(_)) | Self::String(Some(_)) => ValueKind::String,
            Self::Json(value) => match value.kind() {
                Kind::Null => ValueKind::Null,
                Kind::Boolean => ValueKind::Boolean,
                Kind::Number => ValueKind::Number,
                Kind::String => ValueKind::String,
                Kind::Array => ValueKind::List,
                Kind::Object => ValueKind::Object,
            },
        })
    }

    fn string(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Id(id) => id.map(|id| id.to_string().into()),
            Self::String(string) => string.map(Into::into),
            Self::Json(value) => value.as_string(),
            Self::Absent | Self::Time(_) => None,
        }
    }

    fn number(self) -> Option<f64> {
        if let Self::Json(value) = self { number(value) } else { None }
    }

    /// Returns the order of the value relative to a literal of its kind.
    fn compare(self, literal: &Literal) -> Option<Ordering> {
        match (self, literal) {
            (Self::Time(time), Literal::Time(other)) => Some(time.cmp(other)),
            (_, Literal::Null) => (self.kind() == Some(ValueKind::Null)).then_some(Ordering::Equal),
            (Self::Json(value), Literal::Boolean(boolean)) => {
                let encoded = if *boolean { "true" } else { "false" };
                (value.encoded() == encoded).then_some(Ordering::Equal)
            }
            (_, Literal::Number(number)) => self.number()?.partial_cmp(&number.get()),
            (_, Literal::String(string)) => Some((*self.string()?).cmp(string)),
            _ => None,
        }
    }

    fn passes(self, test: &Test) -> bool {
        match test {
            Test::Exists => !matches!(self, Self::Absent),
            Test::Is(kind) => self.kind() == Some(*kind),
            Test::Compare(comparison, literal) => {
                self.compare(literal).is_some_and(|order| comparison.allows(order))
            }
            Test::StartsWith(beginning) => {
                self.string().is_some_and(|string| string.starts_with(&**beginning))
            }
            Test::Includes(literal) => {
                let Self::Json(value) = self else { return false };
                let is_equal =
                    |element| Self::Json(element).compare(literal) == Some(Ordering::Equal);
                value.elements().is_some_and(|mut elements| elements.any(is_equal))
                    || matches!(literal, Literal::String(name) if member(value, name).is_some())
            }
        }
    }

    fn equals(self, other: Self) -> bool {
        match (self, other) {
            (Self::Absent, _) | (_, Self::Absent) => false,
            (Self::Time(one), Self::Time(other)) => one == other,
            (Self::Json(one), Self::Json(other)) => is_equal(one, other),
            (one, other) => one.kind() == other.kind() && one.string() == other.string(),
        }
    }
}

fn number(value: Value<'_>) -> Option<f64> {
    value.as_number()?.parse().ok()
}

/// Compares JSON: numbers as doubles, objects in any order.
fn is_equal(one: Value<'_>, other: Value<'_>) -> bool {
    match (one.kind(), other.kind()) {
        (Kind::Number, Kind::Number) => number(one) == number(other),
        (Kind::Array, Kind::Array) => {
            let (mut one, mut other) =
                (one.elements().into_iter().flatten(), other.elements().into_iter().flatten());
            one.by_ref().all(|own| other.next().is_some_and(|other| is_equal(own, other)))
                && other.next().is_none()
        }
        (Kind::Object, Kind::Object) => {
            let names = |of: Value<'_>| of.entries().into_iter().flatten().count();
            let mut entries = one.entries().into_iter().flatten();
            names(one) == names(other)
                && entries.all(|(name, own)| {
                    let mut others = other.entries().into_iter().flatten();
                    others.any(|(named, other)| named == name && is_equal(own, other))
                })
        }
        _ => one == other,
    }
}

impl Comparison {
    const fn allows(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::Less => order.is_lt(),
            Self::AtMost => order.is_le(),
        }
    }
}

impl Predicate {
    /// Judges an item; `None` if that needs a lookup whose result is not known or has too many
    /// items.
    pub fn judge(&self, judged: Judged<'_>, lookups: &mut dyn Lookups) -> Option<bool> {
        match self {
            Self::Constant(holds) => Some(*holds),
            Self::All(parts) => decide(parts, false, |part| part.judge(judged, lookups)),
            Self::Any(parts) => decide(parts, true, |part| part.judge(judged, lookups)),
            Self::Not(part) => part.judge(judged, lookups).map(|holds| !holds),
            Self::Test(operand, test) => Some(judged.value(operand).passes(test)),
            Self::Equal(one, other) => Some(judged.value(one).equals(judged.value(other))),
            Self::Related(related) => related.judge(judged, lookups),
        }
    }
}

/// Decides by the first decisive part. Without one, an undecided part leaves the whole undecided.
fn decide<T>(
    parts: impl IntoIterator<Item = T>,
    decisive: bool,
    mut judge: impl FnMut(T) -> Option<bool>,
) -> Option<bool> {
    let mut result = Some(!decisive);
    for part in parts {
        match judge(part) {
            Some(holds) if holds == decisive => return Some(decisive),
            Some(_) => {}
            None => result = None,
        }
    }
    result
}

impl Related {
    fn judge(&self, judged: Judged<'_>, lookups: &mut dyn Lookups) -> Option<bool> {
        let Some(lookup) = self.lookup(judged) else { return Some(false) };
        let Found::Items(items) = lookups.found(lookup)?.clone() else { return None };
        let Some(filter) = &self.latest else {
            return decide(&items, true, |item| self.holds.judge(Judged::of(item), lookups));
        };
        for item in items.iter().rev() {
            if filter.judge(Judged::of(item), lookups)? {
                return self.holds.judge(Judged::of(item), lookups);
            }
        }
        Some(false)
    }

    /// Returns the lookup of the related items; `None` if there are none.
    fn lookup(&self, judged: Judged<'_>) -> Option<Lookup> {
        let value = match &self.value {
            RelatedValue::String(string) => Cow::Borrowed(&**string),
            RelatedValue::Operand(operand) => judged.value(operand).string()?,
        };
        let key = match &self.key {
            RelatedKey::Id => LookupKey::Id(ItemId::parse(&value)?),
            RelatedKey::Parent => LookupKey::Parent(ItemId::parse(&value)?),
            RelatedKey::Member(name) => {
                LookupKey::Member { name: name.clone(), value: value.into() }
            }
        };
        Some(Lookup { collection: self.collection, key, without: judged.current.id })
    }
}

#[cfg(test)]
mod tests;
