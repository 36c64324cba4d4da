//! The end of the change log for followers. A number is drawn before its commit, so a change may be
//! committed after a greater number, and a follower that skipped it would never see it. So the log
//! is read up to the first hole. At a hole after the mark the fence waits for earlier writes:
//! missing numbers up to the last change were rolled back. The mark then rises to the last change.

use parking_lot::Mutex;
use std::sync::Arc;

use application::ports::{LogPage, Result, Sequence};
use domain::Collection;
use sea_orm::DbBackend;

use crate::engine::{ReadEngine, ReadMode};
use crate::sql::{change_log, row_mapping};

/// Changes at the end of the log that are looked through for holes.
const AT_END: u64 = 1_000;

pub(crate) struct HighWaterMark {
    engine: Arc<dyn ReadEngine>,
    mark: Mutex<Mark>,
}

/// Other connections may see a store that lost its last changes and draws their numbers again.
#[derive(Clone, Copy, Default)]
struct Mark {
    sequence: i64,
    losses: u64,
}

impl HighWaterMark {
    pub fn new(engine: Arc<dyn ReadEngine>) -> Self {
        Self { engine, mark: Mutex::default() }
    }

    /// The changes after a number, up to the first that may still come.
    pub async fn changes(
        &self,
        after: Sequence,
        collection: Option<Collection>,
        limit: u64,
    ) -> Result<LogPage> {
        match collection {
            Some(collection) => self.of_collection(collection, after, limit).await,
            None => self.of_all(after, limit).await,
        }
    }

    async fn of_all(&self, after: Sequence, limit: u64) -> Result<LogPage> {
        loop {
            let mark = self.mark().sequence.max(after.0);
            let statement = change_log::statement(self.engine.dialect(), after, limit);
            let page = |rows: &[_]| change_log::page(rows, after, mark);
            match self.engine.query("changes", ReadMode::QUICK, statement, page).await? {
                Some(page) => return Ok(page),
                None => drop(self.pass_fence().await?),
            }
        }
    }

    /// Reads up to the mark, which is raised first: changes of one collection do not show a hole.
    async fn of_collection(
        &self,
        collection: Collection,
        after: Sequence,
        limit: u64,
    ) -> Result<LogPage> {
        if self.mark().sequence == 0 {
            self.pass_fence().await?;
        }
        let mark = self.mark();
        let end = self.of_all(Sequence(mark.sequence), AT_END).await?;
        let up_to = match end.changes.len() as u64 {
            AT_END => self.last().await?,
            _ => self.raise(Mark { sequence: end.read_to.0, ..mark }),
        };
        if up_to <= after {
            return Ok(LogPage { changes: Vec::new(), read_to: after });
        }
        let dialect = self.engine.dialect();
        let changes = change_log::of_collection(dialect, collection, after, up_to, limit);
        let changes =
            self.engine.query("changes", ReadMode::QUICK, changes, change_log::changes).await?;
        // A full page may have left changes unread.
        let is_full = changes.len() as u64 >= limit;
        let last = changes.last().filter(|_| is_full).map(|change| change.sequence);
        Ok(LogPage { read_to: last.unwrap_or(up_to), changes })
    }

    /// The last change before which the log is complete.
    pub async fn last(&self) -> Result<Sequence> {
        let mark = self.mark();
        if self.engine.dialect().backend == DbBackend::Sqlite || mark.sequence == 0 {
            // SQLite commits in order, which leaves no holes. Without a mark the statement counts the
            // whole log.
            return self.pass_fence().await;
        }
        let above = [mark.sequence.into()];
        let end = self.engine.dialect().statement(sql_file!("both/read/changes_end"), above);
        let end = self.engine.query("last", ReadMode::QUICK, end, |rows| {
            let row = row_mapping::first(rows)?;
            let last: Option<i64> = row_mapping::get(row, "last")?;
            Ok((last.unwrap_or(mark.sequence), row_mapping::get::<i64>(row, "above")?))
        });
        let (last, above) = end.await?;
        if above == last - mark.sequence {
            return Ok(self.raise(Mark { sequence: last, ..mark }));
        }
        self.pass_fence().await
    }

    async fn pass_fence(&self) -> Result<Sequence> {
        let mark = self.mark();
        let Sequence(sequence) = self.engine.fence().await?;
        Ok(self.raise(Mark { sequence, ..mark }))
    }

    fn raise(&self, mark: Mark) -> Sequence {
        let mut known = self.mark.lock();
        if known.losses == mark.losses && known.sequence < mark.sequence {
            *known = mark;
        }
        Sequence(mark.sequence)
    }

    fn mark(&self) -> Mark {
        let losses = self.engine.losses();
        let mut known = self.mark.lock();
        if known.losses != losses {
            *known = Mark { sequence: 0, losses };
        }
        *known
    }
}
