//! Composition root: selects the adapters and connects them. [`commands`] is the command line,
//! [`serve`] runs the server.

mod access;
mod commands;
mod monitoring;
mod retention;
mod serve;

use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use application::{Clock, NoPolicies, Ports};
use http_adapter::BaseUrl;
use rules_adapter::{ReloadableRules, Trials};
use storage_adapter::{SCHEMA_VERSION, Store, StoreOptions};
use system_adapter::UuidV7Generator;

use commands::{CommandError, DatabaseOptions, Result};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Timeout for opening the store, and of a request for a connection.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);

const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

static VERSION: LazyLock<String> = LazyLock::new(|| {
    let (version, commit) = (env!("CARGO_PKG_VERSION"), env!("PROPOSAL_SERVICE_COMMIT"));
    format!("{version} (commit {commit}, schema {SCHEMA_VERSION})")
});

fn main() -> ExitCode {
    commands::run()
}

/// Opens a store read-only, also while another process serves it.
async fn look(options: &DatabaseOptions) -> Result<Store> {
    Store::connect_to_look(&store_options(options)).await?.ok_or(CommandError::NotMigrated)
}

async fn connect(options: &DatabaseOptions) -> Result<Store> {
    Ok(Store::connect(&store_options(options)).await?)
}

async fn close(store: Store) {
    if tokio::time::timeout(CLOSE_TIMEOUT, store.close()).await.is_err() {
        tracing::warn!("the store did not close within the time limit");
    }
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
        contents: None,
        content_register: store.content_register(),
        sessions: store.sessions(),
    }
}

fn open_rules(path: Option<&Path>) -> Result<Arc<ReloadableRules>> {
    let rules = path.map(|path| ReloadableRules::open(path, &reserved_rule_ids())).transpose();
    Ok(rules.map_err(failed)?.unwrap_or_default().into())
}

/// Returns ids that rules in files cannot have: the codes of the rules in Rust, and those that
/// collide with paths of pages.
fn reserved_rule_ids() -> Vec<&'static str> {
    domain::rule_codes().chain(http_adapter::RESERVED_RULE_IDS).collect()
}

fn base_url(text: &str) -> Result<BaseUrl> {
    text.parse().map_err(|error| {
        CommandError::Usage(format!("--base-url (or PROPOSAL_SERVICE_BASE_URL): {error}"))
    })
}

fn failed(error: impl std::fmt::Display) -> CommandError {
    CommandError::Failed(error.to_string())
}
