//! The progress of something that takes long: a bar on a terminal, a line of the log now and then
//! elsewhere; and the signals that end it.

use std::fmt;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressState, ProgressStyle};
use tokio::time::{Interval, MissedTickBehavior, interval_at};

use crate::commands::error::CommandError;
use crate::commands::signals::Signals;

/// The time between two lines of the log.
const LINES: Duration = Duration::from_secs(10);

/// Watches work of any length.
pub struct ProgressMeter {
    pub bar: ProgressBar,
    lines: Interval,
    what: &'static str,
    signals: Signals,
}

impl ProgressMeter {
    /// Starts the clock, and takes the signals over. The template is that of [`bar`];
    /// `what` is done is said by the log.
    pub fn start(
        total: Option<u64>,
        template: &str,
        what: &'static str,
    ) -> Result<Self, CommandError> {
        let signals = Signals::listen()?;
        let bar = bar(total, template);
        let mut lines = interval_at(tokio::time::Instant::now() + LINES, LINES);
        lines.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Self { bar: bar.with_finish(ProgressFinish::Abandon), lines, what, signals })
    }

    /// Waits for work, which a signal ends.
    pub async fn watch<T, E: Into<CommandError>>(
        &mut self,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, CommandError> {
        tokio::select! {
            done = work => done.map_err(Into::into),
            signal = self.signal() => Err(CommandError::Stopped(signal)),
        }
    }

    /// Waits for the next signal and logs the progress meanwhile; returns its name.
    pub async fn signal(&mut self) -> &'static str {
        loop {
            tokio::select! {
                signal = self.signals.next() => return signal,
                _ = self.lines.tick() => {}
            }
            // On a terminal there is the bar.
            if self.bar.is_hidden() {
                let (done, of) = (self.bar.position(), self.bar.length());
                tracing::info!(done, of, seconds_left = self.bar.eta().as_secs(), "{}", self.what);
            }
        }
    }

    /// Leaves the terminal to others, with the bar as it is.
    pub fn end(&self) {
        self.bar.abandon();
    }

    /// The seconds it has taken.
    pub fn seconds(&self) -> f64 {
        self.bar.elapsed().as_secs_f64()
    }
}

/// A bar on standard error. The template is one of indicatif's, with `rate` for a whole number a
/// second, and `next` for the next step of an upload.
pub fn bar(total: Option<u64>, template: &str) -> ProgressBar {
    // The template is a constant; were it wrong, the usual bar would do.
    let style =
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let style = style.with_key("rate", write_rate).with_key("next", write_next);
    ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr()).with_style(style)
}

/// The bar's own word for it has four decimals.
fn write_rate(state: &ProgressState, out: &mut dyn fmt::Write) {
    // The bar is for the eye: nobody needs to know if this fails.
    let _ = write!(out, "{:.0}", state.per_sec());
}

fn write_next(state: &ProgressState, out: &mut dyn fmt::Write) {
    if state.len() == Some(state.pos()) {
        let _ = write!(out, "· the service checks and stores the rows");
    }
}
