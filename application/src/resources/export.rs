//! Exports: a snapshot of all items of a selection.

use std::sync::Arc;

use super::ResourceService;
use crate::ports::{ItemContent, Sequence};
use crate::query::PageRequest;
use crate::table::Column;
use crate::{Caller, Result};

impl ResourceService {
    /// The history of the selected items, if it is known before the selection.
    pub fn exported_history(&self) -> Arc<str> {
        self.ports.changes.history_id()
    }

    /// Selects the current items of all pages, in the requested order. Returns the numbers of
    /// their changes; the items are read later by these.
    pub async fn select(&self, caller: &Caller, request: &PageRequest) -> Result<Vec<Sequence>> {
        let (reach, query) = (self.reach(caller, None).await?, request.query(self.collection));
        Ok(self.ports.items.select(&reach, &query).await?)
    }

    /// Returns items of a selection, in its order, from the time of the selection.
    pub async fn selected(
        &self,
        caller: &Caller,
        changes: &[Sequence],
    ) -> Result<Vec<ItemContent>> {
        let reach = self.reach(caller, None).await?;
        let mut items = self.ports.history.contents(&reach, changes).await?;
        let parents: Vec<_> = items.iter().filter_map(|item| item.parent).collect();
        let seen = self.visible_parents(caller, &parents).await?;
        for item in &mut items {
            item.parent = item.parent.filter(|parent| seen.contains(parent));
        }
        Ok(items)
    }

    pub fn leading_columns(&self, caller: &Caller) -> Vec<Column> {
        let mut columns = Column::leading(self.collection);
        let sees_parents = self.access.sees_parents(caller, self.collection);
        columns.retain(|column| sees_parents || *column != Column::Parent);
        columns
    }
}
