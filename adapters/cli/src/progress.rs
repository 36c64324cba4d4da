//! How far something has come that takes long: a bar on a terminal, a line of the log now and then
//! elsewhere.

use std::fmt;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use tokio::time::{Interval, MissedTickBehavior, interval_at};

/// How often the log says how far it has come.
const LINES: Duration = Duration::from_secs(10);

/// Watches work of any length.
pub struct Meter {
    start: Instant,
    bar: ProgressBar,
    lines: Interval,
}

impl Meter {
    /// Starts the clock. The template is one of indicatif's, with `rate` for a whole number a
    /// second.
    pub fn start(total: Option<u64>, template: &str) -> Self {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
        // The template is a constant; were it wrong, the usual bar would do.
        let style =
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style.with_key("rate", write_rate));
        let mut lines = interval_at(tokio::time::Instant::now() + LINES, LINES);
        lines.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { start: Instant::now(), bar, lines }
    }

    /// Where to say how far it has come, from any thread.
    pub const fn bar(&self) -> &ProgressBar {
        &self.bar
    }

    /// Waits until a line is due. On a terminal none ever is.
    pub async fn line_is_due(&mut self) {
        if self.bar.is_hidden() {
            self.lines.tick().await;
        } else {
            std::future::pending::<()>().await;
        }
    }

    /// Leaves the terminal to others, with the bar as it is.
    pub fn end(&self) {
        self.bar.abandon();
    }

    /// How long it has taken so far.
    pub fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// How many a second so many were.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive, and a rate is never exact"
    )]
    pub fn rate(&self, count: u64) -> u64 {
        (count as f64 / self.seconds()) as u64
    }
}

/// The bar's own word for it has four decimals.
fn write_rate(state: &ProgressState, out: &mut dyn fmt::Write) {
    // The bar is for the eye: nobody needs to know if this fails.
    let _ = write!(out, "{:.0}", state.per_sec());
}
