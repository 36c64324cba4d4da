//! Expressions of the Common Expression Language (CEL), bounded in time and memory.
//!
//! The grammar is that of the crate `cel`. The evaluator is separate, because a rule needs a cost
//! limit ([`meter`]) for the largest possible item. Extensions of CEL: decimals for money, and
//! arithmetic between all kinds of numbers, since JSON does not distinguish 100 from 100.0.

macro_rules! failed {
    ($($message:tt)*) => {
        $crate::expression::EvaluationError::Failed(format_args!($($message)*).to_string())
    };
}

mod apply;
mod compile;
mod conversions;
mod dates;
mod evaluate;
mod functions;
mod identifiers;
mod inspect;
mod kinds;
mod lookup;
mod meter;
mod mistakes;
mod numbers;
mod operator;
mod pattern;
mod predicate;
mod term;
#[cfg(test)]
mod tests;
mod trace;
mod value;

use std::borrow::Cow;

use domain::{Found, Item, Lookup, Members, WriteContext, WriteOperation};
use jiff::Timestamp;

pub use compile::{Variables, is_taken};
pub use dates::date;
use evaluate::Evaluation;
pub use inspect::{DateUse, MemberRead};
use kinds::INTEGER;
pub use kinds::{ANY, BOOLEAN, Kinds, LIST, NULL, STRING};
pub use lookup::{LookupBy, LookupTarget};
pub use meter::{CostLimit, Meter};
pub use predicate::{Condition, Outcomes};
use term::Term;
pub use term::Variable;
pub use trace::{JsonText, Trace, TracedPart};
use value::Val;

#[derive(Debug)]
pub struct Expression {
    root: Term,
    #[cfg(test)]
    kinds: Kinds,
    pub uses_lookups: bool,
}

pub const KEY: Kinds = STRING.or(INTEGER).or(NULL);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    One,
    Many,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionError {
    pub offset: usize,
    pub reason: String,
}

#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// `self`, or `claims` in an expression about a token.
    pub after: &'a Members,
    pub before: Option<&'a Members>,
    /// `caller`, `now`, `today`, `parent` and the `id` of `self` and `old`.
    pub context: &'a WriteContext,
    pub lookups: &'a [(String, Shape)],
    /// Results in the same order; shorter than the names before the lookup.
    pub found: &'a [Found],
    /// `meta`, in a condition on items. Items of lookups have it, too.
    pub meta: Option<Meta<'a>>,
    pub trace: Option<&'a Trace>,
}

#[derive(Clone, Copy, Debug)]
pub struct Meta<'a> {
    pub created_by: Option<&'a str>,
    pub created_at: Timestamp,
}

impl<'a> Meta<'a> {
    const MEMBERS: [&'static str; 2] = ["created_by", "created_at"];

    pub fn of(item: &'a Item) -> Self {
        Self { created_by: item.created_by.as_deref(), created_at: item.created_at }
    }
}

static NO_WRITE: WriteContext = WriteContext::any(WriteOperation::Create);

impl<'a> Scope<'a> {
    pub fn of_token(claims: &'a Members) -> Self {
        Self {
            after: claims,
            before: None,
            context: &NO_WRITE,
            lookups: &[],
            found: &[],
            meta: None,
            trace: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvaluationError {
    Failed(String),
    BudgetExhausted,
}

impl EvaluationError {
    pub fn into_reason(self) -> String {
        match self {
            Self::Failed(reason) => reason,
            Self::BudgetExhausted => "it takes too much time or memory on this item".to_owned(),
        }
    }
}

pub type Outcome<T> = Result<T, EvaluationError>;

impl Expression {
    pub fn boolean(&self, scope: &Scope<'_>, meter: &Meter) -> Outcome<bool> {
        Evaluation::new(scope, meter).boolean(&self.root)
    }

    /// Returns the value as JSON of about `most` bytes, and the verdict of a boolean.
    pub fn json(
        &self,
        scope: &Scope<'_>,
        meter: &Meter,
        most: usize,
    ) -> Outcome<(JsonText, Option<bool>)> {
        let value = Evaluation::new(scope, meter).value(&self.root)?;
        let verdict = if let Val::Boolean(boolean) = value { Some(boolean) } else { None };
        Ok((JsonText::of(&value, most), verdict))
    }

    pub fn string(&self, scope: &Scope<'_>, meter: &Meter) -> Outcome<String> {
        let value = Evaluation::new(scope, meter).value(&self.root)?;
        let string = value.as_string()?;
        meter.hold(string.len())?;
        Ok(string.to_owned())
    }

    pub fn key(&self, scope: &Scope<'_>, meter: &Meter) -> Outcome<Option<String>> {
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

pub fn complete<'a>(name: &str, found: Option<&'a Found>) -> Outcome<&'a [Item]> {
    let reason = match found {
        Some(Found::Items(items)) => return Ok(items),
        Some(Found::TooMany) => format!("found more than {} items", Lookup::MOST_ITEMS),
        Some(Found::TooLarge) => format!("found more than {} bytes", Lookup::MOST_BYTES),
        None => "was not made".to_owned(),
    };
    Err(failed!("the lookup `{name}` {reason}"))
}

fn shorten(text: &str) -> Cow<'_, str> {
    domain::json::shortened(text, 60)
}
