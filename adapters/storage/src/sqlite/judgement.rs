//! The conditions of a write on `SQLite`: one query decides them all, and reads what the write needs
//! of the item.

use application::{RepositoryError, Scope, WriteMetadata};
use domain::{Collection, ItemId, Version};
use rusqlite::{Row, Transaction, params_from_iter, types::Value};

use crate::sqlite::read_set;
use crate::write::condition::Conditions;
use crate::write::row::{RowChangeKind, RowWrite};

/// The rows that conditions are about.
const ROWS: &str = "(SELECT ?1 AS id, ?2 AS collection, ?3 AS parent, ?4 AS parent_collection, ?5 AS continues, \
                    ?6 AS expected, ?7 AS reads_hold, ?8 AS now) g LEFT JOIN items i ON i.id = g.id \
                    LEFT JOIN items p ON p.id = g.parent LEFT JOIN items o ON o.id = g.continues";

/// The earlier request with the same key.
const EARLIER: &str =
    " LEFT JOIN idempotency_keys k ON k.caller = ?9 AND k.path = ?10 AND k.key = ?11";

/// The result of a write, or why it is refused.
pub(crate) type Judged<T> = Result<T, RepositoryError>;

/// The query that decides the conditions of a kind of write, made once.
#[derive(Debug)]
pub(crate) struct Judgement {
    conditions: &'static Conditions,
    text: String,
    text_with_key: String,
}

/// The values that a write is given.
pub(crate) struct Given<'a> {
    pub scope: Scope,
    pub id: ItemId,
    pub continues: Option<ItemId>,
    pub expected: Option<Version>,
    /// True where the write is remembered by its idempotency key, if it has one.
    pub claims_key: bool,
    pub metadata: &'a WriteMetadata,
}

impl<'a> Given<'a> {
    pub const fn of_row(write: &RowWrite<'a>) -> Self {
        let RowWrite { row, metadata } = *write;
        let (continues, expected) = match row.kind {
            RowChangeKind::Insert { continues } | RowChangeKind::Restore { continues } => {
                (continues, None)
            }
            RowChangeKind::Update { expected, .. } => (None, Some(expected)),
        };
        Self { scope: row.scope, id: row.id, continues, expected, claims_key: true, metadata }
    }
}

impl Judgement {
    /// `columns` are those of the item `i` that the write needs, each with a comma before it.
    pub fn new(conditions: &'static Conditions, columns: &str) -> Self {
        let text = |has_key, rows: &str| {
            format!("SELECT {} AS refusal{columns} FROM {rows}", conditions.refusal(has_key))
        };
        let text_with_key = text(true, &format!("{ROWS}{EARLIER}"));
        Self { conditions, text: text(false, ROWS), text_with_key }
    }

    /// Returns what is read of the item, or why the write is refused.
    pub fn judge<T>(
        &self,
        transaction: &Transaction<'_>,
        Given { scope, id, continues, expected, claims_key, metadata }: &Given<'_>,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Judged<T>> {
        let parent_collection = scope.collection.parent().map(Collection::name);
        let values: [Value; 8] = [
            id.uuid().into(),
            scope.collection.name().to_owned().into(),
            scope.parent.map(ItemId::uuid).into(),
            parent_collection.map(str::to_owned).into(),
            continues.map(ItemId::uuid).into(),
            expected.map(Version::number).into(),
            read_set::hold(transaction, metadata)?.into(),
            metadata.time.as_microsecond().into(),
        ];
        let key = metadata.key_identity().filter(|_| *claims_key);
        let text = if key.is_some() { &self.text_with_key } else { &self.text };
        let key = key.into_iter().flatten().map(|part| Value::from(part.to_owned()));
        let values = params_from_iter(values.into_iter().chain(key));
        transaction.prepare_cached(text)?.query_row(values, |row| {
            match row.get::<_, Option<i64>>("refusal")? {
                Some(refusal) => Ok(Err(self.conditions.error(refusal))),
                None => read(row).map(Ok),
            }
        })
    }
}
