//! The port for metrics: what each adapter counts and measures, without knowing who collects it.
//!
//! A component has a table of its [`Metric`]s ([`metrics!`](crate::metrics!)) and a struct of [`Counter`]s, [`Gauge`]s and [`Histogram`]s, kept by
//! whoever counts, so that nothing is looked up by name. It implements [`Instrumented`], by which a collector reads all
//! of them. Until a collector attaches a [`Recorder`] to it, a histogram records nothing.

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The description of a metric.
#[derive(Debug, PartialEq)]
pub struct Metric {
    /// Its name, with its unit and without the suffix `_total` of a counter.
    pub name: &'static str,
    /// A sentence for people, without a full stop.
    pub help: &'static str,
    /// Its kind.
    pub kind: Kind,
}

/// The kinds of metrics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A number that only grows.
    Counter,
    /// A number that goes up and down.
    Gauge,
    /// How many values were at most so large, for these bounds.
    Histogram(&'static [f64]),
}

/// Bounds of times, in seconds: those of OpenTelemetry for requests, and shorter ones.
pub const SECONDS: &[f64] = &[
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0,
    7.5, 10.0,
];

/// Bounds of times within the service, in seconds.
pub const SHORT_SECONDS: &[f64] =
    &[0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// Bounds of sizes, in bytes.
pub const BYTES: &[f64] =
    &[256.0, 1024.0, 4096.0, 16384.0, 65536.0, 262_144.0, 1_048_576.0, 8_388_608.0];

/// Bounds of how many are done together.
pub const ROWS: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

impl Metric {
    /// A number that only grows.
    #[must_use]
    pub const fn counter(name: &'static str, help: &'static str) -> Self {
        Self { name, help, kind: Kind::Counter }
    }

    /// A number that goes up and down.
    #[must_use]
    pub const fn gauge(name: &'static str, help: &'static str) -> Self {
        Self { name, help, kind: Kind::Gauge }
    }

    /// Values by their size.
    #[must_use]
    pub const fn histogram(name: &'static str, help: &'static str, bounds: &'static [f64]) -> Self {
        Self { name, help, kind: Kind::Histogram(bounds) }
    }
}

/// Declares metrics, and `METRICS`, which has all of them. A row is `NAME = counter(name, help);`, likewise `gauge`, and
/// `histogram` with its bounds behind.
#[macro_export]
macro_rules! metrics {
    ($($(#[$about:meta])* $visibility:vis $metric:ident = $kind:ident($($part:expr),+ $(,)?);)+) => {
        $(
            $(#[$about])*
            $visibility static $metric: $crate::metrics::Metric = $crate::metrics::Metric::$kind($($part),+);
        )+

        /// All metrics that are declared here.
        pub static METRICS: &[&$crate::metrics::Metric] = &[$(&$metric),+];
    };
}

/// Labels of a series, by their names. Their values MUST come from a bounded set, whatever clients send.
pub type Labels<'a> = &'a [(&'static str, &'a str)];

/// The value of a series.
#[derive(Clone, Copy)]
pub enum Reading<'a> {
    /// How many.
    Count(u64),
    /// How long.
    Time(Duration),
    /// Any other number.
    Number(f64),
    /// The values of a histogram.
    Histogram(&'a Histogram),
    /// The same, shown from the first value on: for those of which there are many.
    HistogramIfUsed(&'a Histogram),
}

/// Takes the series of a component.
pub trait Collector {
    /// Takes a series.
    fn take(&mut self, metric: &'static Metric, labels: Labels<'_>, reading: Reading<'_>);
}

/// A component that has metrics.
pub trait Instrumented: Send + Sync {
    /// Gives all series. MUST NOT wait. A histogram records once it was given.
    fn collect(&self, collector: &mut dyn Collector);
}

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds one.
    pub fn increment(&self) {
        self.add(1);
    }

    /// Adds a number.
    pub fn add(&self, number: u64) {
        self.0.fetch_add(number, Ordering::Relaxed);
    }

    /// Returns the number.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns the number as the value of a series.
    pub fn read(&self) -> Reading<'static> {
        Reading::Count(self.count())
    }
}

/// A number that goes up and down. Never below zero where it is shown.
#[derive(Debug, Default)]
pub struct Gauge(AtomicI64);

impl Gauge {
    /// Adds a number, which may be below zero.
    pub fn add(&self, number: i64) {
        self.0.fetch_add(number, Ordering::Relaxed);
    }

    /// Adds one until the result is dropped.
    #[must_use]
    pub fn enter(self: &Arc<Self>) -> Entered {
        self.0.fetch_add(1, Ordering::Relaxed);
        Entered(Arc::clone(self))
    }

    /// Returns the number.
    pub fn number(&self) -> u64 {
        u64::try_from(self.0.load(Ordering::Relaxed)).unwrap_or(0)
    }

    /// Returns the number as the value of a series.
    pub fn read(&self) -> Reading<'static> {
        Reading::Count(self.number())
    }
}

/// One of those that a gauge counts.
#[derive(Debug)]
pub struct Entered(Arc<Gauge>);

impl Drop for Entered {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Records the values of a histogram, for a collector.
pub trait Recorder: Any + Send + Sync {
    /// Records a value, and the trace that it was measured in, if there is one.
    fn record(&self, value: f64, trace: Option<TraceId>);
}

/// Makes a recorder with bounds.
pub type MakeRecorder = fn(&'static [f64]) -> Box<dyn Recorder>;

/// The id of a trace (W3C Trace Context), never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceId(pub u128);

/// As it is written everywhere: 32 hexadecimal digits.
impl fmt::Display for TraceId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", self.0)
    }
}

/// Values by their size.
#[derive(Default)]
pub struct Histogram {
    source: OnceLock<(MakeRecorder, &'static [f64])>,
    /// Made for the first value.
    recorder: OnceLock<Box<dyn Recorder>>,
}

impl Histogram {
    /// Makes it record, from now on.
    pub fn attach(&self, make: MakeRecorder, bounds: &'static [f64]) {
        self.source.get_or_init(|| (make, bounds));
    }

    /// Returns whether anything is recorded, so that nothing is measured in vain.
    pub fn is_attached(&self) -> bool {
        self.source.get().is_some()
    }

    /// Records a value.
    pub fn record(&self, value: f64) {
        self.record_traced(value, None);
    }

    /// Records a time, in seconds.
    pub fn record_time(&self, time: Duration) {
        self.record(time.as_secs_f64());
    }

    /// Records how many there were.
    pub fn record_count(&self, count: usize) {
        self.record(u32::try_from(count).unwrap_or(u32::MAX).into());
    }

    /// Records a value with the trace that it was measured in.
    pub fn record_traced(&self, value: f64, trace: Option<TraceId>) {
        if let Some(recorder) = self.recorder() {
            recorder.record(value, trace);
        }
    }

    /// Returns whether anything was recorded.
    pub fn is_used(&self) -> bool {
        self.recorder.get().is_some()
    }

    /// Returns the recorder, if one is attached.
    pub fn recorder(&self) -> Option<&dyn Recorder> {
        let (make, bounds) = self.source.get()?;
        Some(&**self.recorder.get_or_init(|| make(bounds)))
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Histogram").finish_non_exhaustive()
    }
}

crate::metrics! {
    RELOADS = counter(
        "proposal_service_reloads",
        "How often files were read again, by their kind and whether they were put in force",
    );
    RELOAD_FAILED = gauge(
        "proposal_service_reload_failed",
        "1 while files have errors, so that what was read before them stays in force",
    );
}

/// Gives how often files of a kind were read again: put in force, and refused; and whether they were refused the last
/// time.
pub fn collect_reloads(
    kind: &str,
    (taken, refused, is_refused): (u64, u64, bool),
    collector: &mut dyn Collector,
) {
    for (outcome, count) in [("success", taken), ("failure", refused)] {
        collector.take(&RELOADS, &[("files", kind), ("outcome", outcome)], Reading::Count(count));
    }
    collector.take(&RELOAD_FAILED, &[("files", kind)], Reading::Count(is_refused.into()));
}

/// The forms in which metrics are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `OpenMetrics` 1.0, with exemplars.
    OpenMetrics,
    /// The text format 0.0.4 of Prometheus.
    Prometheus,
}

/// Writes down all metrics.
pub trait Exposition: Send + Sync {
    /// Returns all metrics as they are now. MUST NOT wait.
    fn write(&self, format: Format) -> String;
}
