//! Values of the parts of an expression, recorded during its evaluation.
//!
//! The number and the length of entries are limited. A trace is not charged to the meter, so it
//! never changes a verdict.

mod json;
mod source_text;

use std::cell::{Cell, RefCell};

use super::term::{Term, Variable};
use super::value::Val;
use super::{EvaluationError, Outcome, Shape};
pub use json::JsonText;

pub(crate) const MOST_PARTS: usize = 200;
const MOST_BYTES: usize = 1_000;

#[derive(Debug, Default)]
pub struct Trace {
    parts: RefCell<Vec<TracedPart>>,
    is_cut: Cell<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedPart {
    pub expression: String,
    pub outcome: Result<JsonText, String>,
}

impl Trace {
    pub(super) fn len(&self) -> usize {
        self.parts.borrow().len()
    }

    pub fn into_parts(self) -> (Vec<TracedPart>, bool) {
        (self.parts.into_inner(), self.is_cut.get())
    }

    /// Records the outcome of a part. Its subparts are those recorded after the first `before`.
    ///
    /// Skips literals, and `self`, `old`, `caller`, `claims` and `meta` alone. An error is recorded only
    /// for its innermost part.
    pub(super) fn note(
        &self,
        node: &Term,
        lookups: &[(String, Shape)],
        before: usize,
        outcome: &Outcome<Val<'_>>,
    ) {
        use Variable::{After, Before, Caller, Claims, Meta};
        let is_whole = matches!(node, Term::Variable(After | Before | Caller | Claims | Meta, _));
        if is_whole || matches!(node, Term::Constant(_)) {
            return;
        }
        let mut parts = self.parts.borrow_mut();
        let outcome = match outcome {
            Ok(value) if parts.len() < MOST_PARTS => Ok(JsonText::of(value, MOST_BYTES)),
            Err(EvaluationError::Failed(reason)) if parts.len() < MOST_PARTS => {
                let has_reason = |part: &TracedPart| part.outcome.as_ref().err() == Some(reason);
                if parts.iter().skip(before).any(has_reason) {
                    return;
                }
                Err(reason.clone())
            }
            Err(EvaluationError::BudgetExhausted) => return,
            _ => return self.is_cut.set(true),
        };
        let expression = source_text::of(node, lookups, MOST_BYTES);
        parts.push(TracedPart { expression, outcome });
    }
}
