//! Commands, options, and the environment variables for them.

mod access;
mod contents;
mod database;
mod files;
mod migrate;
mod monitoring;
mod retention;
mod sites;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::error::ErrorKind;
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use domain::Collection;
use tracing_subscriber::filter::Targets;
use url::Url;

use crate::commands::error::{CommandError, Result};
use crate::commands::log_filter;
use crate::commands::quantities::{byte_size, delay, lifetime, timeout};
use crate::commands::usage;
pub use access::{
    AccessCheckOptions, AccessCommand, AccessListOptions, AccessOptions, CallerAccessOptions,
    KeysCommand, NewKeyOptions, PoliciesCommand, PolicyDiffOptions,
};
pub use contents::{ContentsCommand, ContentsOptions, ContentsPlace};
pub use database::{DatabaseOptions, read_bounded};
pub use files::{CheckOptions, FileOptions, TimeZoneOptions};
pub use migrate::{MigrateOptions, MigratePhase};
pub use monitoring::{AccessLogFormat, MonitoringOptions, otlp_error};
pub use retention::{CompactOptions, RetentionOptions};
use sites::{host_name, origin};

const EXAMPLES: &str = "\
Examples:
  proposal-service --demo
  proposal-service --listen 0.0.0.0:8080 --base-url https://proposals.example.org --identity identity.yaml
  PROPOSAL_SERVICE_DATABASE_URL=postgres://USER:PASSWORD@HOST/proposals proposal-service migrate
  proposal-service seed --proposals 1000 --library 50
  proposal-service backup backup/proposals.db
  proposal-service export | PROPOSAL_SERVICE_DATABASE_URL=postgres://USER:PASSWORD@HOST/proposals proposal-service import";

/// Store research proposals and related items, and serve them over HTTP
///
/// Without a command, the program runs `serve` and accepts its options.
#[derive(Debug, Parser)]
#[command(name = "proposal-service", args_conflicts_with_subcommands = true, disable_help_subcommand = true, after_help = EXAMPLES)]
struct CommandLine {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: ServeOptions,
    #[command(flatten)]
    logging: LoggingOptions,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve requests until SIGTERM or SIGINT (the default command)
    Serve(Box<ServeOptions>),
    /// Bring the database's schema up to date, and exit
    Migrate(MigrateOptions),
    /// Add realistic test data to the database, and exit
    Seed(SeedOptions),
    /// Copy the SQLite file and the folder of contents, even while the service runs, and exit
    Backup(BackupOptions),
    /// Export the full history as JSON lines, one version per line, and exit
    Export(ExportOptions),
    /// Import an export into an empty database, and exit
    Import(ImportOptions),
    /// Remove the bodies of old versions but keep their history, and exit
    Compact(CompactOptions),
    /// Send a file of items, such as a spreadsheet, to a running service, and exit
    Load(LoadOptions),
    /// Verify, clean up or register the contents of files and library items, and exit
    #[command(subcommand)]
    Contents(ContentsCommand),
    /// Renew the history of a copied SQLite file, and exit
    #[command(subcommand)]
    History(HistoryCommand),
    /// Erase the data kept about a caller outside the history, and exit
    #[command(subcommand)]
    Callers(CallersCommand),
    /// Create an API key for a machine, and exit
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Check, test or audit business rules in files, and exit
    #[command(subcommand)]
    Rules(RulesCommand),
    /// Check or test policies in files, and exit
    #[command(subcommand)]
    Policies(PoliciesCommand),
    /// Show the operations that policy files allow a caller, and exit
    #[command(subcommand)]
    Access(AccessCommand),
    /// Print the OpenAPI document, and exit
    Openapi(OpenapiOptions),
    /// Print completions for a shell, and exit
    Completions {
        /// The shell
        #[arg(value_name = "SHELL")]
        shell: Shell,
    },
    /// Print the manual page, or write the pages of all commands to a folder, and exit
    Man {
        /// Output folder; created if it does not exist
        #[arg(value_name = "FOLDER")]
        folder: Option<PathBuf>,
    },
}

/// Options of `serve`.
#[derive(Args, Debug)]
pub struct ServeOptions {
    /// Address to listen on; port 0 lets the system choose; an inherited socket (`LISTEN_FDS`) takes precedence
    #[arg(long, env = "PROPOSAL_SERVICE_LISTEN", value_name = "ADDR:PORT", default_value = "127.0.0.1:8080", value_parser = listen_address)]
    pub listen: SocketAddr,
    /// Public URL of the service, the root of all links [default: the listen address]
    #[arg(long, env = "PROPOSAL_SERVICE_BASE_URL", value_name = "URL")]
    pub base_url: Option<String>,
    /// Origins whose web pages may call the service, such as `https://example.org`; `*` for all
    #[arg(
        long = "cors-origin",
        env = "PROPOSAL_SERVICE_CORS_ORIGIN",
        value_name = "ORIGIN",
        value_delimiter = ',', value_parser = origin
    )]
    pub cors_origins: Vec<String>,
    /// Host names, such as `proposals.example.org`, for which requests without credentials are accepted,
    /// in addition to IP addresses, `localhost` and the host of the base URL
    #[arg(
        long = "allowed-host",
        env = "PROPOSAL_SERVICE_ALLOWED_HOST",
        value_name = "HOST",
        value_delimiter = ',', value_parser = host_name
    )]
    pub allowed_hosts: Vec<String>,
    /// The database.
    #[command(flatten)]
    pub database: DatabaseOptions,
    /// A PostgreSQL standby to read items from; repeat the option for several. All instances must have
    /// the same standbys
    // Help must not show values from the environment: they contain a password.
    #[arg(
        long = "replica-url",
        env = "PROPOSAL_SERVICE_REPLICA_URL",
        value_name = "URL",
        hide_env_values = true,
        help_heading = "Database"
    )]
    pub replica_urls: Vec<String>,
    /// Longest lag of a standby that is still read; the lag grows while the primary is unreachable
    #[arg(long, env = "PROPOSAL_SERVICE_REPLICA_MAX_LAG", value_name = "TIME", default_value = "30s", value_parser = timeout, help_heading = "Database")]
    pub replica_max_lag: Duration,
    /// Migrate the database schema at start, or refuse to start if it is out of date
    #[arg(long, env = "PROPOSAL_SERVICE_MIGRATE", value_name = "WHEN", value_enum, default_value_t = MigrateMode::Auto, help_heading = "Database")]
    pub migrate: MigrateMode,
    /// Load one example of each kind of item into an empty database
    #[arg(long, help_heading = "Database")]
    pub demo: bool,
    /// File or folder of rules; reloaded when it changes and at SIGHUP
    #[arg(
        long,
        env = "PROPOSAL_SERVICE_RULES",
        value_name = "PATH",
        help_heading = "Business rules"
    )]
    pub rules: Option<PathBuf>,
    /// File of an agency's name, logo, labels, choices and help texts; reloaded when it changes and at SIGHUP
    #[arg(long, env = "PROPOSAL_SERVICE_LABELS", value_name = "FILE", help_heading = "Pages")]
    pub labels: Option<PathBuf>,
    /// The time zone of the rules.
    #[command(flatten)]
    pub time_zone: TimeZoneOptions,
    /// The bodies of old versions that are kept.
    #[command(flatten)]
    pub retention: RetentionOptions,
    /// Who may do what.
    #[command(flatten)]
    pub access: AccessOptions,
    /// Metrics, probes, the access log and traces.
    #[command(flatten)]
    pub monitoring: MonitoringOptions,
    /// Refuse PUT, PATCH and DELETE without a condition such as If-Match, to prevent lost updates
    #[arg(long, env = "PROPOSAL_SERVICE_REQUIRE_IF_MATCH")]
    pub require_if_match: bool,
    /// How long an Idempotency-Key prevents a request from being executed twice
    #[arg(long, env = "PROPOSAL_SERVICE_IDEMPOTENCY_TTL", value_name = "TIME", default_value = "24h", value_parser = lifetime, help_heading = "Limits")]
    pub idempotency_ttl: Duration,
    /// Largest request body
    #[arg(long, env = "PROPOSAL_SERVICE_MAX_BODY", value_name = "BYTES", default_value = "8MiB", value_parser = byte_size, help_heading = "Limits")]
    pub max_body: usize,
    /// Largest import file, compressed or unpacked
    #[arg(long, env = "PROPOSAL_SERVICE_MAX_IMPORT", value_name = "BYTES", default_value = "64MiB", value_parser = byte_size, help_heading = "Limits")]
    pub max_import: usize,
    #[command(flatten)]
    pub contents: ContentsPlace,
    /// Time within which each content is read and verified once
    #[arg(long, env = "PROPOSAL_SERVICE_CONTENT_VERIFY", value_name = "DURATION", default_value = "720h", value_parser = lifetime)]
    pub content_verify: Duration,
    /// Largest content of a file or library item
    #[arg(long, env = "PROPOSAL_SERVICE_MAX_CONTENT", value_name = "BYTES", default_value = "5GiB", value_parser = byte_size, help_heading = "Limits")]
    pub max_content: usize,
    /// Limit of the contents of a proposal in all: of its library and of the files that refer to it [default: none]
    #[arg(long, env = "PROPOSAL_SERVICE_CONTENT_PER_PROPOSAL", value_name = "BYTES", value_parser = byte_size, help_heading = "Limits")]
    pub content_per_proposal: Option<usize>,
    /// Folder for temporary files, such as spreadsheets until they are sent
    #[arg(long, env = "PROPOSAL_SERVICE_TEMP_DIR", value_name = "PATH", default_value_os_t = std::env::temp_dir(), hide_default_value = true)]
    pub temp_dir: PathBuf,
    /// Limit on open connections
    #[arg(long, env = "PROPOSAL_SERVICE_MAX_CONNECTIONS", value_name = "N", default_value_t = 16_384, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Limits")]
    pub max_connections: u32,
    /// Limit on open change streams, never more than half of the connections
    #[arg(long, env = "PROPOSAL_SERVICE_MAX_STREAMS", value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Limits")]
    pub max_streams: u32,
    /// How long a change stream lasts; its client reconnects without missing a change
    #[arg(long, env = "PROPOSAL_SERVICE_STREAM_MAX_AGE", value_name = "TIME", default_value = "1h", value_parser = timeout, help_heading = "Limits")]
    pub stream_max_age: Duration,
    /// Time limit for processing a request
    #[arg(long, env = "PROPOSAL_SERVICE_REQUEST_TIMEOUT", value_name = "TIME", default_value = "30s", value_parser = timeout, help_heading = "Limits")]
    pub request_timeout: Duration,
    /// Time limit for receiving a request body
    #[arg(long, env = "PROPOSAL_SERVICE_BODY_TIMEOUT", value_name = "TIME", default_value = "60s", value_parser = timeout, help_heading = "Limits")]
    pub body_timeout: Duration,
    /// How long the service still accepts requests after a stop signal, with /readyz at 503
    #[arg(long, env = "PROPOSAL_SERVICE_DRAIN_DELAY", value_name = "TIME", default_value = "0s", value_parser = delay, help_heading = "Limits")]
    pub drain_delay: Duration,
    /// Time limit for requests in flight after that
    #[arg(long, env = "PROPOSAL_SERVICE_DRAIN_TIMEOUT", value_name = "TIME", default_value = "10s", value_parser = timeout, help_heading = "Limits")]
    pub drain_timeout: Duration,
}

#[derive(Args, Debug)]
pub struct SeedOptions {
    /// Number of proposals to add
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub proposals: u64,
    /// Number of library items to add to each proposal
    #[arg(long, value_name = "M", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=1_000_000))]
    pub library: u64,
    /// Median size of a proposal; one in twenty is more than four times as large
    #[arg(long, value_name = "BYTES", default_value = "22KiB", value_parser = median_size)]
    pub median_size: usize,
    /// Seed of the random numbers: the same number gives the same data, apart from ids and times
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub seed: u64,
    #[command(flatten)]
    pub database: DatabaseOptions,
}

/// Options of `load`.
#[derive(Args, Debug)]
pub struct LoadOptions {
    /// A file whose name ends in .csv, .xlsx, .ndjson or .json
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The group of the items
    #[arg(long, value_name = "GROUP", value_parser = PossibleValuesParser::new(Collection::names()))]
    pub group: String,
    /// URL of the service; https trusts the certificates of the system
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    pub url: Url,
    /// File with the access token or key to send [default: the variable `PROPOSAL_SERVICE_TOKEN`]
    #[arg(long, value_name = "PATH")]
    pub token_file: Option<PathBuf>,
    /// Update the items of rows that have an `id`
    #[arg(long)]
    pub upsert: bool,
    /// Load the valid rows even if others are refused
    #[arg(long)]
    pub each: bool,
    /// Check everything and store nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Args, Debug)]
pub struct BackupOptions {
    /// Output file, which must not exist
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    #[command(flatten)]
    pub contents: ContentsPlace,
    #[command(flatten)]
    pub database: DatabaseOptions,
}

#[derive(Args, Debug)]
pub struct ExportOptions {
    /// Output file, which must not exist [default: standard output]
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    #[command(flatten)]
    pub database: DatabaseOptions,
}

#[derive(Args, Debug)]
pub struct ImportOptions {
    /// Input file [default: standard input]
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Check everything and report what would be stored, but store nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Largest members of an item; use the limit of the exporting service
    #[arg(long, env = "PROPOSAL_SERVICE_MAX_BODY", value_name = "BYTES", default_value = "8MiB", value_parser = byte_size)]
    pub max_body: usize,
    #[command(flatten)]
    pub database: DatabaseOptions,
}

#[derive(Debug, Subcommand)]
pub enum CallersCommand {
    /// Erase the display name of a caller, even while the service runs, and never store one again
    Erase {
        /// The caller's id, as the history shows it
        #[arg(value_name = "ID")]
        id: String,
        #[command(flatten)]
        database: DatabaseOptions,
    },
}

#[derive(Debug, Subcommand)]
pub enum HistoryCommand {
    /// Give a copied SQLite file a new history id before you serve it. Entity tags and cursors of the
    /// original file do not match in the copy
    Renew {
        #[command(flatten)]
        database: DatabaseOptions,
    },
}

#[derive(Debug, Subcommand)]
pub enum RulesCommand {
    /// Check rules, explain each one, and warn of likely mistakes
    Check(CheckOptions),
    /// Run the test cases of the rules
    Test(FileOptions),
    /// Show how many stored items each rule applies to, and which it would refuse or warn of. Read-only,
    /// and safe while the service runs
    Audit(AuditOptions),
}

/// Options of `rules audit`.
#[derive(Args, Debug)]
pub struct AuditOptions {
    /// File or folder of rules
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Output format of the entries, one for each refused or warned item
    #[arg(long = "format", value_name = "FORMAT", value_enum, default_value_t = EntryFormat::Plain)]
    pub output: EntryFormat,
    /// Print one entry per rule with the numbers of applicable, refused and warned items
    #[arg(long)]
    pub summary: bool,
    /// The time zone of the rules.
    #[command(flatten)]
    pub time_zone: TimeZoneOptions,
    /// The database.
    #[command(flatten)]
    pub database: DatabaseOptions,
}

/// Options of `openapi`.
#[derive(Args, Debug)]
pub struct OpenapiOptions {
    /// Public URL of the service: the document's server
    #[arg(
        long,
        env = "PROPOSAL_SERVICE_BASE_URL",
        value_name = "URL",
        default_value = "http://127.0.0.1:8080"
    )]
    pub base_url: String,
    /// File or folder of business rules to list in the document
    #[arg(long, env = "PROPOSAL_SERVICE_RULES", value_name = "PATH")]
    pub rules: Option<PathBuf>,
}

/// Options of the log, which every command takes.
#[derive(Args, Debug)]
#[command(next_help_heading = "Logging")]
pub struct LoggingOptions {
    /// Log format: text lines or one JSON object per line
    #[arg(long = "log-format", global = true, env = "PROPOSAL_SERVICE_LOG_FORMAT", value_name = "FORMAT", value_enum, default_value_t = LogFormat::Plain)]
    pub format: LogFormat,
    /// Log level: off, error, warn, info, debug or trace, also per module; `RUST_LOG` works too
    #[arg(long = "log", global = true, env = "PROPOSAL_SERVICE_LOG", value_name = "FILTER", default_value = log_filter::default(), value_parser = log_filter::parse)]
    pub filter: Targets,
}

/// Migrating before serving.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MigrateMode {
    /// Migrate; instances that start together wait for each other
    Auto,
    /// Do not migrate; the schema must be up to date
    Never,
}

/// The form of the entries of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EntryFormat {
    /// For people
    #[value(name = "text")]
    Plain,
    /// A JSON array of objects
    Json,
    /// Comma-separated values (RFC 4180) with a header
    Csv,
}

/// The form of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people
    #[value(name = "text")]
    Plain,
    /// For machines
    Json,
}

pub fn definition(version: &'static str) -> clap::Command {
    CommandLine::command().version(version)
}

pub fn parse(version: &'static str) -> Result<(Command, LoggingOptions)> {
    let found = definition(version).try_get_matches();
    let said = found.and_then(|matches| CommandLine::from_arg_matches(&matches));
    let said = said.map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => error.exit(),
        _ => CommandError::Usage(usage::message(&error)),
    })?;
    Ok((said.command.unwrap_or_else(|| Command::Serve(Box::new(said.serve))), said.logging))
}

fn listen_address(text: &str) -> Result<SocketAddr, &'static str> {
    text.parse().map_err(
        |_| "give an IP address and a port, such as 127.0.0.1:8080, 0.0.0.0:80 or [::]:8080",
    )
}

/// Parses the median size. Below 1 KiB the fields of a proposal do not fit. Above 256 KiB the
/// largest proposal exceeds the limit of a request body.
fn median_size(text: &str) -> Result<usize, &'static str> {
    let size = byte_size(text)?;
    let is_allowed = (1 << 10..=256 << 10).contains(&size);
    is_allowed.then_some(size).ok_or("give a size from 1KiB to 256KiB")
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::{CommandLine, definition};

    #[test]
    fn the_definition_is_sound() {
        definition("1").debug_assert();
    }

    #[test]
    fn every_command_takes_the_options_of_the_log() {
        for words in [
            &["p", "--log", "debug"][..],
            &["p", "serve", "--log", "debug"],
            &["p", "openapi", "--log", "debug"],
            &["p", "rules", "test", "a.yaml", "--log", "debug"],
        ] {
            assert_eq!(
                CommandLine::try_parse_from(words).unwrap().logging.filter.to_string(),
                "debug"
            );
        }
    }
}
