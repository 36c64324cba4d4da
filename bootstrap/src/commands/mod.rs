//! The command line: what an operator can run, and the messages that are printed.
//!
//! The commands work on ports and use cases. The composition root hands in [`Wiring`], which opens
//! the adapters that implement them.
//!
//! - [`options`] defines the command line, [`quantities`] parses sizes and times, [`usage`] and
//!   [`error`] are what is printed when a command fails;
//! - [`migrate`] changes the schema, [`seed`] fills a store with made-up data, [`transfer`] backs up, exports and imports whole
//!   stores, [`case_files`] checks and tests rules and policies in files, [`rules`] audits what is
//!   stored by rules, [`access`] says what policies let a caller do, [`keys`] makes keys for machines,
//!   [`callers`] erases names, [`history`] renews the history id of a copied store, [`compact`] removes the bodies of old versions;
//! - [`shell`] prints completions and manual pages;
//! - [`log_filter`], [`logging`], [`signals`] and [`progress`] serve all commands.

mod access;
mod callers;
mod case_files;
mod compact;
mod error;
mod history;
mod keys;
mod load;
mod log_filter;
mod logging;
mod migrate;
mod options;
mod progress;
mod quantities;
mod rules;
mod seed;
mod shell;
mod signals;
mod transfer;
mod usage;

use std::io::{self, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use application::maintenance::{Maintenance, OpenStore};
use application::{Caller, CaseFiles, Clock, Compaction, PolicyFiles, Ports, Sequence};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

pub use compact::keep_compacting;
pub use error::CommandError;
pub use logging::{TraceLayer, set_filter as set_log_filter};
pub use options::AccessLogFormat;
use options::{AccessCommand, Command, KeysCommand, LoggingOptions, PoliciesCommand, RulesCommand};
pub use options::{
    AccessOptions, CompactOptions, DatabaseOptions, MigrateMode, NewKeyOptions, OpenapiOptions,
    RetentionOptions, ServeOptions,
};
pub use signals::Signals;

/// How long a store may take to close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The outcome of something that takes time.
pub type Work<'a, T> = Pin<Box<dyn Future<Output = Result<T, CommandError>> + Send + 'a>>;

/// The parts of other adapters that the commands need.
pub struct Wiring {
    /// The version that `--version` prints.
    pub version: &'static str,
    /// Opens the traces of the process: the URL that they are sent to, and the share of requests that have one.
    pub open_traces: fn(&str, f64) -> Result<TraceLayer, String>,
    /// Takes the socket that was handed over to the process, if there is one. It changes the environment, so it is
    /// called while there is one thread.
    pub inherited_listener: fn() -> Result<Option<TcpListener>, CommandError>,
    /// Serves requests until a signal, on a socket that was handed over or where the options say.
    pub serve: fn(ServeOptions, Option<TcpListener>, Signals) -> Work<'static, ()>,
    /// Writes the OpenAPI document.
    pub openapi: fn(&OpenapiOptions) -> Result<String, CommandError>,
    /// Returns the maintenance of a store, which is not opened yet.
    pub maintenance: fn(&DatabaseOptions) -> Box<dyn Maintenance>,
    /// Opens a store for made-up data and prepares its schema.
    pub open_to_seed: fn(&DatabaseOptions) -> Work<'_, Opened>,
    /// Opens a store that is only read, with the rules of a path, in a time zone.
    pub open_to_look:
        for<'a> fn(&'a DatabaseOptions, Option<&'a Path>, TimeZone) -> Work<'a, Opened>,
    /// Opens a store whose old bodies are to be removed, by a policy.
    pub open_to_compact: fn(&CompactOptions) -> Work<'_, OpenedToCompact>,
    /// Makes a key for a machine, and its line for the identity file.
    pub new_key: fn(&NewKeyOptions) -> Result<[String; 2], CommandError>,
    /// Reads rules in files.
    pub rules: fn(&Path) -> Result<Box<dyn CaseFiles>, CommandError>,
    /// Reads policies in files.
    pub policies: fn(&Path) -> Result<Box<dyn PolicyFiles>, CommandError>,
    /// Reads a caller in a file.
    pub caller: fn(&Path) -> Result<Caller, CommandError>,
    /// Returns a clock in a time zone.
    pub clock: fn(TimeZone) -> Arc<dyn Clock>,
}

/// An open store, and the ports through which use cases see it.
pub struct Opened {
    /// The ports.
    pub ports: Ports,
    /// The store.
    pub store: Box<dyn OpenStore>,
}

/// An open store whose old bodies are to be removed.
pub struct OpenedToCompact {
    /// The use case.
    pub compaction: Compaction,
    /// The last change.
    pub last: Sequence,
    /// The store.
    pub store: Box<dyn OpenStore>,
}

/// Runs the command that the process was started with. Prints an error as one line.
#[must_use]
pub fn run(wiring: &Wiring) -> ExitCode {
    match options::parse(wiring.version).and_then(|(command, log)| execute(command, &log, wiring)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to report a failure to.
            let _ = writeln!(io::stderr(), "proposal-service: {error}");
            error.exit_code()
        }
    }
}

fn execute(command: Command, log: &LoggingOptions, wiring: &Wiring) -> Result<(), CommandError> {
    logging::start(log, trace_layer(&command, wiring)?);
    if (wiring.clock)(TimeZone::UTC).now() < Timestamp::UNIX_EPOCH {
        return Err(CommandError::Clock);
    }
    match command {
        Command::Serve(options) => {
            let listener = (wiring.inherited_listener)()?;
            within_runtime(async { (wiring.serve)(*options, listener, Signals::listen()?).await })
        }
        Command::Migrate(options) => within_runtime(migrate::run(&options, wiring)),
        Command::Seed(options) => within_runtime(seed::run(&options, wiring)),
        Command::Backup(options) => within_runtime(transfer::backup(&options, wiring)),
        Command::Export(options) => within_runtime(transfer::export(&options, wiring)),
        Command::Import(options) => within_runtime(transfer::import(&options, wiring)),
        Command::Compact(options) => within_runtime(compact::run(&options, wiring)),
        Command::Load(options) => load::load(&options),
        Command::History(command) => within_runtime(history::run(command, wiring)),
        Command::Callers(command) => within_runtime(callers::run(command, wiring)),
        Command::Keys(KeysCommand::New(options)) => keys::new(&options, wiring),
        Command::Rules(RulesCommand::Check(options)) => {
            let rules = (wiring.rules)(&options.files.file)?;
            case_files::check(&*rules, "rules", &options, wiring)
        }
        Command::Rules(RulesCommand::Test(options)) => {
            case_files::test(&*(wiring.rules)(&options.file)?)
        }
        Command::Rules(RulesCommand::Audit(options)) => {
            within_runtime(rules::audit(&options, wiring))
        }
        Command::Policies(PoliciesCommand::Check(options)) => {
            let policies = (wiring.policies)(&options.files.file)?;
            case_files::check(&*policies, "policies", &options, wiring)
        }
        Command::Policies(PoliciesCommand::Test(options)) => {
            case_files::test(&*(wiring.policies)(&options.file)?)
        }
        Command::Access(AccessCommand::Check(options)) => {
            within_runtime(access::check(&options, wiring))
        }
        Command::Openapi(options) => print(&(wiring.openapi)(&options)?),
        Command::Completions { shell } => print(&shell::completions(shell)),
        Command::Man { folder } => shell::manual(wiring.version, folder.as_deref()),
    }
}

/// Traces are made where requests are served, if there is anywhere to send them.
fn trace_layer(command: &Command, wiring: &Wiring) -> Result<Option<TraceLayer>, CommandError> {
    let Command::Serve(options) = command else { return Ok(None) };
    let traces = &options.monitoring.traces;
    let Some(url) = traces.url()? else { return Ok(None) };
    let layer = (wiring.open_traces)(&url, traces.trace_sample);
    layer.map(Some).map_err(|reason| options::otlp_error(&reason))
}

fn print(output: &str) -> Result<(), CommandError> {
    match write!(io::stdout(), "{output}") {
        // The reader has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(CommandError::Output),
    }
}

fn within_runtime(
    work: impl Future<Output = Result<(), CommandError>>,
) -> Result<(), CommandError> {
    let runtime = Runtime::new().map_err(CommandError::Runtime)?;
    let outcome = runtime.block_on(work);
    // What still runs was given its time to finish.
    runtime.shutdown_background();
    outcome
}

/// Waits for a task or a thread. If it panicked, so does this one.
async fn joined<T>(work: JoinHandle<T>) -> T {
    work.await.unwrap_or_else(|panicked| std::panic::resume_unwind(panicked.into_panic()))
}

/// Closes a store, but does not wait for ever.
pub async fn close(store: Box<dyn OpenStore>) {
    if tokio::time::timeout(CLOSE_TIMEOUT, store.close()).await.is_err() {
        tracing::warn!("the store did not close in time");
    }
}
