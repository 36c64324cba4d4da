//! The connection that executes a write, with the answers to its rows.

use std::sync::Arc;

use application::ports::{Result, ShownItem};
use async_trait::async_trait;
use sea_orm::Statement;
use uuid::Uuid;

use crate::error::DbResult;
use crate::sql::dialect::Dialect;
use crate::sql::row_mapping::{Columns, FromRow, written_item};
use crate::write::command::{Answer, Written};
use crate::write::condition;
use crate::write::row::{RowKind, RowParameters};

pub(crate) const fn of_rows(dialect: &Dialect, kind: RowKind) -> &'static str {
    match kind {
        RowKind::Update => sql_file!(dialect, "write/update"),
        RowKind::Insert | RowKind::Restore => sql_file!(dialect, "write/insert"),
        RowKind::Delete => sql_file!(dialect, "write/delete"),
    }
}

#[async_trait]
pub(crate) trait WriteConnection: Sync {
    fn dialect(&self) -> &'static Dialect;

    async fn query<T: FromRow>(&self, statement: Statement) -> DbResult<Vec<T>>;

    /// Returns the number of rows written.
    async fn execute(&self, statement: Statement) -> DbResult<u64>;

    /// Writes rows of a kind.
    async fn write(&self, kind: RowKind, rows: &[RowParameters<'_>]) -> DbResult<Vec<RowAnswer>>;
}

pub(crate) struct RowAnswer {
    pub id: Uuid,
    /// The item without members; `None` if it was deleted.
    outcome: Result<Option<ShownItem>>,
}

impl RowAnswer {
    pub fn of(row: &impl Columns, has_item: bool) -> DbResult<Self> {
        let outcome = match row.get("refusal")? {
            Some(refusal) => Err(condition::error(refusal)),
            None if has_item => Ok(Some(written_item(row, Arc::default())?)),
            None => Ok(None),
        };
        Ok(Self { id: row.get("id")?, outcome })
    }

    pub const fn is_refused(&self) -> bool {
        self.outcome.is_err()
    }

    pub fn answer(self, members: &Arc<str>) -> Answer {
        match self.outcome? {
            Some(mut shown) => {
                shown.item.members = Arc::clone(members);
                Ok(Written::Item(shown))
            }
            None => Ok(Written::Nothing),
        }
    }
}
