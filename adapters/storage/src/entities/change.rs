//! `changes`, the change log: one row for each version of each item. The body of a superseded version
//! may be removed; nothing else is ever changed.

use sea_orm::entity::prelude::*;

/// A version of an item, and the write that made it.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "changes")]
pub struct Model {
    /// Its number in the log.
    #[sea_orm(primary_key)]
    pub sequence: i64,
    /// The name of the item's collection.
    pub collection: String,
    pub item_id: Uuid,
    /// From 1; a removal has one too.
    pub version: i64,
    /// The name of the kind of write.
    pub kind: String,
    /// In microseconds since 1970-01-01T00:00:00Z.
    pub time: i64,
    /// The caller; `None` for an anonymous one.
    pub caller: Option<String>,
    /// The party that acted on the caller's behalf.
    pub acting: Option<String>,
    /// The program that was used.
    pub client: Option<String>,
    pub request_id: Option<String>,
    /// The id of the item that this one belongs to.
    pub parent: Option<Uuid>,
    /// The id of the item that this one continues.
    pub continues: Option<Uuid>,
    /// The members as JSON, as they were sent; `None` of a removal, and where they were removed.
    #[sea_orm(select_as = "text")]
    pub members: Option<String>,
    /// When the members were removed, in microseconds since 1970-01-01T00:00:00Z.
    pub removed_at: Option<i64>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
