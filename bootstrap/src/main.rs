//! The composition root: chooses the adapters and wires them together. The commands are in the
//! command-line adapter; [`serve`] runs the server.

mod access;
mod commands {
    pub mod legal_holds;
}
mod monitoring;
mod retention;
mod serve;

use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use application::{Clock, NoPolicies, Ports};
use cli_adapter::{CommandError, DatabaseOptions, NewKeyOptions, OpenapiOptions, Opened, Wiring};
use http_adapter::BaseUrl;
use jiff::tz::TimeZone;
use policies_adapter::PolicySet;
use rules_adapter::{ReloadableRules, RuleSet, Trials};
use storage_adapter::{SCHEMA_VERSION, Store, StoreError, StoreOptions};
use system_adapter::{SystemClock, UuidV7Generator};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// How long the store may take to open, and a request to get a connection to it.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);

/// The version, the commit and the version of the schema. `build.rs` names the commit.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let (version, commit) = (env!("CARGO_PKG_VERSION"), env!("PROPOSAL_SERVICE_COMMIT"));
    format!("{version} (commit {commit}, schema {SCHEMA_VERSION})")
});

fn main() -> ExitCode {
    cli_adapter::run(&Wiring {
        version: &VERSION,
        open_traces: telemetry_adapter::traces::open,
        inherited_listener: || system_adapter::inherited_listener().map_err(failed),
        serve: |options, listener, signals| Box::pin(serve::serve(options, listener, signals)),
        openapi,
        maintenance: |options| Box::new(store_options(options)),
        open_to_seed: |options| Box::pin(open_to_seed(options)),
        open_to_look: |options, rules, zone| Box::pin(open_to_look(options, rules, zone)),
        open_to_compact: |options| Box::pin(retention::open_to_compact(options)),
        rules: |path| RuleSet::load(path, &reserved()).map(|it| Box::new(it) as _).map_err(failed),
        new_key: |NewKeyOptions { name, roles, expires }| {
            let made = identity_adapter::new_key(name, roles, *expires);
            let made = made.map_err(|error| CommandError::Usage(error.to_string()))?;
            Ok([made.printed, made.line])
        },
        policies: |path| PolicySet::load(path).map(|it| Box::new(it) as _).map_err(failed),
        caller: |path| policies_adapter::read_caller(path).map_err(failed),
        clock: |zone| Arc::new(SystemClock::in_zone(zone)),
    })
}

fn openapi(options: &OpenapiOptions) -> Result<String, CommandError> {
    let base_url = base_url(&options.base_url)?;
    Ok(http_adapter::openapi_document(base_url, open_rules(options.rules.as_deref())?))
}

async fn open_to_seed(options: &DatabaseOptions) -> Result<Opened, CommandError> {
    let store = connect(options).await?;
    store.migrate().await.map_err(store_error)?;
    // Made-up items are judged by the rules written in Rust alone.
    Ok(opened(store, Arc::default(), TimeZone::UTC))
}

async fn open_to_look(
    options: &DatabaseOptions,
    rules: Option<&Path>,
    zone: TimeZone,
) -> Result<Opened, CommandError> {
    let rules = open_rules(rules)?;
    let store = Store::connect_to_look(&store_options(options)).await;
    let store = store.map_err(store_error)?.ok_or(CommandError::NotMigrated)?;
    Ok(opened(store, rules, zone))
}

fn opened(store: Store, rules: Arc<ReloadableRules>, zone: TimeZone) -> Opened {
    let clock = Arc::new(SystemClock::in_zone(zone));
    Opened { ports: ports(&store, rules, clock), store: Box::new(store) }
}

async fn connect(options: &DatabaseOptions) -> Result<Store, CommandError> {
    Store::connect(&store_options(options)).await.map_err(store_error)
}

fn store_options(options: &DatabaseOptions) -> StoreOptions {
    StoreOptions {
        url: options.database_url.join("\n"),
        connections: options.database_connections,
        acquire_timeout: ACQUIRE_TIMEOUT,
    }
}

fn ports(store: &Store, rules: Arc<ReloadableRules>, clock: Arc<dyn Clock>) -> Ports {
    Ports {
        items: store.items(),
        history: store.history(),
        changes: store.change_log(),
        callers: store.callers(),
        readiness: store.readiness(),
        ids: Arc::new(UuidV7Generator),
        clock,
        rules,
        trials: Arc::new(Trials),
        identity: None,
        policies: Arc::new(NoPolicies::Open),
        standbys: store.standbys(),
    }
}

/// The rules that a path holds, or none.
fn open_rules(path: Option<&Path>) -> Result<Arc<ReloadableRules>, CommandError> {
    let rules = path.map(|path| ReloadableRules::open(path, &reserved())).transpose();
    Ok(rules.map_err(failed)?.unwrap_or_default().into())
}

/// The ids that no rule in a file may have: the codes of the rules written in Rust, and those whose
/// page would be at the path of something else.
fn reserved() -> Vec<&'static str> {
    domain::rule_codes().chain(http_adapter::RESERVED_RULE_IDS).collect()
}

fn base_url(text: &str) -> Result<BaseUrl, CommandError> {
    text.parse().map_err(|error| {
        CommandError::Usage(format!("--base-url (or PROPOSAL_SERVICE_BASE_URL): {error}"))
    })
}

fn store_error(error: StoreError) -> CommandError {
    CommandError::Store(error.into())
}

fn failed(error: impl std::fmt::Display) -> CommandError {
    CommandError::Failed(error.to_string())
}
