//! The command line: what an operator can run, and the messages that are printed.
//!
//! - [`options`] defines the command line, [`quantities`] parses sizes and times, [`usage`] and
//!   [`error`] have the messages of commands that fail;
//! - [`maintenance`] changes a store as a whole, [`seed`] fills it with made-up data, [`transfer`] backs
//!   up, exports and imports it, [`compact`] removes the bodies of old versions;
//! - [`load`] sends a file of items to a running service;
//! - [`case_files`] checks and tests rules and policies in files, [`rules`] audits stored items by
//!   rules, [`access`] explains the decision of policies on a caller, [`keys`] makes keys for machines;
//! - [`shell`] prints completions and manual pages;
//! - [`log_filter`], [`logging`], [`signals`] and [`progress`] serve all commands.

mod access;
mod case_files;
mod compact;
mod error;
mod keys;
pub mod legal_holds;
mod load;
mod log_filter;
mod logging;
mod maintenance;
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
use std::process::ExitCode;

use application::Clock as _;
use jiff::Timestamp;
use system_adapter::SystemClock;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::{VERSION, base_url, failed, open_rules, serve};
pub use error::CommandError;
pub use logging::set_filter as set_log_filter;
use options::{
    AccessCommand, CallersCommand, Command, HistoryCommand, KeysCommand, LoggingOptions,
    OpenapiOptions, PoliciesCommand, RulesCommand,
};
pub use options::{
    AccessLogFormat, AccessOptions, DatabaseOptions, MigrateMode, RetentionOptions, ServeOptions,
};
pub use signals::Signals;
use telemetry_adapter::traces::TraceLayer;

/// Runs the command that the process was started with. Prints an error as one line.
pub fn run() -> ExitCode {
    match options::parse(&VERSION).and_then(|(command, log)| execute(command, &log)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to report a failure to.
            let _ = writeln!(io::stderr(), "proposal-service: {error}");
            error.exit_code()
        }
    }
}

fn execute(command: Command, log: &LoggingOptions) -> Result<(), CommandError> {
    logging::start(log, trace_layer(&command)?);
    if SystemClock::default().now() < Timestamp::UNIX_EPOCH {
        return Err(failed("the clock of this machine is before 1970; set it"));
    }
    match command {
        Command::Serve(options) => {
            // It changes the environment, so it is called while there is one thread.
            let listener = system_adapter::inherited_listener().map_err(failed)?;
            within_runtime(async { serve::serve(*options, listener, Signals::listen()?).await })
        }
        Command::Migrate(options) => within_runtime(maintenance::migrate(&options)),
        Command::Seed(options) => within_runtime(seed::run(&options)),
        Command::Backup(options) => within_runtime(transfer::backup(&options)),
        Command::Export(options) => within_runtime(transfer::export(&options)),
        Command::Import(options) => within_runtime(transfer::import(&options)),
        Command::Compact(options) => within_runtime(compact::run(&options)),
        Command::Load(options) => load::load(&options),
        Command::History(HistoryCommand::Renew { database }) => {
            maintenance::renew_history(&database)
        }
        Command::Callers(CallersCommand::Erase { id, database }) => {
            within_runtime(maintenance::erase_caller(&id, &database))
        }
        Command::Keys(KeysCommand::New(options)) => keys::new(&options),
        Command::Rules(RulesCommand::Check(options)) => {
            let (set, today) = (rules::load(&options.files.file)?, options.time_zone.today());
            let (summaries, warnings) = (set.summaries(today), set.warnings(today));
            case_files::check("rules", &summaries, &warnings, set.case_count(), options.strict)
        }
        Command::Rules(RulesCommand::Test(options)) => {
            let set = rules::load(&options.file)?;
            case_files::test(&set.ids(), &set.run_cases())
        }
        Command::Rules(RulesCommand::Audit(options)) => within_runtime(rules::audit(&options)),
        Command::Policies(PoliciesCommand::Check(options)) => {
            let (set, today) = (access::load(&options.files.file)?, options.time_zone.today());
            let (summaries, warnings) = (set.summaries(today), set.warnings(today));
            case_files::check("policies", &summaries, &warnings, set.case_count(), options.strict)
        }
        Command::Policies(PoliciesCommand::Test(options)) => {
            let set = access::load(&options.file)?;
            case_files::test(&set.ids(), &set.run_cases())
        }
        Command::Access(AccessCommand::Check(options)) => within_runtime(access::check(&options)),
        Command::Openapi(OpenapiOptions { base_url: url, rules }) => {
            let (url, rules) = (base_url(&url)?, open_rules(rules.as_deref())?);
            print(&http_adapter::openapi_document(url, rules))
        }
        Command::Completions { shell } => print(&shell::completions(shell)),
        Command::Man { folder } => shell::manual(&VERSION, folder.as_deref()),
    }
}

/// Traces are made where requests are served, if there is anywhere to send them.
fn trace_layer(command: &Command) -> Result<Option<TraceLayer>, CommandError> {
    let Command::Serve(options) = command else { return Ok(None) };
    let Some(url) = options.monitoring.traces_url()? else { return Ok(None) };
    let layer = telemetry_adapter::traces::open(&url, options.monitoring.trace_sample);
    layer.map(Some).map_err(|reason| options::otlp_error(&reason))
}

fn print(output: &str) -> Result<(), CommandError> {
    match write!(io::stdout(), "{output}") {
        // The reader has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

fn within_runtime(
    work: impl Future<Output = Result<(), CommandError>>,
) -> Result<(), CommandError> {
    let runtime =
        Runtime::new().map_err(|error| failed(format!("cannot start the runtime: {error}")))?;
    let outcome = runtime.block_on(work);
    // What still runs was given its time to finish.
    runtime.shutdown_background();
    outcome
}

/// Waits for a task or a thread. If it panicked, so does this one.
async fn joined<T>(work: JoinHandle<T>) -> T {
    work.await.unwrap_or_else(|panicked| std::panic::resume_unwind(panicked.into_panic()))
}
