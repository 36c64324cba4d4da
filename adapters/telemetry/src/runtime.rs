use std::fmt;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use tokio::runtime::{Handle, RuntimeMetrics};

#[derive(Debug)]
pub struct Runtime(RuntimeMetrics);

impl Runtime {
    pub fn current() -> Self {
        Self(Handle::current().metrics())
    }
}

impl Collector for Runtime {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Self(metrics) = self;
        let workers = 0..metrics.num_workers();
        let busy: Duration =
            workers.clone().map(|worker| metrics.worker_total_busy_duration(worker)).sum();
        let parks: u64 = workers.map(|worker| metrics.worker_park_count(worker)).sum();
        let mut write = |name: &str, help: &str, metric: &dyn EncodeMetric| {
            metric.encode(encoder.encode_descriptor(name, help, None, metric.metric_type())?)
        };
        let help = "Worker threads that run tasks.";
        write("tokio_workers", help, &ConstGauge::new(metrics.num_workers()))?;
        let help = "Active tasks.";
        write("tokio_alive_tasks", help, &ConstGauge::new(metrics.num_alive_tasks()))?;
        let help = "Tasks waiting for a worker.";
        let queued = ConstGauge::new(metrics.global_queue_depth());
        write("tokio_global_queue_length", help, &queued)?;
        let help = "Busy time of all workers; equal to the number of workers each second when they are saturated.";
        write("tokio_worker_busy_seconds", help, &ConstCounter::new(busy.as_secs_f64()))?;
        let help = "Number of times a worker was idle.";
        write("tokio_worker_parks", help, &ConstCounter::new(parks))
    }
}
