//! Expressions of the Common Expression Language (CEL), bounded in time and memory.

use domain::{Found, Members, Occasion};

/// An expression that was checked and can be evaluated.
#[derive(Debug)]
pub(crate) struct Expression;

/// What an expression is to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Whether something holds.
    Boolean,
    /// What people are told.
    Text,
    /// What to look for: a text, an integer or null.
    Key,
}

/// What a lookup gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One item or null.
    One,
    /// A list of items.
    Many,
}

/// Why an expression cannot be used, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExpressionFault {
    /// Bytes into the source.
    pub offset: usize,
    /// What is wrong and how to mend it.
    pub reason: String,
}

/// What the variables stand for in one evaluation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope<'a> {
    /// `self`.
    pub after: &'a Members,
    /// `old`; `None` is null.
    pub before: Option<&'a Members>,
    /// The rest: `caller`, `now`, `today`, `parent` and the `id` of `self` and `old`.
    pub occasion: &'a Occasion,
    /// The names of the lookup variables, as the expression was compiled with.
    pub lookups: &'a [(String, Shape)],
    /// What they found, in the same order; shorter than the names while nothing was looked up.
    pub found: &'a [Found],
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EvaluationFault {
    /// With a text for people.
    Failed(String),
    /// It would take too much time or memory.
    BudgetExhausted,
}

impl Expression {
    /// Reads and checks an expression.
    ///
    /// # Errors
    /// The first fault, and where it is.
    pub fn compile(_source: &str, _wanted: Wanted, _lookups: &[(String, Shape)]) -> Result<Self, ExpressionFault> {
        Ok(Self)
    }

    /// The top-level members of `self` that it reads by name.
    pub fn members_read(&self) -> impl Iterator<Item = &str> {
        std::iter::empty()
    }

    /// Whether it uses what was looked up.
    pub fn uses_lookups(&self) -> bool {
        false
    }

    /// Its result, when a boolean was wanted.
    ///
    /// # Errors
    /// When it fails or would take too much.
    pub fn boolean(&self, _scope: &Scope<'_>) -> Result<bool, EvaluationFault> {
        Err(EvaluationFault::BudgetExhausted)
    }

    /// Its result, when a text was wanted.
    ///
    /// # Errors
    /// When it fails or would take too much.
    pub fn text(&self, _scope: &Scope<'_>) -> Result<String, EvaluationFault> {
        Err(EvaluationFault::BudgetExhausted)
    }

    /// Its result, when a key was wanted; `None` is null.
    ///
    /// # Errors
    /// When it fails or would take too much.
    pub fn key(&self, _scope: &Scope<'_>) -> Result<Option<String>, EvaluationFault> {
        Err(EvaluationFault::BudgetExhausted)
    }
}
