//! Progress of long work: a bar on a terminal, otherwise periodic log lines. Signals end the work.

use std::fmt;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressState, ProgressStyle};
use tokio::time::{Interval, MissedTickBehavior, interval_at};

use crate::commands::error::{CommandError, Result};
use crate::commands::signals::Signals;

const LINES: Duration = Duration::from_secs(10);

pub struct ProgressMeter {
    pub bar: ProgressBar,
    lines: Interval,
    what: &'static str,
    signals: Signals,
}

impl ProgressMeter {
    /// Starts the clock and handles signals. `template` is that of [`bar`], and `what` names the
    /// work in the log.
    pub fn start(total: Option<u64>, template: &str, what: &'static str) -> Result<Self> {
        let signals = Signals::listen()?;
        let bar = bar(total, template);
        let mut lines = interval_at(tokio::time::Instant::now() + LINES, LINES);
        lines.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Self { bar: bar.with_finish(ProgressFinish::Abandon), lines, what, signals })
    }

    pub async fn watch<T, E: Into<CommandError>>(
        &mut self,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T> {
        tokio::select! {
            done = work => done.map_err(Into::into),
            signal = self.signal() => Err(CommandError::Stopped(signal)),
        }
    }

    pub async fn signal(&mut self) -> &'static str {
        loop {
            tokio::select! {
                signal = self.signals.next() => return signal,
                _ = self.lines.tick() => {}
            }
            // A terminal shows the bar instead.
            if self.bar.is_hidden() {
                let (done, of) = (self.bar.position(), self.bar.length());
                tracing::info!(done, of, seconds_left = self.bar.eta().as_secs(), "{}", self.what);
            }
        }
    }

    pub fn end(&self) {
        self.bar.abandon();
    }

    pub fn seconds(&self) -> f64 {
        self.bar.elapsed().as_secs_f64()
    }
}

/// Makes a bar on standard error. The template may use `rate` (a whole number per second) and
/// `next` (next step of an upload).
pub fn bar(total: Option<u64>, template: &str) -> ProgressBar {
    // The template is a constant. The default bar replaces an invalid one.
    let style =
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let style = style.with_key("rate", write_rate).with_key("next", write_next);
    ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr()).with_style(style)
}

fn write_rate(state: &ProgressState, out: &mut dyn fmt::Write) {
    let _ = write!(out, "{:.0}", state.per_sec());
}

fn write_next(state: &ProgressState, out: &mut dyn fmt::Write) {
    if state.len() == Some(state.pos()) {
        let _ = write!(out, "· the service is checking and storing the rows");
    }
}
