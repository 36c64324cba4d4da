//! Executes writes in a transaction, on either engine.

use std::collections::{BTreeSet, HashMap};

use application::{
    CollectionWrite, RepositoryError, Revision, Scope, ShownItem, Totals, WriteMetadata,
};
use domain::{ItemId, WriteOperation};
use jiff::Timestamp;
use sea_orm::DbErr;
use serde::Serialize;
use uuid::Uuid;

use crate::error::DbResult;
use crate::sql::idempotency::{KeyIdentity, answered_statement, continued_by};
use crate::sql::lookup::undeletable_statement;
use crate::sql::page::totals_statement;
use crate::sql::references;
use crate::sql::sql_text::{SqlText, json};
use crate::write::batch::fitting;
use crate::write::command::{Answer, Change, ContentChange, Write, Written};
use crate::write::connection::WriteConnection;
use crate::write::read_set::CurrentReads;
use crate::write::row::{RowChange, RowKind, RowParameters, RowWrite};

/// A parameter of `write/remember.sql`.
#[derive(Serialize)]
struct IdempotentAnswer<'a> {
    caller: &'a str,
    path: &'a str,
    key: &'a str,
    fingerprint: &'a str,
    expires_at: i64,
    item_id: Uuid,
    version: i64,
    continues: Option<Uuid>,
    continued_by: String,
    remarks: &'a str,
    reference_0: Option<Uuid>,
}

/// Returns the error of a transaction whose key was stored by another one meanwhile.
pub(crate) fn key_taken() -> DbErr {
    DbErr::RecordNotInserted
}

/// Writes independent rows. A refused row has changed nothing.
pub(crate) async fn write_rows(
    connection: &impl WriteConnection,
    writes: &[RowWrite<'_>],
    current_reads: &CurrentReads,
) -> DbResult<Vec<Answer>> {
    let mut refused = answered_before(connection, writes).await?;
    let mut done = HashMap::with_capacity(writes.len());
    for kind in RowKind::ALL {
        if kind == RowKind::Delete {
            // After the inserts: an item of the batch may belong to a deleted one.
            refused.extend(undeletable(connection, writes).await?);
        }
        let is_left = |write: &&RowWrite<'_>| {
            write.row.kind == kind && !refused.contains_key(&write.row.id.uuid())
        };
        let of_kind = writes.iter().filter(is_left);
        let of_kind: Vec<_> = of_kind
            .map(|write| RowParameters::new(*write, current_reads.holds(write.metadata)))
            .collect();
        if !of_kind.is_empty() {
            let answers = connection.write(kind, &of_kind).await?;
            done.extend(answers.into_iter().map(|answer| (answer.id, answer)));
        }
    }
    let mut answer = |RowWrite { row, .. }: &RowWrite<'_>| {
        if let Some(error) = refused.get(&row.id.uuid()) {
            return Ok(Err(*error));
        }
        let answer = done.remove(&row.id.uuid());
        let answer = answer.map(|answer| answer.answer(&row.members));
        answer.ok_or_else(|| DbErr::RecordNotFound(format!("the answer to {}", row.id)))
    };
    let answers = writes.iter().map(&mut answer).collect::<Result<Vec<_>, _>>()?;
    use_contents(connection, writes, &answers).await?;
    remember(connection, writes, &answers).await?;
    Ok(answers)
}

/// Counts a use of the bytes of each content, so that they stay. Fails unless they are kept, except for
/// a restored version: an import has the versions without the bytes.
async fn use_contents(
    connection: &impl WriteConnection,
    writes: &[RowWrite<'_>],
    answers: &[Answer],
) -> DbResult<()> {
    for restores in [false, true] {
        let is_of_them = |write: &RowWrite<'_>| {
            let is_replaced = write.row.operation == WriteOperation::Replace;
            (is_replaced || write.row.kind == RowKind::Restore) == restores
        };
        let written = writes
            .iter()
            .zip(answers)
            .filter(|(write, answer)| answer.is_ok() && is_of_them(write));
        let digests = written.filter_map(|(write, _)| Some(write.row.content?.to_string()));
        let digests: BTreeSet<String> = digests.collect();
        if digests.is_empty() {
            continue;
        }
        let (mut text, expected) = (SqlText::new(connection.dialect()), digests.len() as u64);
        let digests = text.among_texts(digests.into_iter());
        let update = format!(
            "UPDATE contents SET uses = uses + 1 WHERE state = 'kept' AND sha256 {digests}"
        );
        let used = connection.execute(text.finish(&update)).await?;
        if used != expected && !restores {
            return Err(DbErr::RecordNotUpdated);
        }
    }
    Ok(())
}

async fn answered_before(
    connection: &impl WriteConnection,
    writes: &[RowWrite<'_>],
) -> DbResult<HashMap<Uuid, RepositoryError>> {
    let mut refused = HashMap::new();
    let key = |write: &RowWrite<'_>| write.key_identity().map(|key| key.map(str::to_owned));
    let keys: Vec<KeyIdentity> = writes.iter().filter_map(key).collect();
    if !keys.is_empty() {
        let stored = connection.query(answered_statement(connection.dialect(), &keys)).await?;
        let stored: HashMap<KeyIdentity, i64> = stored.into_iter().collect();
        for write in writes {
            let now = write.metadata.time.as_microsecond();
            let known = key(write).and_then(|key| stored.get(&key));
            if known.is_some_and(|expires| *expires > now) {
                refused.insert(write.row.id.uuid(), RepositoryError::AnsweredBefore);
            }
        }
    }
    Ok(refused)
}

/// The deletions of items to which an item belongs that the caller must not delete.
async fn undeletable(
    connection: &impl WriteConnection,
    writes: &[RowWrite<'_>],
) -> DbResult<HashMap<Uuid, RepositoryError>> {
    let mut refused = HashMap::new();
    for RowWrite { row, metadata } in writes.iter().filter(|write| is_restricted(write)) {
        let undeletable = metadata.warrant.deletable();
        let statement = undeletable_statement(connection.dialect(), row.id, undeletable);
        if !connection.query::<Uuid>(statement).await?.is_empty() {
            refused.insert(row.id.uuid(), RepositoryError::VersionConflict);
        }
    }
    Ok(refused)
}

/// Returns whether it deletes an item, but not every item that may belong to that.
pub(crate) fn is_restricted(RowWrite { row, metadata }: &RowWrite<'_>) -> bool {
    row.kind == RowKind::Delete && !metadata.warrant.deletable().is_empty()
}

async fn remember(
    connection: &impl WriteConnection,
    writes: &[RowWrite<'_>],
    answers: &[Answer],
) -> DbResult<()> {
    let mut stored = Vec::new();
    for (write, answer) in writes.iter().zip(answers) {
        if let (Ok(Written::Item(shown)), Some(key)) = (answer, write.key_identity()) {
            stored.push(idempotent_answer(write, key, shown));
        }
    }
    let now = writes.iter().map(|write| write.metadata.time.as_microsecond()).max();
    let (Some(now), false) = (now, stored.is_empty()) else { return Ok(()) };
    let dialect = connection.dialect();
    let statement =
        dialect.statement(sql_file!(dialect, "write/remember"), [json(&stored), now.into()]);
    let kept: Vec<Uuid> = connection.query(statement).await?;
    if kept.len() == stored.len() { Ok(()) } else { Err(key_taken()) }
}

fn idempotent_answer<'a>(
    RowWrite { row, metadata }: &RowWrite<'a>,
    [caller, path, key]: [&'a str; 3],
    ShownItem { item, links }: &ShownItem,
) -> IdempotentAnswer<'a> {
    let reference_0 = references::column(&links.references);
    IdempotentAnswer {
        caller,
        path,
        key,
        fingerprint: row.key.as_ref().map_or("", |key| &key.fingerprint),
        expires_at: metadata.key_expires.as_microsecond(),
        item_id: item.id.uuid(),
        version: item.version.number(),
        continues: links.continues.map(ItemId::uuid),
        continued_by: continued_by(links),
        remarks: &row.remarks,
        reference_0,
    }
}

/// Executes a write in a transaction begun at `time`, which must be rolled back on an error.
pub(crate) async fn write_alone(
    connection: &impl WriteConnection,
    Write { change, metadata }: &Write,
    current_reads: &CurrentReads,
    time: Timestamp,
) -> DbResult<Answer> {
    let alone = WriteMetadata { read_set: Vec::new(), ..metadata.clone() };
    match change {
        Change::Row(row) => {
            let writes = [RowWrite { row, metadata }];
            write_rows(connection, &writes, current_reads).await.map(only)
        }
        _ if !current_reads.holds(metadata) => Ok(Err(RepositoryError::VersionConflict)),
        Change::Rows(rows) => {
            let refusal = write_many(connection, rows, &alone).await?;
            Ok(refusal.map_or(Ok(Written::Nothing), Err))
        }
        Change::ReplaceAll(content) => replace_all(connection, content, &alone, time).await,
    }
}

pub(crate) fn only(mut answers: Vec<Answer>) -> Answer {
    answers.pop().unwrap_or(Err(RepositoryError::Corrupt))
}

/// Writes rows. Returns the first error.
async fn write_many(
    connection: &impl WriteConnection,
    rows: &[RowChange],
    metadata: &WriteMetadata,
) -> DbResult<Option<RepositoryError>> {
    let mut rest = rows;
    while !rest.is_empty() {
        let some;
        (some, rest) = rest.split_at(fitting(rest.iter()));
        let writes: Vec<_> = some.iter().map(|row| RowWrite { row, metadata }).collect();
        let answers = write_rows(connection, &writes, &CurrentReads::default()).await?;
        if let Some(refusal) = answers.into_iter().find_map(Result::err) {
            return Ok(Some(refusal));
        }
    }
    Ok(None)
}

async fn replace_all(
    connection: &impl WriteConnection,
    content: &ContentChange,
    metadata: &WriteMetadata,
    time: Timestamp,
) -> DbResult<Answer> {
    let collection = content.collection.name().into();
    let versions =
        connection.dialect().statement(sql_file!("both/write/item_versions"), [collection]);
    let versions: Vec<(Uuid, i64)> = connection.query(versions).await?;
    let Revision(revision) = revision_of(connection, content).await?;
    let deletions = match content.deletions(versions.into_iter().collect(), revision) {
        Ok(deletions) => deletions,
        Err(refusal) => return Ok(Err(refusal)),
    };
    // The items that belong to deleted ones are not checked one by one.
    let warrant = metadata.warrant.clone().limited_to(Vec::new());
    let unrestricted = WriteMetadata { warrant, ..metadata.clone() };
    for rows in [&content.rows, &deletions] {
        if let Some(refusal) = write_many(connection, rows, &unrestricted).await? {
            return Err(DbErr::Custom(format!("a step of a replacement was refused: {refusal}")));
        }
    }
    let revision = revision_of(connection, content).await?;
    Ok(Ok(Written::Collection(CollectionWrite { time, revision })))
}

/// The revision of a whole collection, with the writes to the related ones.
async fn revision_of(
    connection: &impl WriteConnection,
    content: &ContentChange,
) -> DbResult<Revision> {
    let scope = Scope::of(content.collection);
    let totals = totals_statement(connection.dialect(), scope, &content.related);
    let totals: Vec<Totals> = connection.query(totals).await?;
    let totals = totals.first().ok_or_else(|| DbErr::RecordNotFound("totals".to_owned()))?;
    Ok(totals.revision)
}
