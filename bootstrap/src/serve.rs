//! `serve`: starts and stops the server.

use std::net;
use std::sync::Arc;

use application::{Clock, Labels, OwnLabels, load_demonstration};
use http_adapter::{
    AuditLog, BaseUrl, Deployment, HttpOptions, Port, ServerLimits, affordable_connections,
};
use labels_adapter::ReloadableLabels;
use language::Watches;
use storage_adapter::{ReplicaOptions, Store};
use system_adapter::{SystemClock, inform_service_manager};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::access::AccessFiles;
use crate::commands::{CommandError, MigrateMode, Result, ServeOptions, Signals, with_contents};
use crate::monitoring::Monitoring;
use crate::retention::RetentionSettings;
use crate::{VERSION, base_url, close, connect, failed, open_rules, ports, store_options};

pub async fn serve(
    options: ServeOptions,
    inherited: Option<net::TcpListener>,
    mut signals: Signals,
) -> Result<()> {
    let (mut watches, readings) = Watches::new();
    // Reports errors of files before it opens the database.
    let rules = open_rules(options.rules.as_deref())?;
    let labels = labels(&options, &mut watches)?;
    let retention = RetentionSettings::open(&options.retention)?;
    let port = Port::of(inherited, options.listen).map_err(failed)?;
    let address = port.address();
    options.require_safe(address)?;
    let given = options.base_url.as_deref().map(base_url).transpose()?;
    let base_url = given.unwrap_or_else(|| BaseUrl::of_listener(address));
    let clock: Arc<dyn Clock> = Arc::new(options.time_zone.clock());
    let access = AccessFiles::open(&options.access, &clock, &base_url)?;
    let open = |path| AuditLog::open(path, &options.access.audit, options.request_timeout, &clock);
    let audit_log = options.access.audit_log.as_deref().map(open).transpose().map_err(failed)?;
    let monitoring = Monitoring::start(&options, &clock)?;
    let Some((listener, store)) = start(&options, port, &mut signals).await? else {
        return Ok(());
    };
    let ports = access.behind(ports(&store, Arc::clone(&rules), Arc::clone(&clock)));
    let ports = with_contents(ports, &options, &store, &monitoring, &mut watches).await?;
    if options.demo {
        let loaded = load_demonstration(&ports, http_adapter::demonstration_items()).await;
        loaded.map_err(|error| failed(format!("cannot load the demonstration items: {error}")))?;
    }
    let limits = limits(&options);
    let (leaving, is_leaving) = watch::channel(false);
    let deployment = deployment(&options, labels, &store, &watches);
    let http_options = http_options(
        &options,
        (base_url.clone(), deployment),
        limits.connections,
        audit_log,
        &monitoring,
        is_leaving.clone(),
    );
    let endpoint = http_adapter::service(&ports, http_options);
    let files = (&rules, access.identity.as_ref());
    monitoring.started(&store, files, leaving.subscribe(), Arc::clone(&clock), &mut watches);
    tracing::info!("listening on http://{address}, documentation at {base_url}/docs");
    watches.tasks.spawn(store.clone().keep_up(clock, options.idempotency_ttl));
    access.keep(&mut watches);
    retention.keep(&mut watches, &store, &options.time_zone.zone);
    watches.watch(Arc::clone(&rules.files));
    watches.tasks.spawn(inform_service_manager(store.readiness(), is_leaving, readings));
    let stopped = signals.stop(options.drain_delay, leaving);
    http_adapter::serve(listener, endpoint, limits, &monitoring.http, stopped).await;
    drop((watches, ports));
    close(store).await;
    telemetry_adapter::traces::close().await;
    tracing::info!("stopped");
    Ok(())
}

/// Migrates after `port` is bound: a second instance, perhaps of another version, must not migrate a
/// store in service. Listens after the migration, so that early clients are refused immediately and
/// retry.
async fn start(
    options: &ServeOptions,
    port: Port,
    signals: &mut Signals,
) -> Result<Option<(TcpListener, Store)>> {
    let store = tokio::select! {
        prepared = prepare(options) => prepared?,
        signal = signals.next() => {
            tracing::info!(signal, "stopped before the service started");
            return Ok(None);
        }
    };
    Ok(Some((port.open().map_err(failed)?, store)))
}

fn labels(options: &ServeOptions, watches: &mut Watches) -> Result<Arc<dyn Labels>> {
    let Some(path) = &options.labels else { return Ok(Arc::new(OwnLabels::default())) };
    let labels = ReloadableLabels::open(path).map_err(failed)?;
    watches.watch(Arc::clone(&labels.files));
    Ok(Arc::new(labels))
}

fn deployment(
    options: &ServeOptions,
    labels: Arc<dyn Labels>,
    store: &Store,
    watches: &Watches,
) -> Deployment {
    Deployment {
        version: &VERSION,
        engine: store.engine_name(),
        reload_failed: watches.failed(),
        labels,
        time_zone: options.time_zone.zone.clone(),
    }
}

async fn prepare(options: &ServeOptions) -> Result<Store> {
    let store = connect(&options.database).await?;
    let urls = options.replica_urls.join("\n");
    let replicas = ReplicaOptions { urls, max_lag: options.replica_max_lag };
    let store = store.with_replicas(&store_options(&options.database), &replicas)?;
    match options.migrate {
        MigrateMode::Auto => store.migrate().await?,
        MigrateMode::Never if store.is_migrated().await? => {}
        MigrateMode::Never => return Err(CommandError::NotMigrated),
    }
    store.warn_of_times_ahead(SystemClock::default().now()).await;
    Ok(store)
}

fn limits(options: &ServeOptions) -> ServerLimits {
    // Each standby has as many connections as the database.
    let servers = u32::try_from(1 + options.replica_urls.len()).unwrap_or(u32::MAX);
    let to_database = options.database.database_connections.saturating_mul(servers);
    let connections = affordable_connections(options.max_connections, to_database);
    let drain_timeout = options.drain_timeout;
    ServerLimits { connections, drain_timeout, ..ServerLimits::default() }
}

fn http_options(
    options: &ServeOptions,
    (base_url, deployment): (BaseUrl, Deployment),
    connections: u32,
    audit_log: Option<AuditLog>,
    monitoring: &Monitoring,
    is_leaving: watch::Receiver<bool>,
) -> HttpOptions {
    HttpOptions {
        base_url,
        max_body: options.max_body,
        max_import: options.max_import,
        max_content: options.max_content as u64,
        content_per_proposal: options.content_per_proposal.map(|bytes| bytes as u64),
        temp_dir: options.temp_dir.clone(),
        body_timeout: options.body_timeout,
        request_timeout: options.request_timeout,
        requires_condition: options.require_if_match,
        // Streams leave connections to other requests.
        max_streams: options.max_streams.min(connections / 2).max(1),
        stream_max_age: options.stream_max_age,
        is_leaving,
        is_open_to_all: options.access.allow_anonymous && options.access.identity.is_none(),
        caller_rate: options.access.rate,
        address_rate: options.access.address_rate,
        trusted_proxies: options.access.trusted_proxies.clone(),
        audit_log,
        access_log: monitoring.access_log.clone(),
        metrics: Arc::clone(&monitoring.http),
        tracer: telemetry_adapter::traces::tracer(),
        key_lifetime: options.idempotency_ttl,
        cors_origins: options.cors_origins.clone(),
        allowed_hosts: options.allowed_hosts.clone(),
        rule_schema: rules_adapter::schema(),
        deployment,
    }
}
