//! Metrics of the process and the runtime, and the exporter of traces.

mod process;
mod runtime;
pub mod traces;

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Registers the metrics of the process, its traces and the current runtime.
pub fn register(registry: &mut Registry) {
    registry.register_collector(Box::new(process::ThisProcess));
    registry.register_collector(Box::new(runtime::Runtime::current()));
    traces::register(registry);
}

pub fn register_build(registry: &mut Registry, labels: &[(&'static str, String); 4]) {
    let build = Family::<[(&str, String); 4], Gauge>::default();
    build.get_or_create(labels).set(1);
    registry.register(
        "proposal_service_build_info",
        "Always 1; the labels give the version, the commit, the schema and the database engine",
        build,
    );
}
