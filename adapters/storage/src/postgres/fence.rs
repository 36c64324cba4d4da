//! The fence: writes run concurrently, and an operation that requires that none is in progress waits
//! for them.
//!
//! Every write locks the table `write_fence` in the mode `ROW EXCLUSIVE` until its transaction ends,
//! because its statement deletes from that table, although it matches no row. The lock is taken
//! before the statement's snapshot. A transaction that locks the table in a stronger mode therefore
//! waits for the earlier writes, blocks the later ones, and sees all committed data. A follower
//! releases the lock at once; an exclusive write holds it until its commit.
//!
//! The time of a write comes from the clock of the database, so that an instance whose clock is fast
//! does not advance the time of all writes. It is later than the last closed time, which is the
//! value of the sequence `write_clock`, and later than the previous write of the item. So the state
//! at a closed time never changes.

use jiff::Timestamp;
use sea_orm::{DbErr, QueryResult};

use crate::sql::change_log::latest_time;
use crate::sql::row_mapping;

/// The database's time in microseconds.
pub(crate) const NOW: &str = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

/// The setting in which a transaction that keeps others out has its time.
const TIME: &str = "proposal_service.time";

/// A transaction that waits for writes in progress.
pub(crate) const PASS: &str = "BEGIN; LOCK TABLE write_fence IN SHARE MODE; COMMIT";

/// The statements that exclude all other writes until the transaction ends. They close its `time`,
/// which is later than the time of every change.
pub(crate) fn exclude_others() -> String {
    format!(
        "LOCK TABLE write_fence IN EXCLUSIVE MODE; \
         SELECT set_config('{TIME}', time::text, true), time FROM (SELECT setval('write_clock', \
         greatest({NOW}, last_value + 1, {latest} + 1)) AS time FROM write_clock) AS clock",
        latest = latest(),
    )
}

/// A transaction that closes the current `time` and the times of all changes: every later write has a
/// later time.
pub(crate) fn close() -> String {
    format!("BEGIN; LOCK TABLE write_fence IN SHARE MODE; {}; COMMIT", closing())
}

/// Begins a transaction that reads the state at a moment without a write in progress, and closes the
/// times of all changes. The fence is released before the reads.
pub(crate) fn begin_settled() -> String {
    format!(
        "BEGIN ISOLATION LEVEL REPEATABLE READ; SAVEPOINT fence; LOCK TABLE write_fence IN SHARE MODE; \
         {}; ROLLBACK TO SAVEPOINT fence",
        closing()
    )
}

/// Returns the statement that closes the current time, or the latest stored time if that is ahead of
/// the clock.
fn closing() -> String {
    let latest = latest();
    format!(
        "SELECT setval('write_clock', greatest(last_value, {NOW}, {latest})) AS time FROM write_clock"
    )
}

fn latest() -> String {
    format!("coalesce(({}), 0)", latest_time())
}

/// Returns the `time` from the only statement that returned a row.
pub(crate) fn time(rows: &[Vec<QueryResult>]) -> Result<Timestamp, DbErr> {
    let row = rows
        .iter()
        .flatten()
        .next()
        .ok_or_else(|| DbErr::Custom("the clock returned no time".to_owned()))?;
    row_mapping::timestamp(row, "time")
}
