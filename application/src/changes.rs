//! The use cases of the change log.

use std::sync::Arc;

use domain::Collection;

use crate::ports::{ChangeLog, LogPage, Sequence};
use crate::{ApplicationError, Caller, Result};

/// Reads the change log.
#[derive(Clone)]
pub struct ChangeService {
    log: Arc<dyn ChangeLog>,
}

impl ChangeService {
    /// The use cases over a log.
    pub fn new(log: Arc<dyn ChangeLog>) -> Self {
        Self { log }
    }

    /// Returns the changes after one, of one collection or of all, at most `limit`.
    ///
    /// # Errors
    /// `BeyondLog` when the log does not reach as far: it is that of another store, or of an older
    /// copy; `Store`.
    pub async fn page(
        &self,
        caller: &Caller,
        after: Sequence,
        collection: Option<Collection>,
        limit: u64,
    ) -> Result<LogPage> {
        let page = self.follow(caller, after, collection, limit).await?;
        if page.changes.is_empty() && page.read_to == after && after > Sequence::default() {
            self.require_within(caller, after).await?;
        }
        Ok(page)
    }

    /// Returns the changes after one that the log is known to have.
    ///
    /// # Errors
    /// `Store`.
    pub async fn follow(
        &self,
        _caller: &Caller,
        after: Sequence,
        collection: Option<Collection>,
        limit: u64,
    ) -> Result<LogPage> {
        Ok(self.log.changes(after, collection, limit).await?)
    }

    /// Returns the history that versions, revisions and numbers of changes belong to now.
    #[must_use]
    pub fn history(&self) -> Arc<str> {
        self.log.history_id()
    }

    /// Returns the number of the last change; 0 before the first.
    ///
    /// # Errors
    /// `Store`.
    pub async fn last(&self, _caller: &Caller) -> Result<Sequence> {
        Ok(self.log.last().await?)
    }

    /// Returns the change that a listener has to be told next of: all after `after`, or those from
    /// now on.
    ///
    /// # Errors
    /// As [`page`](Self::page).
    pub async fn begin(&self, caller: &Caller, after: Option<Sequence>) -> Result<Sequence> {
        match after {
            Some(after) => self.require_within(caller, after).await.map(|()| after),
            None => self.last(caller).await,
        }
    }

    async fn require_within(&self, caller: &Caller, after: Sequence) -> Result<()> {
        if after <= self.last(caller).await? { Ok(()) } else { Err(ApplicationError::BeyondLog) }
    }
}
