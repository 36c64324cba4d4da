//! How `PostgreSQL` does each write: one statement decides, writes, logs and counts, in one round trip.
//!
//! Every statement has the same shape. Its first CTEs lock and judge what is there; `written` changes `items`; `logged`
//! and `counted` read `written`, so they do what it did and nothing else.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use application::{Change, CollectionContent, NewItem, Replacement, RepositoryError};
use domain::{Collection, ItemId, Version};
use sea_orm::{ConnectionTrait, DatabaseConnection, DbErr, QueryResult, Statement, TransactionTrait};
use uuid::Uuid;

use crate::dialect::POSTGRES;
use crate::errors::is_worth_retrying;
use crate::rows;
use crate::statements::{CHANGE_COLUMNS, ITEM_COLUMNS, REVISION, json_array, shown_columns};
use crate::write::{Answer, Write, change_values, delete_values, insert_values, not_written, removed_by, update_values, versions};

/// How often a write is begun that the database rolls back for the sake of others.
const ATTEMPTS: u32 = 5;

/// The longest pause before the second attempt; it doubles with each.
const PAUSE: Duration = Duration::from_millis(10);

/// Names the advisory locks under which collections are replaced.
const REPLACEMENT_LOCK: i32 = 0x7265_706c;

/// What later CTEs need to know of a written row, but for what it superseded.
const WRITTEN: &str = "i.id, i.collection, i.parent, i.version, i.created_at, i.updated_at, i.predecessor, i.program";

/// Whose writes a parent's totals count, unless the parent goes too.
const WITH_PARENT: &str = "parent IS NOT NULL";

/// Two replacements of a collection take turns, even when it is empty and there is no row to lock.
const LOCK_COLLECTION: &str = "SELECT pg_advisory_xact_lock($1, hashtext($2))";

const LOCK_VERSIONS: &str = "SELECT id, version FROM items WHERE collection = $1 ORDER BY id FOR UPDATE";

/// The texts of the writes, made once. The parameters of the first three are those of `write.rs`; the others take
/// `$3` collection and `$4`, a JSON array.
#[derive(Debug)]
pub(crate) struct PostgresWrites {
    insert: String,
    update: String,
    delete: String,
    insert_all: String,
    update_all: String,
    delete_all: String,
}

impl PostgresWrites {
    pub fn new() -> Self {
        Self {
            insert: insert(),
            update: update(),
            delete: delete(),
            insert_all: insert_all(),
            update_all: update_all(),
            delete_all: delete_all(),
        }
    }

    /// Does one write, and does it again when the database rolled it back for the sake of another.
    pub async fn perform(&self, pool: &DatabaseConnection, write: &Write) -> Result<Answer, DbErr> {
        for attempt in 1..ATTEMPTS {
            match self.attempt(pool, write).await {
                Err(error) if is_worth_retrying(&error) => {
                    tracing::debug!(%error, attempt, "the database rolled a write back; doing it again");
                    tokio::time::sleep(pause(attempt)).await;
                }
                done => return done,
            }
        }
        self.attempt(pool, write).await
    }

    async fn attempt(&self, pool: &DatabaseConnection, write: &Write) -> Result<Answer, DbErr> {
        match write {
            Write::Insert { scope, item, change } => {
                let rows = run(pool, POSTGRES.statement(&self.insert, insert_values(*scope, item, change))).await?;
                inserted(&rows, scope.parent, item)
            }
            Write::Update { scope, replacement, kind, change } => {
                let rows = run(pool, POSTGRES.statement(&self.update, update_values(*scope, replacement, *kind, change))).await?;
                updated(&rows, replacement)
            }
            Write::Delete { scope, id, expected, change } => {
                let rows = run(pool, POSTGRES.statement(&self.delete, delete_values(*scope, *id, *expected, change))).await?;
                let found = found_version(&rows)?;
                Ok(if found == Some(expected.number()) { Ok(None) } else { Err(not_written(found)) })
            }
            Write::ReplaceAll { collection, content, change } => self.replace_all(pool, *collection, content, change).await,
        }
    }

    /// A transaction that is dropped before its commit is rolled back.
    async fn replace_all(
        &self,
        pool: &DatabaseConnection,
        collection: Collection,
        content: &CollectionContent,
        change: &Change,
    ) -> Result<Answer, DbErr> {
        let transaction = pool.begin().await?;
        run(&transaction, POSTGRES.statement(LOCK_COLLECTION, [REPLACEMENT_LOCK.into(), collection.name().into()])).await?;
        let rows = run(&transaction, POSTGRES.statement(LOCK_VERSIONS, [collection.name().into()])).await?;
        // Asked after the rows are locked: what was written before counts, what is written after comes after.
        let revision = run(&transaction, POSTGRES.statement(REVISION, [collection.name().into(), Uuid::nil().into()])).await?;
        let revision = revision.first().map(|row| rows::get(row, "revision")).transpose()?;
        let removed = match removed_by(&versions(&rows)?, revision, content) {
            Ok(removed) => removed,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let steps = [
            (&self.update_all, content.replacements.iter().map(replacement_record).collect::<Vec<_>>()),
            (&self.insert_all, content.additions.iter().map(addition_record).collect()),
            (&self.delete_all, removed.iter().map(|(id, _): &(ItemId, Version)| quoted(Some(*id))).collect()),
        ];
        for (text, records) in steps.into_iter().filter(|(_, records)| !records.is_empty()) {
            let own = [collection.name().into(), json_array(records.into_iter()).into()];
            run(&transaction, POSTGRES.statement(text, change_values(change).into_iter().chain(own))).await?;
        }
        transaction.commit().await?;
        Ok(Ok(None))
    }
}

/// All rows are fetched even where one is wanted: the driver would end the statement early otherwise.
async fn run(connection: &impl ConnectionTrait, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
    connection.query_all_raw(statement).await
}

fn inserted(rows: &[QueryResult], parent: Option<ItemId>, item: &NewItem) -> Result<Answer, DbErr> {
    let row = rows.first().ok_or_else(|| DbErr::RecordNotFound("an insert without an answer".to_owned()))?;
    if rows::get::<Option<i64>>(row, "version")?.is_some() {
        return Ok(Ok(Some(rows::written_item(row, item.members.clone())?)));
    }
    let has_owner: bool = rows::get(row, "has_owner")?;
    Ok(Err(if parent.is_some() && !has_owner { RepositoryError::OwnerMissing } else { RepositoryError::ItemMissing }))
}

fn updated(rows: &[QueryResult], replacement: &Replacement) -> Result<Answer, DbErr> {
    let found = found_version(rows)?;
    match rows.first() {
        Some(row) if found == Some(replacement.expected.number()) => Ok(Ok(Some(rows::written_item(row, replacement.members.clone())?))),
        _ => Ok(Err(not_written(found))),
    }
}

fn found_version(rows: &[QueryResult]) -> Result<Option<i64>, DbErr> {
    rows.first().map(|row| rows::get(row, "found")).transpose()
}

fn insert() -> String {
    format!(
        "WITH owner AS (SELECT id FROM items WHERE id = $5 AND collection = $6 FOR KEY SHARE), \
         continued AS (SELECT id FROM items WHERE id = $7 AND collection = $4), \
         written AS (INSERT INTO items AS i ({ITEM_COLUMNS}) SELECT $3, $4, $5, 1, $1, $1, $7, $8, $9::json \
         WHERE ($5 IS NULL OR EXISTS (SELECT 1 FROM owner)) AND ($7 IS NULL OR EXISTS (SELECT 1 FROM continued)) \
         RETURNING {WRITTEN}, NULL::json AS superseded), {recorded} \
         SELECT EXISTS (SELECT 1 FROM owner) AS has_owner, {shown} FROM (SELECT 1) AS one LEFT JOIN written i ON TRUE",
        recorded = recorded("'created'", 1, WITH_PARENT),
        shown = shown_columns(&POSTGRES, "i"),
    )
}

fn update() -> String {
    format!(
        "WITH {found}, written AS (UPDATE items i SET members = $9::json, program = $8, version = i.version + 1, \
         updated_at = greatest(i.updated_at, $1) FROM found WHERE i.id = found.id AND found.version = $6 \
         RETURNING {WRITTEN}, found.members AS superseded), {recorded} \
         SELECT found.version AS found, {shown} FROM found LEFT JOIN written i ON TRUE",
        found = found("FOR NO KEY UPDATE"),
        recorded = recorded("$7", 0, WITH_PARENT),
        shown = shown_columns(&POSTGRES, "i"),
    )
}

fn delete() -> String {
    format!(
        "WITH {found}, target AS (SELECT id FROM found WHERE version = $6), {removed} SELECT version AS found FROM found",
        found = found("FOR UPDATE"),
        removed = removed(),
    )
}

fn insert_all() -> String {
    format!(
        "WITH written AS (INSERT INTO items AS i ({ITEM_COLUMNS}) \
         SELECT r.id, $3, NULL, 1, $1, $1, r.predecessor, r.program, r.members \
         FROM json_to_recordset($4::json) AS r (id uuid, predecessor uuid, program uuid, members json) \
         RETURNING {WRITTEN}, NULL::json AS superseded), {recorded} SELECT 1",
        recorded = recorded("'created'", 1, WITH_PARENT),
    )
}

fn update_all() -> String {
    format!(
        "WITH written AS (UPDATE items i SET members = r.members, program = r.program, version = i.version + 1, \
         updated_at = greatest(i.updated_at, $1) FROM json_to_recordset($4::json) AS r (id uuid, program uuid, members json) \
         JOIN items o ON o.id = r.id AND o.collection = $3 WHERE i.id = r.id \
         RETURNING {WRITTEN}, o.members AS superseded), {recorded} SELECT 1",
        recorded = recorded("'replaced'", 0, WITH_PARENT),
    )
}

fn delete_all() -> String {
    format!(
        "WITH target AS (SELECT id FROM items WHERE collection = $3 \
         AND id IN (SELECT value::uuid FROM json_array_elements_text($4::json))), {removed} SELECT 1",
        removed = removed(),
    )
}

/// The item a write names, locked; after waiting for another writer, as that one left it.
fn found(lock: &str) -> String {
    format!(
        "found AS (SELECT i.id, i.version, i.members FROM items i \
         WHERE i.id = $3 AND i.collection = $4 AND (i.parent = $5 OR $5 IS NULL) {lock})"
    )
}

/// Removes each `target` and what belongs to it.
fn removed() -> String {
    format!(
        "written AS (DELETE FROM items i WHERE i.id IN \
         (SELECT id FROM target UNION ALL SELECT c.id FROM items c JOIN target ON c.parent = target.id) \
         RETURNING i.id, i.collection, i.parent, i.version + 1 AS version, i.predecessor, i.members AS superseded), \
         forgotten AS (DELETE FROM collection_totals WHERE parent IN (SELECT id FROM target)), {}",
        recorded("'deleted'", -1, "parent NOT IN (SELECT id FROM target)")
    )
}

/// Logs and counts what was `written`: each row changed the number of items by `items`, and its parent's totals count
/// where they are `kept`.
///
/// Totals are spread over shards, so that writers on different connections seldom wait for each other's commit, and taken
/// in one order, so that they do not wait in a circle.
fn recorded(kind: &str, items: i32, kept: &str) -> String {
    format!(
        "logged AS (INSERT INTO changes ({CHANGE_COLUMNS}) \
         SELECT collection, id, version, {kind}, $1, $2, parent, predecessor, superseded FROM written), \
         counted AS (INSERT INTO collection_totals AS t (collection, parent, shard, items, writes) \
         SELECT collection, scope, pg_backend_pid() % 16, {items} * count(*), count(*) \
         FROM (SELECT collection, '{whole}'::uuid AS scope FROM written \
         UNION ALL SELECT collection, parent FROM written WHERE {kept}) AS scopes \
         GROUP BY collection, scope ORDER BY collection, scope ON CONFLICT (collection, parent, shard) \
         DO UPDATE SET items = t.items + excluded.items, writes = t.writes + excluded.writes)",
        whole = Uuid::nil(),
    )
}

/// Members are JSON text already; as a value of type `json` the database takes them as they are.
fn addition_record(addition: &NewItem) -> String {
    let NewItem { id, members, continues, program } = addition;
    let (id, continues, program) = (quoted(Some(*id)), quoted(*continues), quoted(*program));
    format!(r#"{{"id":{id},"predecessor":{continues},"program":{program},"members":{members}}}"#)
}

fn replacement_record(replacement: &Replacement) -> String {
    let Replacement { id, members, program, .. } = replacement;
    format!(r#"{{"id":{id},"program":{program},"members":{members}}}"#, id = quoted(Some(*id)), program = quoted(*program))
}

fn quoted(id: Option<ItemId>) -> String {
    id.map_or_else(|| "null".to_owned(), |id| format!("\"{id}\""))
}

/// At random below a bound, so that writers that met do not meet again.
fn pause(attempt: u32) -> Duration {
    let share = RandomState::new().hash_one(attempt) % 1000;
    PAUSE * 2_u32.pow(attempt - 1) * u32::try_from(share).unwrap_or_default() / 1000
}
