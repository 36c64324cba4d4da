//! The audit log: a JSON line per refused request and, in audited groups, per write or per request.
//!
//! One task writes from a bounded queue. An audited request is answered only after its line is in
//! the file. Refusals in other groups do not wait: when the queue is full, they are only counted.

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

/// One line for each connection of the default limit.
const QUEUE: usize = 16_384;

#[derive(Debug, Error)]
#[error("the audit log {} cannot be opened: {reason}; {fix}", .path.display())]
pub struct AuditLogError {
    path: PathBuf,
    reason: io::Error,
    fix: &'static str,
}

#[derive(Clone)]
pub struct AuditLog {
    queue: mpsc::Sender<AuditLine>,
    health: Arc<WriterHealth>,
    /// Other groups have the lowest level.
    levels: Arc<[(Collection, AuditLevel)]>,
    time_limit: Duration,
    clock: Arc<dyn Clock>,
}

impl AuditLog {
    /// Reopens the file at SIGHUP. Must be called within a runtime.
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

    pub fn begin(&self, subject: AuditSubject, request: &Request) -> AuditedRequest {
        let embedded = match (subject.group, request.uri().query()) {
            (Some(group), Some(query)) => embedded_collections(group, query),
            _ => Vec::new(),
        };
        let level = self.level_of(subject.group, &embedded);
        AuditedRequest::new(self, level, subject, embedded, request)
    }

    /// Includes embedded groups. A request without a group may show items of any group.
    fn level_of(&self, group: Option<Group>, embedded: &[Collection]) -> AuditLevel {
        let is_shown = |collection: Collection| {
            group.is_none_or(|group| group.collection == collection)
                || embedded.contains(&collection)
        };
        let levels = self.levels.iter().filter(|(collection, _)| is_shown(*collection));
        levels.map(|(_, level)| *level).max().unwrap_or_default()
    }
}
