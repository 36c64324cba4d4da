//! `value_counts`: how many items have a value of a counted member.

use sea_orm::entity::prelude::*;

/// The count of a value.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "value_counts")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub collection: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub member: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub value: String,
    pub items: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
