//! `items`: every item that exists, and the change it is at, which has its members.

use sea_orm::entity::prelude::*;

/// An item.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "items")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The name of its collection.
    pub collection: String,
    /// The item it belongs to.
    pub parent: Option<Uuid>,
    pub version: i64,
    /// The number of the change it is at.
    pub sequence: i64,
    /// In microseconds since 1970-01-01T00:00:00Z, as `updated_at`.
    pub created_at: i64,
    pub updated_at: i64,
    /// The caller who created it; `None` for an anonymous one.
    pub created_by: Option<String>,
    /// The item it continues.
    pub continues: Option<Uuid>,
    /// The item that its collection's first reference names.
    pub reference_0: Option<Uuid>,
    /// The beginnings of indexed members (`sql/indexed_columns.rs`).
    pub key_1: Option<String>,
    pub key_2: Option<String>,
    pub key_3: Option<String>,
    pub key_4: Option<String>,
    pub key_5: Option<String>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
