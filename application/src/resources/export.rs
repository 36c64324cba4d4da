//! Exports: all items of a selection, as they are at one moment.

use super::ResourceService;
use crate::ports::{ItemContent, Sequence};
use crate::query::PageRequest;
use crate::table::Column;
use crate::{Caller, Result};

impl ResourceService {
    /// Selects the items of all pages of the request as they are now, in its order. It names the
    /// changes they are at, by which they are read later.
    ///
    /// # Errors
    /// `Store`.
    pub async fn select(&self, caller: &Caller, request: &PageRequest) -> Result<Vec<Sequence>> {
        let query = request.query(self.collection);
        Ok(self.ports.items.select(&self.reach(caller, None)?, &query).await?)
    }

    /// Returns some items of a selection, in its order, as they were when it was made.
    ///
    /// # Errors
    /// `Store`.
    pub async fn selected(
        &self,
        caller: &Caller,
        changes: &[Sequence],
    ) -> Result<Vec<ItemContent>> {
        let mut items = self.ports.history.contents(&self.reach(caller, None)?, changes).await?;
        if !self.access.sees_parents(caller, self.collection) {
            for item in &mut items {
                item.parent = None;
            }
        }
        Ok(items)
    }

    /// Returns the columns that every table for a caller begins with.
    pub fn leading_columns(&self, caller: &Caller) -> Vec<Column> {
        let mut columns = Column::leading(self.collection);
        let sees_parents = self.access.sees_parents(caller, self.collection);
        columns.retain(|column| sees_parents || *column != Column::Parent);
        columns
    }
}
