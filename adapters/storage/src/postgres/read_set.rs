//! The read set of writes on `PostgreSQL`, looked up in the transaction that holds the commit
//! lock.

use application::WriteMetadata;
use domain::Version;
use sea_orm::{ConnectionTrait, DbErr, QueryResult};

use crate::sql::dialect::POSTGRES;
use crate::sql::row_mapping;
use crate::write::read_set::{CurrentReads, Look, LookedUp, looks};

/// The current results of the lookups in the read sets of changes.
pub(crate) async fn current_reads<'a>(
    connection: &impl ConnectionTrait,
    changes: impl Iterator<Item = &'a WriteMetadata>,
) -> Result<CurrentReads, DbErr> {
    let mut current_reads = CurrentReads::default();
    let mut looks = looks(changes);
    while let Some(look) = looks.pop() {
        let found = found(connection, &look).await?;
        match look.apart(found.len()) {
            Some(apart) => looks.extend(apart),
            None => current_reads.note(&look, found),
        }
    }
    Ok(current_reads)
}

async fn found(connection: &impl ConnectionTrait, look: &Look<'_>) -> Result<Vec<LookedUp>, DbErr> {
    let rows = connection.query_all_raw(look.statement(&POSTGRES)).await?;
    let looked_up = |row: &QueryResult| {
        Ok(LookedUp {
            id: row_mapping::item_id(row, "id")?,
            version: Version::from_number(row_mapping::get(row, "version")?),
            parent: row_mapping::id(row, "parent")?,
            value: row_mapping::get(row, "value")?,
        })
    };
    rows.iter().map(looked_up).collect()
}
