//! Columns and tables to find items by: keys, the words of their strings, and times of writing.
//!
//! The full-text index is a table beside the items, because it follows them in steps of its own
//! (`search_index/indexer.rs`). `search_progress` holds the number of the last change it knows:
//! none at first, so that what was stored before is indexed like what is written now.

use async_trait::async_trait;
use domain::{Collection, Members};
use sea_orm::{ConnectionTrait, DbBackend, DbErr, DeriveMigrationName, QueryResult};
use sea_orm_migration::{MigrationTrait, SchemaManager, SchemaManagerConnection};
use uuid::Uuid;

use crate::sql::dialect::Dialect;
use crate::sql::indexed_columns::Keys;
use crate::sql::row_mapping;

/// The columns of keys that there were then.
const COLUMNS: [&str; 4] = ["program_id", "research_type", "researcher_id", "start_date"];

/// The number of items that are given their keys at a time.
const BATCH: i64 = 500;

#[derive(DeriveMigrationName)]
pub(super) struct Migration;

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let connection = manager.get_connection();
        let dialect = Dialect::of(manager.get_database_backend());
        for name in COLUMNS {
            let column = format!("ALTER TABLE items ADD COLUMN {name} {}", dialect.key);
            connection.execute_unprepared(&column).await?;
        }
        give_keys(connection, dialect).await?;
        for name in COLUMNS {
            let index = format!(
                "CREATE INDEX items_by_{name} ON items ({name}, id) WHERE {name} IS NOT NULL"
            );
            connection.execute_unprepared(&index).await?;
        }
        let index = "CREATE INDEX items_by_update ON items (collection, updated_at, id)";
        connection.execute_unprepared(index).await?;
        connection.execute_unprepared(words(dialect)).await?;
        Ok(())
    }
}

/// The words come folded and apart, so the tokenizer of `SQLite` takes everything but a space for a
/// letter. It numbers what it indexes: an item has the number of its first change, which is never
/// reused. Segments are merged less often than by default, which costs a quarter less. For the same
/// reason `PostgreSQL` collects 16 MB of words before it sorts them into its index, and does not
/// compress vectors of a usual size.
fn words(dialect: &Dialect) -> &'static str {
    match dialect.backend {
        DbBackend::Sqlite => {
            "CREATE VIRTUAL TABLE search_index USING fts5(words, content = '', contentless_delete = 1, \
             tokenize = \"unicode61 remove_diacritics 0 categories 'L* M* N* P* S* C*'\");
             INSERT INTO search_index (search_index, rank) VALUES ('automerge', 8);
             CREATE VIRTUAL TABLE search_words USING fts5vocab(search_index, instance);
             CREATE TABLE search_progress (sequence BIGINT NOT NULL);
             INSERT INTO search_progress VALUES (0)"
        }
        _ => {
            "CREATE TABLE search_index (item_id uuid NOT NULL PRIMARY KEY, words tsvector NOT NULL);
             ALTER TABLE search_index SET (toast_tuple_target = 8160);
             CREATE INDEX search_index_by_words ON search_index USING gin (words) WITH (gin_pending_list_limit = 16384);
             CREATE TABLE search_progress (sequence BIGINT NOT NULL);
             INSERT INTO search_progress VALUES (0)"
        }
    }
}

/// Gives the proposals that are there their keys.
async fn give_keys(
    connection: &SchemaManagerConnection<'_>,
    dialect: &'static Dialect,
) -> Result<(), DbErr> {
    let text = "SELECT id, CAST(members AS TEXT) AS members FROM items WHERE collection = $1 AND id > $2 ORDER BY id LIMIT $3";
    let mut last = Uuid::nil();
    loop {
        let values = [Collection::known("proposals").name().into(), last.into(), BATCH.into()];
        let batch = connection.query_all_raw(dialect.statement(text, values)).await?;
        let Some(row) = batch.last() else { return Ok(()) };
        last = row_mapping::get(row, "id")?;
        for row in &batch {
            give_key(connection, dialect, row).await?;
        }
    }
}

async fn give_key(
    connection: &SchemaManagerConnection<'_>,
    dialect: &'static Dialect,
    row: &QueryResult,
) -> Result<(), DbErr> {
    let members =
        Members::read(row_mapping::get::<String>(row, "members")?.as_bytes()).ok().flatten();
    let keys = members.map_or_else(Keys::default, |members| {
        Keys::of(Collection::known("proposals"), members.encoded())
    });
    let columns: Vec<_> =
        COLUMNS.iter().zip(2..).map(|(name, number)| format!("{name} = ${number}")).collect();
    let text = format!("UPDATE items SET {} WHERE id = $1", columns.join(", "));
    let values = COLUMNS.iter().map(|name| keys.in_column(name).into());
    let values = std::iter::once(row_mapping::get::<Uuid>(row, "id")?.into()).chain(values);
    connection.execute_raw(dialect.statement(&text, values)).await?;
    Ok(())
}
