//! The metrics of tokio's runtime.

use std::time::Duration;

use application::metrics::{Collector, Instrumented, Reading};
use tokio::runtime::{Handle, RuntimeMetrics};

application::metrics! {
    WORKERS = gauge("tokio_workers", "Threads that run tasks");
    TASKS = gauge("tokio_alive_tasks", "Tasks that have not ended");
    QUEUE = gauge("tokio_global_queue_length", "Tasks that no worker has taken up");
    BUSY = counter(
        "tokio_worker_busy_seconds",
        "Time that all workers were busy; as much as there are workers each second when they cannot keep up",
    );
    PARKS = counter("tokio_worker_parks", "How often workers had nothing to do");
}

/// A runtime.
pub struct Runtime(RuntimeMetrics);

impl Runtime {
    /// The runtime that this is called in.
    pub fn current() -> Self {
        Self(Handle::current().metrics())
    }
}

impl Instrumented for Runtime {
    fn collect(&self, collector: &mut dyn Collector) {
        let Self(metrics) = self;
        let workers = 0..metrics.num_workers();
        let busy: Duration =
            workers.clone().map(|worker| metrics.worker_total_busy_duration(worker)).sum();
        let parks = workers.map(|worker| metrics.worker_park_count(worker)).sum();
        collector.take(&WORKERS, &[], Reading::Count(metrics.num_workers() as u64));
        collector.take(&TASKS, &[], Reading::Count(metrics.num_alive_tasks() as u64));
        collector.take(&QUEUE, &[], Reading::Count(metrics.global_queue_depth() as u64));
        collector.take(&BUSY, &[], Reading::Time(busy));
        collector.take(&PARKS, &[], Reading::Count(parks));
    }
}
