//! Inserts, restorations and updates on `PostgreSQL`, any number at a time: one statement decides,
//! writes, logs and counts, in one round trip.
//!
//! The values are arrays, one per column; an empty string means that the value is missing. The first
//! CTEs hold the fence and convert the arrays to rows, the next ones lock the existing rows. `judged`
//! decides the conditions (`write/condition.rs`), `claimed` claims the idempotency keys, `logged`
//! logs the permitted writes, `written` changes the logged items, and `counted` updates the counts.

use std::collections::HashMap;

use application::RepositoryError;
use sea_orm::{ConnectionTrait, DbErr, QueryResult, Statement, Value};
use uuid::Uuid;

use crate::entities::{self, item};
use crate::postgres::bookkeeping::{counted_writes, logged_changes};
use crate::postgres::fence;
use crate::postgres::idempotency::{self, KeyParts};
use crate::sql::arrays::{booleans, id_text, integers, texts};
use crate::sql::dialect::POSTGRES;
use crate::sql::indexed_columns::{self, Keys};
use crate::sql::statements::{parent_collection, shown_columns};
use crate::sql::{references, row_mapping};
use crate::write::author;
use crate::write::command::{Answer, Written};
use crate::write::condition::{self, Conditions};
use crate::write::read_set::CurrentReads;
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
pub(crate) struct PostgresRowWrites {
    update: Texts,
    insert: Texts,
    restore: Texts,
}

/// The texts of a kind of write: without an idempotency key, and with one.
#[derive(Debug)]
struct Texts {
    plain: String,
    with_key: String,
}

impl PostgresRowWrites {
    pub fn new() -> Self {
        Self {
            update: Texts::of(&UPDATE),
            insert: Texts::of(&INSERT),
            restore: Texts::of(&RESTORE),
        }
    }

    /// Does the writes; answers are in their order. An item may be written by one of them alone.
    pub async fn perform(
        &self,
        connection: &impl ConnectionTrait,
        writes: &[RowWrite<'_>],
        current_reads: &CurrentReads,
    ) -> Result<Vec<Answer>, DbErr> {
        let mut rows: HashMap<Uuid, QueryResult> = HashMap::with_capacity(writes.len());
        for Texts { plain, with_key } in [&self.update, &self.insert, &self.restore] {
            for text in [plain, with_key] {
                let alike = writes.iter().filter(|write| std::ptr::eq(self.text(write), text));
                let alike: Vec<_> = alike.copied().collect();
                if !alike.is_empty() {
                    let statement = statement(text, &alike, current_reads);
                    for row in connection.query_all_raw(statement).await? {
                        rows.insert(row_mapping::get(&row, "asked")?, row);
                    }
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
        let texts = match write.row.kind {
            RowChangeKind::Insert { .. } => &self.insert,
            RowChangeKind::Restore { .. } => &self.restore,
            RowChangeKind::Update { .. } => &self.update,
        };
        if write.metadata.key.is_some() { &texts.with_key } else { &texts.plain }
    }
}

/// One array for each of the columns of [`given`].
fn statement(text: &str, writes: &[RowWrite<'_>], current_reads: &CurrentReads) -> Statement {
    let column = |value: &dyn Fn(&RowWrite<'_>) -> String| texts(writes.iter().map(value));
    let mut values = vec![
        column(&|write| write.row.id.to_string()),
        column(&|write| write.row.scope.collection.name().to_owned()),
        column(&|write| id_text(write.row.scope.parent)),
        column(&|write| write.row.members.to_string()),
    ];
    values.extend((0..author::COLUMNS.len()).map(|index| {
        column(&|write| {
            author::values(&write.metadata.warrant)[index].unwrap_or_default().to_owned()
        })
    }));
    values.push(booleans(writes.iter().map(|write| current_reads.holds(write.metadata))));
    values.extend(
        (0..references::COLUMNS.len()).map(|index| {
            column(&|write| id_text(write.row.references.get(index).copied().flatten()))
        }),
    );
    values.extend(
        (0..indexed_columns::COLUMNS.len())
            .map(|key| column(&|write| key_text(&write.row.keys, key))),
    );
    values.extend(values_of_the_kind(writes));
    if writes.iter().all(|write| write.metadata.key.is_some()) {
        values.extend(idempotency::values(writes.iter().map(|write| write.metadata)));
    }
    POSTGRES.statement(text, values)
}

/// The values of [`Kind::columns`].
fn values_of_the_kind(writes: &[RowWrite<'_>]) -> [Value; 2] {
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
    let numbers_or_ids = if versions.is_empty() {
        texts(continued.into_iter())
    } else {
        integers(versions.into_iter())
    };
    [texts(names.into_iter()), numbers_or_ids]
}

/// A key behind a mark, since it may be empty.
fn key_text(keys: &Keys, number: usize) -> String {
    keys.columns()[number].as_ref().map_or_else(String::new, |key| format!("={key}"))
}

/// A write that no condition refuses and that was not done found its key claimed by another.
fn answer(write: &RowWrite<'_>, row: &QueryResult) -> Result<Answer, DbErr> {
    if row_mapping::get::<Option<i64>>(row, "version")?.is_some() {
        let item = row_mapping::written_item(row, write.row.members.clone())?;
        return Ok(Ok(Written::Item(item)));
    }
    let refusal = row_mapping::get::<Option<i64>>(row, "refusal")?;
    let error = |refusal| write.row.kind.conditions().error(refusal);
    Ok(Err(refusal.map_or(RepositoryError::AnsweredBefore, error)))
}

/// The columns of every write, before those of who makes it.
const COLUMNS: [&str; 4] = ["id", "collection", "parent", "members"];

/// The column of whether the read set of a write holds, before references and keys.
const READS_HOLD: [&str; 1] = ["reads_hold"];

/// The fence and the time of the statement, and the writes as rows; each of their columns is a
/// parameter, an array.
fn given(kind: &Kind, key_columns: &[&str]) -> String {
    let columns: [&[&str]; 7] = [
        &COLUMNS,
        &author::COLUMNS,
        &READS_HOLD,
        &references::COLUMNS,
        &indexed_columns::COLUMNS,
        &kind.columns,
        key_columns,
    ];
    let columns = columns.concat();
    let arrays = (1..=columns.len()).map(|number| format!("${number}")).collect::<Vec<_>>();
    let keys = indexed_columns::each(|name| {
        format!("CASE WHEN {name} <> '' THEN substr({name}, 2) END AS {name}, ")
    });
    let [name, number_or_id] = kind.columns;
    format!(
        "{fence}, given AS (SELECT id::uuid, collection, NULLIF(parent, '')::uuid AS parent, \
         members::json AS members, {author}reads_hold, {links}{keys}{name}, \
         {converted} AS {number_or_id}{key_columns}, clock.time FROM clock, unnest({arrays}) AS g ({columns}))",
        fence = fence::shared(),
        author = author::each(|name| format!("NULLIF({name}, '') AS {name}, ")),
        links = references::each(|name| format!("NULLIF({name}, '')::uuid AS {name}, ")),
        converted = kind.converted,
        key_columns = listed(key_columns),
        arrays = arrays.join(", "),
        columns = columns.join(", "),
    )
}

/// Columns behind others.
fn listed(names: &[&str]) -> String {
    names.iter().fold(String::new(), |list, name| list + ", " + name)
}

/// The parts of a statement that depend on the kind of the writes.
struct Kind {
    conditions: &'static Conditions,
    /// The columns of `given` that its writes alone have: a name, and a number or an identifier.
    columns: [&'static str; 2],
    /// The second of them in its own type.
    converted: &'static str,
    /// The rows that the conditions read, locked against concurrent changes.
    locked: &'static str,
    /// Those rows, joined to `given`.
    joined: &'static str,
    /// The parent, the continued item, the kind, the version and the time of the change, and when
    /// and by whom the item was created.
    change: &'static str,
    /// The items that a write leaves more.
    added: i32,
}

const RELATED: &str = "related AS (SELECT o.id, o.collection FROM items o \
                       WHERE o.id IN (SELECT parent FROM given UNION SELECT continues FROM given) ORDER BY o.id FOR KEY SHARE)";

const INSERT: Kind = Kind {
    conditions: &condition::INSERT,
    columns: ["parent_collection", "continues"],
    converted: "NULLIF(continues, '')::uuid",
    locked: RELATED,
    joined: "LEFT JOIN related p ON p.id = g.parent LEFT JOIN related o ON o.id = g.continues",
    change: "g.parent, g.continues, 'created' AS kind, 1 AS version, g.time, g.time AS created_at, g.caller AS created_by",
    added: 1,
};

/// The history of the item must not change meanwhile, so no other write may be in progress.
const RESTORE: Kind = Kind {
    conditions: &condition::RESTORE,
    joined: "LEFT JOIN related p ON p.id = g.parent LEFT JOIN items i ON i.id = g.id",
    change: "g.parent, g.continues, 'created' AS kind, (SELECT max(c.version) + 1 FROM changes c WHERE c.item_id = g.id) AS version, g.time, \
             (SELECT c.time FROM changes c WHERE c.item_id = g.id AND c.version = 1) AS created_at, \
             (SELECT c.caller FROM changes c WHERE c.item_id = g.id AND c.version = 1) AS created_by",
    ..INSERT
};

/// The items are locked before their changes are numbered and timed, so that the numbers and times of
/// an item's changes grow with its versions.
const UPDATE: Kind = Kind {
    conditions: &condition::UPDATE_OR_DELETE,
    columns: ["kind", "expected"],
    converted: "expected",
    locked: "found AS (SELECT i.id, i.collection, i.parent, i.continues, i.version, i.updated_at \
             FROM items i JOIN given g ON g.id = i.id ORDER BY i.id FOR NO KEY UPDATE OF i)",
    joined: "LEFT JOIN found i ON i.id = g.id",
    change: "i.parent, i.continues, g.kind, i.version + 1 AS version, greatest(g.time, i.updated_at + 1) AS time",
    added: 0,
};

impl Texts {
    fn of(kind: &Kind) -> Self {
        let text = |has_key, keys: &KeyParts| {
            let given = given(kind, keys.values);
            let refusal = kind.conditions.refusal(has_key);
            let columns = [
                listed(&author::COLUMNS),
                references::columns(),
                indexed_columns::columns(),
                listed(keys.values),
            ];
            let columns = columns.concat().replace(", ", ", g.");
            let (Kind { locked, joined, change, added, .. }, KeyParts { earlier, possible, .. }) =
                (kind, keys);
            format!(
                "WITH {given}, {locked}, judged AS (SELECT g.id, g.collection, g.members{columns}, {change}, {refusal} AS refusal \
                 FROM given g {joined} {earlier}), acceptable AS (SELECT * FROM judged WHERE refusal IS NULL), {possible}, {logged}, \
                 written AS ({stored} RETURNING {written}), {counted} \
                 SELECT j.id AS asked, j.refusal, {shown} FROM judged j LEFT JOIN written i ON i.id = j.id",
                logged = logged_changes(
                    "p.collection, p.id, p.version, p.kind, p.time, p.caller, p.acting, p.client, p.request_id, p.parent, \
                     p.continues, p.members",
                    "possible p"
                ),
                stored = if *added == 0 { updated() } else { inserted() },
                written = written(),
                counted = counted_writes(*added),
                shown = shown_columns(&POSTGRES, "i"),
            )
        };
        Self { plain: text(false, &KeyParts::none()), with_key: text(true, &KeyParts::claimed()) }
    }
}

fn inserted() -> String {
    let columns = (references::columns() + &indexed_columns::columns()).replace(", ", ", p.");
    format!(
        "INSERT INTO items AS i ({}) SELECT p.id, p.collection, p.parent, p.version, l.sequence, p.created_at, p.time, \
         p.created_by, p.continues{columns} FROM possible p JOIN logged l ON l.item_id = p.id",
        entities::columns::<item::Entity>(),
    )
}

fn updated() -> String {
    let column = |name: &str| format!(", {name} = p.{name}");
    let columns = references::each(column) + &indexed_columns::each(column);
    format!(
        "UPDATE items i SET version = p.version, sequence = l.sequence, updated_at = p.time{columns} \
         FROM logged l, possible p WHERE i.id = l.item_id AND p.id = l.item_id"
    )
}
