//! Monitoring of a running service: metrics, probes, the filter of the log, the access log, traces.

#![expect(clippy::unwrap_used, reason = "a failure ends the test")]

mod access_log;
mod collector;
mod documentation;
mod listener;
mod series;
mod traces;

use std::collections::BTreeMap;
use std::net::SocketAddr;

use tests::{Answer, Request, Service, Store, free_address};

/// Runs a test for both kinds of store at the same time: most of its time is waiting.
fn on_both(test: impl Fn(Store) + Sync) {
    std::thread::scope(|threads| {
        threads.spawn(|| test(Store::Sqlite));
        test(Store::Postgres);
    });
}

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

    fn metrics_with_exemplars(&self) -> String {
        let request = self.ask("GET", "/metrics").accept("application/openmetrics-text");
        request.send_unchecked().expect(200).text().to_owned()
    }

    #[track_caller]
    fn set_filter(&self, filter: &str) {
        let request = self.ask("PUT", "/log").body("text/plain", filter);
        request.send_unchecked().expect(204);
    }

    /// The value of each series, by its name and labels.
    fn series(&self) -> BTreeMap<String, String> {
        let metrics = self.metrics();
        let lines = metrics.text().lines().filter(|line| !line.starts_with('#'));
        let series = lines.map(|line| line.rsplit_once(' ').unwrap());
        series.map(|(series, value)| (series.to_owned(), value.to_owned())).collect()
    }
}
