//! What an evaluation may cost.

use std::cell::Cell;

use super::EvaluationFault;

/// Most work of one evaluation. A unit is about a nanosecond: a node costs [`NODE`], a byte that is read or written about one.
const MOST_WORK: u64 = 30_000_000;
/// Most bytes that one evaluation may make, counted as if none were freed before its end.
const MOST_BYTES: u64 = 32 << 20;

/// The work of evaluating one node of an expression, without what it reads.
pub(super) const NODE: usize = 16;
/// The work of taking an element of a list or a key of a map, or of passing over it, without its bytes.
pub(super) const STEP: usize = 32;
/// The work of writing a fault's text, which `&&`, `||`, `all` and `exists` may then do without.
pub(super) const FAULT: usize = 400;
/// The work of reading a number or a date from text, or of computing with a decimal.
pub(super) const CONVERSION: usize = 100;

/// Counts the work and the memory of one evaluation. There is no clock in it: a verdict does not depend on how busy the machine is.
#[derive(Debug)]
pub(super) struct Meter {
    work: Cell<u64>,
    bytes: Cell<u64>,
}

impl Meter {
    pub(super) const fn new() -> Self {
        Self { work: Cell::new(MOST_WORK), bytes: Cell::new(MOST_BYTES) }
    }

    /// Notes work that is about to be done.
    pub(super) fn charge(&self, units: usize) -> Result<(), EvaluationFault> {
        take(&self.work, units)
    }

    /// Notes bytes that are about to be made, and the work of it.
    pub(super) fn hold(&self, bytes: usize) -> Result<(), EvaluationFault> {
        take(&self.bytes, bytes)?;
        take(&self.work, bytes)
    }

    /// Notes a search through a text, which goes many bytes at a step.
    pub(super) fn scan(&self, bytes: usize) -> Result<(), EvaluationFault> {
        take(&self.work, bytes / 4)
    }
}

fn take(left: &Cell<u64>, amount: usize) -> Result<(), EvaluationFault> {
    let rest = left.get().checked_sub(amount as u64);
    left.set(rest.unwrap_or(0));
    rest.map(|_| ()).ok_or(EvaluationFault::BudgetExhausted)
}
