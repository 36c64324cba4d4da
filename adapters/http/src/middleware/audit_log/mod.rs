//! The audit log: a file with a line of JSON for each request that was refused, and in groups that are
//! audited for each write or each request.
//!
//! One task writes the file, from a bounded queue. The response of a request that is audited waits
//! until its line is in the file, so nothing is answered that is not recorded. Refusals in other groups
//! wait for nothing: while the queue is full they are counted instead of written.

mod request;
#[cfg(test)]
mod tests;
mod writer;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use application::{AuditLevel, Clock};
use domain::Collection;
use poem::Request;
use rustix::io::Errno;
use thiserror::Error;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::groups::Group;
use crate::query::embedded_collections;

pub use request::{AuditSubject, AuditedRequest};
use writer::{AuditLine, Writer, WriterHealth};

/// Lines that may wait to be written. Every connection can have one by default.
const QUEUE: usize = 16_384;

/// The audit log cannot be opened.
#[derive(Debug, Error)]
#[error("the audit log {} cannot be opened: {reason}; {fix}", .path.display())]
pub struct AuditLogError {
    path: PathBuf,
    reason: io::Error,
    fix: &'static str,
}

/// The audit log of a service.
#[derive(Clone)]
pub struct AuditLog {
    queue: mpsc::Sender<AuditLine>,
    health: Arc<WriterHealth>,
    /// The levels of groups, by their collections; all others have the lowest.
    levels: Arc<[(Collection, AuditLevel)]>,
    /// How long a request waits for its line to be written.
    time_limit: Duration,
    clock: Arc<dyn Clock>,
}

impl AuditLog {
    /// Opens the file for lines to be appended, and again at each SIGHUP, and starts the task that
    /// writes them. Requests wait for their lines up to `time_limit`. Call it within a runtime.
    ///
    /// # Errors
    /// The file cannot be opened or made, with how to fix that.
    pub fn open(
        path: &Path,
        levels: &[(Collection, AuditLevel)],
        time_limit: Duration,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, AuditLogError> {
        let hang_ups = signal(SignalKind::hangup())
            .map_err(|error| tracing::warn!(%error, "SIGHUP does not reopen the audit log"));
        let (queue, lines) = mpsc::channel(QUEUE);
        let health = Arc::<WriterHealth>::default();
        let opened = Writer::open(path, lines, Arc::clone(&health), time_limit, clock);
        let writer = opened.map_err(|reason| {
            let fix = match reason.raw_os_error() {
                Some(code) if code == Errno::NXIO.raw_os_error() => {
                    "start the program that reads this pipe before the service"
                }
                _ => "name a file in a folder that is there and that the service may write to",
            };
            AuditLogError { path: path.to_owned(), reason, fix }
        })?;
        tokio::spawn(writer.run(hang_ups.ok()));
        let clock = Arc::clone(clock);
        Ok(Self { queue, health, levels: levels.into(), time_limit, clock })
    }

    /// Begins to audit a request.
    pub fn begin(&self, subject: AuditSubject, request: &Request) -> AuditedRequest {
        let embedded = match (subject.group, request.uri().query()) {
            (Some(group), Some(query)) => embedded_collections(group, query),
            _ => Vec::new(),
        };
        let level = self.level_of(subject.group, &embedded);
        AuditedRequest::new(self, level, subject, embedded, request)
    }

    /// The level of requests of a group that embed items of others. Those of no group may show items
    /// of any.
    fn level_of(&self, group: Option<Group>, embedded: &[Collection]) -> AuditLevel {
        let is_shown = |collection: Collection| {
            group.is_none_or(|group| group.collection == collection)
                || embedded.contains(&collection)
        };
        let levels = self.levels.iter().filter(|(collection, _)| is_shown(*collection));
        levels.map(|(_, level)| *level).max().unwrap_or_default()
    }
}
