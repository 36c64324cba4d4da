//! The collector of metrics, the only crate that knows how they are written, and the exporter of traces: each scrape reads the counters and
//! histograms of all components, which know nothing of it, and those of the process and of the runtime.
//!
//! - [`exposition`] writes `OpenMetrics` with `prometheus-client`, and the text format of Prometheus from the same;
//! - [`process`] has the metrics of the process, [`runtime`] those of tokio;
//! - [`traces`] exports the spans of sampled requests.

mod exposition;
mod process;
mod runtime;
pub mod traces;

use parking_lot::RwLock;
use std::sync::Arc;

use application::metrics::{Collector, Exposition, Format, Instrumented, Labels, Metric, Reading};

/// The metrics of this crate.
pub static METRICS: &[&[&Metric]] =
    &[process::METRICS, runtime::METRICS, traces::METRICS, &[&BUILD]];

static BUILD: Metric = Metric::gauge(
    "proposal_service_build_info",
    "Always 1; the labels say which version, commit and schema this is, and which database engine it uses",
);

/// Collects the metrics of all components.
pub struct Telemetry {
    components: RwLock<Vec<Arc<dyn Instrumented>>>,
}

impl Telemetry {
    /// Collects those of the process and of its traces, and of the runtime that it is called in.
    #[must_use]
    pub fn new() -> Self {
        let telemetry = Self { components: RwLock::default() };
        telemetry.add(Arc::new(process::Process));
        telemetry.add(Arc::new(runtime::Runtime::current()));
        telemetry.add(Arc::new(traces::TraceMetrics));
        telemetry
    }

    /// Collects those of a component, too. Its histograms record from now on.
    pub fn add(&self, component: Arc<dyn Instrumented>) {
        component.collect(&mut exposition::Attach);
        self.components.write().push(component);
    }

    /// Shows what was built, by labels.
    pub fn add_build(&self, labels: Vec<(&'static str, String)>) {
        self.add(Arc::new(Build(labels)));
    }
}

impl Default for Telemetry {
    fn default() -> Self {
        Self::new()
    }
}

impl Exposition for Telemetry {
    fn write(&self, format: Format) -> String {
        let mut families = exposition::Families::default();
        for component in &*self.components.read() {
            component.collect(&mut families);
        }
        families.write(format)
    }
}

struct Build(Vec<(&'static str, String)>);

impl Instrumented for Build {
    fn collect(&self, collector: &mut dyn Collector) {
        let labels: Vec<_> = self.0.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let labels: Labels<'_> = &labels;
        collector.take(&BUILD, labels, Reading::Count(1));
    }
}
