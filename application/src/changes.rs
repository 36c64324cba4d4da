//! The use cases of the change log.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use domain::Collection;

use crate::ports::{CallerDirectory, CallerNames, ChangeLog, LogPage, LoggedChange, Sequence};
use crate::{AccessControl, ApplicationError, Caller, Result};

/// Reads the change log.
#[derive(Clone)]
pub struct ChangeService {
    log: Arc<dyn ChangeLog>,
    callers: Arc<dyn CallerDirectory>,
    access: AccessControl,
}

impl ChangeService {
    /// The use cases over a log, with the names of those who made the changes.
    pub fn new(
        log: Arc<dyn ChangeLog>,
        callers: Arc<dyn CallerDirectory>,
        access: AccessControl,
    ) -> Self {
        Self { log, callers, access }
    }

    /// Returns `true` if a caller may be told of a change.
    pub fn is_visible(&self, caller: &Caller, change: &LoggedChange) -> bool {
        self.access.may_read(caller, change.collection)
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
            self.require_within(after).await?;
        }
        Ok(page)
    }

    /// Returns those of the changes after one that a caller may be told of. The log is known to have
    /// the one.
    ///
    /// # Errors
    /// `Store`.
    pub async fn follow(
        &self,
        caller: &Caller,
        after: Sequence,
        collection: Option<Collection>,
        limit: u64,
    ) -> Result<LogPage> {
        let mut page = self.log.changes(after, collection, limit).await?;
        page.changes.retain(|change| self.is_visible(caller, change));
        Ok(page)
    }

    /// Returns the latest changes that a caller may read, newest first.
    ///
    /// # Errors
    /// `Store`.
    pub async fn latest(
        &self,
        caller: &Caller,
        collection: Option<Collection>,
        limit: u64,
    ) -> Result<Vec<LoggedChange>> {
        let wanted = Collection::all().filter(|it| collection.is_none_or(|named| named == *it));
        let mut latest = Vec::new();
        for seen in wanted.filter(|it| self.access.may_read(caller, *it)) {
            latest.extend(self.log.latest(seen, limit).await?);
        }
        latest.sort_unstable_by_key(|change| Reverse(change.sequence));
        latest.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(latest)
    }

    /// Returns the changes after one for all listeners together, each of whom is told what
    /// [`is_visible`](Self::is_visible).
    ///
    /// # Errors
    /// `Store`.
    pub async fn follow_for_all(&self, after: Sequence, limit: u64) -> Result<LogPage> {
        Ok(self.log.changes(after, None, limit).await?)
    }

    /// Returns the display names of the callers who made changes, as far as they are known.
    ///
    /// # Errors
    /// `Store`.
    pub async fn caller_names(
        &self,
        _caller: &Caller,
        changes: &[LoggedChange],
    ) -> Result<CallerNames> {
        let ids: BTreeSet<_> =
            changes.iter().filter_map(|change| change.author.caller.as_deref()).collect();
        if ids.is_empty() {
            return Ok(CallerNames::default());
        }
        let ids: Vec<_> = ids.into_iter().map(Box::from).collect();
        Ok(self.callers.names(&ids).await?)
    }

    /// Returns the history that versions, revisions and numbers of changes belong to now.
    pub fn history(&self) -> Arc<str> {
        self.log.history_id()
    }

    /// Returns the number of the last change; 0 before the first.
    ///
    /// # Errors
    /// `Store`.
    pub async fn last(&self) -> Result<Sequence> {
        Ok(self.log.last().await?)
    }

    /// Returns the change that a listener has to be told next of: all after `after`, or those from
    /// now on.
    ///
    /// # Errors
    /// As [`page`](Self::page).
    pub async fn begin(&self, after: Option<Sequence>) -> Result<Sequence> {
        match after {
            Some(after) => self.require_within(after).await.map(|()| after),
            None => self.last().await,
        }
    }

    async fn require_within(&self, after: Sequence) -> Result<()> {
        if after <= self.last().await? { Ok(()) } else { Err(ApplicationError::BeyondLog) }
    }
}
