//! The writes of many tasks, done again in the model in the order of the change log.
//!
//! A write that was made must be possible at the place of its changes in the log. A write that was
//! refused, and a read, must be right at some place that was the end of the log during it: after
//! the last change of the operations that had ended before it began, and before the first change of
//! those that began after it had ended. Writes to other items do not count there: they run at the
//! same time, so one may be committed before another that is earlier in the log.

use std::collections::{HashMap, HashSet};

use application::{LoggedChange, Replacement, RepositoryError, Scope};
use domain::{Item, ItemId, Version};

use super::state::{Effect, Model};
use super::write::{Change, Write, Written};

/// An operation of a task, and the moments of a common clock between which it was done.
#[derive(Debug)]
pub struct Event {
    pub begun: u64,
    pub ended: u64,
    pub operation: Operation,
}

#[derive(Debug)]
pub enum Operation {
    Write(Box<Write>, Result<Written, RepositoryError>),
    Find(Scope, ItemId, Option<Item>),
}

/// The operations, and the model that does them again.
#[derive(Default)]
pub struct Replay {
    pub model: Model,
    pub events: Vec<Event>,
    /// The place of the first and the last change of each write.
    spans: HashMap<usize, (usize, usize)>,
    written_items: HashMap<usize, HashSet<ItemId>>,
    /// The changes of a write that have not come in the log yet.
    pending: HashMap<usize, Vec<Effect>>,
}

impl Replay {
    /// Returns the state to which the log leads.
    ///
    /// # Panics
    /// When it does not explain every answer.
    pub fn explain(mut self, log: &[LoggedChange]) -> Model {
        let writers: Vec<_> = self.writers(log);
        for (place, writer) in writers.iter().enumerate() {
            let span = self.spans.entry(*writer).or_insert((place, place));
            span.1 = place;
            self.written_items.entry(*writer).or_default().insert(log[place].item);
        }
        self.assert_real_order(log);
        let mut open: Vec<_> = (0..self.events.len())
            .filter(|event| !self.spans.contains_key(event))
            .map(|event| (event, self.window(event, log.len())))
            .collect();
        let changes = writers.iter().zip(log).map(Some).chain([None]);
        for (place, change) in changes.enumerate() {
            open.retain(|(event, (from, to))| {
                if place < *from || self.is_right(&self.events[*event].operation) {
                    return place < *from;
                }
                assert!(place < *to, "not explained by the log: {:?}", self.events[*event]);
                true
            });
            if let Some((writer, change)) = change {
                self.replay(*writer, change);
            }
        }
        let left: Vec<_> = self.pending.values().flatten().collect();
        assert!(left.is_empty(), "not logged: {left:?}");
        self.model
    }

    /// The event that made each change of the log.
    fn writers(&self, log: &[LoggedChange]) -> Vec<usize> {
        let mut by_version = HashMap::new();
        let mut by_time = HashMap::new();
        for (event, write, written) in self.written() {
            for version in versions(write, written) {
                let known = by_version.insert(version, event);
                assert_eq!(known, None, "{version:?} was written twice");
            }
            if let Written::Collection(written) = written {
                by_time.insert(written.time, event);
            }
        }
        let mut parents = HashMap::new();
        for (_, write, written) in self.written() {
            if let (Change::Insert(scope, _), Written::Item(shown)) = (&write.change, written) {
                parents.extend(scope.parent.map(|parent| (shown.item.id, parent)));
            }
        }
        let mut deleted: HashMap<_, Vec<_>> = HashMap::new();
        for (event, write, _) in self.written() {
            if let Change::Delete(_, id, expected) = write.change {
                let own = log
                    .iter()
                    .find(|change| (change.item, change.version) == (id, expected.next()));
                deleted.entry(id).or_default().push((own.expect("it is logged").time, event));
            }
        }
        let writer = |change: &LoggedChange| {
            let own = by_version.get(&(change.item, change.version)).copied();
            let with_parent = || {
                let of_parent = deleted.get(parents.get(&change.item)?)?;
                of_parent.iter().find(|(time, _)| *time == change.time).map(|(_, event)| *event)
            };
            let by_replacement = || by_time.get(&change.time).copied();
            let writer = own.or_else(with_parent).or_else(by_replacement);
            writer.unwrap_or_else(|| panic!("no operation wrote {change:?}"))
        };
        log.iter().map(writer).collect()
    }

    fn written(&self) -> impl Iterator<Item = (usize, &Write, &Written)> {
        let events = self.events.iter().enumerate();
        events.filter_map(|(event, Event { operation, .. })| match operation {
            Operation::Write(write, Ok(written)) => Some((event, &**write, written)),
            _ => None,
        })
    }

    /// Asserts that what ended before something else began has lower numbers and earlier times.
    fn assert_real_order(&self, log: &[LoggedChange]) {
        for (event, (first, _)) in &self.spans {
            let begun = self.events[*event].begun;
            for (other, (_, last)) in &self.spans {
                if self.events[*other].ended < begun {
                    let (before, after) = (&log[*last], &log[*first]);
                    assert!(last < first, "{after:?} was begun after {before:?} was made");
                    assert!(before.time < after.time, "{after:?} is later than {before:?}");
                }
            }
        }
    }

    /// The places that may have been the end of the log during an event.
    fn window(&self, event: usize, end: usize) -> (usize, usize) {
        let Event { begun, ended, ref operation } = self.events[event];
        let spans = || {
            let spans = self.spans.iter().filter(|(other, _)| self.depends(operation, **other));
            spans.map(|(other, span)| (&self.events[*other], span))
        };
        let before = spans().filter(|(other, _)| other.ended < begun);
        let after = spans().filter(|(other, _)| other.begun > ended);
        let from = before.map(|(_, (_, last))| last + 1).max().unwrap_or_default();
        (from, after.map(|(_, (first, _))| *first).min().unwrap_or(end))
    }

    /// Returns whether the answer to an operation depends on another write. One with a read set, or
    /// of a whole collection, is decided when no other is in progress.
    fn depends(&self, operation: &Operation, other: usize) -> bool {
        let is_written = |id: &ItemId| self.written_items[&other].contains(id);
        let write = match operation {
            Operation::Find(_, id, _) => return is_written(id),
            Operation::Write(write, _) => write,
        };
        let key = write.metadata.key_identity();
        let has_same_key = match &self.events[other].operation {
            Operation::Write(other, _) => key.is_some() && other.metadata.key_identity() == key,
            Operation::Find(..) => false,
        };
        let depends = match &write.change {
            Change::Insert(scope, item) | Change::Restore(scope, item) => {
                [Some(item.id), scope.parent, item.continues].iter().flatten().any(is_written)
            }
            Change::Update(scope, Replacement { id, .. }, _) | Change::Delete(scope, id, _) => {
                [Some(*id), scope.parent].iter().flatten().any(is_written)
            }
            Change::WriteAll(..) | Change::ReplaceAll(..) => true,
        };
        depends || has_same_key || !write.metadata.read_set.is_empty()
    }

    /// Returns whether the answer to an operation that left no change would be right now.
    fn is_right(&self, operation: &Operation) -> bool {
        match operation {
            Operation::Find(scope, id, found) => self.model.find(*scope, *id) == *found,
            Operation::Write(write, Err(error)) => self.model.refusals(write).contains(error),
            Operation::Write(write, Ok(_)) => {
                self.model.refusals(write).is_empty() && self.model.effects(write).is_empty()
            }
        }
    }

    fn replay(&mut self, writer: usize, change: &LoggedChange) {
        let Operation::Write(write, Ok(written)) = &self.events[writer].operation else {
            panic!("{change:?} is of a write that was refused");
        };
        let pending = self.pending.entry(writer).or_insert_with(|| {
            let refusals = self.model.refusals(write);
            assert!(refusals.is_empty(), "{refusals:?} at {change:?}, and yet: {write:?}");
            self.model.effects(write)
        });
        let logged = pending.iter().position(|effect| effect.is(change));
        let index = logged.unwrap_or_else(|| panic!("{change:?} is not of {write:?}"));
        let effect = pending.swap_remove(index);
        self.model.apply(&effect, change);
        if let Written::Item(shown) = written {
            let scope = Scope::of(change.collection);
            let now = self.model.find(scope, change.item);
            assert_eq!(Some(&shown.item), now.as_ref(), "the answer to {write:?}");
            let kind = change.kind;
            self.model.remember(&write.metadata, kind, shown);
        }
    }
}

fn versions(write: &Write, written: &Written) -> Vec<(ItemId, Version)> {
    match (&write.change, written) {
        (_, Written::Item(shown)) => vec![(shown.item.id, shown.item.version)],
        (Change::Delete(_, id, expected), _) => vec![(*id, expected.next())],
        (Change::ReplaceAll(_, content), _) => {
            let updates = content.replacements.iter();
            let updates = updates.map(|update| (update.id, update.expected.next()));
            let additions = content.additions.iter().map(|item| (item.id, Version::FIRST));
            updates.chain(additions).collect()
        }
        (change, written) => panic!("{written:?} is no answer to {change:?}"),
    }
}
