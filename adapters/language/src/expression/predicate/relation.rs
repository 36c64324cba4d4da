//! Items that a lookup finds, as relations.

use domain::predicate::{Operand, Related, RelatedKey, RelatedValue, Subject, ValueKind};
use domain::{LookupKey, Predicate};

use super::super::{LookupBy, LookupTarget};
use super::place::{Chosen, Located};
use super::{Outcomes, Source, Translated, Translation};

pub(super) enum Key {
    Undecided,
    /// `None` finds no items.
    Constant(Option<Box<str>>),
    Located(Located),
}

/// The items that a lookup finds, from the item that has its key.
pub(super) struct Relation<'a> {
    target: &'a LookupTarget,
    value: Option<RelatedValue>,
    /// The key is a string or null.
    guard: Predicate,
}

impl Relation<'_> {
    /// Returns whether an item that counts meets a condition. `latest` counts only the newest that
    /// meets it.
    pub(super) fn some(&self, latest: Option<Predicate>, holds: Predicate) -> Predicate {
        let Some(value) = self.value.clone() else { return Predicate::FALSE };
        let key = match &self.target.by {
            LookupBy::Id => RelatedKey::Id,
            LookupBy::Parent => RelatedKey::Parent,
            LookupBy::Member(name) => RelatedKey::Member(name.clone()),
        };
        let collection = self.target.collection;
        Predicate::related(Related { collection, key, value, latest, holds })
    }

    pub(super) fn none(&self, holds: Predicate) -> Predicate {
        self.guard.clone().and(self.some(None, holds).negated())
    }

    /// Returns whether a filter fails on no item.
    fn decides(&self, filter: &Outcomes) -> Predicate {
        self.some(None, filter.undecided()).negated()
    }
}

impl<'a> Translation<'a> {
    /// Returns the outcomes of `exists` on the items that a filter keeps.
    pub(super) fn exists(&mut self, of: &Chosen, body: Outcomes) -> Translated {
        let Chosen { lookup, filter, .. } = of;
        self.related(*lookup, |relation| {
            let kept = filter.is_true.clone();
            let is_true = relation.some(None, kept.clone().and(body.is_true));
            let is_false = relation.none(kept.and(body.is_false.negated()));
            let decided = relation.decides(filter);
            Outcomes { is_true, is_false }.map(|holds| decided.clone().and(holds))
        })
    }

    /// Returns outcomes for the chosen item of a lookup. Without one, neither holds.
    pub(super) fn of_item(&mut self, of: Option<&Chosen>, outcomes: Outcomes) -> Translated {
        let Some(Chosen { lookup, filter, is_latest }) = of else { return Ok(outcomes) };
        self.related(*lookup, |relation| {
            let decided = relation.decides(filter);
            let latest = is_latest.then(|| filter.is_true.clone());
            outcomes.map(|holds| decided.clone().and(relation.some(latest.clone(), holds)))
        })
    }

    fn related(
        &mut self,
        lookup: usize,
        outcomes: impl FnOnce(&Relation<'_>) -> Outcomes,
    ) -> Translated {
        let Some((_, target)) = self.lookups.get(lookup) else { return Ok(Outcomes::UNDECIDED) };
        let (value, guard, of) = match self.key(target)? {
            Key::Undecided => return Ok(Outcomes::UNDECIDED),
            Key::Constant(value) => (value.map(RelatedValue::String), Predicate::TRUE, None),
            Key::Located(Located { of, operand }) => {
                let guard = is_key(&operand);
                (Some(RelatedValue::Operand(operand)), guard, of)
            }
        };
        let outcomes = outcomes(&Relation { target, value, guard });
        self.of_item(of.as_ref(), outcomes)
    }

    pub(super) fn key(&mut self, target: &'a LookupTarget) -> Translated<Key> {
        // A key is outside of loops.
        let locals = std::mem::take(&mut self.locals);
        let key = match self.source(&target.value.root) {
            Source::Item => self.place_of_key(&target.value.root).map(Key::Located),
            Source::Context if !self.is_final => Ok(Key::Undecided),
            _ => Ok(match target.key(self.scope, self.meter) {
                Ok(LookupKey::Id(id) | LookupKey::Parent(id)) => {
                    Key::Constant(Some(id.to_string().into()))
                }
                Ok(LookupKey::Member { value, .. }) => Key::Constant(Some(value)),
                Ok(LookupKey::Nothing) => Key::Constant(None),
                Err(_) => Key::Undecided,
            }),
        };
        self.locals = locals;
        key
    }
}

fn is_key(operand: &Operand) -> Predicate {
    if let Subject::Member(_) = operand.subject {
        let kinds = [ValueKind::String, ValueKind::Null];
        Predicate::any(kinds.map(|kind| Predicate::is(operand.clone(), kind)))
    } else {
        Predicate::TRUE
    }
}
