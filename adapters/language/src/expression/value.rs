//! Values of expressions.
//!
//! A value of an item stays a view of its JSON until it is used, so a rule pays only for the parts
//! it reads. New values are counted ([`Meter::hold`]).

use std::cmp::Ordering;
use std::sync::Arc;

use domain::{Item, ItemId, Members, Value, json};
use jiff::SignedDuration;
use rust_decimal::Decimal;

use super::dates::{self, Time};
use super::kinds::ValueKind;
use super::meter::{CONVERSION, Meter, NODE, STEP};
use super::numbers::{self, Number};
use super::{EvaluationError, Meta, Outcome};

#[derive(Clone, Debug)]
pub(super) enum Val<'a> {
    Null,
    Boolean(bool),
    Integer(i64),
    Double(f64),
    Decimal(Decimal),
    String(StringVal<'a>),
    List(List<'a>),
    Map(Map<'a>),
    Timestamp(Time),
    Duration(SignedDuration),
    Type(ValueKind),
}

#[derive(Clone, Debug)]
pub(super) enum StringVal<'a> {
    Borrowed(&'a str),
    Made(Arc<str>),
}

#[derive(Clone, Debug)]
pub(super) enum List<'a> {
    Json(Value<'a>),
    /// Items, and whether they have `meta`.
    Items(&'a [Item], bool),
    Made(Arc<[Val<'a>]>),
}

#[derive(Clone, Debug)]
pub(super) enum Map<'a> {
    Json(Value<'a>),
    Written(ItemId, &'a Members),
    /// An item, and whether it has `meta`.
    Found(&'a Item, bool),
    Made(Arc<[(Val<'a>, Val<'a>)]>),
}

/// Charge per element of a list, since lists grow by doubling.
pub(super) const ELEMENT: usize = 2 * size_of::<Val<'static>>();

impl<'a> Val<'a> {
    pub(super) const fn kind(&self) -> ValueKind {
        match self {
            Self::Null => ValueKind::Null,
            Self::Boolean(_) => ValueKind::Boolean,
            Self::Integer(_) => ValueKind::Integer,
            Self::Double(_) => ValueKind::Double,
            Self::Decimal(_) => ValueKind::Decimal,
            Self::String(_) => ValueKind::String,
            Self::List(_) => ValueKind::List,
            Self::Map(_) => ValueKind::Map,
            Self::Timestamp(_) => ValueKind::Timestamp,
            Self::Duration(_) => ValueKind::Duration,
            Self::Type(_) => ValueKind::Type,
        }
    }

    pub(super) fn borrowed(&'a self) -> Self {
        match self {
            Self::String(string) => Self::String(StringVal::Borrowed(string.as_str())),
            other => other.clone(),
        }
    }

    pub(super) fn made_string(meter: &Meter, text: &str) -> Outcome<Self> {
        meter.hold(text.len() + NODE)?;
        Ok(Self::String(StringVal::Made(text.into())))
    }

    pub(super) fn made_list(elements: Vec<Self>) -> Self {
        Self::List(List::Made(elements.into()))
    }

    pub(super) fn of_json(meter: &Meter, value: Value<'a>) -> Outcome<Self> {
        Ok(match value.kind() {
            json::Kind::Null => Self::Null,
            json::Kind::Boolean => Self::Boolean(value.encoded() == "true"),
            json::Kind::Number => numbers::of_json(meter, value.encoded())?.into(),
            json::Kind::String => Self::String(StringVal::of_json(meter, value.encoded())?),
            json::Kind::Array => Self::List(List::Json(value)),
            json::Kind::Object => Self::Map(Map::Json(value)),
        })
    }

    pub(super) fn of_id(meter: &Meter, id: ItemId) -> Outcome<Self> {
        meter.charge(CONVERSION)?;
        Self::made_string(meter, id.uuid().hyphenated().encode_lower(&mut [0; 36]))
    }

    pub(super) fn as_string(&self) -> Outcome<&str> {
        if let Self::String(text) = self { Ok(text.as_str()) } else { Err(self.is_not("a string")) }
    }

    pub(super) fn as_integer(&self) -> Outcome<i64> {
        let Self::Integer(integer) = self else { return Err(self.is_not("an integer")) };
        Ok(*integer)
    }

    pub(super) const fn as_number(&self) -> Option<Number> {
        match self {
            Self::Integer(integer) => Some(Number::Integer(*integer)),
            Self::Double(double) => Some(Number::Double(*double)),
            Self::Decimal(decimal) => Some(Number::Decimal(*decimal)),
            _ => None,
        }
    }

    pub(super) fn as_list(&self) -> Outcome<&List<'a>> {
        if let Self::List(list) = self { Ok(list) } else { Err(self.is_not("a list")) }
    }

    pub(super) fn is_not(&self, wanted: &str) -> EvaluationError {
        failed!("{wanted} is needed here, not {}", self.kind().with_article())
    }

    /// Implements CEL's equality: numbers compare by value, and different kinds are not equal.
    pub(super) fn equals(&self, other: &Self, meter: &Meter) -> Outcome<bool> {
        meter.charge(NODE)?;
        match (self, other) {
            (Self::List(left), Self::List(right)) => left.equals(right, meter),
            (Self::Map(left), Self::Map(right)) => left.equals(right, meter),
            (Self::Null, Self::Null) => Ok(true),
            (Self::Type(left), Self::Type(right)) => Ok(left == right),
            _ => Ok(self.compare(other, meter)?.is_some_and(Ordering::is_eq)),
        }
    }

    /// Compares two values; `None` if they have no order. The caller charges the node.
    pub(super) fn compare(&self, other: &Self, meter: &Meter) -> Outcome<Option<Ordering>> {
        Ok(match (self, other) {
            (Self::String(left), Self::String(right)) => {
                let (left, right) = (left.as_str(), right.as_str());
                meter.scan(left.len().min(right.len()))?;
                Some(left.cmp(right))
            }
            (Self::Boolean(left), Self::Boolean(right)) => Some(left.cmp(right)),
            (Self::Timestamp(left), Self::Timestamp(right)) => Some(left.cmp(right)),
            (Self::Duration(left), Self::Duration(right)) => Some(left.cmp(right)),
            _ => match (self.as_number(), other.as_number()) {
                (Some(left), Some(right)) => numbers::compare(left, right, meter)?,
                _ => None,
            },
        })
    }
}

impl From<Number> for Val<'_> {
    fn from(number: Number) -> Self {
        match number {
            Number::Integer(integer) => Self::Integer(integer),
            Number::Double(double) => Self::Double(double),
            Number::Decimal(decimal) => Self::Decimal(decimal),
        }
    }
}

impl<'a> StringVal<'a> {
    fn of_json(meter: &Meter, encoded: &'a str) -> Outcome<Self> {
        meter.scan(encoded.len())?;
        let inner = &encoded[1..encoded.len() - 1];
        if !inner.contains('\\') {
            return Ok(Self::Borrowed(inner));
        }
        // Once for the string and once for the shared copy. Each escape is decoded separately.
        meter.hold(2 * encoded.len())?;
        meter.charge(NODE * inner.bytes().filter(|byte| *byte == b'\\').count())?;
        Ok(Self::Made(Value::from_encoded(encoded).as_string().unwrap_or_default().into()))
    }

    fn of_name(meter: &Meter, name: &'a str) -> Outcome<Self> {
        meter.scan(name.len())?;
        if !name.contains('\\') {
            return Ok(Self::Borrowed(name));
        }
        meter.hold(4 * name.len())?;
        Ok(Self::Made(json::decode(name).into()))
    }

    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Made(text) => text,
        }
    }
}

impl<'a> List<'a> {
    pub(super) fn len(&self, meter: &Meter) -> Outcome<usize> {
        match self {
            Self::Json(value) => {
                meter.charge(2 * value.encoded().len())?;
                Ok(value.elements().into_iter().flatten().count())
            }
            Self::Items(items, _) => Ok(items.len()),
            Self::Made(elements) => Ok(elements.len()),
        }
    }

    pub(super) fn iter<'m>(
        &self,
        meter: &'m Meter,
    ) -> impl Iterator<Item = Outcome<Val<'a>>> + use<'a, 'm> {
        let list = self.clone();
        let mut json = if let Self::Json(value) = self { value.elements() } else { None };
        let mut at = 0;
        std::iter::from_fn(move || {
            let element = match &list {
                Self::Json(_) => json.as_mut()?.next().map(|value| {
                    meter.charge(value.encoded().len())?;
                    Val::of_json(meter, value)
                }),
                Self::Items(items, has_meta) => {
                    items.get(at).map(|item| Ok(Val::Map(Map::Found(item, *has_meta))))
                }
                Self::Made(elements) => elements.get(at).cloned().map(Ok),
            };
            at += 1;
            element.map(|element| meter.charge(STEP).and(element))
        })
    }

    pub(super) fn get(&self, at: i64, meter: &Meter) -> Outcome<Option<Val<'a>>> {
        let Ok(at) = usize::try_from(at) else { return Ok(None) };
        match self {
            Self::Json(value) => {
                meter.charge(2 * value.encoded().len())?;
                value
                    .elements()
                    .and_then(|mut elements| elements.nth(at))
                    .map(|value| Val::of_json(meter, value))
                    .transpose()
            }
            Self::Items(items, has_meta) => {
                Ok(items.get(at).map(|item| Val::Map(Map::Found(item, *has_meta))))
            }
            Self::Made(elements) => Ok(elements.get(at).cloned()),
        }
    }

    pub(super) fn contains(&self, wanted: &Val<'a>, meter: &Meter) -> Outcome<bool> {
        for element in self.iter(meter) {
            if element?.equals(wanted, meter)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn equals(&self, other: &Self, meter: &Meter) -> Outcome<bool> {
        if let (Self::Json(left), Self::Json(right)) = (self, other)
            && same_text(*left, *right, meter)?
        {
            return Ok(true);
        }
        let (mut left, mut right) = (self.iter(meter), other.iter(meter));
        loop {
            match (left.next().transpose()?, right.next().transpose()?) {
                (None, None) => return Ok(true),
                (Some(left), Some(right)) if left.equals(&right, meter)? => {}
                _ => return Ok(false),
            }
        }
    }
}

/// Compares JSON byte by byte, a fast path. Different texts may still be equal values.
fn same_text(left: Value<'_>, right: Value<'_>, meter: &Meter) -> Outcome<bool> {
    meter.scan(left.encoded().len().min(right.encoded().len()))?;
    Ok(left == right)
}

impl<'a> Meta<'a> {
    pub(super) fn value(self, meter: &Meter) -> Outcome<Val<'a>> {
        meter.hold(4 * ELEMENT)?;
        let string = |string| Val::String(StringVal::Borrowed(string));
        let created_by = self.created_by.map_or(Val::Null, string);
        let created_at = Val::Timestamp(dates::of_timestamp(self.created_at));
        let [by, at] = Self::MEMBERS.map(string);
        Ok(Val::Map(Map::Made([(by, created_by), (at, created_at)].into())))
    }
}

impl<'a> Map<'a> {
    /// Returns the ids of an item. They hide members of the same name.
    fn ids(&self) -> impl Iterator<Item = (&'static str, Option<ItemId>)> + use<> {
        let (id, parent) = match self {
            Self::Written(id, _) => (Some(*id), None),
            Self::Found(item, _) => (Some(item.id), Some(item.parent)),
            Self::Json(_) | Self::Made(_) => (None, None),
        };
        let id = id.map(|id| ("id", Some(id)));
        id.into_iter().chain(parent.map(|parent| ("parent", parent)))
    }

    /// Returns `meta` of an item. It hides a member of the same name.
    fn meta(&self, name: &str) -> Option<Meta<'a>> {
        if let Self::Found(item, true) = self
            && name == "meta"
        {
            Some(Meta::of(item))
        } else {
            None
        }
    }

    fn json(&self) -> Option<Value<'a>> {
        match self {
            Self::Json(value) => Some(*value),
            Self::Written(_, members) => Some(Value::from_encoded(members.encoded())),
            Self::Found(item, _) => Some(Value::from_encoded(&item.members)),
            Self::Made(_) => None,
        }
    }

    fn json_member(&self, encoded_name: &str, meter: &Meter) -> Outcome<Option<Value<'a>>> {
        if let Self::Written(_, members) = self {
            meter.charge(2 * members.len())?;
            return Ok(members.get_encoded(encoded_name));
        }
        for (name, value) in self.json().and_then(Value::entries).into_iter().flatten() {
            meter.charge(STEP + name.len() + value.encoded().len())?;
            if name == encoded_name {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    pub(super) fn has(&self, name: &str, encoded_name: &str, meter: &Meter) -> Outcome<bool> {
        if let Self::Made(_) = self {
            return Ok(self.get(name, encoded_name, meter)?.is_some());
        }
        let is_meta = self.meta(name).is_some();
        Ok(is_meta
            || self.ids().any(|(id, _)| id == name)
            || self.json_member(encoded_name, meter)?.is_some())
    }

    pub(super) fn get(
        &self,
        name: &str,
        encoded_name: &str,
        meter: &Meter,
    ) -> Outcome<Option<Val<'a>>> {
        if let Self::Made(entries) = self {
            for (key, value) in &**entries {
                meter.charge(NODE)?;
                if matches!(key, Val::String(key) if key.as_str() == name) {
                    return Ok(Some(value.clone()));
                }
            }
            return Ok(None);
        }
        if let Some(meta) = self.meta(name) {
            return meta.value(meter).map(Some);
        }
        if let Some((_, id)) = self.ids().find(|(id, _)| *id == name) {
            return id.map_or(Ok(Val::Null), |id| Val::of_id(meter, id)).map(Some);
        }
        self.json_member(encoded_name, meter)?.map(|value| Val::of_json(meter, value)).transpose()
    }

    pub(super) fn get_key(&self, key: &Val<'a>, meter: &Meter) -> Outcome<Option<Val<'a>>> {
        if let Self::Made(entries) = self {
            for (candidate, value) in &**entries {
                if candidate.equals(key, meter)? {
                    return Ok(Some(value.clone()));
                }
            }
            return Ok(None);
        }
        let Val::String(name) = key else { return Ok(None) };
        meter.hold(2 * name.as_str().len() + NODE)?;
        self.get(name.as_str(), &domain::json::escape_name(name.as_str()), meter)
    }

    pub(super) fn len(&self, meter: &Meter) -> Outcome<usize> {
        if let Self::Made(entries) = self {
            return Ok(entries.len());
        }
        self.keys(meter).try_fold(0, |count, key| key.map(|_| count + 1))
    }

    pub(super) fn keys<'m>(
        &self,
        meter: &'m Meter,
    ) -> impl Iterator<Item = Outcome<Val<'a>>> + use<'a, 'm> {
        let (map, ids) = (self.clone(), self.ids());
        let names = self.json().and_then(Value::entries).into_iter().flatten();
        let names = names.filter(move |(name, _)| map.ids().all(|(id, _)| id != *name));
        let made = if let Self::Made(entries) = self { entries.clone() } else { Arc::default() };
        let made = (0..made.len()).map(move |index| Ok(made[index].0.clone()));
        let ids = ids.map(|(id, _)| Ok(Val::String(StringVal::Borrowed(id))));
        let names = names.map(|(name, value)| {
            meter.charge(name.len() + value.encoded().len())?;
            StringVal::of_name(meter, name).map(Val::String)
        });
        ids.chain(names).chain(made).map(|key| meter.charge(STEP).and(key))
    }

    fn equals(&self, other: &Self, meter: &Meter) -> Outcome<bool> {
        if let (Some(left), Some(right)) = (self.json(), other.json())
            && self.ids().eq(other.ids())
            && same_text(left, right, meter)?
        {
            return Ok(true);
        }
        if self.len(meter)? != other.len(meter)? {
            return Ok(false);
        }
        for key in self.keys(meter) {
            let key = key?;
            match (self.get_key(&key, meter)?, other.get_key(&key, meter)?) {
                (Some(left), Some(right)) if left.equals(&right, meter)? => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }
}
