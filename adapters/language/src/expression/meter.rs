//! Cost of an evaluation, and its limit.

use std::cell::Cell;

use super::{EvaluationError, Outcome};

/// Limit on memory for one answer of a rule. Freed memory still counts.
const MOST_BYTES: u64 = 32 << 20;

/// Limit on the evaluations for one answer of a rule together. A unit of work is about a
/// nanosecond: a node costs [`NODE`], a byte read or written costs about one. The lookups and the
/// verdict of a rule have separate limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostLimit {
    AtOnce,
    Lookups,
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

/// Cost of one node, without the data it reads.
pub(super) const NODE: usize = 16;
/// Cost of a visited or skipped element of a list or key of a map, without its bytes.
pub(super) const STEP: usize = 32;
/// Cost of an error message, which `&&`, `||`, `all` and `exists` may discard.
pub(super) const ERROR: usize = 400;
/// Cost of parsing a number or a date, or of decimal arithmetic.
pub(super) const CONVERSION: usize = 100;
/// Cost of a time zone lookup.
pub(super) const ZONE: usize = 1_000;

/// Counter of the work and the memory of evaluations. It uses no clock: a verdict must not depend
/// on the load of the machine.
#[derive(Debug)]
pub struct Meter {
    work: Cell<u64>,
    bytes: Cell<u64>,
    is_exhausted: Cell<bool>,
}

impl Meter {
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

    pub(crate) fn work_done(&self, limit: CostLimit) -> u64 {
        limit.work() - self.work.get()
    }

    pub(super) fn charge(&self, units: usize) -> Outcome<()> {
        self.take(&self.work, units)
    }

    /// Charges bytes before they are allocated, with the work to write them.
    pub(crate) fn hold(&self, bytes: usize) -> Outcome<()> {
        self.take(&self.bytes, bytes)?;
        self.take(&self.work, bytes)
    }

    /// Charges a search through a string, which reads many bytes per step.
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
