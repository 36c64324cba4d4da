//! What monitoring sees of an instance.

use std::future::pending;
use std::sync::Arc;

use application::metrics::Instrumented;
use application::{Clock, Readiness};
use cli_adapter::{AccessLogFormat, CommandError, ServeOptions, set_log_filter};
use http_adapter::{AccessLog, Admin, HttpMetrics};
use storage_adapter::SCHEMA_VERSION;
use telemetry_adapter::Telemetry;
use tokio::sync::watch;

use crate::failed;

/// The metrics, the admin listener and the access log of an instance.
pub struct Monitoring {
    /// The metrics of HTTP.
    pub http: Arc<HttpMetrics>,
    /// A line for each request, if the operator wants it.
    pub access_log: Option<Arc<AccessLog>>,
    /// Where there is no listener, nothing is collected.
    admin: Option<(Admin, Arc<Telemetry>)>,
}

impl Monitoring {
    /// Opens the admin listener, before anything that takes time is begun.
    pub fn start(options: &ServeOptions, clock: &Arc<dyn Clock>) -> Result<Self, CommandError> {
        let access_log = options.monitoring.access_log.map(|format| {
            let is_json = format == AccessLogFormat::Json;
            Arc::new(AccessLog::start(is_json, &options.access.trusted_proxies, Arc::clone(clock)))
        });
        let admin = match options.monitoring.admin_listen {
            Some(address) => {
                let (address, listener) = Admin::listen(address).map_err(failed)?;
                let telemetry = Arc::new(Telemetry::new());
                let admin = Admin::new(Arc::<Telemetry>::clone(&telemetry), set_log_filter);
                tracing::info!("metrics are at http://{address}/metrics");
                tokio::spawn(admin.clone().serve(listener, pending()));
                Some((admin, telemetry))
            }
            None => None,
        };
        Ok(Self { http: Arc::default(), access_log, admin })
    }

    /// Collects the metrics of what was started, and tells that the service serves.
    pub fn started(
        &self,
        engine: &str,
        components: impl IntoIterator<Item = Arc<dyn Instrumented>>,
        (store, is_leaving): (Arc<dyn Readiness>, watch::Receiver<bool>),
    ) {
        let Some((admin, telemetry)) = &self.admin else { return };
        telemetry.add_build(vec![
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("revision", env!("PROPOSAL_SERVICE_COMMIT").to_owned()),
            ("schema", SCHEMA_VERSION.to_string()),
            ("database", engine.to_owned()),
        ]);
        telemetry.add(Arc::<HttpMetrics>::clone(&self.http));
        if let Some(access_log) = &self.access_log {
            telemetry.add(Arc::<AccessLog>::clone(access_log));
        }
        components.into_iter().for_each(|component| telemetry.add(component));
        admin.started(store, is_leaving);
    }

    /// Returns whether anybody looks.
    pub const fn is_on(&self) -> bool {
        self.admin.is_some()
    }
}
