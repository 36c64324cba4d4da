//! The view `proposals`, for people who query with SQL: a column per field of the domain. A new
//! field needs no migration, because the expansion adds missing columns and removes no column.

use domain::Collection;
use domain::proposal::fields::FIELDS;
use sea_orm::{ConnectionTrait, DatabaseTransaction, DbBackend, TransactionTrait};

use crate::error::{DbResult, is_contended};
use crate::sql::dialect::Dialect;
use crate::sql::row_mapping;
use crate::sql::statements::ITEMS;

const ITEM_COLUMNS: [&str; 4] = ["id", "version", "created_at", "updated_at"];

/// Returns whether the view has a column per field. It may also have those of a newer service.
pub(crate) async fn is_complete(
    database: &impl ConnectionTrait,
    dialect: &Dialect,
) -> DbResult<bool> {
    let found = columns(database, dialect).await?;
    Ok(wanted().all(|name| found.iter().any(|found| found == name)))
}

/// Adds missing columns in place, at the end, so that the view keeps its privileges, dependent
/// views, and columns of a newer service. If that fails, and on SQLite, the view is recreated.
pub(crate) async fn refresh(transaction: &DatabaseTransaction, dialect: &Dialect) -> DbResult<()> {
    let mut all = columns(transaction, dialect).await?;
    for name in wanted() {
        if !all.iter().any(|found| found == name) {
            all.push(name.to_owned());
        }
    }
    if dialect.backend == DbBackend::Postgres {
        let attempt = transaction.begin().await?;
        let replaced =
            attempt.execute_unprepared(&definition(dialect, "CREATE OR REPLACE VIEW", &all)).await;
        match replaced {
            Ok(_) => return attempt.commit().await,
            Err(error) if is_contended(&error) => return Err(error),
            Err(error) => {
                attempt.rollback().await?;
                tracing::warn!(%error, "cannot replace the view proposals in place; it is recreated without the rights granted on it");
            }
        }
    }
    let wanted: Vec<_> = wanted().map(str::to_owned).collect();
    transaction.execute_unprepared("DROP VIEW IF EXISTS proposals").await?;
    transaction.execute_unprepared(&definition(dialect, "CREATE VIEW", &wanted)).await?;
    Ok(())
}

fn wanted() -> impl Iterator<Item = &'static str> {
    ITEM_COLUMNS.into_iter().chain(FIELDS.iter().map(|field| field.name))
}

async fn columns(database: &impl ConnectionTrait, dialect: &Dialect) -> DbResult<Vec<String>> {
    let query = dialect.statement(sql_file!(dialect, "migration/view_columns"), []);
    let rows = database.query_all_raw(query).await?;
    rows.iter().map(|row| row_mapping::get(row, "name")).collect()
}

fn definition(dialect: &Dialect, create: &str, columns: &[String]) -> String {
    let columns: Vec<_> = columns.iter().map(|name| column(dialect, name)).collect();
    format!(
        "{create} proposals AS SELECT {columns} FROM {ITEMS} WHERE i.collection = '{collection}'",
        columns = columns.join(", "),
        collection = Collection::known("proposals").name(),
    )
}

/// A column of the view. Those of fields are strings, also if only a newer service knows the name.
fn column(dialect: &Dialect, name: &str) -> String {
    let (member, quoted) = (name.replace('\'', "''"), name.replace('"', "\"\""));
    let value = match name {
        "id" => dialect.readable_id.to_owned(),
        "version" => "i.version".to_owned(),
        "created_at" | "updated_at" => (dialect.readable_time)(&format!("i.{name}")),
        _ => format!("c.members ->> '{member}'"),
    };
    format!("{value} AS \"{quoted}\"")
}
