//! Metrics of the process, with the names of the Prometheus client libraries. Some exist on Linux
//! only.

use std::fmt;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

#[derive(Debug)]
pub struct ThisProcess;

#[cfg(target_os = "linux")]
impl Collector for ThisProcess {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        use procfs::process::{LimitValue, Process};

        let mut write = |name: &str, help: &str, metric: &dyn EncodeMetric| {
            metric.encode(encoder.encode_descriptor(name, help, None, metric.metric_type())?)
        };
        let Ok(process) = Process::myself() else { return Ok(()) };
        if let Ok(stat) = process.stat() {
            let help = "CPU time, user and system.";
            let used = ConstCounter::new(seconds(stat.utime + stat.stime));
            write("process_cpu_seconds", help, &used)?;
            let help = "Resident memory.";
            let resident = ConstGauge::new(stat.rss.saturating_mul(procfs::page_size()));
            write("process_resident_memory_bytes", help, &resident)?;
            let help = "Virtual memory.";
            write("process_virtual_memory_bytes", help, &ConstGauge::new(stat.vsize))?;
            let help = "Number of threads of the process.";
            write("process_threads", help, &ConstGauge::new(stat.num_threads))?;
            if let Ok(booted) = procfs::boot_time_secs() {
                let ticks = booted * procfs::ticks_per_second() + stat.starttime;
                let help = "Start time of the process, in seconds since 1970.";
                write("process_start_time_seconds", help, &ConstGauge::new(seconds(ticks)))?;
            }
        }
        if let Ok(open) = process.fd_count() {
            let help = "Open files and sockets.";
            write("process_open_fds", help, &ConstGauge::new(open))?;
        }
        if let Ok(limits) = process.limits()
            && let LimitValue::Value(most) = limits.max_open_files.soft_limit
        {
            let help = "Limit on open files and sockets.";
            write("process_max_fds", help, &ConstGauge::new(most))?;
        }
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn seconds(count: u64) -> f64 {
    let ticks = procfs::ticks_per_second();
    let tick = Duration::from_secs(1) / u32::try_from(ticks).unwrap_or(100);
    let rest = u32::try_from(count % ticks).unwrap_or(0);
    (Duration::from_secs(count / ticks) + rest * tick).as_secs_f64()
}

#[cfg(not(target_os = "linux"))]
impl Collector for ThisProcess {
    fn encode(&self, _encoder: DescriptorEncoder<'_>) -> fmt::Result {
        Ok(())
    }
}
