//! The fence: writes go on side by side, and whoever must know that none is under way waits for
//! those that are.
//!
//! Every write holds the table `write_fence` in the mode `ROW EXCLUSIVE` until its transaction ends,
//! because its statement deletes from that table, though nothing. The lock is taken before the
//! statement's snapshot. Who takes the table in a stronger mode therefore waits for the writes that
//! began before, keeps out those that come after, and sees all that was written. A follower lets it
//! go at once; a write that must not have others beside it keeps it.
//!
//! The time of a write is the database's own, so that an instance whose clock is ahead does not move
//! the times of all. It is after the last time that was closed, which is the value of the sequence
//! `write_clock`, and after the time at which its item was written before. So what was at a closed
//! time never changes.

use jiff::Timestamp;
use sea_orm::{DbErr, QueryResult};

use crate::sql::change_log::latest_time;
use crate::sql::row_mapping;

/// The database's time in microseconds.
pub(crate) const NOW: &str = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

/// The setting in which a transaction that keeps others out has its time.
const TIME: &str = "proposal_service.time";

/// A transaction that waits for the writes under way.
pub(crate) const PASS: &str = "BEGIN; LOCK TABLE write_fence IN SHARE MODE; COMMIT";

/// Returns the first table expressions of every write: they hold the fence, and `clock` has the
/// time.
pub(crate) fn shared() -> String {
    format!(
        "fence AS (DELETE FROM write_fence WHERE FALSE), \
         clock AS MATERIALIZED (SELECT coalesce(nullif(current_setting('{TIME}', true), '')::bigint, \
         greatest({NOW}, (SELECT last_value + 1 FROM write_clock))) AS time)"
    )
}

/// Statements of a transaction that has no other write beside it from then on. They close its
/// `time`, which is after those of all changes.
pub(crate) fn exclude_others() -> String {
    format!(
        "LOCK TABLE write_fence IN EXCLUSIVE MODE; \
         SELECT set_config('{TIME}', time::text, true), time FROM (SELECT setval('write_clock', \
         greatest({NOW}, last_value + 1, {latest} + 1)) AS time FROM write_clock) AS clock",
        latest = latest(),
    )
}

/// A transaction that closes the `time` that it is and those of all changes: what is written from now
/// on has a later one.
pub(crate) fn close() -> String {
    format!("BEGIN; LOCK TABLE write_fence IN SHARE MODE; {}; COMMIT", closing())
}

/// Begins a transaction that reads what there is when no write is under way, and closes the times of
/// all changes. The fence is let go before anything else is read.
pub(crate) fn begin_settled() -> String {
    format!(
        "BEGIN ISOLATION LEVEL REPEATABLE READ; SAVEPOINT fence; LOCK TABLE write_fence IN SHARE MODE; \
         {}; ROLLBACK TO SAVEPOINT fence",
        closing()
    )
}

/// Stored times may lie ahead of the clock.
fn closing() -> String {
    let latest = latest();
    format!(
        "SELECT setval('write_clock', greatest(last_value, {NOW}, {latest})) AS time FROM write_clock"
    )
}

fn latest() -> String {
    format!("coalesce(({}), 0)", latest_time())
}

/// The `time` that was answered, by the only one of the statements that has a row.
pub(crate) fn time(rows: &[Vec<QueryResult>]) -> Result<Timestamp, DbErr> {
    let row = rows
        .iter()
        .flatten()
        .next()
        .ok_or_else(|| DbErr::Custom("the clock has no time".to_owned()))?;
    row_mapping::timestamp(row, "time")
}
