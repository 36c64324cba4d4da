//! The read set of writes on `SQLite`, looked up in the transaction that writes.

use application::WriteMetadata;
use domain::{ItemId, Version};
use rusqlite::types::ToSqlOutput;
use rusqlite::{Row, Statement, Transaction};
use sea_orm::Value;

use crate::sql::dialect::SQLITE;
use crate::sql::lookup::undeletable_statement;
use crate::write::read_set::{CurrentReads, Look, LookedUp, looks};

/// Returns whether every lookup of a write finds the same items and versions as before.
pub(crate) fn hold(
    transaction: &Transaction<'_>,
    metadata: &WriteMetadata,
) -> rusqlite::Result<bool> {
    if metadata.read_set.is_empty() {
        return Ok(true);
    }
    let mut current_reads = CurrentReads::default();
    let mut looks = looks(std::iter::once(metadata));
    while let Some(look) = looks.pop() {
        let found = found(transaction, &look)?;
        match look.apart(found.len()) {
            Some(apart) => looks.extend(apart),
            None => current_reads.note(&look, found),
        }
    }
    Ok(current_reads.holds(metadata))
}

/// Returns whether an item that the warrant of a write excludes belongs to `parent`.
pub(crate) fn has_undeletable(
    transaction: &Transaction<'_>,
    parent: ItemId,
    metadata: &WriteMetadata,
) -> rusqlite::Result<bool> {
    let undeletable = metadata.warrant.undeletable();
    if undeletable.is_empty() {
        return Ok(false);
    }
    let statement = undeletable_statement(&SQLITE, parent, undeletable);
    let mut prepared = transaction.prepare_cached(&statement.sql)?;
    bind(&mut prepared, &statement)?;
    Ok(prepared.raw_query().next()?.is_some())
}

fn found(transaction: &Transaction<'_>, look: &Look<'_>) -> rusqlite::Result<Vec<LookedUp>> {
    let statement = look.statement(&SQLITE);
    let mut prepared = transaction.prepare_cached(&statement.sql)?;
    bind(&mut prepared, &statement)?;
    let mut rows = prepared.raw_query();
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(looked_up(row)?);
    }
    Ok(found)
}

fn bind(prepared: &mut Statement<'_>, statement: &sea_orm::Statement) -> rusqlite::Result<()> {
    for (place, value) in statement.values.iter().flat_map(|values| &values.0).enumerate() {
        // They are counted as they were bound, not as they first stand in the text.
        if let Some(index) = prepared.parameter_index(&format!("${}", place + 1))? {
            prepared.raw_bind_parameter(index, parameter(value)?)?;
        }
    }
    Ok(())
}

fn looked_up(row: &Row<'_>) -> rusqlite::Result<LookedUp> {
    let parent: Option<_> = row.get("parent")?;
    Ok(LookedUp {
        id: ItemId::from_uuid(row.get("id")?),
        version: Version::from_number(row.get("version")?),
        parent: parent.map(ItemId::from_uuid),
        value: row.get("value")?,
    })
}

/// The values of a look are texts and a number; an anonymous caller has no id.
fn parameter(value: &Value) -> rusqlite::Result<ToSqlOutput<'_>> {
    match value {
        Value::String(Some(text)) => Ok(ToSqlOutput::from(text.as_str())),
        Value::String(None) => Ok(ToSqlOutput::from(rusqlite::types::Null)),
        Value::BigInt(Some(number)) => Ok(ToSqlOutput::from(*number)),
        other => Err(rusqlite::Error::ToSqlConversionFailure(
            format!("unsupported value: {other:?}").into(),
        )),
    }
}
