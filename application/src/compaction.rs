//! The compaction of old versions by a retention policy, in steps.
//!
//! A pass examines the change log from its beginning. Each step is idempotent, so a pass can stop
//! anywhere and continue later, in another process too.

use std::collections::HashSet;
use std::sync::Arc;

use domain::{ItemId, RetentionPolicy, VersionAge};
use jiff::SignedDuration;
use jiff::tz::TimeZone;

use crate::ports::{
    Clock, CompactionLease, CompactionProgress, LegalHolds, Result, Sequence, SupersededVersion,
    VersionBodies,
};

/// The changes of one step. It removes their bodies in one transaction, which must not delay writes
/// for long.
const CHANGES_OF_A_STEP: u64 = 500;

/// The time after which another worker takes over from a silent worker.
const LEASE: SignedDuration = SignedDuration::from_secs(10);

const INTERVAL: SignedDuration = SignedDuration::from_hours(24);

/// The limit of names in a warning.
const MOST_NAMED: usize = 20;

#[derive(Clone)]
pub struct Compaction {
    pub bodies: Arc<dyn VersionBodies>,
    pub holds: Arc<dyn LegalHolds>,
    pub clock: Arc<dyn Clock>,
    pub policy: RetentionPolicy,
    /// The time zone in which days begin.
    pub zone: TimeZone,
    pub worker: Box<str>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactionStep {
    pub removed: u64,
    pub bytes: u64,
    /// Old bodies that only a legal hold keeps.
    pub held: u64,
    /// The last change examined; `None` at the end of the log.
    pub read_to: Option<Sequence>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactionOutcome {
    Busy,
    NotDue,
    Done(CompactionStep),
}

impl Compaction {
    /// Runs the next step if a pass is due: a day after the last pass, or when the policy changed.
    /// With `from`, runs the step after that change, even if it is not due.
    pub async fn advance(&self, from: Option<Sequence>) -> Result<CompactionOutcome> {
        let now = self.clock.now();
        let until = now.checked_add(LEASE).unwrap_or(now);
        let lease = CompactionLease { holder: self.worker.clone(), now, until };
        let Some(found) = self.bodies.lease(&lease).await? else {
            return Ok(CompactionOutcome::Busy);
        };
        let policy: Box<str> = self.policy.to_string().into();
        let from = from.or_else(|| (found.policy != policy).then_some(Sequence(0)));
        let Some(after) = from.or_else(|| (found.begins <= now).then_some(found.after)) else {
            self.bodies.advance(&self.worker, &found, true).await?;
            return Ok(CompactionOutcome::NotDue);
        };
        let step = self.step(after, false).await?;
        let progress = if let Some(after) = step.read_to {
            CompactionProgress { policy, after, begins: now }
        } else {
            let begins = now.checked_add(INTERVAL).unwrap_or(now);
            CompactionProgress { policy, after: Sequence(0), begins }
        };
        let is_end = step.read_to.is_none();
        self.bodies.advance(&self.worker, &progress, is_end).await?;
        if is_end {
            let count = self.bodies.release_contents(now).await?;
            tracing::debug!(count, "released contents that no version has any more");
        }
        Ok(CompactionOutcome::Done(step))
    }

    /// Examines the next changes and removes the bodies that the policy does not keep. A dry run
    /// only counts them.
    pub async fn step(&self, after: Sequence, is_dry_run: bool) -> Result<CompactionStep> {
        if after == Sequence(0) {
            self.warn_of_unknown_holds().await?;
        }
        let now = self.clock.now();
        let retention = self.policy.at(now, self.zone.clone());
        let page = self.bodies.superseded(after, retention.kept_since(), CHANGES_OF_A_STEP).await?;
        let age = |version: &SupersededVersion, is_held| VersionAge {
            written: version.written,
            superseded: Some(version.superseded),
            is_held,
        };
        let mut old = page.versions;
        old.retain(|version| !retention.keeps(&age(version, false)));
        let found = old.len();
        let held = self.held_among(&old).await?;
        old.retain(|version| !retention.keeps(&age(version, held.contains(&version.item))));
        let changes: Vec<_> = old.iter().map(|version| version.change).collect();
        let removed = if is_dry_run || changes.is_empty() {
            changes.len() as u64
        } else {
            self.bodies.remove(&changes, now).await?
        };
        Ok(CompactionStep {
            removed,
            bytes: old.iter().map(|version| version.bytes).sum(),
            held: (found - old.len()) as u64,
            read_to: page.read_to,
        })
    }

    /// Returns the items with a hold: the named ones, and those that belong or refer to a held
    /// item, also indirectly.
    async fn held_among(&self, versions: &[SupersededVersion]) -> Result<HashSet<ItemId>> {
        let holds = self.holds.items();
        let mut reached: HashSet<_> = versions.iter().map(|version| version.item).collect();
        if holds.is_empty() || reached.is_empty() {
            return Ok(HashSet::new());
        }
        let mut links = Vec::new();
        let mut next: Vec<_> = reached.iter().copied().collect();
        while !next.is_empty() {
            let found = self.bodies.related(&next).await?;
            next = found.iter().map(|[_, to]| *to).filter(|to| reached.insert(*to)).collect();
            links.extend(found);
        }
        let mut held: HashSet<_> = reached.intersection(&holds).copied().collect();
        loop {
            let known = held.len();
            let linked = links.iter().filter(|[_, to]| held.contains(to)).map(|[from, _]| *from);
            let linked: Vec<_> = linked.collect();
            held.extend(linked);
            if held.len() == known {
                return Ok(held);
            }
        }
    }

    async fn warn_of_unknown_holds(&self) -> Result<()> {
        let holds = self.holds.items();
        let named: Vec<_> = holds.iter().copied().collect();
        if named.is_empty() {
            return Ok(());
        }
        let known: HashSet<_> = self.bodies.known(&named).await?.into_iter().collect();
        let mut unknown: Vec<_> = named.into_iter().filter(|id| !known.contains(id)).collect();
        unknown.sort();
        let named: Vec<_> = unknown.iter().take(MOST_NAMED).map(ToString::to_string).collect();
        if !named.is_empty() {
            tracing::warn!(
                count = unknown.len(),
                ids = named.join(", "),
                "legal holds name items that never existed; correct their ids"
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use domain::{RetentionTime, ThinningSchedule};
    use jiff::Timestamp;
    use uuid::Uuid;

    use super::*;
    use crate::ports::{MockClock, MockLegalHolds, MockVersionBodies, SupersededPage};

    const NOW: i64 = 1_700_000_000;

    fn id(number: u128) -> ItemId {
        ItemId::from_uuid(Uuid::from_u128(number))
    }

    fn compaction(bodies: MockVersionBodies, holds: &[ItemId]) -> Compaction {
        let mut clock = MockClock::new();
        clock.expect_now().return_const(Timestamp::from_second(NOW).unwrap());
        let (mut named, items) = (MockLegalHolds::new(), Arc::new(holds.iter().copied().collect()));
        named.expect_items().returning(move || Arc::clone(&items));
        Compaction {
            bodies: Arc::new(bodies),
            holds: Arc::new(named),
            clock: Arc::new(clock),
            policy: RetentionPolicy::new(Some(RetentionTime::ONE_DAY), ThinningSchedule::default())
                .unwrap(),
            zone: TimeZone::UTC,
            worker: "a".into(),
        }
    }

    /// The versions of items, in the order of the log.
    fn page(items: &[u128]) -> SupersededPage {
        let version = |(change, item): (i64, &u128)| SupersededVersion {
            change: Sequence(change),
            item: id(*item),
            written: Timestamp::UNIX_EPOCH,
            superseded: Timestamp::UNIX_EPOCH,
            bytes: 10,
        };
        SupersededPage { versions: (1..).zip(items).map(version).collect(), read_to: None }
    }

    #[tokio::test]
    async fn a_hold_reaches_what_belongs_or_refers_to_what_it_names() {
        let mut bodies = MockVersionBodies::new();
        bodies.expect_known().returning(|named| Ok(named.to_vec()));
        bodies.expect_superseded().returning(|_, _, _| Ok(page(&[1, 2, 3, 4, 3])));
        // 2 belongs to 1, which refers to 9; 3 and 4 refer to each other.
        bodies.expect_related().returning(|items| {
            let links = [[2, 1], [1, 9], [3, 4], [4, 3]].map(|pair| pair.map(id));
            Ok(links.into_iter().filter(|[from, _]| items.contains(from)).collect())
        });
        bodies.expect_remove().once().returning(|changes, _| {
            assert_eq!(changes, [3, 4, 5].map(Sequence));
            Ok(3)
        });
        let step = compaction(bodies, &[id(9), id(10)]).step(Sequence(0), false).await.unwrap();
        assert_eq!(step, CompactionStep { removed: 3, bytes: 30, held: 2, read_to: None });
    }

    #[tokio::test]
    async fn a_pass_continues_where_it_was_and_begins_again_with_another_policy() {
        let now = Timestamp::from_second(NOW).unwrap();
        let tomorrow = now + INTERVAL;
        for (found, from, expected) in [
            (Some(("1d", 7, now)), None, Some(7)),
            (Some(("1d", 7, tomorrow)), None, None),
            (Some(("2d", 7, tomorrow)), None, Some(0)),
            (Some(("1d", 7, tomorrow)), Some(3), Some(3)),
            (None, Some(3), None),
        ] {
            let mut bodies = MockVersionBodies::new();
            bodies.expect_lease().once().returning(move |_| {
                Ok(found.map(|(policy, after, begins)| CompactionProgress {
                    policy: policy.into(),
                    after: Sequence(after),
                    begins,
                }))
            });
            bodies.expect_superseded().returning(move |after, _, _| {
                assert_eq!(Some(after.0), expected);
                Ok(SupersededPage::default())
            });
            bodies.expect_advance().returning(move |_, progress, is_released| {
                assert!(is_released && (expected.is_none() || progress.begins == tomorrow));
                Ok(())
            });
            bodies.expect_release_contents().returning(|_| Ok(0));
            let outcome = compaction(bodies, &[]).advance(from.map(Sequence)).await.unwrap();
            match outcome {
                CompactionOutcome::Busy => assert_eq!(found, None),
                CompactionOutcome::NotDue => assert!(expected.is_none() && found.is_some()),
                CompactionOutcome::Done(_) => assert!(expected.is_some()),
            }
        }
    }
}
