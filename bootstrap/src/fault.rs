//! What keeps the service from starting, as one line that says what to mend.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use application::ApplicationError;
use http_adapter::DemoError;
use storage_adapter::{CopyError, StoreError};
use thiserror::Error;

use crate::copies::FileFaults;
use crate::seed::Tally;

/// Why the process ends without having done what it was asked to.
#[derive(Debug, Error)]
pub enum Fault {
    /// The command line or an environment variable is wrong.
    #[error("{0}")]
    Usage(String),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {}", listen_mend(.cause))]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why not.
        cause: io::Error,
    },
    /// The store cannot be opened or prepared.
    #[error("{0}{mend}", mend = store_mend(.0))]
    Store(#[from] StoreError),
    /// The store lacks a schema, or has that of an earlier version.
    #[error(
        "the database is not prepared for this version: run `proposal-service migrate` once, or serve with --migrate auto"
    )]
    NotMigrated,
    /// The demonstration set cannot be loaded.
    #[error("cannot load the demonstration items: {0}")]
    Demo(#[from] DemoError),
    /// Made-up data cannot be stored.
    #[error("cannot store made-up data: {cause}; before that, {stored} were stored")]
    Seed {
        /// Why not.
        cause: ApplicationError,
        /// What was stored until then.
        stored: Tally,
    },
    /// The operator did not wait for all of the made-up data.
    #[error("stopped by {signal}; {stored} were stored")]
    Interrupted {
        /// Which signal it was.
        signal: &'static str,
        /// What was stored until then.
        stored: Tally,
    },
    /// A store cannot be copied.
    #[error("{0}{mend}", mend = copy_mend(.0))]
    Copy(CopyError),
    /// What was to be imported is faulty.
    #[error("nothing was stored, because {0}")]
    Import(FileFaults),
    /// What was to be imported cannot be read.
    #[error("cannot read {source}: {cause}; nothing was stored", source = .0, cause = .1)]
    Source(String, io::Error),
    /// Business rules in files cannot be put in force.
    #[error("{0}")]
    Rules(rules_adapter::Faults),
    /// Some cases of business rules came out otherwise than expected.
    #[error("{0} of the cases came out otherwise than expected")]
    Cases(usize),
    /// What is stored cannot be looked at.
    #[error("cannot look at what is stored: {0}")]
    Audit(ApplicationError),
    /// A copy is never written over what is there.
    #[error("{} is there already; name a file that does not exist", .0.display())]
    Exists(PathBuf),
    /// A copy cannot be written.
    #[error("cannot write {}: {cause}", path.display())]
    Target {
        /// The file.
        path: PathBuf,
        /// Why not.
        cause: io::Error,
    },
    /// The operator did not wait for the end of a copy.
    #[error("stopped by {0}; nothing was stored")]
    Stopped(&'static str),
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

impl Fault {
    /// 2 for what the command line says, as is usual; 1 for all else.
    pub fn exit_code(&self) -> ExitCode {
        use StoreError::{InMemory, InvalidUrl, UnknownScheme};
        let is_usage = match self {
            Self::Usage(_) | Self::Copy(CopyError::NotAFile) => true,
            Self::Store(error) | Self::Copy(CopyError::Store(error)) => {
                matches!(error, UnknownScheme | InvalidUrl(_) | InMemory)
            }
            _ => false,
        };
        ExitCode::from(if is_usage { 2 } else { 1 })
    }
}

fn store_mend(error: &StoreError) -> &'static str {
    match error {
        StoreError::Connect { .. } => {
            "; see that it runs, that it lets this user in, and that --database-url is right"
        }
        StoreError::Folder { .. } => "; make it, or name a file elsewhere with --database-url",
        _ => "",
    }
}

fn copy_mend(error: &CopyError) -> &'static str {
    match error {
        CopyError::Store(error) => store_mend(error),
        _ => "",
    }
}

fn listen_mend(cause: &io::Error) -> String {
    match cause.kind() {
        io::ErrorKind::AddrInUse => {
            "another process uses it; stop that one, or choose another port with --listen".into()
        }
        io::ErrorKind::AddrNotAvailable => {
            "this machine has no such address; --listen 0.0.0.0:PORT takes all it has".into()
        }
        io::ErrorKind::PermissionDenied => {
            "ports below 1024 need a privilege; choose another with --listen".into()
        }
        _ => cause.to_string(),
    }
}
