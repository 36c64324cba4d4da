//! Monitoring of a running service: metrics, probes, the filter of the log, the access log, traces.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod access_log;
mod collector;
mod documentation;
mod listener;
mod series;
mod traces;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tests::{Answer, Request, Service, Store, free_address};

/// A service with an admin listener.
struct Monitored {
    service: Service,
    admin: SocketAddr,
}

impl Monitored {
    fn start(store: Store, arguments: &[&str]) -> Self {
        let admin = free_address();
        let address = admin.to_string();
        let arguments = [&["--admin-listen", &address][..], arguments].concat();
        Self { service: Service::start_with(store, &arguments), admin }
    }

    fn ask(&self, method: &str, path: &str) -> Request {
        Request::new(self.admin, method, path)
    }

    fn metrics(&self) -> Answer {
        self.ask("GET", "/metrics").send_unchecked().expect(200)
    }

    /// The value of each series, by its name and labels as they are written.
    fn series(&self) -> BTreeMap<String, String> {
        let metrics = self.metrics();
        let lines = metrics.text().lines().filter(|line| !line.starts_with('#'));
        let series = lines.map(|line| line.rsplit_once(' ').unwrap());
        series.map(|(series, value)| (series.to_owned(), value.to_owned())).collect()
    }
}

/// Waits until something is so, which it soon is.
fn wait_until(mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(20), "it is never so");
        std::thread::sleep(Duration::from_millis(20));
    }
}
