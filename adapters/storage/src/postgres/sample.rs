//! The sizes of the tables, and the servers that follow this one.

use std::time::Duration;

use sea_orm::{ConnectionTrait, DbErr};

use crate::metrics::Sample;
use crate::postgres::session::Session;
use crate::sql::dialect::POSTGRES;
use crate::sql::row_mapping::{count, get};

/// Asks the server.
pub(crate) async fn take(session: &Session) -> Result<Sample, DbErr> {
    let mut sample = Sample::default();
    let sizes = POSTGRES.statement(sql_file!("postgres/sizes"), []);
    for row in session.query_all_raw(sizes).await? {
        sample.sizes.push((get(&row, "part")?, count(&row, "bytes")?));
    }
    let replicas = POSTGRES.statement(sql_file!("postgres/replicas"), []);
    if let Some(row) = session.query_one_raw(replicas).await? {
        let lag = Duration::from_micros(count(&row, "lag")?);
        sample.replicas = Some((count(&row, "replicas")?, lag));
    }
    Ok(sample)
}
