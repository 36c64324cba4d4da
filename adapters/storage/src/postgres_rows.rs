//! Inserts and updates on `PostgreSQL`, any number at a time: one statement decides, writes, logs and counts, in one round
//! trip.
//!
//! Their values come as arrays, one per column; a text that is empty stands for none. The first CTE makes rows of them
//! again, the next ones lock and judge what is there, `written` changes `items`, and what is logged and counted is read
//! from `written`, so it is what was done and nothing else.

use std::collections::{HashMap, HashSet};

use application::RepositoryError;
use domain::ItemId;
use sea_orm::sea_query::ArrayType;
use sea_orm::{ConnectionTrait, DbErr, QueryResult, Statement, Value};
use uuid::Uuid;

use crate::dialect::POSTGRES;
use crate::postgres_writes::recorded;
use crate::row_write::RowWrite;
use crate::rows;
use crate::statements::{ITEM_COLUMNS, owner_name, shown_columns};
use crate::write::{Answer, not_written};

/// What later CTEs need to know of a written row, but for what it superseded and who wrote it.
const WRITTEN: &str = "i.id, i.collection, i.parent, i.version, i.created_at, i.updated_at, i.predecessor, i.program";

/// The two texts, made once.
#[derive(Debug)]
pub(crate) struct PostgresRows {
    insert: String,
    update: String,
}

impl PostgresRows {
    pub fn new() -> Self {
        Self { insert: insert(), update: update() }
    }

    /// Does the writes; answers are in their order. An item may be written by one of them alone.
    pub async fn perform(&self, connection: &impl ConnectionTrait, writes: &[RowWrite<'_>]) -> Result<Vec<Answer>, DbErr> {
        let mut answered = HashMap::with_capacity(writes.len());
        for (text, is_insert) in [(&self.update, false), (&self.insert, true)] {
            let alike: Vec<_> = writes.iter().filter(|write| write.is_insert() == is_insert).copied().collect();
            if !alike.is_empty() {
                let rows = connection.query_all_raw(statement(text, &alike)).await?;
                answered.extend(answers(&alike, &rows)?);
            }
        }
        writes.iter().map(|write| answered.remove(&write.id().uuid()).ok_or_else(|| unanswered(write))).collect()
    }

    /// How many of the writes, from the first, may be done together: no two of them write the same item.
    pub fn together(writes: &[RowWrite<'_>]) -> usize {
        let mut items = HashSet::with_capacity(writes.len());
        writes.iter().take_while(|write| items.insert(write.id())).count()
    }
}

fn unanswered(write: &RowWrite<'_>) -> DbErr {
    DbErr::RecordNotFound(format!("a write of {} without an answer", write.id()))
}

/// `$1` id, `$2` collection, `$3` parent, `$4` program, `$5` members, `$6` words, `$7` time, `$8` caller; then, of inserts,
/// `$9` owner's collection and `$10` predecessor, of updates `$9` kind and `$10` expected version.
fn statement(text: &str, writes: &[RowWrite<'_>]) -> Statement {
    let ids = writes.iter().map(|write| write.id().to_string());
    let collections = writes.iter().map(|write| write.scope().collection.name().to_owned());
    let parents = writes.iter().map(|write| id_text(write.scope().parent));
    let programs = writes.iter().map(|write| id_text(write.program()));
    let members = writes.iter().map(|write| write.members().to_string());
    let words = writes.iter().map(|write| write.words().to_owned());
    let times = writes.iter().map(|write| write.change().time.as_microsecond());
    let callers = writes.iter().map(|write| write.change().caller.as_deref().unwrap_or_default().to_owned());
    let mut values = vec![texts(ids), texts(collections), texts(parents), texts(programs), texts(members), texts(words)];
    values.extend([integers(times), texts(callers)]);
    values.extend(own_values(writes));
    POSTGRES.statement(text, values)
}

fn own_values(writes: &[RowWrite<'_>]) -> [Value; 2] {
    let (mut names, mut predecessors, mut versions) = (Vec::new(), Vec::new(), Vec::new());
    for write in writes {
        match write {
            RowWrite::Insert { scope, item, .. } => {
                names.push(owner_name(scope.collection).unwrap_or_default());
                predecessors.push(id_text(item.continues));
            }
            RowWrite::Update { replacement, kind, .. } => {
                names.push(kind.name().to_owned());
                versions.push(replacement.expected.number());
            }
        }
    }
    let last = if versions.is_empty() { texts(predecessors.into_iter()) } else { integers(versions.into_iter()) };
    [texts(names.into_iter()), last]
}

fn id_text(id: Option<ItemId>) -> String {
    id.map_or_else(String::new, |id| id.to_string())
}

fn texts(values: impl Iterator<Item = String>) -> Value {
    Value::Array(ArrayType::String, Some(Box::new(values.map(Value::from).collect())))
}

fn integers(values: impl Iterator<Item = i64>) -> Value {
    Value::Array(ArrayType::BigInt, Some(Box::new(values.map(Value::from).collect())))
}

/// What became of each write, by its item.
fn answers(writes: &[RowWrite<'_>], rows: &[QueryResult]) -> Result<Vec<(Uuid, Answer)>, DbErr> {
    let mut by_id = HashMap::with_capacity(rows.len());
    for row in rows {
        by_id.insert(rows::get::<Uuid>(row, "asked")?, row);
    }
    let answer = |write: &RowWrite<'_>| {
        let id = write.id().uuid();
        let row = by_id.get(&id).ok_or_else(|| unanswered(write))?;
        Ok((id, answer(write, row)?))
    };
    writes.iter().map(answer).collect()
}

fn answer(write: &RowWrite<'_>, row: &QueryResult) -> Result<Answer, DbErr> {
    if rows::get::<Option<i64>>(row, "version")?.is_some() {
        return Ok(Ok(Some(rows::written_item(row, write.members().clone())?)));
    }
    if !write.is_insert() {
        return Ok(Err(not_written(rows::get(row, "found")?)));
    }
    let has_owner: bool = rows::get(row, "has_owner")?;
    Ok(Err(if write.scope().parent.is_some() && !has_owner { RepositoryError::OwnerMissing } else { RepositoryError::ItemMissing }))
}

/// The writes as rows.
fn given(own: &str) -> String {
    format!(
        "given AS (SELECT id::uuid, collection, NULLIF(parent, '')::uuid AS parent, NULLIF(program, '')::uuid AS program, \
         members::json AS members, words::tsvector AS words, time, NULLIF(caller, '') AS caller, {own}"
    )
}

fn insert() -> String {
    format!(
        "WITH {given}, NULLIF(predecessor, '')::uuid AS predecessor \
         FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
         AS g (id, collection, parent, program, members, words, time, caller, owner, predecessor)), \
         owners AS (SELECT o.id, o.collection FROM items o WHERE o.id IN (SELECT parent FROM given) ORDER BY o.id FOR KEY SHARE), \
         written AS (INSERT INTO items AS i ({ITEM_COLUMNS}, words) \
         SELECT g.id, g.collection, g.parent, 1, g.time, g.time, g.predecessor, g.program, g.members, g.words FROM given g \
         WHERE (g.parent IS NULL OR EXISTS (SELECT 1 FROM owners o WHERE o.id = g.parent AND o.collection = g.owner)) \
         AND (g.predecessor IS NULL OR EXISTS (SELECT 1 FROM items c WHERE c.id = g.predecessor AND c.collection = g.collection)) \
         RETURNING {WRITTEN}, NULL::json AS superseded), {recorded} \
         SELECT g.id AS asked, EXISTS (SELECT 1 FROM owners o WHERE o.id = g.parent AND o.collection = g.owner) AS has_owner, {shown} \
         FROM given g LEFT JOIN written i ON i.id = g.id",
        given = given("NULLIF(owner, '') AS owner"),
        recorded = recorded("'created'", 1, "w.parent IS NOT NULL", "g.time, g.caller", "JOIN given g ON g.id = w.id"),
        shown = shown_columns(&POSTGRES, "i"),
    )
}

/// Rows are locked in the order of their ids, so that two batches do not wait for each other in a circle; after waiting
/// for another writer, they are as that one left them.
fn update() -> String {
    format!(
        "WITH {given}, expected \
         FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
         AS g (id, collection, parent, program, members, words, time, caller, kind, expected)), \
         found AS (SELECT i.id, i.version, i.members FROM items i JOIN given g ON g.id = i.id AND g.collection = i.collection \
         AND (g.parent IS NULL OR i.parent = g.parent) ORDER BY i.id FOR NO KEY UPDATE OF i), \
         written AS (UPDATE items i SET members = g.members, words = g.words, program = g.program, version = i.version + 1, \
         updated_at = greatest(i.updated_at, g.time) FROM found, given g \
         WHERE i.id = found.id AND g.id = found.id AND found.version = g.expected \
         RETURNING {WRITTEN}, found.members AS superseded), {recorded} \
         SELECT g.id AS asked, f.version AS found, {shown} \
         FROM given g LEFT JOIN found f ON f.id = g.id LEFT JOIN written i ON i.id = g.id",
        given = given("kind"),
        recorded = recorded("g.kind", 0, "w.parent IS NOT NULL", "g.time, g.caller", "JOIN given g ON g.id = w.id"),
        shown = shown_columns(&POSTGRES, "i"),
    )
}
