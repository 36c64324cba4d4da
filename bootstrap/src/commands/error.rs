//! Why a command failed: one line that says how to fix it.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use application::ApplicationError;
use storage_adapter::{StoreError, TransferError};
use thiserror::Error;

/// Why the process ends without having done what it was asked to.
#[derive(Debug, Error)]
pub enum CommandError {
    /// The command line or an environment variable is wrong.
    #[error("{0}")]
    Usage(String),
    /// Identifiers and history need the time.
    #[error("the clock of this machine is before 1970; set it")]
    Clock,
    /// An adapter failed.
    #[error("{0}")]
    Failed(String),
    /// A store cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A store cannot be maintained or transferred.
    #[error(transparent)]
    Transfer(#[from] TransferError),
    /// The store lacks a schema, or has that of an earlier version.
    #[error(
        "the database is not prepared for this version: run `proposal-service migrate` once, or serve with --migrate auto"
    )]
    NotMigrated,
    /// A file to be imported has errors.
    #[error("nothing was stored, because {0}")]
    Import(String),
    /// Some rows of a file were refused; the others were done.
    #[error("{0} rows were refused; the others are done")]
    Rows(u64),
    /// A file to be imported cannot be read.
    #[error("cannot read {source}: {cause}; nothing was stored", source = .0, cause = .1)]
    Source(String, io::Error),
    /// Some cases of rules or policies failed.
    #[error("{0} of the cases came out otherwise than expected")]
    Cases(usize),
    /// There are warnings about rules or policies, and `--strict` was given.
    #[error("warnings: {0}, and --strict allows none")]
    Warnings(usize),
    /// Nothing says which bodies are to be removed.
    #[error(
        "say what is kept, with --history-keep, --history-thin or both; without them every version keeps its body"
    )]
    NoRetention,
    /// Policies do not let a caller do it.
    #[error("denied")]
    Denied,
    /// The stored items cannot be audited.
    #[error("cannot look at what is stored: {0}")]
    Audit(#[from] ApplicationError),
    /// An existing file is never overwritten.
    #[error("{} is there already; name a file that does not exist", .0.display())]
    Exists(PathBuf),
    /// A file cannot be written.
    #[error("cannot write {path}: {cause}", path = .0.display(), cause = .1)]
    Target(PathBuf, io::Error),
    /// The operator did not wait for the end.
    #[error("stopped by {0}; nothing was stored")]
    Stopped(&'static str),
    /// The operator did not wait for the end of something that goes on where it was.
    #[error("stopped by {0}; what was done stays done, and the next run does the rest")]
    Interrupted(&'static str),
    /// The output cannot be written.
    #[error("cannot write the output: {0}")]
    Output(io::Error),
    /// The system gives no threads.
    #[error("cannot start the runtime: {0}")]
    Runtime(io::Error),
    /// The system gives no signals.
    #[error("cannot wait for signals: {0}")]
    Signals(io::Error),
}

impl CommandError {
    /// 2 for an error of the command line, as is usual; 1 for all else.
    pub(crate) fn exit_code(&self) -> ExitCode {
        let is_usage = match self {
            Self::Usage(_) | Self::NoRetention => true,
            Self::Store(error) => error.is_of_options(),
            Self::Transfer(error) => error.is_of_options(),
            _ => false,
        };
        ExitCode::from(if is_usage { 2 } else { 1 })
    }
}
