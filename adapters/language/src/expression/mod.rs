//! Expressions of the Common Expression Language (CEL), bounded in time and memory.
//!
//! The grammar is that of the crate `cel`. The evaluation is our own, because a rule from a file
//! may cost at most so much ([`meter`]) on the largest item there can be, and an evaluator that
//! does not count its work cannot promise that. Beyond CEL there are decimals for money, and
//! numbers of all kinds compute with each other, since JSON does not tell 100 from 100.0.

/// Makes the error of an evaluation that failed, with a message as `format!` takes it.
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
mod inspect;
mod kinds;
mod meter;
mod mistakes;
mod numbers;
mod operator;
mod pattern;
mod term;
#[cfg(test)]
mod tests;
mod trace;
mod value;

use std::borrow::Cow;

use domain::{Found, Item, Lookup, Members, WriteContext, WriteOperation};

pub use compile::{Variables, equal_names, is_taken};
pub use dates::date;
use evaluate::Evaluation;
pub use inspect::{DateUse, MemberRead};
use kinds::INTEGER;
pub use kinds::{ANY, BOOLEAN, Kinds, LIST, NULL, STRING};
pub use meter::{CostLimit, Meter};
use term::Term;
pub use term::Variable;
pub use trace::{JsonText, Trace, TracedPart};
use value::Val;

/// An expression that was checked and can be evaluated.
#[derive(Debug)]
pub struct Expression {
    root: Term,
    /// The kinds that its value may have.
    #[cfg(test)]
    kinds: Kinds,
    /// True if it names the result of a lookup.
    pub uses_lookups: bool,
}

/// The value to look for.
pub const KEY: Kinds = STRING.or(INTEGER).or(NULL);

/// The shape of what a lookup finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One item or null.
    One,
    /// A list of items.
    Many,
}

/// An error of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionError {
    /// Bytes into the source.
    pub offset: usize,
    /// The error and how to fix it.
    pub reason: String,
}

/// The values of the variables in one evaluation.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// `self`; or `claims`, in an expression about a token.
    pub after: &'a Members,
    /// `old`; `None` is null.
    pub before: Option<&'a Members>,
    /// The rest: `caller`, `now`, `today`, `parent` and the `id` of `self` and `old`.
    pub context: &'a WriteContext,
    /// The names of the lookup variables, as the expression was compiled with.
    pub lookups: &'a [(String, Shape)],
    /// Their results, in the same order; shorter than the names while nothing was looked up.
    pub found: &'a [Found],
    /// Where the values of its parts are noted, if anybody asks for them.
    pub trace: Option<&'a Trace>,
}

/// The context of expressions about tokens, which name nothing of it.
static NO_WRITE: WriteContext = WriteContext::any(WriteOperation::Create);

impl<'a> Scope<'a> {
    /// The variables of a token ([`Variables::OF_A_TOKEN`]).
    pub fn of_token(claims: &'a Members) -> Self {
        let (lookups, found) = (&[], &[]);
        Self { after: claims, before: None, context: &NO_WRITE, lookups, found, trace: None }
    }
}

/// Reasons why an evaluation has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvaluationError {
    /// It failed, with the reason for people.
    Failed(String),
    /// It would take too much time or memory.
    BudgetExhausted,
}

impl EvaluationError {
    /// The reason, for people.
    pub fn into_reason(self) -> String {
        match self {
            Self::Failed(reason) => reason,
            Self::BudgetExhausted => "it takes too much time or memory on this item".to_owned(),
        }
    }
}

/// The result of an evaluation.
pub type Outcome<T> = Result<T, EvaluationError>;

impl Expression {
    /// Returns the value of a condition.
    ///
    /// # Errors
    /// It cannot be evaluated.
    pub fn boolean(&self, scope: &Scope<'_>, meter: &Meter) -> Outcome<bool> {
        Evaluation::new(scope, meter).boolean(&self.root)
    }

    /// Returns the value as JSON of about as many bytes as `most`, and the verdict where it is true
    /// or false.
    ///
    /// # Errors
    /// It cannot be evaluated.
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

    /// Returns the value of what makes a string.
    ///
    /// # Errors
    /// It cannot be evaluated.
    pub fn string(&self, scope: &Scope<'_>, meter: &Meter) -> Outcome<String> {
        let value = Evaluation::new(scope, meter).value(&self.root)?;
        let string = value.as_string()?;
        meter.hold(string.len())?;
        Ok(string.to_owned())
    }

    /// The value to look for; `None` is null.
    ///
    /// # Errors
    /// It cannot be evaluated.
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

/// The items that a lookup found, if they are all there are.
///
/// # Errors
/// There are more, or it was not asked.
pub fn complete<'a>(name: &str, found: Option<&'a Found>) -> Outcome<&'a [Item]> {
    let reason = match found {
        Some(Found::Items(items)) => return Ok(items),
        Some(Found::TooMany) => format!("found more than {} items", Lookup::MOST_ITEMS),
        Some(Found::TooLarge) => format!("found more than {} bytes", Lookup::MOST_BYTES),
        None => "was not asked".to_owned(),
    };
    Err(failed!("the lookup `{name}` {reason}"))
}

fn shorten(text: &str) -> Cow<'_, str> {
    domain::json::shortened(text, 60)
}
