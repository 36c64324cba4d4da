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

use crate::sql::row_mapping;

/// A transaction that waits for writes in progress.
pub(crate) const PASS: &str = sql_file!("postgres/fence_pass");

/// Statements that exclude all other writes until the transaction ends.
pub(crate) const EXCLUDE_OTHERS: &str = sql_file!("postgres/fence_exclude_others");

/// Begins a transaction that reads the state at a moment without a write in progress, and closes the
/// current `time` and the times of all changes.
pub(crate) const BEGIN_SETTLED: &str = sql_file!("postgres/fence_settle");

/// Returns the `time` from the only statement that returned a row.
pub(crate) fn time(rows: &[Vec<QueryResult>]) -> Result<Timestamp, DbErr> {
    let row = rows.iter().flatten().next();
    let row = row.ok_or_else(|| DbErr::RecordNotFound("the time of the clock".to_owned()))?;
    row_mapping::timestamp(row, "time")
}
