//! Conditions on items, as policies set them.
//!
//! A predicate is two-valued: it holds of an item or it does not. An expression that fails on an
//! item is two predicates, one for `true` and one for `false`, and then neither holds. The same
//! predicate selects items in the SQL of both engines and judges one item in memory.

mod evaluate;
mod simplify;

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use jiff::Timestamp;

use crate::Collection;

pub use evaluate::{Judged, Lookups};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Predicate {
    Constant(bool),
    All(Vec<Self>),
    Any(Vec<Self>),
    Not(Box<Self>),
    Test(Operand, Test),
    /// Both values exist and are equal JSON. Judges a write in memory; SQL does not have it.
    Equal(Operand, Operand),
    Related(Box<Related>),
}

/// A value of the item that is judged.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Operand {
    pub state: ItemState,
    pub subject: Subject,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ItemState {
    /// The stored item, or the result of a write.
    Present,
    /// The item before a write.
    Old,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// A string.
    Id,
    /// A string or null.
    Parent,
    /// The id of the principal that created the item: a string, or null if it is unknown.
    CreatedBy,
    CreatedAt,
    /// The value at this path of names. A path leads through objects only.
    Member(Arc<[Box<str>]>),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Test {
    /// The value is present. It may be `null`.
    Exists,
    Is(ValueKind),
    /// The value has the kind of the literal and compares to it: numbers as IEEE 754 doubles,
    /// strings by code point. Other kinds only equal.
    Compare(Comparison, Literal),
    StartsWith(Box<str>),
    /// A list with an element that equals the literal, or an object with this name.
    Includes(Literal),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueKind {
    Null,
    Boolean,
    Number,
    String,
    List,
    Object,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    Equal,
    Less,
    AtMost,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Literal {
    Null,
    Boolean(bool),
    Number(Double),
    String(Box<str>),
    /// Compares with [`Subject::CreatedAt`] alone.
    Time(Timestamp),
}

/// A finite double. Zero has no sign.
#[derive(Clone, Copy, Debug)]
pub struct Double(f64);

/// A condition on other items.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Related {
    pub collection: Collection,
    pub key: RelatedKey,
    pub value: RelatedValue,
    /// Of these items only the newest that meets this condition counts; `None` counts all.
    pub latest: Option<Predicate>,
    /// Holds of an item that counts. Its operands are the related item's.
    pub holds: Predicate,
}

/// The way to other items. The judged item is not among them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RelatedKey {
    Id,
    Parent,
    /// A top-level member whose value is the string, or a number with its digits.
    Member(Box<str>),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RelatedValue {
    String(Box<str>),
    /// A value of the judged item. If it is not a string, no items are related.
    Operand(Operand),
}

impl Operand {
    pub const fn current(subject: Subject) -> Self {
        Self { state: ItemState::Present, subject }
    }

    pub fn member(name: &str) -> Self {
        Self::current(Subject::Member([name.into()].into()))
    }
}

impl Double {
    pub fn new(number: f64) -> Option<Self> {
        // Adding a positive zero makes a negative one positive.
        number.is_finite().then_some(Self(number + 0.0))
    }

    pub const fn get(self) -> f64 {
        self.0
    }
}

impl PartialEq for Double {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Double {}

impl Hash for Double {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

impl Predicate {
    pub const TRUE: Self = Self::Constant(true);
    pub const FALSE: Self = Self::Constant(false);

    pub const fn constant(&self) -> Option<bool> {
        if let Self::Constant(holds) = self { Some(*holds) } else { None }
    }

    pub fn equals(operand: Operand, literal: Literal) -> Self {
        Self::Test(operand, Test::Compare(Comparison::Equal, literal))
    }

    pub fn is(operand: Operand, kind: ValueKind) -> Self {
        Self::Test(operand, Test::Is(kind))
    }

    /// Returns the same condition on the item before a write.
    #[must_use]
    pub fn of_old(&self) -> Self {
        let old =
            |operand: &Operand| Operand { state: ItemState::Old, subject: operand.subject.clone() };
        match self {
            Self::Constant(holds) => Self::Constant(*holds),
            Self::All(parts) => Self::All(parts.iter().map(Self::of_old).collect()),
            Self::Any(parts) => Self::Any(parts.iter().map(Self::of_old).collect()),
            Self::Not(part) => Self::Not(Box::new(part.of_old())),
            Self::Test(operand, test) => Self::Test(old(operand), test.clone()),
            Self::Equal(one, other) => Self::Equal(old(one), old(other)),
            Self::Related(related) => {
                let value = match &related.value {
                    RelatedValue::Operand(operand) => RelatedValue::Operand(old(operand)),
                    constant @ RelatedValue::String(_) => constant.clone(),
                };
                Self::Related(Box::new(Related { value, ..(**related).clone() }))
            }
        }
    }

    /// Returns the collections whose items the predicate reads in addition to the judged one, without
    /// duplicates.
    pub fn reads(&self) -> Vec<Collection> {
        let mut collections = Vec::new();
        self.each_related(&mut |related| {
            if !collections.contains(&related.collection) {
                collections.push(related.collection);
            }
        });
        collections
    }

    pub fn each_related(&self, visit: &mut impl FnMut(&Related)) {
        match self {
            Self::All(parts) | Self::Any(parts) => {
                for part in parts {
                    part.each_related(visit);
                }
            }
            Self::Not(part) => part.each_related(visit),
            Self::Related(related) => {
                visit(related);
                related.latest.iter().for_each(|filter| filter.each_related(visit));
                related.holds.each_related(visit);
            }
            Self::Constant(_) | Self::Test(..) | Self::Equal(..) => {}
        }
    }
}
