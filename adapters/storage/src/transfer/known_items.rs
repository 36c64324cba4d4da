//! The items that the changes of a file have created. They are in a separate `SQLite` database in
//! the folder for temporary files, which is deleted with the process, so that memory does not grow
//! with the number of items.

use domain::{ItemId, WriteOperation};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Result, Row, params};
use uuid::Uuid;

use super::change_record::ChangeRecord;

/// `since` is when the item was first created, `creator` by whom, `updated` the time of its last
/// change.
const TABLE: &str = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = FILE; PRAGMA cache_size = -8192;
    CREATE TABLE known (id BLOB PRIMARY KEY, line BIGINT NOT NULL, collection TEXT NOT NULL, version BIGINT NOT NULL, since BIGINT NOT NULL, \
    creator TEXT NULL, updated BIGINT NOT NULL, is_deleted BOOLEAN NOT NULL, parent BLOB NULL, continues BLOB NULL, is_bodiless BOOLEAN NOT NULL) WITHOUT ROWID;
    BEGIN";

const FIND: &str = "SELECT collection, version, since, creator, updated, is_deleted, parent, continues FROM known WHERE id = ?1";

const KEEP: &str =
    "INSERT OR REPLACE INTO known VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";

const ORPHANS: &str = "SELECT k.line, k.id, k.parent FROM known k LEFT JOIN known p ON p.id = k.parent AND NOT p.is_deleted \
                       WHERE k.parent IS NOT NULL AND NOT k.is_deleted AND p.id IS NULL ORDER BY k.line LIMIT ?1";

const BODILESS: &str =
    "SELECT line, id FROM known WHERE is_bodiless AND NOT is_deleted ORDER BY line LIMIT ?1";

const COUNT: &str = "SELECT collection, SUM(NOT is_deleted), SUM(is_deleted) FROM known GROUP BY collection ORDER BY collection";

/// The items of one collection in a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectionSummary {
    /// The collection's name.
    pub collection: String,
    /// Items that exist after the last change.
    pub items: u64,
    /// Items that were deleted.
    pub deleted: u64,
}

/// The items so far.
pub(super) struct KnownItems(Connection);

/// An item as the changes before have left it.
pub(super) struct Known {
    pub collection: String,
    pub version: i64,
    pub since: i64,
    pub creator: Option<String>,
    pub updated: Timestamp,
    pub is_deleted: bool,
    pub parent: Option<Uuid>,
    pub continues: Option<Uuid>,
}

impl KnownItems {
    pub fn new() -> Result<Self> {
        // A database without a name is a temporary file.
        let scratch = Connection::open("")?;
        scratch.execute_batch(TABLE)?;
        Ok(Self(scratch))
    }

    pub fn find(&self, id: ItemId) -> Result<Option<Known>> {
        let known = |row: &Row<'_>| {
            Ok(Known {
                collection: row.get(0)?,
                version: row.get(1)?,
                since: row.get(2)?,
                creator: row.get(3)?,
                updated: Timestamp::from_microsecond(row.get(4)?).unwrap_or_default(),
                is_deleted: row.get(5)?,
                parent: row.get(6)?,
                continues: row.get(7)?,
            })
        };
        self.0.prepare_cached(FIND)?.query_row([id.uuid()], known).optional()
    }

    /// Keeps an item as a change leaves it.
    pub fn keep(
        &self,
        line: u64,
        record: &ChangeRecord,
        (since, creator): (i64, Option<&str>),
    ) -> Result<usize> {
        let links = [record.parent, record.continues].map(|id| id.map(ItemId::uuid));
        self.0.prepare_cached(KEEP)?.execute(params![
            record.item.uuid(),
            line,
            record.collection.name(),
            record.version.number(),
            since,
            creator,
            record.time.as_microsecond(),
            record.kind == WriteOperation::Delete,
            links[0],
            links[1],
            record.removed_at.is_some()
        ])
    }

    /// The lines of items whose parent does not exist, with the ids of both.
    pub fn orphans(&self, limit: usize) -> Result<Vec<(u64, [ItemId; 2])>> {
        let orphan =
            |row: &Row<'_>| Ok((row.get(0)?, [row.get(1)?, row.get(2)?].map(ItemId::from_uuid)));
        self.0.prepare(ORPHANS)?.query_map([limit], orphan)?.collect()
    }

    /// The lines of items whose last version has no body, with their ids.
    pub fn bodiless(&self, limit: usize) -> Result<Vec<(u64, ItemId)>> {
        let bodiless = |row: &Row<'_>| Ok((row.get(0)?, ItemId::from_uuid(row.get(1)?)));
        self.0.prepare(BODILESS)?.query_map([limit], bodiless)?.collect()
    }

    pub fn summary(&self) -> Result<Vec<CollectionSummary>> {
        let summary = |row: &Row<'_>| {
            let (collection, items, deleted) = row.try_into()?;
            Ok(CollectionSummary { collection, items, deleted })
        };
        self.0.prepare(COUNT)?.query_map([], summary)?.collect()
    }
}
