//! `search_progress`: one row, how far the full-text index and the counts follow the log.

use sea_orm::entity::prelude::*;

/// The progress of the index task.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "search_progress")]
pub struct Model {
    /// The number of the last change that is indexed.
    #[sea_orm(primary_key, auto_increment = false)]
    pub sequence: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
