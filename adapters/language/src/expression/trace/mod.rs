//! The values of the parts of an expression, noted while it is evaluated.
//!
//! A trace takes little time and memory beside the evaluation, whatever the item: it has a limited
//! number of entries, each of a limited length. What it notes is not charged to the meter, so that
//! an expression has the same verdict with a trace and without.

mod json;
mod source_text;

use std::cell::{Cell, RefCell};

use super::term::{Term, Variable};
use super::value::Val;
use super::{EvaluationError, Outcome, Shape};
pub use json::JsonText;

/// Most entries of a trace.
pub(crate) const MOST_PARTS: usize = 200;
/// Most bytes of a value in a trace, and about as many of an expression.
const MOST_BYTES: usize = 1_000;

/// The parts of expressions that were evaluated, in the order in which their evaluation ended.
#[derive(Debug, Default)]
pub struct Trace {
    parts: RefCell<Vec<TracedPart>>,
    is_cut: Cell<bool>,
}

/// A part of an expression that was evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedPart {
    /// Its source.
    pub expression: String,
    /// Its value, or why it has none.
    pub outcome: Result<JsonText, String>,
}

impl Trace {
    pub(super) fn len(&self) -> usize {
        self.parts.borrow().len()
    }

    /// Returns the parts, and true if there were more.
    pub fn into_parts(self) -> (Vec<TracedPart>, bool) {
        (self.parts.into_inner(), self.is_cut.get())
    }

    /// Notes the outcome of a part, whose own parts are those noted after the first `before`.
    ///
    /// Literals say what they are, and `self`, `old`, `caller` and `claims` by themselves are
    /// what was given.
    /// An error is noted for the part that it arose in, not for those around.
    pub(super) fn note(
        &self,
        node: &Term,
        lookups: &[(String, Shape)],
        before: usize,
        outcome: &Outcome<Val<'_>>,
    ) {
        use Variable::{After, Before, Caller, Claims};
        if matches!(node, Term::Constant(_) | Term::Variable(After | Before | Caller | Claims)) {
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
