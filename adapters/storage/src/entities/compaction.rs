//! `compaction`, one row: how far the removal of old bodies has come, and who works on it.

use sea_orm::entity::prelude::*;

/// The progress of the work.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "compaction")]
pub struct Model {
    /// The retention policy that is carried out.
    pub policy: String,
    /// The change up to which the log was looked through in this pass.
    #[sea_orm(primary_key, auto_increment = false)]
    pub sequence: i64,
    /// When the next pass begins, in microseconds since 1970-01-01T00:00:00Z.
    pub begins_at: i64,
    /// The worker that has the lease.
    pub holder: String,
    /// When the lease ends.
    pub held_until: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
