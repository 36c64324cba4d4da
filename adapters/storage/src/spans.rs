//! The spans of sampled requests, by OpenTelemetry's conventions for databases.

use application::trace_span;
use application::traces::TARGET;
use tracing::{Span, info_span};

use crate::sql::dialect::Dialect;

/// A read: the time that it waits for others, and the statement.
pub(crate) fn read(dialect: &Dialect, what: &'static str) -> Span {
    trace_span!(
        "read",
        otel.name = format!("read {what}"),
        otel.kind = "client",
        db.system.name = system(dialect),
        db.operation.name = "read",
    )
}

pub(crate) fn write(dialect: &Dialect) -> Span {
    trace_span!(
        "write",
        otel.kind = "client",
        db.system.name = system(dialect),
        db.operation.name = "write",
    )
}

/// A batch belongs to several requests, so it has a separate trace with a link to each of them.
pub(crate) fn batch<'a>(
    dialect: &Dialect,
    writes: usize,
    waiting: impl Iterator<Item = &'a Span> + Clone,
) -> Span {
    if waiting.clone().all(Span::is_none) {
        return Span::none();
    }
    let batch = info_span!(
        target: TARGET,
        parent: None,
        "write batch",
        otel.kind = "client",
        db.system.name = system(dialect),
        db.operation.name = "write",
        db.operation.batch.size = i64::try_from(writes).unwrap_or(i64::MAX),
    );
    for span in waiting.filter(|span| !span.is_none()) {
        batch.follows_from(span);
        span.follows_from(&batch);
    }
    batch
}

pub(crate) fn commit() -> Span {
    trace_span!("commit")
}

fn system(dialect: &Dialect) -> String {
    dialect.name.to_ascii_lowercase()
}
