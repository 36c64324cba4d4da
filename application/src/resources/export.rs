//! Exports: all items of a selection, as they are at one moment.

use async_trait::async_trait;
use domain::Resource;

use super::ResourceService;
use crate::ports::{ItemContent, Sequence};
use crate::query::PageRequest;
use crate::table::Column;
use crate::{Caller, Result};

/// The exports.
#[async_trait]
pub trait ExportUseCases: Send + Sync {
    /// Selects the items of all pages of the request as they are now, in its order. It names the
    /// changes they are at, by which they are read later.
    ///
    /// # Errors
    /// `Store`.
    async fn select(&self, caller: &Caller, request: &PageRequest) -> Result<Vec<Sequence>>;

    /// Returns some items of a selection, in its order, as they were when it was made.
    ///
    /// # Errors
    /// `Store`.
    async fn selected(&self, caller: &Caller, changes: &[Sequence]) -> Result<Vec<ItemContent>>;

    /// Returns the columns that every table for a caller begins with.
    fn leading_columns(&self, caller: &Caller) -> Vec<Column>;
}

#[async_trait]
impl<R: Resource> ExportUseCases for ResourceService<R> {
    async fn select(&self, caller: &Caller, request: &PageRequest) -> Result<Vec<Sequence>> {
        let query = request.query(self.collection);
        Ok(self.repository.select(&self.reach(caller, None)?, &query).await?)
    }

    async fn selected(&self, caller: &Caller, changes: &[Sequence]) -> Result<Vec<ItemContent>> {
        let mut items = self.history.contents(&self.reach(caller, None)?, changes).await?;
        if !self.access.sees_parents(caller, self.collection) {
            for item in &mut items {
                item.parent = None;
            }
        }
        Ok(items)
    }

    fn leading_columns(&self, caller: &Caller) -> Vec<Column> {
        let mut columns = Column::leading(self.collection);
        let sees_parents = self.access.sees_parents(caller, self.collection);
        columns.retain(|column| sees_parents || *column != Column::Parent);
        columns
    }
}
