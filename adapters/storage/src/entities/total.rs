//! `totals`: the items and writes of each scope, which is the sum over its lanes.

use sea_orm::entity::prelude::*;

/// A lane of a scope.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "totals")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub collection: String,
    /// The nil UUID for the whole collection.
    #[sea_orm(primary_key, auto_increment = false)]
    pub parent: Uuid,
    #[sea_orm(primary_key, auto_increment = false)]
    pub lane: i32,
    pub items: i64,
    pub writes: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
