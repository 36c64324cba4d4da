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
    /// The command failed.
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
    /// A file to be imported cannot be read.
    #[error("cannot read {source}: {cause}; nothing was stored", source = .0, cause = .1)]
    Source(String, io::Error),
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
    /// The output cannot be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
}

impl CommandError {
    /// 2 for an error of the command line, as is usual; 1 for all else.
    pub(crate) fn exit_code(&self) -> ExitCode {
        let is_usage = match self {
            Self::Usage(_) => true,
            Self::Store(error) => error.is_of_options(),
            Self::Transfer(error) => error.is_of_options(),
            _ => false,
        };
        ExitCode::from(if is_usage { 2 } else { 1 })
    }
}
