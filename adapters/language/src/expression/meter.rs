//! The cost of an evaluation, and its limit.

use std::cell::Cell;

use super::{EvaluationError, Outcome};

/// Most bytes that the evaluations for one answer of a rule may make, counted as if none were freed
/// before its end.
const MOST_BYTES: u64 = 32 << 20;

/// The limit of the evaluations for one answer of a rule together. A unit of work is about a
/// nanosecond: a node costs [`NODE`], a byte that is read or written about one. Asking a rule what
/// to look up, and then for its verdict, takes at most the work of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostLimit {
    /// For a thread that others wait for.
    AtOnce,
    /// For finding out what to look up.
    Lookups,
    /// For the verdict and its message.
    Verdict,
}

impl CostLimit {
    const fn work(self) -> u64 {
        match self {
            Self::AtOnce => 300_000,
            Self::Lookups => 12_000_000,
            Self::Verdict => 30_000_000,
        }
    }
}

/// The work of evaluating one node of an expression, without what it reads.
pub(super) const NODE: usize = 16;
/// The work of taking an element of a list or a key of a map, or of passing over it, without its
/// bytes.
pub(super) const STEP: usize = 32;
/// The work of writing an error's message, which `&&`, `||`, `all` and `exists` may then do without.
pub(super) const ERROR: usize = 400;
/// The work of reading a number or a date from a string, or of computing with a decimal.
pub(super) const CONVERSION: usize = 100;
/// The work of finding a time zone by its name.
pub(super) const ZONE: usize = 1_000;

/// Counts the work and the memory of evaluations. There is no clock in it: a verdict does not
/// depend on how busy the machine is.
#[derive(Debug)]
pub struct Meter {
    work: Cell<u64>,
    bytes: Cell<u64>,
    is_exhausted: Cell<bool>,
}

impl Meter {
    /// A meter that has used nothing of its limit.
    pub const fn of(limit: CostLimit) -> Self {
        Self {
            work: Cell::new(limit.work()),
            bytes: Cell::new(MOST_BYTES),
            is_exhausted: Cell::new(false),
        }
    }

    pub(crate) const fn is_exhausted(&self) -> bool {
        self.is_exhausted.get()
    }

    /// Returns the units of work that were used of `limit`, which the meter was made with.
    pub(crate) fn work_done(&self, limit: CostLimit) -> u64 {
        limit.work() - self.work.get()
    }

    /// Notes work that is about to be done.
    pub(super) fn charge(&self, units: usize) -> Outcome<()> {
        self.take(&self.work, units)
    }

    /// Notes bytes that are about to be made, and the work of it.
    pub(crate) fn hold(&self, bytes: usize) -> Outcome<()> {
        self.take(&self.bytes, bytes)?;
        self.take(&self.work, bytes)
    }

    /// Notes a search through a string, which goes many bytes at a step.
    pub(super) fn scan(&self, bytes: usize) -> Outcome<()> {
        self.take(&self.work, bytes / 4)
    }

    fn take(&self, left: &Cell<u64>, amount: usize) -> Outcome<()> {
        if let Some(rest) = left.get().checked_sub(amount as u64) {
            left.set(rest);
            return Ok(());
        }
        left.set(0);
        self.is_exhausted.set(true);
        Err(EvaluationError::BudgetExhausted)
    }
}
