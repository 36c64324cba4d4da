//! `callers`: the display names of callers, apart from the log: names change and can be erased.

use sea_orm::entity::prelude::*;

/// A caller.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "callers")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: String,
    /// Empty when it was erased: then none is kept any more.
    pub name: String,
    /// In microseconds since 1970-01-01T00:00:00Z, as `last_seen`.
    pub first_seen: i64,
    pub last_seen: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
