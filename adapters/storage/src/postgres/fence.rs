//! The fence: an operation that requires that no write is in progress waits for the concurrent
//! ones. The statement of every write deletes from the table `write_fence`, without effect, and so
//! locks it in ROW EXCLUSIVE mode from before its snapshot until its transaction ends. A
//! transaction with a stronger lock waits for the earlier writes, blocks the later ones, and sees
//! all committed data. The time of a write is from the database's clock, and later than the last
//! closed time, which is the value of the sequence `write_clock`.

use jiff::Timestamp;
use sea_orm::{DbErr, QueryResult};

use crate::error::DbResult;
use crate::sql::row_mapping;

/// Waits for writes in progress.
pub(crate) const PASS: &str = sql_file!("postgres/write/fence_pass");

pub(crate) const EXCLUDE_OTHERS: &str = sql_file!("postgres/write/fence_exclude_others");

/// Begins a read without writes in progress. Closes the current `time` and those of all changes.
pub(crate) const BEGIN_SETTLED: &str = sql_file!("postgres/write/fence_settle");

pub(crate) fn time(rows: &[Vec<QueryResult>]) -> DbResult<Timestamp> {
    let row = rows.iter().flatten().next();
    let row = row.ok_or_else(|| DbErr::RecordNotFound("the time of the clock".to_owned()))?;
    row_mapping::timestamp(row, "time")
}
