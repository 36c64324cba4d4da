//! Monitoring of an instance: metrics, the admin listener, the access log.

use std::sync::Arc;

use application::Clock;
use application::metrics::Instrumented;
use http_adapter::{AccessLog, AccessLogWriter, Admin, HttpMetrics};
use rules_adapter::Watches;
use storage_adapter::{SCHEMA_VERSION, Store};
use telemetry_adapter::Telemetry;
use tokio::sync::watch;

use crate::commands::{AccessLogFormat, CommandError, ServeOptions, set_log_filter};
use crate::failed;

/// The metrics, the admin listener and the access log of an instance.
pub struct Monitoring {
    /// The metrics of HTTP.
    pub http: Arc<HttpMetrics>,
    /// A line for each request, if the operator wants it.
    pub access_log: Option<Arc<AccessLog>>,
    _writer: Option<AccessLogWriter>,
    /// Where there is no listener, nothing is collected.
    admin: Option<(Admin, Arc<Telemetry>)>,
}

impl Monitoring {
    /// Opens the admin listener, before anything that takes time is begun.
    pub fn start(options: &ServeOptions, clock: &Arc<dyn Clock>) -> Result<Self, CommandError> {
        let access_log = options.monitoring.access_log.map(|format| {
            let is_json = format == AccessLogFormat::Json;
            AccessLog::start(is_json, &options.access.trusted_proxies, Arc::clone(clock))
        });
        let (access_log, writer) = access_log.unzip();
        let open = |address| {
            let telemetry = Arc::new(Telemetry::new());
            let metrics = Arc::<Telemetry>::clone(&telemetry);
            Admin::open(address, metrics, set_log_filter).map(|admin| (admin, telemetry))
        };
        let admin = options.monitoring.admin_listen.map(open).transpose().map_err(failed)?;
        Ok(Self { http: Arc::default(), access_log, _writer: writer, admin })
    }

    /// Collects the metrics of the store and of the files in force, and tells that the service serves.
    pub fn started(
        &self,
        store: &Store,
        files: impl Iterator<Item = Arc<dyn Instrumented>>,
        is_leaving: watch::Receiver<bool>,
        clock: Arc<dyn Clock>,
        watches: &mut Watches,
    ) {
        let Some((admin, telemetry)) = &self.admin else { return };
        watches.tasks.spawn(store.clone().keep_sampling(clock));
        telemetry.add_build(vec![
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("revision", env!("PROPOSAL_SERVICE_COMMIT").to_owned()),
            ("schema", SCHEMA_VERSION.to_string()),
            ("database", store.engine_name().to_owned()),
        ]);
        telemetry.add(Arc::<HttpMetrics>::clone(&self.http));
        telemetry.add(Arc::new(store.clone()));
        files.for_each(|files| telemetry.add(files));
        admin.started(store.readiness(), is_leaving);
    }
}
