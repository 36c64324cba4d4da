//! `serve`: starts the server, and stops it.

use std::sync::Arc;
use std::time::Duration;

use application::metrics::Instrumented;
use application::{Caller, Clock, DemonstrationError, Ports, load_demonstration};
use cli_adapter::{CommandError, MigrateMode, ServeOptions, Signals, close};
use http_adapter::{
    BaseUrl, Deployment, Drained, HttpOptions, Port, ServerLimits, affordable_connections,
};
use jiff::SignedDuration;
use rules_adapter::ReloadableRules;
use storage_adapter::Store;
use system_adapter::{SystemClock, inform_service_manager, inherited_listener};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::access::{AccessFiles, audit_log};
use crate::monitoring::Monitoring;
use crate::retention::Retention;
use crate::{VERSION, base_url, connect, failed, open_rules, ports, store_error};

/// How often expired keys are looked for.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// More than there are kinds of files that are read again at a signal.
const MOST_RELOADS: usize = 16;

/// Serves requests until a signal.
pub async fn serve(options: ServeOptions, mut signals: Signals) -> Result<(), CommandError> {
    let hang_ups = rules_adapter::hang_ups();
    // What is wrong with a file is told before the database is touched.
    let rules = open_rules(options.rules.rules.as_deref())?;
    let retention = Retention::open(&options.retention)?;
    let port = take_port(&options)?;
    let address = port.address();
    let base_url = match &options.base_url {
        Some(url) => base_url(url)?,
        None => BaseUrl::of_listener(address),
    };
    let clock: Arc<dyn Clock> =
        Arc::new(SystemClock::in_zone(options.rules.time_zone.zone.clone()));
    let access = AccessFiles::open(&options.access, &clock, &base_url)?;
    let audit_log = audit_log(&options, &clock)?;
    let monitoring = Monitoring::start(&options, &clock)?;
    let (listener, store) = tokio::select! {
        started = start(&options, port) => started?,
        signal = signals.next() => {
            tracing::info!(signal, "stopped before it served");
            return Ok(());
        }
    };
    let ports = access.behind(ports(&store, Arc::clone(&rules), Arc::clone(&clock)));
    if options.demo {
        load_demo(&ports).await?;
    }
    let limits = limits(&options);
    let (leaving, is_leaving) = watch::channel(false);
    let engine = store.engine_name();
    let http_options =
        http_options(&options, base_url.clone(), engine, limits.connections, is_leaving.clone());
    let (metrics, access_log) = (Arc::clone(&monitoring.http), monitoring.access_log.clone());
    let http_options = HttpOptions { audit_log, metrics, access_log, ..http_options };
    let endpoint = http_adapter::service(&ports, http_options);
    let mut watching = JoinSet::new();
    if monitoring.is_on() {
        let mut components: Vec<Arc<dyn Instrumented>> =
            vec![Arc::new(store.clone()), Arc::<ReloadableRules>::clone(&rules)];
        components.extend(access.instrumented());
        let readiness = (store.readiness(), leaving.subscribe());
        monitoring.started(engine, components, readiness);
        watching.spawn(store.clone().keep_sampling(clock));
    }
    tracing::info!("listening on http://{address}, documentation at {base_url}/docs");
    let forgetting = tokio::spawn(forget_requests(store.clone(), options.idempotency_ttl));
    let (reloaded, reloads) = mpsc::channel(MOST_RELOADS);
    access.keep(&mut watching, &reloaded);
    retention.keep(&mut watching, &store, &options.rules.time_zone.zone, &reloaded);
    watching.spawn(rules_adapter::watch(rules, hang_ups, reloaded));
    watching.spawn(inform_service_manager(store.readiness(), is_leaving, reloads));
    let stopped = signals.stop(options.drain_delay, leaving);
    let drained =
        http_adapter::serve_measured(listener, endpoint, limits, &monitoring.http, stopped);
    let drained = drained.await;
    forgetting.abort();
    watching.abort_all();
    if let Drained::CutOff(connections) = drained {
        tracing::warn!(connections, "cut off requests that did not finish in time");
    }
    drop(ports);
    close(Box::new(store)).await;
    tracing::info!("stopped");
    Ok(())
}

/// Takes the socket that was handed over, or else the port that the options name.
fn take_port(options: &ServeOptions) -> Result<Port, CommandError> {
    let port = match inherited_listener().map_err(failed)? {
        Some(listener) => Port::inherited(listener).map_err(failed)?,
        None => Port::take(options.listen).map_err(failed)?,
    };
    options.require_safe(port.address())?;
    Ok(port)
}

/// Migrates the store when the port is taken: an instance started twice by mistake, perhaps of another
/// version, must not migrate it under the one that serves. Opens the port only afterwards, so that a
/// client that connects too soon is refused at once and tries again, instead of waiting for a migration.
async fn start(options: &ServeOptions, port: Port) -> Result<(TcpListener, Store), CommandError> {
    let store = connect(&options.database).await?;
    match options.migrate {
        MigrateMode::Auto => store.migrate().await.map_err(store_error)?,
        MigrateMode::Never if store.is_migrated().await.map_err(store_error)? => {}
        MigrateMode::Never => return Err(CommandError::NotMigrated),
    }
    store.warn_of_times_ahead(SystemClock::default().now()).await;
    Ok((port.open().map_err(failed)?, store))
}

/// Forgets requests whose keys have expired, again and again.
async fn forget_requests(store: Store, lifetime: Duration) {
    let pause = (lifetime / 4).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
    loop {
        tokio::time::sleep(pause).await;
        match store.forget_requests(SystemClock::default().now()).await {
            Ok(0) => {}
            Ok(forgotten) => {
                tracing::debug!(forgotten, "requests whose keys have expired were forgotten");
            }
            Err(error) => {
                tracing::warn!(%error, "requests whose keys have expired could not be forgotten; trying again");
            }
        }
    }
}

/// A restart with `--demo` keeps the items of the first start.
async fn load_demo(ports: &Ports) -> Result<(), CommandError> {
    let items = http_adapter::demonstration_items();
    match load_demonstration(&Caller::service("demo"), ports, items).await {
        Ok(()) => tracing::info!("loaded the demonstration items"),
        Err(DemonstrationError::NotEmpty) => {
            tracing::info!("the store is not empty; no demonstration items were loaded");
        }
        Err(error) => return Err(failed(format!("cannot load the demonstration items: {error}"))),
    }
    Ok(())
}

fn http_options(
    options: &ServeOptions,
    base_url: BaseUrl,
    engine: &'static str,
    connections: u32,
    is_leaving: watch::Receiver<bool>,
) -> HttpOptions {
    HttpOptions {
        base_url,
        max_body: options.max_body,
        max_import: options.max_import,
        temp_dir: options.temp_dir.clone(),
        body_timeout: options.body_timeout,
        request_timeout: options.request_timeout,
        requires_condition: options.require_if_match,
        // Streams leave connections to others.
        max_streams: options.max_streams.min(connections / 2).max(1),
        stream_max_age: options.stream_max_age,
        is_leaving,
        is_open_to_all: options.access.allow_anonymous && options.access.identity.is_none(),
        caller_rate: options.access.rate,
        address_rate: options.access.address_rate,
        trusted_proxies: options.access.trusted_proxies.clone(),
        audit_log: None,
        access_log: None,
        metrics: Arc::default(),
        // A lifetime that was accepted is far from the longest there is.
        key_lifetime: SignedDuration::try_from(options.idempotency_ttl)
            .unwrap_or(SignedDuration::MAX),
        // An origin that was accepted is a URL, which every header can hold.
        cors_origins: options
            .cors_origins
            .iter()
            .filter_map(|origin| origin.parse().ok())
            .collect(),
        rule_schema: rules_adapter::schema(),
        deployment: Deployment { version: &VERSION, engine },
    }
}

fn limits(options: &ServeOptions) -> ServerLimits {
    ServerLimits {
        connections: affordable_connections(
            options.max_connections,
            options.database.database_connections,
        ),
        drain_timeout: options.drain_timeout,
        ..ServerLimits::default()
    }
}
