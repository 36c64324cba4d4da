//! `docs/metrics.md` names every metric, and every metric that is served is documented.

use std::collections::BTreeSet;

use application::metrics::{Kind, Metric};
use tests::Store;

use super::Monitored;

/// The tables of all components.
fn all() -> Vec<&'static Metric> {
    let tables = [
        application::metrics::METRICS,
        http_adapter::METRICS,
        identity_adapter::METRICS,
        rules_adapter::METRICS,
        storage_adapter::METRICS,
    ];
    let mut all: Vec<_> = tables
        .into_iter()
        .chain(telemetry_adapter::METRICS.iter().copied())
        .flatten()
        .copied()
        .collect();
    all.sort_unstable_by_key(|metric| metric.name);
    all
}

fn row(metric: &Metric) -> String {
    let (suffix, kind) = match metric.kind {
        Kind::Counter => ("_total", "counter"),
        Kind::Gauge => ("", "gauge"),
        Kind::Histogram(_) => ("", "histogram"),
    };
    format!("| `{}{suffix}` | {kind} | {} |", metric.name, metric.help)
}

#[test]
fn the_page_has_every_metric_with_its_meaning() {
    let rows: Vec<_> = all().into_iter().map(row).collect();
    let page = include_str!("../../../docs/metrics.md");
    let written: Vec<_> = page.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(written, rows, "the table should be:\n{}", rows.join("\n"));
}

#[test]
fn every_metric_that_is_served_is_in_a_table() {
    let known: BTreeSet<_> = all().into_iter().map(|metric| metric.name).collect();
    for store in [Store::Sqlite, Store::Postgres] {
        let service = Monitored::start(store, &[]);
        let metrics = service.ask("GET", "/metrics").accept("application/openmetrics-text");
        let metrics = metrics.send_unchecked().expect(200);
        let served = metrics.text().lines().filter_map(|line| line.strip_prefix("# TYPE "));
        for served in served.filter_map(|line| line.split(' ').next()) {
            assert!(known.contains(served), "{served}");
        }
    }
}
