//! Validates that the changes of a file can follow each other. Business rules are not checked:
//! accepted changes are history. The items are in a temporary SQLite file, which limits memory.

use domain::{Collection, ItemId, WriteOperation};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};
use thiserror::Error;
use uuid::Uuid;

use super::change_record::{ChangeRecord, CheckedChange};
use crate::StoreError;

use HistoryError::{
    Bodiless, DeletedWhileAbsent, Kind, Moved, NoParent, NoParents, NotContinued, Orphan, Relinked,
    Sequence, Time, Version,
};

/// `since` is when the item was first created, `creator` by whom.
const TABLE: &str = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = FILE; PRAGMA cache_size = -8192;
    CREATE TABLE known (id BLOB PRIMARY KEY, line BIGINT NOT NULL, collection TEXT NOT NULL, version BIGINT NOT NULL, since BIGINT NOT NULL, \
    creator TEXT NULL, updated BIGINT NOT NULL, is_deleted BOOLEAN NOT NULL, parent BLOB NULL, continues BLOB NULL, is_bodiless BOOLEAN NOT NULL) WITHOUT ROWID;
    BEGIN";

const FIND: &str = "SELECT collection, version, since, creator, updated, is_deleted, parent, continues FROM known WHERE id = ?1";

const KEEP: &str =
    "INSERT OR REPLACE INTO known VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";

/// The items without their parent, and then those without a body.
const INCOMPLETE: &str = "SELECT k.line, k.id, k.parent, 1 AS place FROM known k LEFT JOIN known p ON p.id = k.parent AND NOT p.is_deleted \
    WHERE k.parent IS NOT NULL AND NOT k.is_deleted AND p.id IS NULL \
    UNION ALL SELECT line, id, NULL, 2 FROM known WHERE is_bodiless AND NOT is_deleted ORDER BY place, line LIMIT ?1";

const COUNT: &str = "SELECT collection, SUM(NOT is_deleted), SUM(is_deleted) FROM known GROUP BY collection ORDER BY collection";

#[derive(Debug, Error)]
#[rustfmt::skip] // A table: one message a line.
enum HistoryError {
    #[error("`sequence` {} comes after {}: numbers must increase from line to line; restore the order of the lines", found.0, last.0)]
    Sequence { found: application::Sequence, last: application::Sequence },
    #[error("`version` of {item} is {found} instead of {expected}: versions count up by one from 1; {} or misplaced",
            if found < expected { "the line is duplicated" } else { "a line is missing" })]
    Version { item: ItemId, found: i64, expected: i64 },
    #[error("{item} was in the group `{before}`; an item cannot move to `{group}`; correct the group of the line")]
    Moved { item: ItemId, before: String, group: &'static str },
    #[error("`time` {found} is before {latest}, the time of the previous version; restore the order of the lines")]
    Time { found: Timestamp, latest: Timestamp },
    #[error("{item} is deleted but does not exist; remove the line, or restore the one that created it")]
    DeletedWhileAbsent { item: ItemId },
    #[error("`kind` {} of {item} does not match its history: use `created` if the item does not exist, otherwise another kind", kind.change_name())]
    Kind { item: ItemId, kind: WriteOperation },
    #[error("`{member}` of {item} differs from the previous version; it cannot change while the item exists")]
    Relinked { item: ItemId, member: &'static str },
    #[error("`parent` is given, but items of `{group}` have no parent; set it to null")]
    NoParents { group: &'static str },
    #[error("`parent` names {parent}, which does not exist at this line as an item of `{group}`; its line must come first")]
    NoParent { parent: ItemId, group: &'static str },
    #[error("`continues` names {continues}, which no earlier line creates in `{group}`; its line must come first")]
    NotContinued { continues: ItemId, group: &'static str },
    #[error("{item} is left without its parent {parent}: items are deleted with their parent; restore the missing line")]
    Orphan { item: ItemId, parent: ItemId },
    #[error("the last version of {item} has no `members`; only earlier versions may lack them; restore the members or the missing line")]
    Bodiless { item: ItemId },
}

pub struct HistoryValidator {
    items: Connection,
    last: application::Sequence,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectionSummary {
    pub collection: String,
    pub items: u64,
    pub deleted: u64,
}

struct Known {
    collection: String,
    version: i64,
    since: i64,
    creator: Option<String>,
    updated: Timestamp,
    is_deleted: bool,
    parent: Option<Uuid>,
    continues: Option<Uuid>,
}

impl HistoryValidator {
    pub fn new() -> Result<Self, StoreError> {
        // A database without a name is a temporary file.
        let items = Connection::open("").map_err(StoreError::Check)?;
        items.execute_batch(TABLE).map_err(StoreError::Check)?;
        Ok(Self { items, last: application::Sequence(0) })
    }

    /// Checks a change, and records it in either case, so that an error is reported once.
    pub fn check(
        &mut self,
        line: u64,
        record: ChangeRecord,
    ) -> Result<Result<CheckedChange, String>, StoreError> {
        let checked = self.check_and_keep(line, record).map_err(StoreError::Check)?;
        Ok(checked.map_err(|error| error.to_string()))
    }

    /// The lines of items without their parent or without a body, with the errors.
    pub fn incomplete_items(&self, limit: usize) -> Result<Vec<(u64, String)>, StoreError> {
        let incomplete = |row: &Row<'_>| {
            let (item, parent) = (ItemId::from_uuid(row.get(1)?), row.get::<_, Option<Uuid>>(2)?);
            let error = match parent.map(ItemId::from_uuid) {
                Some(parent) => Orphan { item, parent },
                None => Bodiless { item },
            };
            Ok((row.get(0)?, error.to_string()))
        };
        self.rows(INCOMPLETE, params![limit], incomplete).map_err(StoreError::Check)
    }

    pub fn summary(&self) -> Result<Vec<CollectionSummary>, StoreError> {
        let summary = |row: &Row<'_>| {
            let (collection, items, deleted) = row.try_into()?;
            Ok(CollectionSummary { collection, items, deleted })
        };
        self.rows(COUNT, params![], summary).map_err(StoreError::Check)
    }

    fn rows<T>(
        &self,
        text: &str,
        parameters: impl rusqlite::Params,
        row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Vec<T>> {
        self.items.prepare(text)?.query_map(parameters, row)?.collect()
    }

    fn find(&self, id: ItemId) -> rusqlite::Result<Option<Known>> {
        let known = |row: &Row<'_>| {
            Ok(Known {
                collection: row.get(0)?,
                version: row.get(1)?,
                since: row.get(2)?,
                creator: row.get(3)?,
                updated: Timestamp::from_microsecond(row.get(4)?).unwrap_or_default(),
                is_deleted: row.get(5)?,
                parent: row.get(6)?,
                continues: row.get(7)?,
            })
        };
        self.items.prepare_cached(FIND)?.query_row([id.uuid()], known).optional()
    }

    fn check_and_keep(
        &mut self,
        line: u64,
        record: ChangeRecord,
    ) -> rusqlite::Result<Result<CheckedChange, HistoryError>> {
        let known = self.find(record.item)?;
        let checked = match self.check_item(&record, known.as_ref()) {
            Ok(()) => self.check_links(&record)?,
            Err(error) => Err(error),
        };
        let first = || (record.time.as_microsecond(), record.author.caller.clone());
        let (since, created_by) = known.map_or_else(first, |known| (known.since, known.creator));
        self.items.prepare_cached(KEEP)?.execute(params![
            record.item.uuid(),
            line,
            record.collection.name(),
            record.version.number(),
            since,
            created_by,
            record.time.as_microsecond(),
            record.kind == WriteOperation::Delete,
            record.parent.map(ItemId::uuid),
            record.continues.map(ItemId::uuid),
            record.removed_at.is_some()
        ])?;
        self.last = self.last.max(record.sequence);
        let created_at = Timestamp::from_microsecond(since).unwrap_or(record.time);
        Ok(checked.map(|()| CheckedChange { record, created_at, created_by }))
    }

    fn check_item(&self, record: &ChangeRecord, known: Option<&Known>) -> Result<(), HistoryError> {
        let ChangeRecord { sequence, item, kind, time, .. } = *record;
        let (group, found) = (record.collection.name(), record.version.number());
        let expected = known.map_or(1, |known| known.version.saturating_add(1));
        let is_there = known.is_some_and(|known| !known.is_deleted);
        let (is_created, is_deleted) =
            (kind == WriteOperation::Create, kind == WriteOperation::Delete);
        ensure(sequence > self.last, || Sequence { found: sequence, last: self.last })?;
        ensure(found == expected, || Version { item, found, expected })?;
        if let Some(Known { collection, updated, .. }) = known {
            ensure(collection == group, || Moved { item, before: collection.clone(), group })?;
            ensure(time >= *updated, || Time { found: time, latest: *updated })?;
        }
        ensure(is_there || !is_deleted, || DeletedWhileAbsent { item })?;
        ensure(is_deleted || is_created != is_there, || Kind { item, kind })?;
        // The links of an item are decided when it is created.
        let is_kept = |id: Option<ItemId>, link: fn(&Known) -> Option<Uuid>| {
            !is_there || known.map(link) == Some(id.map(ItemId::uuid))
        };
        let relinked = |member| move || Relinked { item, member };
        ensure(is_kept(record.parent, |known| known.parent), relinked("parent"))?;
        ensure(is_kept(record.continues, |known| known.continues), relinked("continues"))
    }

    fn check_links(&self, record: &ChangeRecord) -> rusqlite::Result<Result<(), HistoryError>> {
        let group = record.collection.name();
        let parents = record.collection.parent().map(Collection::name);
        let linked = |id: Option<ItemId>, group: Option<&str>| {
            let known = id.map_or(Ok(None), |id| self.find(id))?;
            Ok::<_, rusqlite::Error>(known.filter(|known| Some(&*known.collection) == group))
        };
        // Items below a deleted one are deleted in its transaction, so at its time, in any order.
        let is_deleted = record.kind == WriteOperation::Delete;
        let has_parent = linked(record.parent, parents)?
            .is_some_and(|known| !known.is_deleted || (is_deleted && known.updated == record.time));
        let continues_another = linked(record.continues, Some(group))?.is_some()
            && record.continues != Some(record.item);
        let parent = match (record.parent, parents) {
            (None, _) => Ok(()),
            (Some(_), None) => Err(NoParents { group }),
            (Some(parent), Some(group)) => ensure(has_parent, || NoParent { parent, group }),
        };
        let continues = record.continues.map_or(Ok(()), |continues| {
            ensure(continues_another, || NotContinued { continues, group })
        });
        Ok(parent.and(continues))
    }
}

fn ensure(holds: bool, error: impl FnOnce() -> HistoryError) -> Result<(), HistoryError> {
    if holds { Ok(()) } else { Err(error()) }
}

#[cfg(test)]
mod tests {
    use application::{ChangeAuthor, Sequence};
    use domain::{Collection, ItemId, Version, WriteOperation};
    use jiff::Timestamp;
    use uuid::Uuid;

    use super::{ChangeRecord, CollectionSummary, HistoryValidator};

    const TIME: i64 = 1_700_000_000_000_000;

    fn id(number: u128) -> ItemId {
        ItemId::from_uuid(Uuid::from_u128(number))
    }

    fn change(sequence: i64, item: u128, version: i64, kind: WriteOperation) -> ChangeRecord {
        ChangeRecord {
            sequence: Sequence(sequence),
            collection: Collection::known("proposals"),
            item: id(item),
            version: Version::from_number(version),
            kind,
            time: Timestamp::from_microsecond(TIME + sequence).unwrap(),
            author: ChangeAuthor::default(),
            parent: None,
            continues: None,
            members: (kind != WriteOperation::Delete).then(|| "{}".into()),
            removed_at: None,
        }
    }

    fn library_item(sequence: i64, item: u128, version: i64, kind: WriteOperation) -> ChangeRecord {
        ChangeRecord {
            collection: Collection::known("lib"),
            parent: Some(id(1)),
            ..change(sequence, item, version, kind)
        }
    }

    /// The error of the last of the changes; those before it must have none.
    #[track_caller]
    fn error(changes: Vec<ChangeRecord>) -> Option<String> {
        let mut validator = HistoryValidator::new().unwrap();
        let mut errors: Vec<_> = (1..)
            .zip(changes)
            .map(|(line, change)| validator.check(line, change).unwrap().err())
            .collect();
        let last = errors.pop().flatten();
        assert!(errors.iter().all(Option::is_none), "{errors:?}");
        last
    }

    #[track_caller]
    fn refused(changes: Vec<ChangeRecord>, words: &str) {
        let error = error(changes).unwrap();
        assert!(error.contains(words), "{error}");
    }

    use WriteOperation::{Create, Delete, Patch, Replace};

    #[test]
    fn a_deleted_item_may_exist_again_and_is_as_old_as_before() {
        let mut validator = HistoryValidator::new().unwrap();
        let history = [
            change(1, 1, 1, Create),
            change(2, 1, 2, Delete),
            change(3, 1, 3, Create),
            change(4, 1, 4, Patch),
        ];
        let [.., last] = history.map(|change| validator.check(1, change).unwrap().unwrap());
        assert_eq!(last.created_at.as_microsecond(), TIME + 1);
    }

    #[test]
    fn an_item_is_created_where_it_does_not_exist() {
        for (kind, is_there) in [(Create, true), (Replace, false), (Patch, false)] {
            let second = if is_there { change(2, 1, 2, Patch) } else { change(2, 1, 2, Delete) };
            let history = vec![change(1, 1, 1, Create), second, change(3, 1, 3, kind)];
            refused(history, &format!("`kind` {} of {}", kind.change_name(), id(1)));
        }
        refused(vec![change(1, 1, 1, Replace)], "`kind` replaced of");
    }

    #[test]
    fn numbers_and_times_of_an_item_do_not_go_back() {
        let created = || change(5, 1, 1, Create);
        refused(vec![created(), change(5, 2, 1, Create)], "`sequence` 5 comes after 5");
        let time = Timestamp::from_microsecond(TIME).unwrap();
        let earlier = ChangeRecord { time, ..change(6, 1, 2, Patch) };
        let words = format!("`time` {} is before {}, the time of", earlier.time, created().time);
        refused(vec![created(), earlier], &words);
        let another = ChangeRecord { time, ..change(6, 2, 1, Create) };
        assert_eq!(error(vec![created(), another]), None, "concurrent writers");
    }

    #[test]
    fn versions_count_up_by_one() {
        let words = |found: i64, expected| {
            format!("`version` of {} is {found} instead of {expected}", id(1))
        };
        refused(vec![change(1, 1, 2, Create)], &words(2, 1));
        let created = || change(1, 1, 1, Create);
        refused(vec![created(), change(2, 1, 3, Replace)], &words(3, 2));
        refused(vec![created(), change(2, 1, 3, Replace)], "a line is missing");
        refused(vec![created(), change(2, 1, 1, Replace)], &words(1, 2));
        refused(vec![created(), change(2, 1, 1, Replace)], "the line is duplicated");
        let highest =
            ChangeRecord { version: Version::from_number(i64::MAX), ..change(1, 1, 1, Create) };
        refused(vec![highest], &words(i64::MAX, 1));
    }

    #[test]
    fn only_what_is_there_is_deleted() {
        let words = "is deleted but does not exist";
        refused(vec![change(1, 1, 1, Delete)], words);
        let history =
            vec![change(1, 1, 1, Create), change(2, 1, 2, Delete), change(3, 1, 3, Delete)];
        refused(history, words);
    }

    #[test]
    fn an_item_stays_where_it_is() {
        let moved =
            ChangeRecord { collection: Collection::known("files"), ..change(2, 1, 2, Replace) };
        let words = "was in the group `proposals`; an item cannot move to `files`; correct";
        refused(vec![change(1, 1, 1, Create), moved], words);
        let orphan = ChangeRecord { parent: None, ..library_item(3, 2, 2, Replace) };
        let history = vec![change(1, 1, 1, Create), library_item(2, 2, 1, Create), orphan];
        refused(history, &format!("`parent` of {} differs", id(2)));
    }

    #[test]
    fn a_parent_is_there_and_of_the_owning_group() {
        let words = "does not exist at this line as an item of `proposals`";
        refused(vec![library_item(1, 2, 1, Create)], words);
        let of_another =
            ChangeRecord { collection: Collection::known("files"), ..change(1, 1, 1, Create) };
        refused(vec![of_another, library_item(2, 2, 1, Create)], words);
        let deleted = [change(1, 1, 1, Create), change(2, 1, 2, Delete)];
        refused([&deleted[..], &[library_item(3, 2, 1, Create)]].concat(), words);
        let owned = ChangeRecord { parent: Some(id(1)), ..change(2, 2, 1, Create) };
        let words = "items of `proposals` have no parent";
        refused(vec![change(1, 1, 1, Create), owned], words);
    }

    #[test]
    fn what_belongs_to_an_item_is_deleted_with_it_in_any_order() {
        let begun = || vec![change(1, 1, 1, Create), library_item(2, 2, 1, Create)];
        let at = |change: ChangeRecord| ChangeRecord {
            time: Timestamp::from_microsecond(TIME + 9).unwrap(),
            ..change
        };
        let deletions = [at(change(3, 1, 2, Delete)), at(library_item(4, 2, 2, Delete))];
        assert_eq!(error([begun(), deletions.to_vec()].concat()), None);
        let later = library_item(11, 2, 2, Delete);
        let history = [begun(), vec![deletions[0].clone(), later]].concat();
        refused(history, "does not exist at this line as an item of `proposals`");
        let mut validator = HistoryValidator::new().unwrap();
        for change in [begun(), deletions[..1].to_vec()].concat() {
            validator.check(7, change).unwrap().unwrap();
        }
        let orphans = validator.incomplete_items(20).unwrap();
        let [(7, error)] = orphans.as_slice() else { panic!("{orphans:?}") };
        assert!(
            error.starts_with(&format!("{} is left without its parent {}", id(2), id(1))),
            "{error}"
        );
    }

    #[test]
    fn a_continued_item_is_another_item_of_the_group_that_was_once_there() {
        let continuing =
            |continues| ChangeRecord { continues: Some(id(continues)), ..change(3, 2, 1, Create) };
        assert_eq!(
            error(vec![change(1, 1, 1, Create), change(2, 1, 2, Delete), continuing(1)]),
            None
        );
        let words = "which no earlier line creates in `proposals`";
        refused(vec![change(1, 1, 1, Create), continuing(3)], words);
        refused(vec![continuing(2)], words);
    }

    #[test]
    fn the_summary_counts_by_group() {
        let mut validator = HistoryValidator::new().unwrap();
        for change in [
            change(1, 1, 1, Create),
            library_item(2, 2, 1, Create),
            change(3, 3, 1, Create),
            change(4, 3, 2, Delete),
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
