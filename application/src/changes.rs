//! The use cases of the change log.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use domain::{Collection, Operation, WriteOperation};

use crate::ports::{
    CallerDirectory, CallerNames, ChangeAuthor, ChangeLog, History, LogPage, LoggedChange, Reach,
    Scope, Sequence,
};
use crate::{AccessControl, ApplicationError, Caller, Result};

/// The limit of reads of the log for a caller who does not see all changes. A longer run of changes
/// that the caller does not see shows in the cursor.
const MOST_READS: usize = 20;
const EXAMINED_AT_A_TIME: u64 = 500;

#[derive(Clone)]
pub struct ChangeService {
    log: Arc<dyn ChangeLog>,
    history: Arc<dyn History>,
    callers: Arc<dyn CallerDirectory>,
    access: AccessControl,
}

/// A change as a caller sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenChange {
    pub change: LoggedChange,
    /// True if the caller saw the item before the change, and does not see it after. Only the item
    /// is shown then.
    pub is_withdrawn: bool,
}

impl SeenChange {
    /// Returns the change unless only its item is shown.
    pub fn shown(&self) -> Option<&LoggedChange> {
        (!self.is_withdrawn).then_some(&self.change)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangePage {
    pub changes: Vec<SeenChange>,
    /// The next part begins after it.
    pub read_to: Sequence,
}

impl ChangeService {
    pub fn new(
        log: Arc<dyn ChangeLog>,
        history: Arc<dyn History>,
        callers: Arc<dyn CallerDirectory>,
        access: AccessControl,
    ) -> Self {
        Self { log, history, callers, access }
    }

    /// Returns the items of a collection that the caller sees; `None` if the caller sees none.
    pub fn reach(&self, caller: &Caller, collection: Collection) -> Option<Reach> {
        self.access.reach(caller, Scope::of(collection), &[Operation::Read]).ok()
    }

    /// Returns those of these changes that the caller sees, in their order. A change is seen if its
    /// item is visible after it, with the other items as they are now. So is its author, if the names
    /// of callers are.
    pub async fn seen(
        &self,
        caller: &Caller,
        changes: Vec<LoggedChange>,
    ) -> Result<Vec<SeenChange>> {
        let permissions = self.access.permissions(caller);
        let authors = |collection| permissions.visible(collection).map(|mask| mask.callers());
        let mut judged: BTreeMap<Collection, Vec<_>> = BTreeMap::new();
        for change in &changes {
            let collection = change.collection;
            let is_whole = permissions.has_all(collection, Operation::Read)
                && authors(collection).is_none_or(|authors| authors.constant().is_some());
            if permissions.has_some(collection, Operation::Read) && !is_whole {
                let versions = judged.entry(collection).or_default();
                versions.push((change.item, change.version));
                versions.extend(change.previous_version().map(|version| (change.item, version)));
            }
        }
        let mut visible = HashMap::new();
        for (collection, versions) in judged {
            let reach = self.access.reach(caller, Scope::of(collection), &[Operation::Read])?;
            let reached = self.history.versions_in_reach(&reach, &versions).await?.into_iter();
            visible.extend(reached.map(|it| ((it.item, it.version), it.shows_author)));
        }
        let see = |mut change: LoggedChange| {
            let at = |version| visible.get(&(change.item, version)).copied();
            let (own, previous) = (at(change.version), change.previous_version().and_then(at));
            if permissions.has_all(change.collection, Operation::Read) || own.is_some() {
                let shows_author = match authors(change.collection) {
                    None => true,
                    Some(authors) => authors.constant().or(own).or(previous) == Some(true),
                };
                if !shows_author {
                    change.author = ChangeAuthor::default();
                }
                change.kind = permissions.shown_kind(change.collection, change.kind);
                return Some(SeenChange { change, is_withdrawn: false });
            }
            let was_seen = previous.is_some() && change.kind != WriteOperation::Create;
            was_seen.then_some(SeenChange { change, is_withdrawn: true })
        };
        Ok(changes.into_iter().filter_map(see).collect())
    }

    /// Returns the next changes of one collection or of all. `BeyondLog` means that the number
    /// comes from another store or from an older copy.
    pub async fn page(
        &self,
        caller: &Caller,
        after: Sequence,
        collection: Option<Collection>,
        limit: u64,
    ) -> Result<ChangePage> {
        let page = if self.access.permissions(caller).sees_everything() {
            let page = self.log.changes(after, collection, limit).await?;
            let changes = self.seen(caller, page.changes).await?;
            ChangePage { changes, read_to: page.read_to }
        } else {
            self.seen_page(caller, after, collection, limit).await?
        };
        if page.changes.is_empty() && page.read_to == after && after > Sequence::default() {
            self.require_within(after).await?;
        }
        Ok(page)
    }

    /// Reads on until enough visible changes are found, so that the cursor does not depend on
    /// others.
    async fn seen_page(
        &self,
        caller: &Caller,
        after: Sequence,
        collection: Option<Collection>,
        limit: u64,
    ) -> Result<ChangePage> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let (mut seen, mut read_to, mut is_end) = (Vec::<SeenChange>::new(), after, false);
        for _ in 0..MOST_READS {
            let page = self.log.changes(read_to, collection, EXAMINED_AT_A_TIME).await?;
            is_end = page.read_to == read_to;
            read_to = page.read_to;
            seen.extend(self.seen(caller, page.changes).await?);
            if is_end || seen.len() >= limit {
                break;
            }
        }
        seen.truncate(limit);
        let last = seen.last().map(|seen| seen.change.sequence);
        let read_to = last.unwrap_or(if is_end { after } else { read_to });
        Ok(ChangePage { changes: seen, read_to })
    }

    /// Returns the latest changes that the caller sees, newest first.
    pub async fn latest(
        &self,
        caller: &Caller,
        collection: Option<Collection>,
        limit: u64,
    ) -> Result<Vec<SeenChange>> {
        let wanted = Collection::all().filter(|it| collection.is_none_or(|named| named == *it));
        let mut latest = Vec::new();
        for seen in wanted.filter(|it| self.access.may_read(caller, *it)) {
            latest.extend(self.latest_of(caller, seen, false, limit).await?);
        }
        latest.sort_unstable_by_key(|seen| Reverse(seen.change.sequence));
        latest.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(latest)
    }

    /// Returns the latest deletions that the caller sees, newest first. The items may exist again.
    pub async fn deletions(
        &self,
        caller: &Caller,
        collection: Collection,
        limit: u64,
    ) -> Result<Vec<SeenChange>> {
        self.access.require(caller, collection, &[Operation::Read, Operation::History])?;
        let mut deletions = self.latest_of(caller, collection, true, limit).await?;
        deletions.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(deletions)
    }

    async fn latest_of(
        &self,
        caller: &Caller,
        collection: Collection,
        only_deletions: bool,
        limit: u64,
    ) -> Result<Vec<SeenChange>> {
        let is_all = self.access.permissions(caller).has_all(collection, Operation::Read);
        let at_a_time = if is_all { limit } else { limit.max(EXAMINED_AT_A_TIME) };
        let (mut latest, mut before) = (Vec::new(), Sequence(i64::MAX));
        for _ in 0..MOST_READS {
            let changes = self.log.latest(collection, only_deletions, before, at_a_time).await?;
            let is_end = (changes.len() as u64) < at_a_time;
            before = changes.last().map_or(before, |oldest| oldest.sequence);
            latest.extend(self.seen(caller, changes).await?);
            if is_end || latest.len() as u64 >= limit {
                break;
            }
        }
        Ok(latest)
    }

    /// Returns the next changes for all listeners together. Each listener gets those that
    /// [`seen`](Self::seen) returns.
    pub async fn follow_for_all(&self, after: Sequence, limit: u64) -> Result<LogPage> {
        Ok(self.log.changes(after, None, limit).await?)
    }

    pub async fn caller_names(
        &self,
        changes: impl Iterator<Item = &LoggedChange>,
    ) -> Result<CallerNames> {
        let ids: BTreeSet<_> =
            changes.filter_map(|change| change.author.caller.as_deref()).collect();
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

    /// Returns the change after which a listener starts: `after`, or the last one. The second
    /// number is the position to show to the caller, which may be earlier.
    pub async fn begin(
        &self,
        caller: &Caller,
        after: Option<Sequence>,
    ) -> Result<(Sequence, Sequence)> {
        if let Some(after) = after {
            return self.require_within(after).await.map(|()| (after, after));
        }
        let last = self.last().await?;
        if self.access.permissions(caller).sees_everything() {
            return Ok((last, last));
        }
        let seen = self.latest(caller, None, 1).await?;
        let position = seen.first().map(|seen| seen.change.sequence.min(last));
        Ok((last, position.unwrap_or_default()))
    }

    async fn require_within(&self, after: Sequence) -> Result<()> {
        if after <= self.last().await? { Ok(()) } else { Err(ApplicationError::BeyondLog) }
    }
}
