//! Monitoring of an instance: metrics, the admin listener, the access log.

use std::io;
use std::sync::Arc;

use application::Clock;
use http_adapter::{AccessLog, AccessLogWriter, Admin, HttpMetrics, SharedRegistry};
use identity_adapter::ReloadableIdentity;
use language::Watches;
use rules_adapter::ReloadableRules;
use storage_adapter::{SCHEMA_VERSION, Store};
use tokio::sync::watch;

use crate::commands::{AccessLogFormat, Result, ServeOptions, set_log_filter};
use crate::failed;

pub struct Monitoring {
    pub http: Arc<HttpMetrics>,
    pub access_log: Option<Arc<AccessLog>>,
    _writer: Option<AccessLogWriter>,
    admin: Option<(Admin, SharedRegistry)>,
}

impl Monitoring {
    /// Opens the admin listener before any slow step.
    pub fn start(options: &ServeOptions, clock: &Arc<dyn Clock>) -> Result<Self> {
        let access_log = options.monitoring.access_log.map(|format| {
            let is_json = format == AccessLogFormat::Json;
            let trusted = &options.access.trusted_proxies;
            AccessLog::start(io::stderr(), is_json, trusted, Arc::clone(clock))
        });
        let (access_log, writer) = access_log.unzip();
        let open = |address| {
            let registry = SharedRegistry::default();
            telemetry_adapter::register(&mut registry.lock());
            let admin = Admin::open(address, Arc::clone(&registry), set_log_filter);
            admin.map(|admin| (admin, registry))
        };
        let admin = options.monitoring.admin_listen.map(open).transpose().map_err(failed)?;
        let registry = admin.as_ref().map(|(_, registry)| Arc::clone(registry));
        let http = Arc::new(HttpMetrics::new(registry));
        Ok(Self { http, access_log, _writer: writer, admin })
    }

    /// The registry of the admin listener, if there is one.
    pub fn registry(&self) -> Option<&SharedRegistry> {
        self.admin.as_ref().map(|(_, registry)| registry)
    }

    pub fn started(
        &self,
        store: &Store,
        (rules, identity): (&Arc<ReloadableRules>, Option<&Arc<ReloadableIdentity>>),
        is_leaving: watch::Receiver<bool>,
        clock: Arc<dyn Clock>,
        watches: &mut Watches,
    ) {
        let Some((admin, registry)) = &self.admin else { return };
        watches.tasks.spawn(store.clone().keep_sampling(clock));
        let build = [
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("revision", env!("PROPOSAL_SERVICE_COMMIT").to_owned()),
            ("schema", SCHEMA_VERSION.to_string()),
            ("database", store.engine_name().to_owned()),
        ];
        let mut registry = registry.lock();
        telemetry_adapter::register_build(&mut registry, &build);
        registry.register_collector(Box::new(store.clone()));
        registry.register_collector(Box::new(Arc::clone(rules)));
        if let Some(identity) = identity {
            registry.register_collector(Box::new(Arc::clone(identity)));
        }
        watches.register(&mut registry);
        admin.started(store.readiness(), is_leaving);
    }
}
