//! The composition root: chooses the adapters, gives them to each other, and starts and stops them.
//! It decides nothing else.
//!
//! - [`cli`] is what an operator can say, [`fault`] what the operator is told when it does not
//!   work;
//! - [`logging`], [`signals`] and [`sockets`] are the process's dealings with the system;
//! - [`seed`] fills a store with made-up data, [`copies`] moves and backs up whole stores,
//!   [`progress`] shows how far they are;
//! - [`rules`] keeps business rules in files up to date, and tries them before they are in force;
//! - [`identifiers`] is where ids and time come from.

mod cli;
mod copies;
mod fault;
mod identifiers;
mod logging;
mod progress;
mod quantities;
mod rules;
mod seed;
mod signals;
mod sockets;

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use application::Clock as _;
use http_adapter::{BaseUrl, DemoError, Drained, HttpOptions, Ports, ServerLimits};
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use rules_adapter::ReloadableRules;
use storage_adapter::{Store, StoreOptions};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use cli::{Command, DatabaseOptions, MigrateMode, RulesCommand, ServeOptions};
use fault::Fault;
use identifiers::{SystemClock, UuidV7Generator};
use signals::Signals;
use sockets::Port;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// How long the store may take to open, and a request to get a connection to it.
const STORE_PATIENCE: Duration = Duration::from_secs(5);

/// How often expired keys are looked for.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// How long the store may take to close.
const CLOSE_PATIENCE: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    match cli::command().and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            // There is nobody left to tell if this fails.
            let _ = writeln!(io::stderr(), "proposal-service: {fault}");
            fault.exit_code()
        }
    }
}

fn run(command: Command) -> Result<(), Fault> {
    match command {
        Command::Openapi(options) => {
            let rules = rules::open(options.rules.as_deref())?;
            print(&http_adapter::openapi_document(options.base_url, rules))
        }
        Command::Rules(RulesCommand::Check(options)) => {
            logging::start(&options.files.logging)?;
            rules::check(&options)
        }
        Command::Rules(RulesCommand::Test(options)) => {
            logging::start(&options.logging)?;
            rules::test(&options)
        }
        Command::Rules(RulesCommand::Audit(options)) => {
            logging::start(&options.logging)?;
            within_runtime(rules::audit(&options))
        }
        Command::Migrate(options) => {
            logging::start(&options.logging)?;
            within_runtime(migrate(&options.database))
        }
        Command::Seed(options) => {
            logging::start(&options.logging)?;
            within_runtime(seed::run(&options))
        }
        Command::Backup(options) => {
            logging::start(&options.logging)?;
            within_runtime(copies::backup(&options))
        }
        Command::Export(options) => {
            logging::start(&options.logging)?;
            within_runtime(copies::export(&options))
        }
        Command::Import(options) => {
            logging::start(&options.logging)?;
            within_runtime(copies::import(&options))
        }
        Command::Serve(options) => {
            logging::start(&options.logging)?;
            within_runtime(serve(*options))
        }
    }
}

fn print(document: &str) -> Result<(), Fault> {
    match write!(io::stdout(), "{document}") {
        // The reader has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(Fault::Output),
    }
}

fn within_runtime(work: impl Future<Output = Result<(), Fault>>) -> Result<(), Fault> {
    let runtime = Runtime::new().map_err(Fault::Runtime)?;
    let outcome = runtime.block_on(work);
    // What still runs was given its time to finish.
    runtime.shutdown_background();
    outcome
}

async fn migrate(options: &DatabaseOptions) -> Result<(), Fault> {
    let store = connect(options).await?;
    store.migrate().await?;
    tracing::info!("the database is prepared");
    close(store).await;
    Ok(())
}

async fn serve(options: ServeOptions) -> Result<(), Fault> {
    let mut signals = Signals::listen().map_err(Fault::Signals)?;
    let hang_ups = rules::hang_ups();
    let rules = rules::open(options.rules.rules.as_deref())?;
    let (listener, store) = tokio::select! {
        started = start(&options) => started?,
        signal = signals.next() => {
            tracing::info!(signal, "stopped before it served");
            return Ok(());
        }
    };
    let address =
        listener.local_addr().map_err(|cause| Fault::Listen { address: options.listen, cause })?;
    let base_url = options.base_url.clone().map_or_else(|| cli::base_url_of(address), Ok)?;
    let ports = ports(&store, Arc::clone(&rules), options.rules.time_zone.zone.clone());
    if options.demo {
        load_demo(&ports).await?;
    }
    let limits = limits(&options);
    let (ending, stopping) = watch::channel(false);
    let endpoint =
        http_adapter::service(&ports, http_options(&options, base_url.clone(), stopping));
    tracing::info!("listening on http://{address}, documentation at {base_url}/docs");
    let forgetting =
        tokio::spawn(forget_requests(store.clone(), options.idempotency_ttl.duration()));
    let watching = tokio::spawn(rules::watch(rules, hang_ups));
    let drained = http_adapter::serve(listener, endpoint, limits, stop(signals, ending)).await;
    forgetting.abort();
    watching.abort();
    if let Drained::CutOff(connections) = drained {
        tracing::warn!(connections, "cut off requests that did not finish in time");
    }
    drop(ports);
    close(store).await;
    tracing::info!("stopped");
    Ok(())
}

/// Takes the port before it touches the database: an instance started twice by mistake, perhaps of
/// another version, must not migrate the store under the one that serves. Opens the port only
/// afterwards, so that whoever starts earlier or asks too soon is refused at once and tries again,
/// instead of waiting for an instance that waits for a migration.
async fn start(options: &ServeOptions) -> Result<(TcpListener, Store), Fault> {
    let port = Port::take(options.listen)?;
    let store = connect(&options.database).await?;
    match options.migrate {
        MigrateMode::Auto => store.migrate().await?,
        MigrateMode::Never if store.is_migrated().await? => {}
        MigrateMode::Never => return Err(Fault::NotMigrated),
    }
    Ok((port.open()?, store))
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

async fn connect(options: &DatabaseOptions) -> Result<Store, Fault> {
    Ok(Store::connect(&store_options(options)).await?)
}

fn store_options(options: &DatabaseOptions) -> StoreOptions {
    StoreOptions {
        url: options.database_url.clone(),
        connections: options.database_connections,
        acquire_timeout: STORE_PATIENCE,
    }
}

/// Items that are made up are judged by the rules written in Rust alone.
fn ports_without_rules(store: &Store) -> Ports {
    ports(store, Arc::new(ReloadableRules::none()), TimeZone::UTC)
}

fn ports(store: &Store, rules: Arc<ReloadableRules>, time_zone: TimeZone) -> Ports {
    Ports {
        items: store.items(),
        history: store.history(),
        changes: store.change_log(),
        readiness: store.readiness(),
        ids: Arc::new(UuidV7Generator),
        clock: Arc::new(SystemClock::in_zone(time_zone)),
        rules,
    }
}

/// A restart with `--demo` finds the items of the first start, and goes on with them.
async fn load_demo(ports: &Ports) -> Result<(), Fault> {
    match http_adapter::load_demo(ports).await {
        Ok(()) => tracing::info!("loaded the demonstration items"),
        Err(DemoError::NotEmpty) => {
            tracing::info!("the store is not empty; no demonstration items were loaded");
        }
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

fn http_options(
    options: &ServeOptions,
    base_url: BaseUrl,
    stopping: watch::Receiver<bool>,
) -> HttpOptions {
    HttpOptions {
        base_url,
        max_body: options.max_body.bytes(),
        body_timeout: options.body_timeout.duration(),
        request_timeout: options.request_timeout.duration(),
        requires_condition: options.require_if_match,
        // A lifetime that was accepted is far from the longest there is.
        stopping,
        key_lifetime: SignedDuration::try_from(options.idempotency_ttl.duration())
            .unwrap_or(SignedDuration::MAX),
        // An origin that was accepted is a URL, which every header can hold.
        cors_origins: options
            .cors_origins
            .iter()
            .filter_map(|origin| origin.as_str().parse().ok())
            .collect(),
    }
}

fn limits(options: &ServeOptions) -> ServerLimits {
    ServerLimits {
        connections: sockets::affordable(
            options.max_connections,
            options.database.database_connections,
        ),
        drain_timeout: options.drain_timeout.duration(),
        ..ServerLimits::default()
    }
}

/// Done at the first signal. A second one ends the process at once.
async fn stop(mut signals: Signals, ending: watch::Sender<bool>) {
    let signal = signals.next().await;
    tracing::info!(signal, "stopping: requests in flight may finish; another signal stops at once");
    ending.send_replace(true);
    tokio::spawn(async move {
        let signal = signals.next().await;
        tracing::warn!(signal, "stopped at once");
        std::process::exit(1);
    });
}

async fn close(store: Store) {
    if tokio::time::timeout(CLOSE_PATIENCE, store.close()).await.is_err() {
        tracing::warn!("the store did not close in time");
    }
}
