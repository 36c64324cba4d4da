//! `idempotency_keys`: the requests that were answered, until their keys expire.

use sea_orm::entity::prelude::*;

/// A request and its answer.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "idempotency_keys")]
pub struct Model {
    /// Empty for an anonymous caller.
    #[sea_orm(primary_key, auto_increment = false)]
    pub caller: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub path: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub key: String,
    /// The SHA-256 of the body.
    pub fingerprint: String,
    /// In microseconds since 1970-01-01T00:00:00Z.
    pub expires_at: i64,
    /// The version that was written.
    pub item_id: Uuid,
    pub version: i64,
    /// The links that the answer showed.
    pub continues: Option<Uuid>,
    /// Ids with commas between them.
    pub continued_by: String,
    /// The remarks that the answer showed, as JSON.
    pub remarks: String,
    pub reference_0: Option<Uuid>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
