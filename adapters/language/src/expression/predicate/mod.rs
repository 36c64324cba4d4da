//! Conditions on items as predicates of the domain: databases select items by them.
//!
//! A condition is true, false or fails. For one caller and day it becomes two predicates, one for
//! true and one for false ([`Outcomes`]). A part that does not depend on the item is evaluated.
//!
//! Differences to an evaluation: numbers are compared as doubles, the key of a lookup is no number,
//! and a lookup whose key is a member of another item does not find that item.

mod compare;
mod place;
mod refusal;
mod relation;
#[cfg(test)]
mod tests;
mod translate;

use std::sync::Arc;

use domain::{Members, Predicate, WriteContext};
use jiff::Timestamp;

use super::compile::Variables;
use super::meter::{CostLimit, Meter};
use super::term::Variable;
use super::value::Val;
use super::{BOOLEAN, Expression, ExpressionError, LookupTarget, Meta, NO_WRITE, Scope};

/// A condition of a policy.
#[derive(Debug)]
pub struct Condition {
    expression: Expression,
    lookups: Arc<[(String, LookupTarget)]>,
}

/// The predicate for true and the one for false. If the condition fails on an item, neither holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcomes {
    pub is_true: Predicate,
    pub is_false: Predicate,
}

/// The translation of a condition, or of the key of a lookup.
struct Translation<'a> {
    lookups: &'a [(String, LookupTarget)],
    scope: &'a Scope<'a>,
    meter: &'a Meter,
    /// The caller and the day are known. Otherwise the translation only finds errors.
    is_final: bool,
    has_old: bool,
    locals: Vec<Bound<'a>>,
    /// The constants so far.
    constants: usize,
    /// The choices whose condition this is a part of.
    choices: usize,
}

/// The element of a loop.
enum Bound<'a> {
    /// An item of a lookup.
    Element,
    /// An element of a constant list; `None` is unknown.
    Constant(Option<Val<'a>>),
}

/// The least constant input of a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    Literal,
    Context,
    Item,
}

type Translated<T = Outcomes> = Result<T, ExpressionError>;

impl Condition {
    pub fn compile(
        source: &str,
        variables: Variables,
        lookups: Arc<[(String, LookupTarget)]>,
    ) -> Translated<Self> {
        let names = LookupTarget::variables(&lookups);
        let expression = Expression::compile_with(variables, source, BOOLEAN, &names)?;
        let has_old = variables.has(Variable::Before);
        translate(&lookups, None, has_old, &expression.root, |of, term| of.condition(term))?;
        Ok(Self { expression, lookups })
    }

    /// Returns the predicates for the caller and the day of a context.
    pub fn outcomes(&self, context: &WriteContext) -> Outcomes {
        let root = &self.expression.root;
        translate(&self.lookups, Some(context), true, root, |of, term| of.condition(term))
            .unwrap_or(Outcomes::UNDECIDED)
    }

    /// Returns the source as an expression, to evaluate it with [`Scope::meta`].
    pub const fn expression(&self) -> &Expression {
        &self.expression
    }

    pub fn lookups(&self) -> &[(String, LookupTarget)] {
        &self.lookups
    }

    /// Returns whether the condition, or the key of a lookup that it uses, has a variable.
    pub fn uses(&self, variable: Variable) -> bool {
        self.is_used(&self.expression, variable)
    }

    fn is_used(&self, expression: &Expression, variable: Variable) -> bool {
        let mut keys = self.lookups.iter().map(|(_, target)| &target.value).enumerate();
        expression.uses(variable)
            || keys.any(|(place, key)| {
                expression.uses(Variable::Lookup(place)) && self.is_used(key, variable)
            })
    }
}

impl LookupTarget {
    /// Checks that databases can follow the key, if its variables are of items.
    pub(crate) fn check_key(
        &self,
        variables: Variables,
        earlier: &[(String, Self)],
    ) -> Translated<()> {
        if !variables.has(Variable::Meta) {
            return Ok(());
        }
        translate(earlier, None, false, self, |of, target| of.key(target)).map(drop)
    }
}

/// Translates for a caller and a day. Without a context, only finds terms that cannot be translated.
fn translate<S, T>(
    lookups: &[(String, LookupTarget)],
    context: Option<&WriteContext>,
    has_old: bool,
    subject: &S,
    translate: for<'x> fn(&mut Translation<'x>, &'x S) -> Translated<T>,
) -> Translated<T> {
    let (members, meter) = (Members::default(), Meter::of(CostLimit::Verdict));
    let scope = Scope {
        after: &members,
        before: None,
        context: context.unwrap_or(&NO_WRITE),
        lookups: &[],
        found: &[],
        meta: Some(Meta { created_by: None, created_at: Timestamp::UNIX_EPOCH }),
        trace: None,
    };
    let mut of = Translation {
        lookups,
        scope: &scope,
        meter: &meter,
        is_final: context.is_some(),
        has_old,
        locals: Vec::new(),
        constants: 0,
        choices: 0,
    };
    translate(&mut of, subject)
}

impl Outcomes {
    const UNDECIDED: Self = Self { is_true: Predicate::FALSE, is_false: Predicate::FALSE };

    fn of(holds: bool) -> Self {
        Self { is_true: Predicate::Constant(holds), is_false: Predicate::Constant(!holds) }
    }

    fn negated(self) -> Self {
        Self { is_true: self.is_false, is_false: self.is_true }
    }

    fn all(parts: Vec<Self>) -> Self {
        let (are_true, are_false): (Vec<_>, Vec<_>) =
            parts.into_iter().map(|part| (part.is_true, part.is_false)).unzip();
        Self { is_true: Predicate::all(are_true), is_false: Predicate::any(are_false) }
    }

    fn any(parts: Vec<Self>) -> Self {
        Self::all(parts.into_iter().map(Self::negated).collect()).negated()
    }

    /// Applies a condition where another one is true. An error of this one is an error.
    fn then(self, next: Self) -> Self {
        let is_false = self.is_false.or(self.is_true.clone().and(next.is_false));
        Self { is_true: self.is_true.and(next.is_true), is_false }
    }

    fn map(self, wrap: impl Fn(Predicate) -> Predicate) -> Self {
        Self { is_true: wrap(self.is_true), is_false: wrap(self.is_false) }
    }

    fn undecided(&self) -> Predicate {
        self.is_true.clone().negated().and(self.is_false.clone().negated())
    }
}
