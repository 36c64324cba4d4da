//! Positions in the write-ahead log of a server that takes writes.

use sea_orm::{ConnectionTrait as _, DbErr};

use crate::postgres::session::Session;
use crate::sql::dialect::POSTGRES;
use crate::sql::row_mapping;

/// Returns the timeline, and a position up to which the log has all that was acknowledged before.
pub(crate) async fn read(session: &Session) -> Result<(u32, u64), DbErr> {
    let row =
        session.query_one_raw(POSTGRES.statement(sql_file!("postgres/log_position"), [])).await?;
    let row = row.ok_or_else(|| DbErr::RecordNotFound("the position of the log".to_owned()))?;
    let timeline: String = row_mapping::get(&row, "timeline")?;
    let number = u32::from_str_radix(&timeline, 16);
    let number = number.map_err(|_| row_mapping::not_understood("timeline", timeline))?;
    Ok((number, row_mapping::count(&row, "position")?))
}
