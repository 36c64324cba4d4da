//! Other items that an expression reads.

use std::fmt;

use domain::{Collection, ItemId, LookupKey};

use super::{Expression, Meter, Outcome, Scope, Shape};

#[derive(Debug)]
pub struct LookupTarget {
    pub collection: Collection,
    pub by: LookupBy,
    pub value: Expression,
    /// The place of `value` in the text of the target.
    pub offset: usize,
}

#[derive(Debug)]
pub enum LookupBy {
    Id,
    Parent,
    Member(Box<str>),
}

impl LookupBy {
    pub const fn shape(&self) -> Shape {
        match self {
            Self::Id => Shape::One,
            Self::Parent | Self::Member(_) => Shape::Many,
        }
    }
}

impl LookupTarget {
    /// Returns the variables of lookups.
    pub fn variables(lookups: &[(String, Self)]) -> Vec<(String, Shape)> {
        lookups.iter().map(|(name, target)| (name.clone(), target.by.shape())).collect()
    }

    pub fn key(&self, scope: &Scope<'_>, meter: &Meter) -> Outcome<LookupKey> {
        let Some(value) = self.value.key(scope, meter)? else { return Ok(LookupKey::Nothing) };
        let of_id =
            |key: fn(ItemId) -> LookupKey| ItemId::parse(&value).map_or(LookupKey::Nothing, key);
        Ok(match &self.by {
            LookupBy::Id => of_id(LookupKey::Id),
            LookupBy::Parent => of_id(LookupKey::Parent),
            LookupBy::Member(name) => LookupKey::Member { name: name.clone(), value: value.into() },
        })
    }
}

impl fmt::Display for LookupTarget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let collection = self.collection.name();
        match &self.by {
            LookupBy::Id => write!(formatter, "{collection} by id"),
            LookupBy::Parent => write!(formatter, "{collection} by parent"),
            LookupBy::Member(name) => {
                let is_indexed =
                    self.collection.spec().indexed.iter().any(|indexed| indexed.name == &**name);
                // Without an index, the stores scan the collection on every write.
                let how = if is_indexed { "indexed" } else { "scans the whole collection" };
                write!(formatter, "{collection} by `{name}`, {how}")
            }
        }
    }
}
