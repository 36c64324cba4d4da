//! The indexes behind search, filters and orders.
//!
//! `SQLite` numbers what it indexes: an item has the number of its first change, which is never reused. `PostgreSQL` keeps
//! the words beside the members, so that a write of an item writes both at once.

use async_trait::async_trait;
use domain::proposal::FIELDS;
use sea_orm::{ConnectionTrait, DbBackend, DbErr, DeriveMigrationName, QueryResult, Value};
use sea_orm_migration::{MigrationTrait, SchemaManager, SchemaManagerConnection};
use uuid::Uuid;

use crate::dialect::{Dialect, POSTGRES, SQLITE};
use crate::index_text::index_text;
use crate::member::Member;
use crate::rows;
use crate::sql_text::SqlText;

/// Fields of a proposal by which many proposals are told from few: finding by them costs no more in a large collection.
const INDEXED_FIELDS: [&str; 4] = ["program_id", "research_type", "researcher_id", "start_date"];

/// How many items are indexed at a time.
const BATCH: i64 = 500;

#[derive(DeriveMigrationName)]
pub(super) struct Migration;

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let connection = manager.get_connection();
        let dialect = if manager.get_database_backend() == DbBackend::Sqlite { &SQLITE } else { &POSTGRES };
        connection.execute_unprepared(words(dialect)).await?;
        index_items(connection, dialect).await?;
        connection.execute_unprepared(words_index(dialect)).await?;
        connection.execute_unprepared("CREATE INDEX items_by_update ON items (collection, updated_at, id)").await?;
        for name in INDEXED_FIELDS {
            connection.execute_unprepared(&field_index(dialect, name)).await?;
        }
        Ok(())
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let connection = manager.get_connection();
        for name in INDEXED_FIELDS {
            connection.execute_unprepared(&format!("DROP INDEX proposals_by_{name}")).await?;
        }
        connection.execute_unprepared("DROP INDEX items_by_update").await?;
        let words = match manager.get_database_backend() {
            DbBackend::Sqlite => "DROP TABLE search_waiting; DROP TABLE search_words; DROP TABLE search_index",
            _ => "ALTER TABLE items DROP COLUMN words",
        };
        connection.execute_unprepared(words).await?;
        Ok(())
    }
}

/// The words come folded and apart, so the tokenizer takes everything but a space for a letter.
fn words(dialect: &Dialect) -> &'static str {
    match dialect.backend {
        DbBackend::Sqlite => {
            "CREATE VIRTUAL TABLE search_index USING fts5(words, content = '', contentless_delete = 1, \
             tokenize = \"unicode61 remove_diacritics 0 categories 'L* M* N* P* S* C*'\");
             CREATE VIRTUAL TABLE search_words USING fts5vocab(search_index, instance);
             CREATE TABLE search_waiting (sequence INTEGER PRIMARY KEY, words TEXT NOT NULL)"
        }
        _ => "ALTER TABLE items ADD COLUMN words tsvector",
    }
}

/// `SQLite` indexes the words as they are inserted.
fn words_index(dialect: &Dialect) -> &'static str {
    match dialect.backend {
        DbBackend::Sqlite => "SELECT 1",
        _ => "CREATE INDEX items_by_words ON items USING gin (words)",
    }
}

/// An index of one collection on the very text that filters are made with.
fn field_index(dialect: &'static Dialect, name: &str) -> String {
    let kind = FIELDS.iter().find(|field| field.name == name).map(|field| field.kind);
    let value = Member::of(&mut SqlText::new(dialect), name, kind).as_text().replace("w.", "");
    format!("CREATE INDEX proposals_by_{name} ON items ({value}, id) WHERE collection = 'proposals'")
}

/// Indexes the words of what was stored before.
async fn index_items(connection: &SchemaManagerConnection<'_>, dialect: &'static Dialect) -> Result<(), DbErr> {
    let text = "SELECT id, CAST(members AS TEXT) AS members FROM items WHERE id > $1 ORDER BY id LIMIT $2";
    let mut last = Uuid::nil();
    loop {
        let batch = connection.query_all_raw(dialect.statement(text, [last.into(), BATCH.into()])).await?;
        let Some(row) = batch.last() else { return Ok(()) };
        last = rows::get(row, "id")?;
        for row in &batch {
            index_item(connection, dialect, row).await?;
        }
    }
}

async fn index_item(connection: &SchemaManagerConnection<'_>, dialect: &'static Dialect, row: &QueryResult) -> Result<(), DbErr> {
    let text = match dialect.backend {
        DbBackend::Sqlite => "INSERT INTO search_index (rowid, words) SELECT sequence, $2 FROM changes WHERE item_id = $1 AND version = 1",
        _ => "UPDATE items SET words = $2::text::tsvector WHERE id = $1",
    };
    let words = index_text(dialect.backend, &rows::get::<String>(row, "members")?);
    let values: [Value; 2] = [rows::get::<Uuid>(row, "id")?.into(), words.into()];
    connection.execute_raw(dialect.statement(text, values)).await?;
    Ok(())
}
