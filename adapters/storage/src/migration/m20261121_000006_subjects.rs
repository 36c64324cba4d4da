//! The subject of items other than proposals, as a key: rules look for the status messages or the
//! files of a proposal.
//!
//! The index has only rows that have one, so it costs the writes of proposals nothing.

use async_trait::async_trait;
use sea_orm::{ConnectionTrait, DbErr, DeriveMigrationName, Statement};
use sea_orm_migration::{MigrationTrait, SchemaManager};

use crate::sql::dialect::Dialect;
use crate::sql::indexed_columns;
use crate::sql::json_member::Member;
use crate::sql::sql_text::{SqlText, literal};

/// The members that the items of a collection were found by then.
const SUBJECTS: [(&str, &str); 4] = [
    ("gadscores", "proposal_id"),
    ("files", "proposal_id"),
    ("cashprogram", "proposal_id"),
    ("status", "subject"),
];

#[derive(DeriveMigrationName)]
pub(super) struct Migration;

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let connection = manager.get_connection();
        let dialect = Dialect::of(manager.get_database_backend());
        let column = format!("ALTER TABLE items ADD COLUMN subject {}", dialect.key);
        connection.execute_unprepared(&column).await?;
        for (collection, member) in SUBJECTS {
            connection.execute_raw(give_subjects(dialect, collection, member)).await?;
        }
        let index =
            "CREATE INDEX items_by_subject ON items (subject, id) WHERE subject IS NOT NULL";
        connection.execute_unprepared(index).await?;
        Ok(())
    }
}

/// Gives the items of a collection that are there their keys, in the engine: there may be very
/// many.
fn give_subjects(dialect: &'static Dialect, collection: &str, member: &str) -> Statement {
    let mut text = SqlText::new(dialect);
    let member = Member::of(&mut text, member, None);
    let (written, is_written) = (member.as_written(), member.is_written());
    let collection = literal(collection);
    text.finish(&format!(
        "UPDATE items AS w SET subject = substr({written}, 1, {length}) WHERE w.collection = {collection} AND {is_written}",
        length = indexed_columns::LENGTH,
    ))
}
