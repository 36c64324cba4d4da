//! Validates that the changes of a file can follow each other. The checks are the same for every
//! store the changes are to be written to, and for a dry run.
//!
//! The rules of the business are not judged, because what was once accepted is history. The
//! validator knows of every item its last version, in an `SQLite` database of its own that is made
//! in the folder for temporary files and is gone with the process: memory does not grow with the
//! number of items.

use application::maintenance::{ChangeRecord, CheckedChange, CollectionSummary};
use application::{ChangeKind, Sequence};
use domain::{Collection, ItemId, Version};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};
use thiserror::Error;
use uuid::Uuid;

use super::CopyError;

/// `since` is when the item was first created; `ended` when it was deleted, if it is.
const TABLE: &str = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = FILE; PRAGMA cache_size = -8192;
    CREATE TABLE known (id BLOB PRIMARY KEY, collection TEXT NOT NULL, version BIGINT NOT NULL, since BIGINT NOT NULL, \
    ended BIGINT NULL, parent BLOB NULL, predecessor BLOB NULL, line BIGINT NOT NULL) WITHOUT ROWID;
    BEGIN";

const FIND: &str =
    "SELECT collection, version, since, ended, parent, predecessor FROM known WHERE id = ?1";

const KEEP: &str = "INSERT OR REPLACE INTO known VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";

const LEFT_BEHIND: &str = "SELECT k.line, k.id, k.parent FROM known k LEFT JOIN known p ON p.id = k.parent \
                           WHERE k.parent IS NOT NULL AND k.ended IS NULL AND (p.id IS NULL OR p.ended IS NOT NULL) ORDER BY k.line LIMIT ?1";

const COUNT: &str = "SELECT collection, COUNT(*) - COUNT(ended), COUNT(ended) FROM known GROUP BY collection ORDER BY collection";

const STEP: &str = "check the changes in the folder for temporary files";

/// Why a change cannot follow those before it, and how to fix that.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(super) enum HistoryError {
    /// The log would not be in order.
    #[error(
        "`sequence` {found} comes after {last}: numbers must grow from line to line; put the lines in their order"
    )]
    Sequence {
        /// The number told.
        found: i64,
        /// The one before.
        last: i64,
    },
    /// Time would go back.
    #[error(
        "`time` {found} is before {last} of an earlier line: times must not go back; put the lines in their order"
    )]
    Time {
        /// The time told.
        found: Timestamp,
        /// The latest before.
        last: Timestamp,
    },
    /// The version is not the next.
    #[error("`version` {found} of {item} comes where version {expected} is expected: versions count up by one from 1; {}", missing_or_twice(*found, *expected))]
    Version {
        /// The item.
        item: ItemId,
        /// The version told.
        found: i64,
        /// The next version of the item.
        expected: i64,
    },
    /// What is not there cannot be deleted.
    #[error(
        "{item} is deleted where it does not exist; remove the line, or put back the one that created it"
    )]
    NothingToDelete {
        /// The item.
        item: ItemId,
    },
    /// What exists is not created, and what does not is nothing else.
    #[error(
        "`kind` {kind} of {item} does not go with what was before: it is `created` where the item does not exist, another where it does"
    )]
    Kind {
        /// The item.
        item: ItemId,
        /// The kind told.
        kind: &'static str,
    },
    /// An identifier names one item of one group.
    #[error("{item} is in the group `{known}` before; an item cannot move to `{found}`")]
    Moved {
        /// The item.
        item: ItemId,
        /// The collection told.
        found: &'static str,
        /// The collection it was in.
        known: String,
    },
    /// What an item belongs to and continues is decided when it is created.
    #[error(
        "`{member}` of {item} differs from what it was before; an item keeps it while it exists"
    )]
    Relinked {
        /// The item.
        item: ItemId,
        /// `parent` or `continues`.
        member: &'static str,
    },
    /// The group's items belong to nothing.
    #[error("`parent` is given, but items of `{0}` belong to no other item; make it null")]
    NoOwner(&'static str),
    /// The parent is not there.
    #[error(
        "`parent` names {parent}, which does not exist there as an item of `{owner}`; its line must come first"
    )]
    ParentMissing {
        /// The item named.
        parent: ItemId,
        /// The collection it should be in.
        owner: &'static str,
    },
    /// The parent was deleted, and the item was not.
    #[error(
        "{item} is left without {parent}, which it belongs to: whatever belongs to an item is deleted with it; put back the missing line"
    )]
    LeftBehind {
        /// The item.
        item: ItemId,
        /// What it belongs to.
        parent: ItemId,
    },
    /// The item it continues was never there.
    #[error(
        "`continues` names {continues}, which no earlier line creates in `{collection}`; its line must come first"
    )]
    PredecessorMissing {
        /// The item named.
        continues: ItemId,
        /// Where it should be.
        collection: &'static str,
    },
}

fn missing_or_twice(found: i64, expected: i64) -> &'static str {
    if found < expected {
        "the line stands twice, or is not in its place"
    } else {
        "a line is missing, or is not in its place"
    }
}

/// What is known of an item.
struct Known {
    collection: String,
    version: i64,
    since: i64,
    ended: Option<i64>,
    parent: Option<Uuid>,
    predecessor: Option<Uuid>,
}

/// Checks changes one after the other.
pub(super) struct SqliteHistoryValidator {
    scratch: Connection,
    last: Option<(Sequence, Timestamp)>,
}

impl SqliteHistoryValidator {
    /// A validator that has seen no changes.
    ///
    /// # Errors
    /// Where there is no room for temporary files.
    pub fn new() -> Result<Self, CopyError> {
        // A database without a name is a temporary file.
        let scratch = Connection::open("").map_err(CopyError::sqlite(STEP))?;
        scratch.execute_batch(TABLE).map_err(CopyError::sqlite(STEP))?;
        Ok(Self { scratch, last: None })
    }

    /// Checks that a change can follow those before it. It is recorded in any case, so that one
    /// error is not reported for every line after it.
    ///
    /// # Errors
    /// Where there is no more room for temporary files.
    pub fn check(
        &mut self,
        line: u64,
        record: ChangeRecord,
    ) -> Result<Result<CheckedChange, HistoryError>, CopyError> {
        let failed = CopyError::sqlite(STEP);
        let known = self.find(record.item).map_err(&failed)?;
        let error = self.order(&record).or_else(|| version_error(&record, known.as_ref()));
        let error = match error {
            None => self.link_error(&record).map_err(&failed)?,
            found => found,
        };
        let since = known.map_or(record.time.as_microsecond(), |known| known.since);
        self.keep(line, &record, since).map_err(&failed)?;
        let latest = |(sequence, time): (Sequence, Timestamp)| {
            (sequence.max(record.sequence), time.max(record.time))
        };
        self.last = Some(self.last.map_or((record.sequence, record.time), latest));
        let created_at = Timestamp::from_microsecond(since).unwrap_or(record.time);
        Ok(error.map_or(Ok(CheckedChange { record, created_at }), Err))
    }

    /// What the last change leaves undone, by the line of the item, at most `limit`.
    ///
    /// # Errors
    /// When the temporary files cannot be read.
    pub fn left_behind(&self, limit: usize) -> Result<Vec<(u64, HistoryError)>, CopyError> {
        let found = |row: &rusqlite::Row<'_>| {
            let error = HistoryError::LeftBehind {
                item: ItemId::from_uuid(row.get(1)?),
                parent: ItemId::from_uuid(row.get(2)?),
            };
            Ok((row.get(0)?, error))
        };
        let mut statement = self.scratch.prepare(LEFT_BEHIND).map_err(CopyError::sqlite(STEP))?;
        let found = statement.query_map([limit], found).and_then(Iterator::collect);
        found.map_err(CopyError::sqlite(STEP))
    }

    /// How much was checked, by collection.
    ///
    /// # Errors
    /// When the temporary files cannot be read.
    pub fn summary(&self) -> Result<Vec<CollectionSummary>, CopyError> {
        let summary = |row: &rusqlite::Row<'_>| {
            Ok(CollectionSummary {
                collection: row.get(0)?,
                items: row.get(1)?,
                deleted: row.get(2)?,
            })
        };
        let mut statement = self.scratch.prepare(COUNT).map_err(CopyError::sqlite(STEP))?;
        let summaries = statement.query_map([], summary).and_then(Iterator::collect);
        summaries.map_err(CopyError::sqlite(STEP))
    }

    fn order(&self, record: &ChangeRecord) -> Option<HistoryError> {
        let (sequence, time) = self.last.unwrap_or((Sequence(0), Timestamp::MIN));
        if record.sequence <= sequence {
            return Some(HistoryError::Sequence { found: record.sequence.0, last: sequence.0 });
        }
        (record.time < time).then_some(HistoryError::Time { found: record.time, last: time })
    }

    fn link_error(&self, record: &ChangeRecord) -> rusqlite::Result<Option<HistoryError>> {
        let collection = record.collection.name();
        if let Some(parent) = record.parent {
            let Some(owner) = record.collection.parent().map(Collection::name) else {
                return Ok(Some(HistoryError::NoOwner(collection)));
            };
            let known = self.find(parent)?.filter(|known| known.collection == owner);
            if !known.is_some_and(|known| may_belong_to(record, &known)) {
                return Ok(Some(HistoryError::ParentMissing { parent, owner }));
            }
        }
        if let Some(continues) = record.continues
            && (continues == record.item
                || self.find(continues)?.is_none_or(|known| known.collection != collection))
        {
            return Ok(Some(HistoryError::PredecessorMissing { continues, collection }));
        }
        Ok(None)
    }

    fn find(&self, id: ItemId) -> rusqlite::Result<Option<Known>> {
        let known = |row: &rusqlite::Row<'_>| {
            Ok(Known {
                collection: row.get(0)?,
                version: row.get(1)?,
                since: row.get(2)?,
                ended: row.get(3)?,
                parent: row.get(4)?,
                predecessor: row.get(5)?,
            })
        };
        self.scratch.prepare_cached(FIND)?.query_row([id.uuid()], known).optional()
    }

    fn keep(&self, line: u64, record: &ChangeRecord, since: i64) -> rusqlite::Result<usize> {
        let ended = (record.kind == ChangeKind::Deleted).then_some(record.time.as_microsecond());
        let (parent, predecessor) =
            (record.parent.map(ItemId::uuid), record.continues.map(ItemId::uuid));
        let (id, collection, version) =
            (record.item.uuid(), record.collection.name(), record.version.number());
        self.scratch.prepare_cached(KEEP)?.execute(params![
            id,
            collection,
            version,
            since,
            ended,
            parent,
            predecessor,
            line
        ])
    }
}

/// What belongs to an item that is deleted is deleted in the same transaction, and so at the same
/// time, in any order.
fn may_belong_to(record: &ChangeRecord, parent: &Known) -> bool {
    parent.ended.is_none_or(|ended| {
        record.kind == ChangeKind::Deleted && ended == record.time.as_microsecond()
    })
}

/// What a change cannot do to the item as it was left by the changes before.
fn version_error(record: &ChangeRecord, known: Option<&Known>) -> Option<HistoryError> {
    let item = record.item;
    let (found, expected) = (
        record.version.number(),
        known.map_or(Version::FIRST.number(), |known| known.version.saturating_add(1)),
    );
    if found != expected {
        return Some(HistoryError::Version { item, found, expected });
    }
    let is_there = known.is_some_and(|known| known.ended.is_none());
    if record.kind == ChangeKind::Deleted && !is_there {
        return Some(HistoryError::NothingToDelete { item });
    }
    if (record.kind == ChangeKind::Created) == is_there && record.kind != ChangeKind::Deleted {
        return Some(HistoryError::Kind { item, kind: record.kind.name() });
    }
    let known = known?;
    if known.collection != record.collection.name() {
        return Some(HistoryError::Moved {
            item,
            found: record.collection.name(),
            known: known.collection.clone(),
        });
    }
    let links = [
        ("parent", record.parent, known.parent),
        ("continues", record.continues, known.predecessor),
    ];
    let relinked = links.into_iter().find(|(_, now, before)| now.map(ItemId::uuid) != *before);
    relinked.filter(|_| is_there).map(|(member, ..)| HistoryError::Relinked { item, member })
}

#[cfg(test)]
mod tests {
    use application::{ChangeKind, Sequence};
    use domain::{Collection, ItemId, Version};
    use jiff::Timestamp;
    use uuid::Uuid;

    use super::{ChangeRecord, CollectionSummary, HistoryError, SqliteHistoryValidator};

    const TIME: i64 = 1_700_000_000_000_000;

    fn id(number: u128) -> ItemId {
        ItemId::from_uuid(Uuid::from_u128(number))
    }

    fn change(sequence: i64, item: u128, version: i64, kind: ChangeKind) -> ChangeRecord {
        ChangeRecord {
            sequence: Sequence(sequence),
            collection: Collection::known("proposals"),
            item: id(item),
            version: Version::from_number(version),
            kind,
            time: Timestamp::from_microsecond(TIME + sequence).unwrap(),
            caller: None,
            parent: None,
            continues: None,
            members: (kind != ChangeKind::Deleted).then(|| "{}".into()),
        }
    }

    fn library_item(sequence: i64, item: u128, version: i64, kind: ChangeKind) -> ChangeRecord {
        ChangeRecord {
            collection: Collection::known("lib"),
            parent: Some(id(1)),
            ..change(sequence, item, version, kind)
        }
    }

    /// What is wrong with the last of the changes; those before it must be right.
    fn error(changes: Vec<ChangeRecord>) -> Option<HistoryError> {
        let mut validator = SqliteHistoryValidator::new().unwrap();
        let mut errors: Vec<_> = (1..)
            .zip(changes)
            .map(|(line, change)| validator.check(line, change).unwrap().err())
            .collect();
        let last = errors.pop().flatten();
        assert!(errors.iter().all(Option::is_none), "{errors:?}");
        last
    }

    use ChangeKind::{Created, Deleted, Patched, Replaced};

    #[test]
    fn a_deleted_item_may_exist_again_and_is_as_old_as_before() {
        let mut validator = SqliteHistoryValidator::new().unwrap();
        let history = [
            change(1, 1, 1, Created),
            change(2, 1, 2, Deleted),
            change(3, 1, 3, Created),
            change(4, 1, 4, Patched),
        ];
        let [.., last] = history.map(|change| validator.check(1, change).unwrap().unwrap());
        assert_eq!(last.created_at.as_microsecond(), TIME + 1);
    }

    #[test]
    fn an_item_is_created_where_it_does_not_exist() {
        for (kind, is_there) in [(Created, true), (Replaced, false), (Patched, false)] {
            let second = if is_there { change(2, 1, 2, Patched) } else { change(2, 1, 2, Deleted) };
            let history = vec![change(1, 1, 1, Created), second, change(3, 1, 3, kind)];
            assert_eq!(error(history), Some(HistoryError::Kind { item: id(1), kind: kind.name() }));
        }
        assert_eq!(
            error(vec![change(1, 1, 1, Replaced)]),
            Some(HistoryError::Kind { item: id(1), kind: "replaced" })
        );
    }

    #[test]
    fn numbers_and_times_do_not_go_back() {
        let created = || change(5, 1, 1, Created);
        assert_eq!(
            error(vec![created(), change(5, 2, 1, Created)]),
            Some(HistoryError::Sequence { found: 5, last: 5 })
        );
        let earlier = ChangeRecord {
            time: Timestamp::from_microsecond(TIME).unwrap(),
            ..change(6, 2, 1, Created)
        };
        assert_eq!(
            error(vec![created(), earlier.clone()]),
            Some(HistoryError::Time { found: earlier.time, last: created().time })
        );
        let same = ChangeRecord { time: created().time, ..earlier };
        assert_eq!(error(vec![created(), same]), None, "changes of one transaction share a time");
    }

    #[test]
    fn versions_count_up_by_one() {
        let expected =
            |found, expected| Some(HistoryError::Version { item: id(1), found, expected });
        assert_eq!(error(vec![change(1, 1, 2, Created)]), expected(2, 1));
        assert_eq!(
            error(vec![change(1, 1, 1, Created), change(2, 1, 3, Replaced)]),
            expected(3, 2)
        );
        assert_eq!(
            error(vec![change(1, 1, 1, Created), change(2, 1, 1, Replaced)]),
            expected(1, 2)
        );
        let highest =
            ChangeRecord { version: Version::from_number(i64::MAX), ..change(1, 1, 1, Created) };
        assert_eq!(error(vec![highest]), expected(i64::MAX, 1));
    }

    #[test]
    fn only_what_is_there_is_deleted() {
        let nothing = Some(HistoryError::NothingToDelete { item: id(1) });
        assert_eq!(error(vec![change(1, 1, 1, Deleted)]), nothing);
        assert_eq!(
            error(vec![
                change(1, 1, 1, Created),
                change(2, 1, 2, Deleted),
                change(3, 1, 3, Deleted)
            ]),
            nothing
        );
    }

    #[test]
    fn an_item_stays_where_it_is() {
        let moved =
            ChangeRecord { collection: Collection::known("files"), ..change(2, 1, 2, Replaced) };
        let known = Some(HistoryError::Moved {
            item: id(1),
            found: "files",
            known: "proposals".to_owned(),
        });
        assert_eq!(error(vec![change(1, 1, 1, Created), moved]), known);
        let orphan = ChangeRecord { parent: None, ..library_item(3, 2, 2, Replaced) };
        let relinked = Some(HistoryError::Relinked { item: id(2), member: "parent" });
        assert_eq!(
            error(vec![change(1, 1, 1, Created), library_item(2, 2, 1, Created), orphan]),
            relinked
        );
    }

    #[test]
    fn a_parent_is_there_and_of_the_owning_group() {
        let missing = Some(HistoryError::ParentMissing { parent: id(1), owner: "proposals" });
        assert_eq!(error(vec![library_item(1, 2, 1, Created)]), missing);
        let of_another =
            ChangeRecord { collection: Collection::known("files"), ..change(1, 1, 1, Created) };
        assert_eq!(error(vec![of_another, library_item(2, 2, 1, Created)]), missing);
        assert_eq!(
            error(vec![
                change(1, 1, 1, Created),
                change(2, 1, 2, Deleted),
                library_item(3, 2, 1, Created)
            ]),
            missing
        );
        let owned = ChangeRecord { parent: Some(id(1)), ..change(2, 2, 1, Created) };
        assert_eq!(
            error(vec![change(1, 1, 1, Created), owned]),
            Some(HistoryError::NoOwner("proposals"))
        );
    }

    #[test]
    fn what_belongs_to_an_item_is_deleted_with_it_in_any_order() {
        let begun = || vec![change(1, 1, 1, Created), library_item(2, 2, 1, Created)];
        let at = |change: ChangeRecord| ChangeRecord {
            time: Timestamp::from_microsecond(TIME + 9).unwrap(),
            ..change
        };
        let deletions = [at(change(3, 1, 2, Deleted)), at(library_item(4, 2, 2, Deleted))];
        assert_eq!(error([begun(), deletions.to_vec()].concat()), None);
        let later = library_item(11, 2, 2, Deleted);
        let missing = Some(HistoryError::ParentMissing { parent: id(1), owner: "proposals" });
        assert_eq!(error([begun(), vec![deletions[0].clone(), later]].concat()), missing);
        let mut validator = SqliteHistoryValidator::new().unwrap();
        for change in [begun(), deletions[..1].to_vec()].concat() {
            validator.check(7, change).unwrap().unwrap();
        }
        assert_eq!(
            validator.left_behind(20).unwrap(),
            [(7, HistoryError::LeftBehind { item: id(2), parent: id(1) })]
        );
    }

    #[test]
    fn a_predecessor_is_another_item_of_the_group_that_was_once_there() {
        let continuing =
            |continues| ChangeRecord { continues: Some(id(continues)), ..change(3, 2, 1, Created) };
        assert_eq!(
            error(vec![change(1, 1, 1, Created), change(2, 1, 2, Deleted), continuing(1)]),
            None
        );
        let missing = |continues| {
            Some(HistoryError::PredecessorMissing {
                continues: id(continues),
                collection: "proposals",
            })
        };
        assert_eq!(error(vec![change(1, 1, 1, Created), continuing(3)]), missing(3));
        assert_eq!(error(vec![continuing(2)]), missing(2));
    }

    #[test]
    fn the_summary_counts_by_group() {
        let mut validator = SqliteHistoryValidator::new().unwrap();
        for change in [
            change(1, 1, 1, Created),
            library_item(2, 2, 1, Created),
            change(3, 3, 1, Created),
            change(4, 3, 2, Deleted),
        ] {
            validator.check(1, change).unwrap().unwrap();
        }
        let of = |collection: &str, items, deleted| CollectionSummary {
            collection: collection.to_owned(),
            items,
            deleted,
        };
        assert_eq!(validator.summary().unwrap(), [of("lib", 1, 0), of("proposals", 1, 1)]);
    }
}
