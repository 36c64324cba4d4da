//! How far the load has come.

use std::fmt;

use crate::progress::Meter;

const BAR: &str =
    "{bar:32} {percent:>3} %  {human_pos} of {human_len} rows, {rate} a second, {eta} left";

/// How many rows were stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Proposals.
    pub proposals: u64,
    /// Library items.
    pub library_items: u64,
}

impl Tally {
    const fn rows(self) -> u64 {
        self.proposals + self.library_items
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} proposals and {} library items", self.proposals, self.library_items)
    }
}

/// Watches a load.
pub struct Progress {
    /// What was stored so far.
    pub tally: Tally,
    total: u64,
    meter: Meter,
}

impl Progress {
    /// Starts the clock for so many rows.
    pub fn start(total: u64) -> Self {
        Self { tally: Tally::default(), total, meter: Meter::start(Some(total), BAR) }
    }

    /// Shows what was stored so far.
    pub fn show(&self) {
        self.meter.bar().set_position(self.tally.rows());
    }

    /// Waits until a line is due. On a terminal none ever is.
    pub async fn line_is_due(&mut self) {
        self.meter.line_is_due().await;
    }

    /// Logs how far the load has come.
    pub fn log(&self) {
        let (rows, rate) = (self.tally.rows(), self.meter.rate(self.tally.rows()));
        let seconds_left = (self.total - rows).checked_div(rate);
        tracing::info!(
            rows,
            of = self.total,
            rows_per_second = rate,
            seconds_left,
            "storing made-up data"
        );
    }

    /// Leaves the terminal to others, with the bar as it is.
    pub fn end(&self) {
        self.meter.end();
    }

    /// What was done, in one line.
    pub fn summary(&self) -> String {
        let rate = self.meter.rate(self.tally.rows());
        format!("stored {} in {:.1} s, {rate} rows per second\n", self.tally, self.meter.seconds())
    }
}
