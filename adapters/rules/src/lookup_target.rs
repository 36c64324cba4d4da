//! The target of a rule's lookup: `COLLECTION[ID]`, `COLLECTION[MEMBER = VALUE]` or
//! `COLLECTION[parent = ID]`.

use std::fmt;

use domain::proposal::FIELDS;
use domain::{Collection, ItemId, LookupKey};

use crate::error::FileErrors;
use crate::expression::{EvaluationError, Expression, Meter, ResultKind, Scope, Shape};
use crate::keys::{did_you_mean, known_words};
use crate::notes::Notes;
use crate::yaml::Scalar;

/// The member that stands for the item one belongs to.
const PARENT: &str = "parent";

/// Where a rule looks, by what, and for which value.
#[derive(Debug)]
pub(crate) struct LookupTarget {
    pub collection: Collection,
    pub by: LookupBy,
    pub value: Expression,
}

/// By what a lookup finds items.
#[derive(Debug)]
pub(crate) enum LookupBy {
    /// By its id: one item or none.
    Id,
    /// All items that belong to one.
    Parent,
    /// All items with a value of a member.
    Member {
        name: Box<str>,
        /// True when the stores have an index on the member. Without an index, they scan the whole
        /// collection on every write.
        is_indexed: bool,
    },
}

impl LookupBy {
    pub const fn shape(&self) -> Shape {
        match self {
            Self::Id => Shape::One,
            Self::Parent | Self::Member { .. } => Shape::Many,
        }
    }
}

impl fmt::Display for LookupBy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id => formatter.write_str("by id"),
            Self::Parent => formatter.write_str("by parent"),
            Self::Member { name, is_indexed: true } => write!(formatter, "by `{name}`, indexed"),
            Self::Member { name, is_indexed: false } => {
                write!(formatter, "by `{name}`, which looks through the whole collection")
            }
        }
    }
}

/// The parts of a lookup, before its expression is compiled.
pub(crate) struct ParsedLookup<'a> {
    /// `None` where there is no such collection.
    collection: Option<Collection>,
    pub by: LookupBy,
    value: &'a str,
    /// Where the value begins: bytes into the scalar.
    offset: usize,
    scalar: &'a Scalar,
}

impl<'a> ParsedLookup<'a> {
    /// Takes a lookup apart.
    pub fn read(scalar: &'a Scalar, errors: &mut FileErrors<'_>) -> Option<Self> {
        let text = scalar.text.as_str();
        let end = text.trim_end().strip_suffix(']');
        let Some((name, inside)) = end.and_then(|text| text.split_once('[')) else {
            let reason = format!(
                "`{text}` is not a lookup; write `COLLECTION[ID]`, `COLLECTION[MEMBER = VALUE]` or `COLLECTION[parent = ID]`"
            );
            errors.add(scalar.place, reason);
            return None;
        };
        let collection = Collection::named(name.trim());
        if collection.is_none() {
            let (name, words) = (name.trim(), known_words(name.trim(), &Collection::names()));
            errors.add(scalar.place, format!("there is no collection `{name}`; {words}"));
        }
        let (member, value) = split_member(inside);
        let is_indexed = |name| collection.is_some_and(|of| of.spec().indexed.contains(&name));
        let by = match member {
            None => LookupBy::Id,
            Some(PARENT) => LookupBy::Parent,
            Some(name) => LookupBy::Member { name: name.into(), is_indexed: is_indexed(name) },
        };
        if let Some(reason) = collection.and_then(|collection| impossible(collection, &by)) {
            errors.add(scalar.place_of(name.len() + 1), reason);
        }
        let offset = name.len() + 1 + inside.len() - value.len();
        Some(Self { collection, by, value, offset, scalar })
    }

    /// Compiles the value to look for. Other lookups are no variables there.
    pub fn compile(self, notes: &mut Notes, errors: &mut FileErrors<'_>) -> Option<LookupTarget> {
        let Self { collection, by, value, offset, scalar } = self;
        let value = Expression::compile(value, ResultKind::Key, &[])
            .map_err(|error| (scalar.place_of(offset + error.offset), error.reason));
        let value = errors.take(value)?;
        notes.add(&value, scalar, offset);
        Some(LookupTarget { collection: collection?, by, value })
    }
}

/// The member before a `=`, without the quotes it may have, and what follows; all of it when there
/// is no member.
fn split_member(inside: &str) -> (Option<&str>, &str) {
    let whole = (None, inside);
    let start = inside.trim_start();
    let (name, rest) = match start.chars().next() {
        Some(quote @ ('"' | '\'')) => match start[1..].split_once(quote) {
            Some(parts) => parts,
            None => return whole,
        },
        _ => start.split_at(
            start
                .find(|character: char| !character.is_alphanumeric() && character != '_')
                .unwrap_or(start.len()),
        ),
    };
    match rest.trim_start().strip_prefix('=') {
        Some(value) if !value.starts_with('=') && !name.is_empty() => (Some(name), value),
        _ => whole,
    }
}

/// Why nothing could ever be found so.
fn impossible(collection: Collection, by: &LookupBy) -> Option<String> {
    let collection_name = collection.name();
    match by {
        LookupBy::Parent if collection.parent().is_none() => Some(format!(
            "items of `{collection_name}` belong to no other; only those of `lib` do, to proposals"
        )),
        LookupBy::Member { name, .. } if &**name == "id" => {
            Some(format!("an item is found by its id as `{collection_name}[ID]`, without `id =`"))
        }
        LookupBy::Member { name, .. }
            if collection == Collection::known("proposals")
                && FIELDS.iter().all(|field| field.name != &**name) =>
        {
            let guess = did_you_mean(name, FIELDS.iter().map(|field| field.name));
            Some(format!("a proposal has no field `{name}`{guess}"))
        }
        _ => None,
    }
}

impl LookupTarget {
    /// Returns the key to look for in a scope.
    pub fn key(&self, scope: &Scope<'_>, meter: &Meter) -> Result<LookupKey, EvaluationError> {
        let Some(value) = self.value.key(scope, meter)? else { return Ok(LookupKey::Nothing) };
        let of_id =
            |key: fn(ItemId) -> LookupKey| ItemId::parse(&value).map_or(LookupKey::Nothing, key);
        Ok(match &self.by {
            LookupBy::Id => of_id(LookupKey::Id),
            LookupBy::Parent => of_id(LookupKey::Parent),
            LookupBy::Member { name, .. } => {
                LookupKey::Member { name: name.clone(), value: value.into() }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::split_member;

    #[test]
    fn a_member_stands_before_a_single_equals_sign() {
        for (inside, member, value) in [
            ("self.program_id", None, "self.program_id"),
            ("parent = self.id", Some("parent"), " self.id"),
            (" month=self.month", Some("month"), "self.month"),
            ("\"project no\" = self.x", Some("project no"), " self.x"),
            ("a == b ? self.x : self.y", None, "a == b ? self.x : self.y"),
            ("a >= 'x' ? self.x : self.y", None, "a >= 'x' ? self.x : self.y"),
            ("'a=b'", None, "'a=b'"),
            ("= self.x", None, "= self.x"),
            ("", None, ""),
        ] {
            assert_eq!(split_member(inside), (member, value), "{inside}");
        }
    }
}
