//! How far the load has come: a bar on a terminal, a line of the log now and then elsewhere.

use std::fmt;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use tokio::time::{Interval, MissedTickBehavior, interval_at};

/// How often the log says how far the load has come.
const LINES: Duration = Duration::from_secs(10);

const BAR: &str = "{bar:32} {percent:>3} %  {human_pos} of {human_len} rows, {rate} a second, {eta} left";

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
    start: Instant,
    bar: ProgressBar,
    lines: Interval,
}

impl Progress {
    /// Starts the clock for so many rows.
    pub fn start(total: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
        // The template is a constant; were it wrong, the usual bar would do.
        let style = ProgressStyle::with_template(BAR).unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style.with_key("rate", write_rate));
        let mut lines = interval_at(tokio::time::Instant::now() + LINES, LINES);
        lines.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { tally: Tally::default(), total, start: Instant::now(), bar, lines }
    }

    /// Shows what was stored so far.
    pub fn show(&self) {
        self.bar.set_position(self.tally.rows());
    }

    /// Waits until a line is due. On a terminal none ever is.
    pub async fn line_is_due(&mut self) {
        if self.bar.is_hidden() {
            self.lines.tick().await;
        } else {
            std::future::pending::<()>().await;
        }
    }

    /// Logs how far the load has come.
    pub fn log(&self) {
        let (rows, rate) = (self.tally.rows(), self.rate());
        let seconds_left = (self.total - rows).checked_div(rate);
        tracing::info!(rows, of = self.total, rows_per_second = rate, seconds_left, "storing made-up data");
    }

    /// Leaves the terminal to others, with the bar as it is.
    pub fn end(&self) {
        self.bar.abandon();
    }

    /// What was done, in one line.
    pub fn summary(&self) -> String {
        format!("stored {} in {:.1} s, {} rows per second\n", self.tally, self.start.elapsed().as_secs_f64(), self.rate())
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive, and a rate is never exact"
    )]
    fn rate(&self) -> u64 {
        (self.tally.rows() as f64 / self.start.elapsed().as_secs_f64()) as u64
    }
}

/// The bar's own word for it has four decimals.
fn write_rate(state: &ProgressState, out: &mut dyn fmt::Write) {
    // The bar is for the eye: there is nobody to tell if this fails.
    let _ = write!(out, "{:.0}", state.per_sec());
}
