//! Positions in the write-ahead log of a server that takes writes.

use sea_orm::{ConnectionTrait as _, DbErr};

use crate::postgres::session::Session;
use crate::sql::dialect::POSTGRES;
use crate::sql::row_mapping;

/// The timeline, and a position behind the commits that were acknowledged: they are flushed, unless the
/// database acknowledges before. What is inserted and not flushed is no concern of theirs, and a standby
/// would have it later.
const POSITION: &str = "SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8) AS timeline, \
                        (CASE current_setting('synchronous_commit') WHEN 'off' THEN pg_current_wal_insert_lsn() \
                        ELSE pg_current_wal_flush_lsn() END - '0/0')::bigint AS position";

/// Returns the timeline, and a position up to which the log has all that was acknowledged before.
pub(crate) async fn read(session: &Session) -> Result<(u32, u64), DbErr> {
    let row = session.query_one_raw(POSTGRES.statement(POSITION, [])).await?;
    let row = row.ok_or_else(|| DbErr::RecordNotFound("the position of the log".to_owned()))?;
    let timeline: String = row_mapping::get(&row, "timeline")?;
    let number = u32::from_str_radix(&timeline, 16);
    let number = number.map_err(|_| row_mapping::not_understood("timeline", timeline))?;
    Ok((number, row_mapping::count(&row, "position")?))
}
