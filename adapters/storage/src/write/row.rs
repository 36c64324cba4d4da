//! A row to write: as the port gives it, and as the parameters of a statement.

use std::sync::Arc;

use application::{
    IdempotencyKey, ItemChange, ItemChangeKind, NewItem, Replacement, Scope, WriteMetadata,
};
use domain::{Collection, Content, ContentDigest, ItemId, Version, WriteOperation};
use rusqlite::ToSql;
use rusqlite::types::ToSqlOutput;
use sea_orm::sqlx::postgres::{PgArguments, PgHasArrayType};
use sea_orm::sqlx::{Arguments as _, Encode, Postgres, Type};
use uuid::Uuid;

use crate::sql::indexed_columns::{COLUMNS, Keys};
use crate::sql::references;

/// The kinds of rows, in the order in which a transaction writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowKind {
    Update,
    Insert,
    /// An insert of an item that was deleted.
    Restore,
    /// A deletion of an item and the items that belong to it.
    Delete,
}

impl RowKind {
    pub const ALL: [Self; 4] = [Self::Update, Self::Insert, Self::Restore, Self::Delete];
}

#[derive(Debug)]
pub(crate) struct RowChange {
    pub kind: RowKind,
    pub scope: Scope,
    pub id: ItemId,
    pub operation: WriteOperation,
    pub expected: Option<Version>,
    pub continues: Option<ItemId>,
    pub references: Vec<Option<ItemId>>,
    pub members: Arc<str>,
    /// The content that the row gives to an item. Its bytes must be kept.
    pub content: Option<ContentDigest>,
    pub keys: Keys,
    pub key: Option<IdempotencyKey>,
    pub remarks: Box<str>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct RowWrite<'a> {
    pub row: &'a RowChange,
    pub metadata: &'a WriteMetadata,
}

impl RowWrite<'_> {
    pub fn key_identity(&self) -> Option<[&str; 3]> {
        let caller = self.metadata.warrant.caller();
        self.row.key.as_ref().map(|key| key.identity(caller))
    }
}

impl RowChange {
    pub fn insert(scope: Scope, item: NewItem) -> Self {
        let NewItem { id, members, continues, references } = item;
        Self {
            kind: RowKind::Insert,
            scope,
            id,
            operation: WriteOperation::Create,
            expected: None,
            continues,
            references,
            content: Content::of(&members).map(|content| content.digest),
            keys: Keys::of(scope.collection, &members),
            members,
            key: None,
            remarks: Box::default(),
        }
    }

    pub fn restore(scope: Scope, item: NewItem) -> Self {
        Self { kind: RowKind::Restore, ..Self::insert(scope, item) }
    }

    pub fn update(scope: Scope, replacement: Replacement, operation: WriteOperation) -> Self {
        let Replacement { id, expected, members, references } = replacement;
        let item = NewItem { id, members, continues: None, references };
        let expected = Some(expected);
        // Other writes keep the current content. A restored version is a replacement.
        let gives = matches!(operation, WriteOperation::Attach | WriteOperation::Replace);
        let content = gives.then(|| Content::of(&item.members));
        let content = content.flatten().map(|content| content.digest);
        Self { kind: RowKind::Update, operation, expected, content, ..Self::insert(scope, item) }
    }

    pub fn delete(scope: Scope, id: ItemId, expected: Version) -> Self {
        Self {
            kind: RowKind::Delete,
            scope,
            id,
            operation: WriteOperation::Delete,
            expected: Some(expected),
            continues: None,
            references: Vec::new(),
            members: Arc::default(),
            content: None,
            keys: Keys::default(),
            key: None,
            remarks: Box::default(),
        }
    }

    pub fn of_many(collection: Collection, change: ItemChange) -> Self {
        let ItemChange { parent, kind, key, remarks } = change;
        let scope = Scope { collection, parent };
        let row = match kind {
            ItemChangeKind::Insert(item) => Self::insert(scope, item),
            ItemChangeKind::Update(replacement) => {
                Self::update(scope, replacement, WriteOperation::Replace)
            }
        };
        Self { key, remarks, ..row }
    }
}

/// The parameters of a row. `PostgreSQL` takes an array per field, `SQLite` the fields of each row.
#[derive(Debug)]
pub(crate) struct RowParameters<'a> {
    pub id: Uuid,
    collection: &'static str,
    parent: Option<Uuid>,
    parent_collection: Option<&'static str>,
    continues: Option<Uuid>,
    /// The kind of the change in the log, or `restored`, which the log has as `created`.
    kind: &'static str,
    expected: Option<i64>,
    members: &'a str,
    reference_0: Option<Uuid>,
    /// The collection of the item that `reference_0` names.
    reference_0_in: Option<&'static str>,
    keys: [Option<&'a str>; COLUMNS.len()],
    caller: Option<&'a str>,
    acting: Option<&'a str>,
    client: Option<&'a str>,
    request_id: Option<&'a str>,
    /// True if the items that the write was decided on are unchanged.
    reads_hold: bool,
}

impl<'a> RowParameters<'a> {
    pub fn new(RowWrite { row, metadata }: RowWrite<'a>, reads_hold: bool) -> Self {
        let collection = row.scope.collection;
        let reference_0 = references::column(&row.references);
        let warrant = &metadata.warrant;
        Self {
            id: row.id.uuid(),
            collection: collection.name(),
            parent: row.scope.parent.map(ItemId::uuid),
            parent_collection: collection.parent().map(Collection::name),
            continues: row.continues.map(ItemId::uuid),
            kind: match row.kind {
                RowKind::Restore => "restored",
                _ => row.operation.change_name(),
            },
            expected: row.expected.map(Version::number),
            members: &row.members,
            reference_0,
            reference_0_in: collection.referenced().next().map(Collection::name),
            keys: row.keys.columns().each_ref().map(Option::as_deref),
            caller: warrant.caller(),
            acting: warrant.acting(),
            client: warrant.client(),
            request_id: warrant.request_id(),
            reads_hold,
        }
    }

    /// The field of a parameter of an SQL file of `SQLite`.
    pub fn value(&self, parameter: &str) -> rusqlite::Result<ToSqlOutput<'_>> {
        match parameter {
            ":id" => self.id.to_sql(),
            ":collection" => self.collection.to_sql(),
            ":parent" => self.parent.to_sql(),
            ":parent_collection" => self.parent_collection.to_sql(),
            ":continues" => self.continues.to_sql(),
            ":kind" => self.kind.to_sql(),
            ":expected" => self.expected.to_sql(),
            ":members" => self.members.to_sql(),
            ":reference_0" => self.reference_0.to_sql(),
            ":reference_0_in" => self.reference_0_in.to_sql(),
            ":key_1" => self.keys[0].to_sql(),
            ":key_2" => self.keys[1].to_sql(),
            ":key_3" => self.keys[2].to_sql(),
            ":key_4" => self.keys[3].to_sql(),
            ":key_5" => self.keys[4].to_sql(),
            ":caller" => self.caller.to_sql(),
            ":acting" => self.acting.to_sql(),
            ":client" => self.client.to_sql(),
            ":request_id" => self.request_id.to_sql(),
            ":reads_hold" => self.reads_hold.to_sql(),
            other => Err(rusqlite::Error::InvalidParameterName(other.to_owned())),
        }
    }

    pub fn arrays(rows: &[Self]) -> Result<PgArguments, sea_orm::sqlx::Error> {
        let mut arrays = Arrays { rows, arguments: PgArguments::default() };
        arrays.add(|row| row.id)?;
        arrays.add(|row| row.collection)?;
        arrays.add(|row| row.parent)?;
        arrays.add(|row| row.parent_collection)?;
        arrays.add(|row| row.continues)?;
        arrays.add(|row| row.kind)?;
        arrays.add(|row| row.expected)?;
        arrays.add(|row| row.members)?;
        arrays.add(|row| row.reference_0)?;
        arrays.add(|row| row.reference_0_in)?;
        for key in 0..COLUMNS.len() {
            arrays.add(|row| row.keys[key])?;
        }
        arrays.add(|row| row.caller)?;
        arrays.add(|row| row.acting)?;
        arrays.add(|row| row.client)?;
        arrays.add(|row| row.request_id)?;
        arrays.add(|row| row.reads_hold)?;
        Ok(arrays.arguments)
    }
}

struct Arrays<'r, 'a> {
    rows: &'r [RowParameters<'a>],
    arguments: PgArguments,
}

impl<'r, 'a> Arrays<'r, 'a> {
    fn add<T>(
        &mut self,
        field: impl Fn(&'r RowParameters<'a>) -> T,
    ) -> Result<(), sea_orm::sqlx::Error>
    where
        T: Encode<'a, Postgres> + Type<Postgres> + PgHasArrayType,
    {
        let array: Vec<T> = self.rows.iter().map(field).collect();
        self.arguments.add(array).map_err(sea_orm::sqlx::Error::Encode)
    }
}
