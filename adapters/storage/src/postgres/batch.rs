//! Inserts, restorations and updates on `PostgreSQL`, any number at a time: one statement decides,
//! writes, logs and counts, in one round trip.
//!
//! Their values come as arrays, one per column; a string that is empty stands for none. The first
//! CTEs hold the fence and make rows of the arrays again, the next ones lock and judge
//! what is there, `logged` logs what is possible, `written` changes the items that were logged, and
//! `counted` counts what was written.

use std::collections::HashMap;

use application::RepositoryError;
use sea_orm::{ConnectionTrait, DbErr, QueryResult, Statement, Value};
use uuid::Uuid;

use crate::postgres::bookkeeping::{counted_writes, logged_changes};
use crate::postgres::fence;
use crate::postgres::idempotency::{self, KeyParts};
use crate::sql::arrays::{id_text, integers, texts};
use crate::sql::dialect::POSTGRES;
use crate::sql::indexed_columns::{self, Keys};
use crate::sql::statements::{item_columns, parent_collection, shown_columns};
use crate::sql::{references, row_mapping};
use crate::write::command::{Answer, Written, not_written};
use crate::write::row::{RowChangeKind, RowWrite};

/// The columns that later CTEs need of a written row.
fn written() -> String {
    format!(
        "i.id, i.collection, i.parent, i.version, i.created_at, i.updated_at, i.continues{}",
        references::each(|name| format!(", i.{name}"))
    )
}

/// The texts, made once.
#[derive(Debug)]
pub(crate) struct PostgresRows {
    insert: String,
    /// Inserts with an idempotency key.
    insert_once: String,
    restore: String,
    update: String,
}

impl PostgresRows {
    pub fn new() -> Self {
        Self {
            insert: add(&INSERT, &KeyParts::none()),
            insert_once: add(&INSERT, &KeyParts::claimed()),
            restore: add(&RESTORE, &KeyParts::none()),
            update: update(),
        }
    }

    /// Does the writes; answers are in their order. An item may be written by one of them alone.
    pub async fn perform(
        &self,
        connection: &impl ConnectionTrait,
        writes: &[RowWrite<'_>],
    ) -> Result<Vec<Answer>, DbErr> {
        let mut rows: HashMap<Uuid, QueryResult> = HashMap::with_capacity(writes.len());
        for text in [&self.update, &self.insert, &self.insert_once, &self.restore] {
            let alike: Vec<_> = writes
                .iter()
                .filter(|write| std::ptr::eq(self.text(write), text))
                .copied()
                .collect();
            if !alike.is_empty() {
                for row in connection.query_all_raw(statement(text, &alike)).await? {
                    rows.insert(row_mapping::get(&row, "asked")?, row);
                }
            }
        }
        let answer = |write: &RowWrite<'_>| {
            let id = write.row.id;
            let unanswered = || DbErr::RecordNotFound(format!("a write of {id} without an answer"));
            answer(write, rows.get(&id.uuid()).ok_or_else(unanswered)?)
        };
        writes.iter().map(answer).collect()
    }

    /// Returns whether one statement does all the writes.
    pub fn are_alike(&self, writes: &[RowWrite<'_>]) -> bool {
        writes.windows(2).all(|pair| std::ptr::eq(self.text(&pair[0]), self.text(&pair[1])))
    }

    const fn text(&self, write: &RowWrite<'_>) -> &String {
        match write.row.kind {
            RowChangeKind::Insert { .. } if claims_key(write) => &self.insert_once,
            RowChangeKind::Insert { .. } => &self.insert,
            RowChangeKind::Restore { .. } => &self.restore,
            RowChangeKind::Update { .. } => &self.update,
        }
    }
}

/// Returns whether the statement that does the write claims its idempotency key as well.
pub(crate) const fn claims_key(write: &RowWrite<'_>) -> bool {
    matches!(write.row.kind, RowChangeKind::Insert { .. }) && write.metadata.key.is_some()
}

/// One array each of the columns of [`given`].
fn statement(text: &str, writes: &[RowWrite<'_>]) -> Statement {
    let column = |value: &dyn Fn(&RowWrite<'_>) -> String| texts(writes.iter().map(value));
    let mut values = vec![
        column(&|write| write.row.id.to_string()),
        column(&|write| write.row.scope.collection.name().to_owned()),
        column(&|write| id_text(write.row.scope.parent)),
        column(&|write| write.row.members.to_string()),
        column(&|write| write.metadata.caller.as_deref().unwrap_or_default().to_owned()),
    ];
    values.extend(
        (0..references::COLUMNS.len()).map(|index| {
            column(&|write| id_text(write.row.references.get(index).copied().flatten()))
        }),
    );
    values.extend(
        (0..indexed_columns::COLUMNS.len())
            .map(|key| column(&|write| key_text(&write.row.keys, key))),
    );
    values.extend(own_values(writes));
    if writes.iter().all(claims_key) {
        values.extend(idempotency::values(writes.iter().map(|write| write.metadata)));
    }
    POSTGRES.statement(text, values)
}

fn own_values(writes: &[RowWrite<'_>]) -> [Value; 2] {
    let (mut names, mut continued, mut versions) = (Vec::new(), Vec::new(), Vec::new());
    for write in writes {
        match write.row.kind {
            RowChangeKind::Insert { continues } | RowChangeKind::Restore { continues } => {
                names.push(parent_collection(write.row.scope.collection).unwrap_or_default());
                continued.push(id_text(continues));
            }
            RowChangeKind::Update { expected, operation } => {
                names.push(operation.change_name().to_owned());
                versions.push(expected.number());
            }
        }
    }
    let last = if versions.is_empty() {
        texts(continued.into_iter())
    } else {
        integers(versions.into_iter())
    };
    [texts(names.into_iter()), last]
}

/// A key behind a mark, since it may be empty.
fn key_text(keys: &Keys, number: usize) -> String {
    keys.columns()[number].as_ref().map_or_else(String::new, |key| format!("={key}"))
}

fn answer(write: &RowWrite<'_>, row: &QueryResult) -> Result<Answer, DbErr> {
    if row_mapping::get::<Option<i64>>(row, "version")?.is_some() {
        let item = row_mapping::written_item(row, write.row.members.clone())?;
        return Ok(Ok(Written::Item(item)));
    }
    if row_mapping::get::<bool>(row, "is_answered")? {
        return Ok(Err(RepositoryError::AnsweredBefore));
    }
    let lacks_parent = write.row.adds()
        && write.row.scope.parent.is_some()
        && !row_mapping::get::<bool>(row, "has_parent")?;
    Ok(Err(if lacks_parent {
        RepositoryError::ParentNotFound
    } else {
        not_written(row_mapping::get(row, "found")?)
    }))
}

/// The fence and the time of the statement, and the writes as rows, with two columns of their own and
/// `more` at the end.
fn given(own: [&str; 2], last: &str, more: &[&str]) -> String {
    let keys = indexed_columns::each(|name| {
        format!("CASE WHEN {name} <> '' THEN substr({name}, 2) END AS {name}, ")
    });
    let [first, second] = own;
    format!(
        "{fence}, given AS (SELECT id::uuid, collection, NULLIF(parent, '')::uuid AS parent, \
         members::json AS members, NULLIF(caller, '') AS caller, {links}{keys}{first}, {last} AS {second}{more}, clock.time FROM clock, \
         unnest({arrays}) AS g (id, collection, parent, members, caller{references}{columns}, {first}, {second}{more}))",
        fence = fence::shared(),
        more = listed(more),
        arrays = (1..references::COLUMNS.len() + indexed_columns::COLUMNS.len() + more.len() + 8)
            .map(|number| format!("${number}"))
            .collect::<Vec<_>>()
            .join(", "),
        links = references::each(|name| format!("NULLIF({name}, '')::uuid AS {name}, ")),
        references = references::columns(),
        columns = indexed_columns::columns(),
    )
}

/// Columns behind others.
fn listed(names: &[&str]) -> String {
    names.iter().fold(String::new(), |list, name| list + ", " + name)
}

/// The parts of a statement that adds rows.
struct Addition {
    version: &'static str,
    created_at: &'static str,
    condition: &'static str,
    /// The last version of the item before.
    found: &'static str,
}

const INSERT: Addition = Addition {
    version: "1",
    created_at: "g.time",
    condition: "g.continues IS NULL OR EXISTS (SELECT 1 FROM related o WHERE o.id = g.continues AND o.collection = g.collection)",
    found: "NULL::bigint",
};

/// Items that were removed, unless somebody else was faster. Its history must not change meanwhile,
/// so it is done while no other write is under way.
const RESTORE: Addition = Addition {
    version: "(SELECT max(c.version) + 1 FROM changes c WHERE c.item_id = g.id)",
    created_at: "(SELECT c.time FROM changes c WHERE c.item_id = g.id AND c.version = 1)",
    condition: "EXISTS (SELECT 1 FROM changes c WHERE c.item_id = g.id) AND NOT EXISTS (SELECT 1 FROM items c WHERE c.id = g.id)",
    found: "(SELECT max(c.version) FROM changes c WHERE c.item_id = g.id)",
};

/// Logs what is possible, then stores each item at its change. The parents and the continued items
/// are locked, so that none is removed meanwhile.
fn add(Addition { version, created_at, condition, found }: &Addition, keys: &KeyParts) -> String {
    let KeyParts { values, answered, unanswered, possible, joined, is_answered } = keys;
    let has_parent = "EXISTS (SELECT 1 FROM related o WHERE o.id = g.parent AND o.collection = g.parent_collection)";
    format!(
        "WITH {given}, \
         related AS (SELECT o.id, o.collection FROM items o \
         WHERE o.id IN (SELECT parent FROM given UNION SELECT continues FROM given) ORDER BY o.id FOR KEY SHARE), \
         {answered} acceptable AS (SELECT g.*, {version} AS version, {created_at} AS created_at FROM given g \
         WHERE (g.parent IS NULL OR {has_parent}) AND ({condition}) {unanswered}), \
         {possible}, {logged}, \
         written AS (INSERT INTO items AS i ({columns}) \
         SELECT p.id, p.collection, p.parent, p.version, l.sequence, p.created_at, p.time, \
         {created_by}, p.continues{links}{keys} FROM possible p JOIN logged l ON l.item_id = p.id RETURNING {written}), {counted} \
         SELECT g.id AS asked, {is_answered} AS is_answered, {has_parent} AS has_parent, {found} AS found, {shown} \
         FROM given g LEFT JOIN written i ON i.id = g.id {joined}",
        given = given(["parent_collection", "continues"], "NULLIF(continues, '')::uuid", values),
        logged = logged_changes(
            "p.collection, p.id, p.version, 'created', p.time, p.caller, p.parent, p.continues, p.members",
            "possible p"
        ),
        columns = item_columns(),
        created_by = "COALESCE((SELECT c.caller FROM changes c WHERE c.item_id = p.id AND c.version = 1), p.caller)",
        links = references::each(|name| format!(", p.{name}")),
        keys = indexed_columns::each(|name| format!(", p.{name}")),
        written = written(),
        counted = counted_writes(1),
        shown = shown_columns(&POSTGRES, "i"),
    )
}

/// The items are locked before their changes are numbered and timed, so that the numbers and times of
/// an item's changes grow with its versions.
fn update() -> String {
    let updated = |name: &str| format!(", {name} = g.{name}");
    let columns = references::each(updated) + &indexed_columns::each(updated);
    format!(
        "WITH {given}, \
         found AS (SELECT i.id, i.version, i.parent, i.continues, greatest(g.time, i.updated_at + 1) AS time FROM items i JOIN given g ON g.id = i.id AND g.collection = i.collection \
         AND (g.parent IS NULL OR i.parent = g.parent) ORDER BY i.id FOR NO KEY UPDATE OF i), \
         {logged}, \
         written AS (UPDATE items i SET version = i.version + 1, sequence = l.sequence, \
         updated_at = f.time{columns} FROM logged l, given g, found f \
         WHERE i.id = l.item_id AND g.id = l.item_id AND f.id = l.item_id RETURNING {written}), {counted} \
         SELECT g.id AS asked, FALSE AS is_answered, f.version AS found, {shown} \
         FROM given g LEFT JOIN found f ON f.id = g.id LEFT JOIN written i ON i.id = g.id",
        given = given(["kind", "expected"], "expected", &[]),
        logged = logged_changes(
            "g.collection, f.id, f.version + 1, g.kind, f.time, g.caller, f.parent, f.continues, g.members",
            "found f JOIN given g ON g.id = f.id AND g.expected = f.version"
        ),
        written = written(),
        counted = counted_writes(0),
        shown = shown_columns(&POSTGRES, "i"),
    )
}
