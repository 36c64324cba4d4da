//! The metrics of the process, by the names that Prometheus' own clients give them. Only Linux tells them all.

use application::metrics::{Collector, Instrumented};

application::metrics! {
    CPU = counter("process_cpu_seconds", "Processor time, of user and system");
    RESIDENT = gauge("process_resident_memory_bytes", "Memory that the process has in use");
    VIRTUAL = gauge("process_virtual_memory_bytes", "Memory that the process has reserved");
    OPEN_FILES = gauge("process_open_fds", "Files and sockets that the process has open");
    MOST_FILES = gauge("process_max_fds", "Files and sockets that the process may have open");
    THREADS = gauge("process_threads", "Threads of the process");
    STARTED = gauge(
        "process_start_time_seconds",
        "When the process was started, in seconds since 1970",
    );
}

/// This process.
pub struct Process;

#[cfg(target_os = "linux")]
impl Instrumented for Process {
    fn collect(&self, collector: &mut dyn Collector) {
        use std::time::Duration;

        use application::metrics::Reading;
        use procfs::process::Process;

        let Ok(process) = Process::myself() else { return };
        if let Ok(stat) = process.stat() {
            let ticks = procfs::ticks_per_second();
            let time = |count: u64| {
                let rest = u32::try_from(count % ticks).unwrap_or(0);
                let tick = Duration::from_secs(1) / u32::try_from(ticks).unwrap_or(100);
                Duration::from_secs(count / ticks) + rest * tick
            };
            let resident = stat.rss.saturating_mul(procfs::page_size());
            collector.take(&CPU, &[], Reading::Time(time(stat.utime + stat.stime)));
            collector.take(&RESIDENT, &[], Reading::Count(resident));
            collector.take(&VIRTUAL, &[], Reading::Count(stat.vsize));
            let threads = u64::try_from(stat.num_threads).unwrap_or(0);
            collector.take(&THREADS, &[], Reading::Count(threads));
            if let Ok(booted) = procfs::boot_time_secs() {
                let started = Duration::from_secs(booted) + time(stat.starttime);
                collector.take(&STARTED, &[], Reading::Time(started));
            }
        }
        if let Ok(open) = process.fd_count() {
            collector.take(&OPEN_FILES, &[], Reading::Count(open as u64));
        }
        if let Ok(limits) = process.limits()
            && let procfs::process::LimitValue::Value(most) = limits.max_open_files.soft_limit
        {
            collector.take(&MOST_FILES, &[], Reading::Count(most));
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl Instrumented for Process {
    fn collect(&self, _collector: &mut dyn Collector) {}
}
