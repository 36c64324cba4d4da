//! Live changes: one reader of the log serves all listeners.

use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use application::{
    ApplicationError, Caller, ChangeService, LogPage, LoggedChange, Reach, SeenChange, Sequence,
};
use tokio::sync::OnceCell;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{Receiver, Sender, channel};
use tokio::time::sleep;

use crate::problem::{Problem, Result, kinds};
use crate::query::change_cursor::{ChangeCursor, HistoryHash};

/// Per listener. A listener reads changes beyond this from the log.
const BUFFERED: usize = 1024;

/// A listener that misses more is disconnected and may resume.
const MOST_MISSED: u64 = 100_000;

const AT_A_TIME: u64 = 250;

/// Per change: a slow listener keeps changes in memory, and their judgements with them.
const MOST_JUDGEMENTS: usize = 64;

/// The polling interval. Other instances write to the log without notification.
const PAUSE: Duration = Duration::from_millis(100);

const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(1);

#[derive(Clone)]
pub struct ChangeFeed {
    service: ChangeService,
    live: Arc<Mutex<Option<Live>>>,
}

/// A change for all listeners. Those with the same reach share the judgement of it.
struct SharedChange {
    change: LoggedChange,
    judgements: Mutex<HashMap<Reach, Arc<OnceCell<Option<SeenChange>>>>>,
}

struct Live {
    sender: Sender<Arc<SharedChange>>,
    /// Changes up to this position were sent or are not needed.
    read_to: Sequence,
}

/// Reads existing changes from the log, then new ones from the channel.
pub struct Listener {
    feed: ChangeFeed,
    caller: Caller,
    sent: Sequence,
    /// The last position that the caller may know.
    pub position: Sequence,
    /// Changes that the caller may not see.
    unjudged: Vec<Arc<SharedChange>>,
    ready: VecDeque<SeenChange>,
    live: Option<Receiver<Arc<SharedChange>>>,
}

#[derive(Debug)]
pub struct TooSlow;

pub fn require_own(after: Option<ChangeCursor>, history: HistoryHash) -> Result<()> {
    if after.is_none_or(|after| after.history == history) {
        return Ok(());
    }
    let detail = "The position belongs to another store, or to a lost state of this one. Read the collections again, and start without a position.";
    Err(Problem::new(&kinds::ANOTHER_HISTORY, detail))
}

impl ChangeFeed {
    pub fn new(service: ChangeService) -> Self {
        Self { service, live: Arc::default() }
    }

    pub fn lag(&self) -> usize {
        self.live.lock().as_ref().map_or(0, |live| live.sender.len())
    }

    /// Starts after a change, or at the end of the log. `BeyondLog` if the log ends before that
    /// change.
    pub async fn listen(
        &self,
        caller: Caller,
        after: Option<Sequence>,
    ) -> Result<Listener, ApplicationError> {
        let (sent, position) = self.service.begin(&caller, after).await?;
        let (unjudged, ready) = (Vec::new(), VecDeque::new());
        Ok(Listener { feed: self.clone(), caller, sent, position, unjudged, ready, live: None })
    }

    async fn subscribe(&self) -> Result<(Receiver<Arc<SharedChange>>, Sequence), ApplicationError> {
        let last = self.service.last().await?;
        let mut live = self.live.lock();
        if let Some(Live { sender, read_to }) = live.as_ref() {
            return Ok((sender.subscribe(), *read_to));
        }
        let (sender, receiver) = channel(BUFFERED);
        *live = Some(Live { sender, read_to: last });
        tokio::spawn(self.clone().follow(last));
        Ok((receiver, last))
    }

    /// Runs until there are no listeners.
    async fn follow(self, mut read_to: Sequence) {
        loop {
            match self.service.follow_for_all(read_to, AT_A_TIME).await {
                Ok(page) => {
                    read_to = page.read_to;
                    let was_all = page.changes.is_empty();
                    if !self.send(page) {
                        return;
                    }
                    if was_all {
                        sleep(PAUSE).await;
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot read the change log; retrying");
                    sleep(PAUSE_AFTER_FAILURE).await;
                }
            }
        }
    }

    fn send(&self, page: LogPage) -> bool {
        let mut live = self.live.lock();
        let Some(open) = live.as_mut().filter(|live| live.sender.receiver_count() > 0) else {
            *live = None;
            return false;
        };
        for change in page.changes {
            // An error means that the last listener left. The next call detects that.
            let _ = open.sender.send(SharedChange::new(change));
        }
        open.read_to = page.read_to;
        true
    }

    async fn judge(
        &self,
        caller: &Caller,
        unjudged: &[Arc<SharedChange>],
    ) -> Result<Vec<SeenChange>, ApplicationError> {
        let [one] = unjudged else {
            let changes = unjudged.iter().map(|it| it.change.clone()).collect();
            return self.service.seen(caller, changes).await;
        };
        let Some(reach) = self.service.reach(caller, one.change.collection) else {
            return Ok(Vec::new());
        };
        let judge = async || {
            let seen = self.service.seen(caller, vec![one.change.clone()]).await?;
            Ok::<_, ApplicationError>(seen.into_iter().next())
        };
        let seen = match one.judgement(reach) {
            Some(shared) => shared.get_or_try_init(judge).await?.clone(),
            None => judge().await?,
        };
        Ok(seen.into_iter().collect())
    }
}

impl SharedChange {
    fn new(change: LoggedChange) -> Arc<Self> {
        Arc::new(Self { change, judgements: Mutex::default() })
    }

    /// Returns the shared judgement; `None` for a new reach beyond the limit.
    fn judgement(&self, reach: Reach) -> Option<Arc<OnceCell<Option<SeenChange>>>> {
        let mut judgements = self.judgements.lock();
        if judgements.len() < MOST_JUDGEMENTS {
            return Some(Arc::clone(judgements.entry(reach).or_default()));
        }
        judgements.get(&reach).cloned()
    }
}

impl Listener {
    /// Cancel-safe. Skips changes that the caller may not see.
    pub async fn next(&mut self) -> Result<SeenChange, TooSlow> {
        loop {
            if let Some(seen) = self.ready.pop_front() {
                self.position = seen.change.sequence;
                return Ok(seen);
            }
            // A waiting stream keeps no buffer.
            self.ready = VecDeque::new();
            if !self.unjudged.is_empty() {
                match self.feed.judge(&self.caller, &self.unjudged).await {
                    Ok(seen) => {
                        self.unjudged = Vec::new();
                        self.ready = seen.into();
                    }
                    Err(error) => retry_after(&error).await,
                }
                continue;
            }
            match &mut self.live {
                None => {
                    if let Err(error) = self.catch_up().await {
                        retry_after(&error).await;
                    }
                }
                Some(live) => match live.recv().await {
                    Ok(unjudged) if unjudged.change.sequence > self.sent => {
                        self.sent = unjudged.change.sequence;
                        self.unjudged.push(unjudged);
                    }
                    // Sent from the log already.
                    Ok(_) => {}
                    // A listener reads a burst from the log, unless it is too far behind.
                    Err(RecvError::Lagged(missed)) if missed > MOST_MISSED => {
                        return Err(TooSlow);
                    }
                    Err(RecvError::Lagged(_) | RecvError::Closed) => self.live = None,
                },
            }
        }
    }

    /// At the end of the log it subscribes first and then reads the changes in between. If these
    /// exceed a page, it continues to read.
    async fn catch_up(&mut self) -> Result<(), ApplicationError> {
        let mut page = self.read().await?;
        if page.changes.is_empty() {
            let (live, sent_from) = self.feed.subscribe().await?;
            page = self.read().await?;
            self.live = Some(live).filter(|_| page.read_to >= sent_from);
        }
        self.sent = page.changes.last().map_or(self.sent, |change| change.sequence);
        self.unjudged = page.changes.into_iter().map(SharedChange::new).collect();
        Ok(())
    }

    async fn read(&self) -> Result<LogPage, ApplicationError> {
        self.feed.service.follow_for_all(self.sent, AT_A_TIME).await
    }
}

async fn retry_after(error: &ApplicationError) {
    tracing::debug!(%error, "cannot read the change log; retrying");
    sleep(PAUSE_AFTER_FAILURE).await;
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::atomic::{AtomicI64, Ordering};

    use application::ports::{Access, MockCallerDirectory, MockHistory, MockPolicies, Permissions};
    use application::{
        AccessControl, ChangeAuthor, ChangeLog, NoPolicies, Policies, ReachedVersion,
        RepositoryError,
    };
    use async_trait::async_trait;
    use domain::predicate::{Operand, Test};
    use domain::{Collection, ItemId, Operation, Operations, Predicate, Version, WriteOperation};
    use jiff::Timestamp;
    use uuid::Uuid;

    use super::*;

    struct Counter(AtomicI64);

    #[async_trait]
    impl ChangeLog for Counter {
        async fn changes(
            &self,
            after: Sequence,
            _: Option<Collection>,
            limit: u64,
        ) -> Result<LogPage, RepositoryError> {
            let last = self.0.load(Ordering::SeqCst).min(after.0.saturating_add_unsigned(limit));
            let changes: Vec<_> = (after.0 + 1..=last).map(change).collect();
            let read_to = changes.last().map_or(after, |change| change.sequence);
            Ok(LogPage { changes, read_to })
        }

        async fn latest(
            &self,
            _: Collection,
            _: bool,
            _: Sequence,
            _: u64,
        ) -> Result<Vec<LoggedChange>, RepositoryError> {
            Ok(Vec::new())
        }

        fn history_id(&self) -> Arc<str> {
            "h".into()
        }

        async fn last(&self) -> Result<Sequence, RepositoryError> {
            Ok(Sequence(self.0.load(Ordering::SeqCst)))
        }
    }

    fn change(sequence: i64) -> LoggedChange {
        LoggedChange {
            sequence: Sequence(sequence),
            collection: Collection::known("files"),
            item: ItemId::from_uuid(Uuid::nil()),
            version: Version::FIRST,
            kind: WriteOperation::Create,
            time: Timestamp::UNIX_EPOCH,
            author: ChangeAuthor::default(),
            removed_at: None,
        }
    }

    fn feed(changes: i64) -> (ChangeFeed, Arc<Counter>) {
        feed_under(Arc::new(NoPolicies::Open), MockHistory::new(), changes)
    }

    fn feed_under(
        policies: Arc<dyn Policies>,
        history: MockHistory,
        changes: i64,
    ) -> (ChangeFeed, Arc<Counter>) {
        let log = Arc::new(Counter(AtomicI64::new(changes)));
        let names = Arc::new(MockCallerDirectory::new());
        let (access, history) = (AccessControl::new(policies), Arc::new(history));
        let service = ChangeService::new(Arc::<Counter>::clone(&log), history, names, access);
        (ChangeFeed::new(service), log)
    }

    #[tokio::test(start_paused = true)]
    async fn no_change_is_missed_or_repeated_at_the_end_of_the_log() {
        let (feed, log) = feed(0);
        let writer = tokio::spawn(async move {
            for _ in 0..2_000 {
                log.0.fetch_add(1, Ordering::SeqCst);
                sleep(Duration::from_micros(700)).await;
            }
        });
        let listeners: Vec<_> = (0..8)
            .map(|start| {
                let feed = feed.clone();
                tokio::spawn(async move {
                    sleep(Duration::from_millis(100 * start)).await;
                    let mut listener =
                        feed.listen(Caller::Anonymous, Some(Sequence(0))).await.unwrap();
                    let mut seen = BTreeSet::new();
                    while seen.len() < 2_000 {
                        let sequence = listener.next().await.unwrap().change.sequence;
                        assert!(seen.insert(sequence), "{sequence:?} twice");
                        assert_eq!(sequence.0, i64::try_from(seen.len()).unwrap());
                    }
                })
            })
            .collect();
        writer.await.unwrap();
        for listener in listeners {
            listener.await.unwrap();
        }
    }

    /// A listener that received everything, and then pauses while this number of changes is made.
    async fn after_a_pause(changes: i64) -> (Listener, Arc<Counter>) {
        let (feed, log) = feed(1);
        let mut listener = feed.listen(Caller::Anonymous, Some(Sequence(0))).await.unwrap();
        assert_eq!(listener.next().await.unwrap().change.sequence, Sequence(1));
        let waiting = tokio::time::timeout(Duration::from_secs(1), listener.next()).await;
        assert!(waiting.is_err(), "there is nothing to tell");
        log.0.fetch_add(changes, Ordering::SeqCst);
        sleep(Duration::from_secs(5)).await;
        (listener, log)
    }

    #[tokio::test(start_paused = true)]
    async fn many_changes_at_once_are_read_from_the_log() {
        let (mut listener, _log) = after_a_pause(5_000).await;
        for expected in 2..=5_001 {
            assert_eq!(listener.next().await.unwrap().change.sequence, Sequence(expected));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_listener_who_does_not_listen_is_cut_off() {
        let (mut listener, _log) = after_a_pause(200_000).await;
        assert!(matches!(listener.next().await, Err(TooSlow)));
    }

    #[tokio::test(start_paused = true)]
    async fn listeners_with_the_same_reach_share_a_judgement() {
        let mut policies = MockPolicies::new();
        policies.expect_permissions().returning(|_| {
            let has_color = Predicate::Test(Operand::member("color"), Test::Exists);
            let mut access = Access::uniform(Operations::NONE);
            access.items[Operation::Read as usize] = Arc::new(has_color);
            Permissions::new(Collection::all().map(|_| access.clone()))
        });
        let mut history = MockHistory::new();
        let judge = history.expect_versions_in_reach().times(1);
        judge.returning(|_, versions| {
            let reached = |&(item, version)| ReachedVersion { item, version, shows_author: true };
            Ok(versions.iter().map(reached).collect())
        });
        let (feed, log) = feed_under(Arc::new(policies), history, 0);
        let mut listeners = Vec::new();
        for _ in 0..8 {
            let mut listener = feed.listen(Caller::Anonymous, None).await.unwrap();
            let next = tokio::time::timeout(Duration::from_secs(1), listener.next());
            assert!(next.await.is_err(), "there is nothing to tell");
            listeners.push(listener);
        }
        log.0.fetch_add(1, Ordering::SeqCst);
        for mut listener in listeners {
            assert_eq!(listener.next().await.unwrap().change.sequence, Sequence(1));
        }
    }

    #[tokio::test]
    async fn listening_beyond_the_log_is_refused() {
        let beyond = feed(7).0.listen(Caller::Anonymous, Some(Sequence(8))).await;
        assert!(matches!(beyond, Err(ApplicationError::BeyondLog)));
    }

    #[tokio::test(start_paused = true)]
    async fn the_log_is_read_only_for_listeners() {
        let (feed, log) = feed(1);
        let mut listener = feed.listen(Caller::Anonymous, None).await.unwrap();
        log.0.fetch_add(1, Ordering::SeqCst);
        listener.next().await.unwrap();
        let _ = tokio::time::timeout(Duration::from_secs(1), listener.next()).await;
        assert!(feed.live.lock().is_some());
        drop(listener);
        sleep(Duration::from_secs(1)).await;
        assert!(feed.live.lock().is_none());
    }
}
