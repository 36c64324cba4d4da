//! Marks in large collections, because counting millions of items before a page takes too long.
//! Marks are in memory, as of a change of the log. The statement of a page adds the items created
//! and removed since, in its snapshot, so it finds the same page as a count. If the number of all
//! items does not match, the marks are forgotten and the items are counted.

mod marks;

use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use application::ports::{Result, Scope, Sequence};
use application::query::{PageQuery, PageStart, Subject};
use domain::Collection;
use sea_orm::{FromQueryResult as _, Value};
use tokio::sync::Mutex as AsyncMutex;
use uuid::Uuid;

use crate::engine::{ReadEngine, ReadMode};
use crate::read::high_water_mark::HighWaterMark;
use crate::sql::change_log;
use crate::sql::page::PageMark;
use marks::{Found, Marks};

/// This number of items is counted as fast as from a mark.
const FEW: u64 = 10_000;

/// Changes that a page adds to its mark; after more, the marks are advanced.
const MOST_SINCE: i64 = 2_000;

/// The maximum number of changes for an advance of the marks; after more, they are set again.
const MOST_MOVED: i64 = 100_000;

/// The last block is divided above this number of items.
const LARGEST_BLOCK: i64 = 10_000;

/// Changes that may be written between the look at the log's end and the page.
const MARGIN: i64 = 1_000;

/// Counting the items before it is slow, because it is far from both ends.
pub(crate) const fn is_deep(query: &PageQuery, items: u64) -> bool {
    matches!(query.position, PageStart::Offset(offset) if offset > FEW && items.saturating_sub(offset) > FEW)
}

/// The direction, if the page is of all items in the order of their ids; marks serve no others.
fn order(scope: Scope, query: &PageQuery) -> Option<bool> {
    let is_everything =
        scope.parent.is_none() && query.selection.is_everything() && query.count_by.is_none();
    match query.order.first() {
        None => Some(false),
        Some(key) => (key.subject == Subject::Id).then_some(key.descending),
    }
    .filter(|_| is_everything)
}

/// The marks of a collection, held while they are set.
type Kept = Arc<AsyncMutex<Option<Marks>>>;

pub(crate) struct PageMarks {
    engine: Arc<dyn ReadEngine>,
    high_water_mark: Arc<HighWaterMark>,
    kept: Mutex<HashMap<Collection, Kept>>,
}

impl PageMarks {
    pub fn new(engine: Arc<dyn ReadEngine>, high_water_mark: Arc<HighWaterMark>) -> Self {
        Self { engine, high_water_mark, kept: Mutex::default() }
    }

    /// A deep page without marks is slow.
    pub fn are_set_for(&self, scope: Scope, query: &PageQuery) -> bool {
        order(scope, query).is_some()
            && self.kept(scope.collection).try_lock().is_ok_and(|marks| marks.is_some())
    }

    pub fn forget(&self, collection: Collection) {
        self.kept.lock().remove(&collection);
    }

    /// Finds a mark before a deep page, if one is near and no other request is setting the marks.
    pub async fn find(
        &self,
        scope: Scope,
        query: &PageQuery,
        items: u64,
    ) -> Result<Option<PageMark>> {
        let (PageStart::Offset(offset), Some(is_descending)) =
            (&query.position, order(scope, query).filter(|_| is_deep(query, items)))
        else {
            return Ok(None);
        };
        let collection = scope.collection;
        let kept = self.kept(collection);
        let offset = i64::try_from(*offset).unwrap_or(i64::MAX);
        // Before the lock, during which concurrent requests get no mark.
        let mut end = self.end().await?;
        let Ok(mut marks) = kept.try_lock() else { return Ok(None) };
        if marks.as_ref().is_some_and(|known| end < known.sequence) {
            // The marks were advanced meanwhile, or the log has lost changes.
            end = self.end().await?;
        }
        let epoch = self.epoch();
        if let Some(known) = marks.as_mut()
            && (known.epoch != epoch || !self.advance(collection, known, end).await?)
        {
            *marks = None;
        }
        if marks.is_none() {
            let Sequence(sequence) = self.high_water_mark.last().await?;
            let mut fresh = Marks::none(sequence, epoch);
            if !self.divide(collection, &mut fresh).await? {
                return Ok(None);
            }
            *marks = Some(fresh);
        }
        let Some(known) = marks.as_mut() else { return Ok(None) };
        if known.last_block().1 > LARGEST_BLOCK && !self.divide(collection, known).await? {
            *marks = None;
            return Ok(None);
        }
        let margin = (end - known.sequence).max(0) + MARGIN;
        Ok(known.before(offset, margin, is_descending))
    }

    fn kept(&self, collection: Collection) -> Kept {
        let mut kept = self.kept.lock();
        Arc::clone(kept.entry(collection).or_default())
    }

    /// Changes when the store may have lost changes: a hash of history and timeline, or the losses.
    fn epoch(&self) -> u64 {
        match self.engine.timeline() {
            0 => self.engine.losses(),
            timeline => {
                let mut hasher = DefaultHasher::new();
                (self.engine.history(), timeline).hash(&mut hasher);
                hasher.finish()
            }
        }
    }

    /// Changes with smaller numbers may still be committed.
    async fn end(&self) -> Result<i64> {
        let last = change_log::last_statement(self.engine.dialect());
        let last_of = |rows: &[_]| change_log::last_of(rows.first());
        self.engine.query("page_marks", ReadMode::QUICK, last, last_of).await
    }

    /// Advances the marks after too many changes; false if they are no longer valid.
    async fn advance(&self, collection: Collection, marks: &mut Marks, end: i64) -> Result<bool> {
        if end - marks.sequence <= MOST_SINCE {
            return Ok(end >= marks.sequence);
        }
        let Sequence(up_to) = self.high_water_mark.last().await?;
        if up_to - marks.sequence > MOST_MOVED {
            return Ok(false);
        }
        let values = [collection.name().into(), marks.sequence.into(), up_to.into()];
        let moved = self.found(ReadMode::QUICK, sql_file!("both/read/marks_moved"), values).await?;
        Ok(marks.advance(up_to, &moved).is_some())
    }

    /// Returns false if the counts do not match.
    async fn divide(&self, collection: Collection, marks: &mut Marks) -> Result<bool> {
        let (from, _) = marks.last_block();
        let (name, nil) = (collection.name().into(), Uuid::nil().into());
        let values = [name, from.into(), nil, marks.sequence.into()];
        let found = self.found(ReadMode::SLOW, sql_file!("both/read/marks_set"), values).await?;
        Ok(marks.divide(&found).is_some())
    }

    async fn found<const N: usize>(
        &self,
        mode: ReadMode,
        text: &str,
        values: [Value; N],
    ) -> Result<Vec<Found>> {
        let statement = self.engine.dialect().statement(text, values);
        let found = |rows: &[_]| rows.iter().map(|row| Found::from_query_result(row, "")).collect();
        self.engine.query("page_marks", mode, statement, found).await
    }
}
