//! Errors of commands: one line with the fix.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use application::ApplicationError;
use storage_adapter::StoreError;
use thiserror::Error;

pub type Result<T, E = CommandError> = std::result::Result<T, E>;

#[derive(Debug, Error)]
pub enum CommandError {
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    Failed(String),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "the database is not prepared for this version: run `proposal-service migrate` once, or serve with --migrate auto"
    )]
    NotMigrated,
    #[error("cannot read {source}: {cause}; no change was stored", source = .0, cause = .1)]
    Source(String, io::Error),
    #[error("cannot read the stored data: {0}")]
    Audit(#[from] ApplicationError),
    /// An existing file is never overwritten.
    #[error("{} already exists; name a file that does not exist", .0.display())]
    Exists(PathBuf),
    #[error("cannot write {path}: {cause}", path = .0.display(), cause = .1)]
    Target(PathBuf, io::Error),
    #[error("stopped by {0}; no change was stored")]
    Stopped(&'static str),
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
}

impl CommandError {
    /// Returns 2 for a wrong command line, as usual, otherwise 1.
    pub(crate) fn exit_code(&self) -> ExitCode {
        let is_usage = match self {
            Self::Usage(_) => true,
            Self::Store(error) => error.is_of_options(),
            _ => false,
        };
        ExitCode::from(if is_usage { 2 } else { 1 })
    }
}
