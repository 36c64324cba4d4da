//! `schema_version`: one row, how old a service may be that uses the database.

use sea_orm::entity::prelude::*;

/// The version of the schema.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "schema_version")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub version: i32,
    /// The oldest version of the schema whose services read this one, and write to it.
    pub oldest_reader: i32,
    pub oldest_writer: i32,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
