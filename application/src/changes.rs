//! The use cases of the change log.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use domain::Collection;

use crate::ports::{CallerDirectory, CallerNames, ChangeLog, LogPage, LoggedChange, Sequence};
use crate::{AccessControl, ApplicationError, Caller, Result};

#[derive(Clone)]
pub struct ChangeService {
    log: Arc<dyn ChangeLog>,
    callers: Arc<dyn CallerDirectory>,
    access: AccessControl,
}

impl ChangeService {
    pub fn new(
        log: Arc<dyn ChangeLog>,
        callers: Arc<dyn CallerDirectory>,
        access: AccessControl,
    ) -> Self {
        Self { log, callers, access }
    }

    pub fn is_visible(&self, caller: &Caller, change: &LoggedChange) -> bool {
        self.access.may_read(caller, change.collection)
    }

    /// Returns the next changes of one collection or of all. `BeyondLog` means that the number
    /// comes from another store or from an older copy.
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

    /// Returns the next changes that a caller may see. The log must contain `after`.
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

    /// Returns the next changes for all listeners together. Each listener gets those for which
    /// [`is_visible`](Self::is_visible) is true.
    pub async fn follow_for_all(&self, after: Sequence, limit: u64) -> Result<LogPage> {
        Ok(self.log.changes(after, None, limit).await?)
    }

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

    /// The id of the current history.
    pub fn history(&self) -> Arc<str> {
        self.log.history_id()
    }

    pub async fn last(&self) -> Result<Sequence> {
        Ok(self.log.last().await?)
    }

    /// Returns the change after which a listener starts: `after`, or the last one.
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
