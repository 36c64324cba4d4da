//! Expressions of the Common Expression Language (CEL), bounded in time and memory.
//!
//! The grammar is that of the crate `cel`. The evaluation is our own, because a rule from a file
//! may cost at most so much ([`meter`]) on the largest item there can be, and an evaluator that
//! does not count its work cannot promise that. Beyond CEL there are decimals for money, and
//! numbers of all kinds compute with each other, since JSON does not tell 100 from 100.0.

mod apply;
mod compile;
mod conversions;
mod dates;
mod evaluate;
mod functions;
mod inspect;
mod kinds;
mod meter;
mod mistakes;
mod node;
mod numbers;
mod operator;
mod pattern;
#[cfg(test)]
mod tests;
mod value;

use std::borrow::Cow;
use std::fmt;

use domain::{Found, Item, Lookup, Members, WriteContext};

use evaluate::Evaluation;
pub(crate) use inspect::{DateOperand, DateUse, MemberRead};
use kinds::{BOOLEAN, INTEGER, Kinds, NULL, STRING};
pub(crate) use meter::{Budget, Meter};
use node::Node;
pub(crate) use node::Variable;
use value::Val;

/// An expression that was checked and can be evaluated.
#[derive(Debug)]
pub(crate) struct Expression {
    root: Node,
    /// The kinds that its value may have.
    #[cfg(test)]
    kinds: Kinds,
    pub uses_lookups: bool,
}

/// The result that an expression must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResultKind {
    /// A condition.
    Boolean,
    /// A message.
    String,
    /// The value to look for: a string, an integer or null.
    Key,
}

/// The shape of a lookup's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One item or null.
    One,
    /// A list of items.
    Many,
}

/// An error in an expression, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExpressionError {
    /// Bytes into the source.
    pub offset: usize,
    /// The error and how to fix it.
    pub reason: String,
}

/// The values of the variables in one evaluation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope<'a> {
    /// `self`.
    pub after: &'a Members,
    /// `old`; `None` is null.
    pub before: Option<&'a Members>,
    /// The rest: `caller`, `now`, `today`, `parent` and the `id` of `self` and `old`.
    pub context: &'a WriteContext,
    /// The names of the lookup variables, as the expression was compiled with.
    pub lookups: &'a [(String, Shape)],
    /// Their results, in the same order; shorter than the names while nothing was looked up.
    pub found: &'a [Found],
}

/// The reasons for having no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EvaluationError {
    /// With a message for people.
    Failed(String),
    /// It would take too much time or memory.
    BudgetExhausted,
}

impl ResultKind {
    const fn kinds(self) -> Kinds {
        match self {
            Self::Boolean => BOOLEAN,
            Self::String => STRING,
            Self::Key => STRING.or(INTEGER).or(NULL),
        }
    }
}

impl Expression {
    /// Reads and checks an expression.
    ///
    /// # Errors
    /// The first error, and where it is.
    pub fn compile(
        source: &str,
        wanted: ResultKind,
        lookups: &[(String, Shape)],
    ) -> Result<Self, ExpressionError> {
        compile::compile(source, wanted.kinds(), lookups)
    }

    /// Returns whether every expression knows a name, so that no lookup may have it.
    pub fn is_taken(name: &str) -> bool {
        compile::is_taken(name)
    }

    /// Its result, when a boolean was wanted.
    pub fn boolean(&self, scope: &Scope<'_>, meter: &Meter) -> Result<bool, EvaluationError> {
        Evaluation::new(scope, meter).boolean(&self.root)
    }

    /// Its result, when a string was wanted.
    pub fn string(&self, scope: &Scope<'_>, meter: &Meter) -> Result<String, EvaluationError> {
        let value = Evaluation::new(scope, meter).value(&self.root)?;
        let string = value.as_string()?;
        meter.hold(string.len())?;
        Ok(string.to_owned())
    }

    /// Its result, when a key was wanted; `None` is null.
    pub fn key(&self, scope: &Scope<'_>, meter: &Meter) -> Result<Option<String>, EvaluationError> {
        match Evaluation::new(scope, meter).value(&self.root)? {
            Val::Null => Ok(None),
            Val::Integer(integer) => Ok(Some(integer.to_string())),
            Val::String(string) => {
                meter.hold(string.as_str().len())?;
                Ok(Some(string.as_str().to_owned()))
            }
            other => Err(other.is_not("a string, an integer or null")),
        }
    }
}

/// The items that a lookup found, if they are all there are.
pub(crate) fn complete<'a>(
    name: &str,
    found: Option<&'a Found>,
) -> Result<&'a [Item], EvaluationError> {
    let reason = match found {
        Some(Found::Items(items)) => return Ok(items),
        Some(Found::TooMany) => format!("found more than {} items", Lookup::MOST_ITEMS),
        Some(Found::TooLarge) => format!("found more than {} bytes", Lookup::MOST_BYTES),
        None => "was not asked".to_owned(),
    };
    Err(failed(format_args!("the lookup `{name}` {reason}")))
}

fn failed(reason: fmt::Arguments<'_>) -> EvaluationError {
    EvaluationError::Failed(reason.to_string())
}

/// The beginning of a string, for messages.
fn shorten(text: &str) -> Cow<'_, str> {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        None => text.into(),
        Some((end, _)) => format!("{}…", &text[..end]).into(),
    }
}
