//! Command line: one module per command or group of commands, and their shared parts.

mod access;
mod case_files;
mod compact;
mod contents;
mod entries;
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
mod sight;
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
use contents::back_up_contents;
pub use contents::with_contents;
pub use error::{CommandError, Result};
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

pub fn run() -> ExitCode {
    match options::parse(&VERSION).and_then(|(command, log)| execute(command, &log)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // A failure to report an error cannot be reported.
            let _ = writeln!(io::stderr(), "proposal-service: {error}");
            error.exit_code()
        }
    }
}

fn execute(command: Command, log: &LoggingOptions) -> Result<()> {
    logging::start(log, trace_layer(&command)?);
    if SystemClock::default().now() < Timestamp::UNIX_EPOCH {
        return Err(failed("the system clock is before 1970; set it"));
    }
    match command {
        Command::Serve(options) => {
            // Changes the environment, so it must run before other threads start.
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
        Command::Contents(command) => within_runtime(contents::run(command)),
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
        Command::Policies(PoliciesCommand::Diff(options)) => within_runtime(sight::diff(&options)),
        Command::Access(AccessCommand::Check(options)) => within_runtime(access::check(&options)),
        Command::Access(AccessCommand::List(options)) => within_runtime(sight::list(&options)),
        Command::Openapi(OpenapiOptions { base_url: url, rules }) => {
            let (url, rules) = (base_url(&url)?, open_rules(rules.as_deref())?);
            print(&http_adapter::openapi_document(url, rules))
        }
        Command::Completions { shell } => print(&shell::completions(shell)),
        Command::Man { folder } => shell::manual(&VERSION, folder.as_deref()),
    }
}

fn trace_layer(command: &Command) -> Result<Option<TraceLayer>> {
    let Command::Serve(options) = command else { return Ok(None) };
    let Some(url) = options.monitoring.traces_url()? else { return Ok(None) };
    let layer = telemetry_adapter::traces::open(&url, options.monitoring.trace_sample);
    layer.map(Some).map_err(|reason| options::otlp_error(&reason))
}

fn print(output: &str) -> Result<()> {
    match write!(io::stdout(), "{output}") {
        // The reader of the pipe has closed it.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

fn within_runtime(work: impl Future<Output = Result<()>>) -> Result<()> {
    let runtime =
        Runtime::new().map_err(|error| failed(format!("cannot start the runtime: {error}")))?;
    let outcome = runtime.block_on(work);
    // Remaining tasks had their time to finish.
    runtime.shutdown_background();
    outcome
}

async fn joined<T>(work: JoinHandle<T>) -> T {
    work.await.unwrap_or_else(|panicked| std::panic::resume_unwind(panicked.into_panic()))
}
