//! The display names of callers, stored separately from the change log. An empty name marks a caller
//! who was erased. Names that were read lately are kept in memory.

use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::time::{Duration, Instant};

use application::{CallerDirectory, CallerNames, RepositoryError};
use async_trait::async_trait;
use jiff::Timestamp;
use quick_cache::sync::Cache;
use sea_orm::{DbErr, QueryResult, Statement};

use crate::engine::{Database, ReadMode, query};
use crate::sql::dialect::Dialect;
use crate::sql::row_mapping::get;
use crate::sql::sql_text::keyed;

/// Callers whose names are cached.
const CACHED: usize = 4_096;

/// The time after which a name is read again: another process may have erased it.
const MAX_AGE: Duration = Duration::from_secs(55);

/// Characters of a name that are kept.
const LONGEST_NAME: usize = 200;

/// The names of callers in one database.
pub(crate) struct SqlCallerDirectory {
    database: Database,
    cache: Cache<Box<str>, CachedName>,
    /// The number of changes that this process made: what was read before the last is not cached.
    edition: Mutex<u64>,
}

#[derive(Clone)]
struct CachedName {
    read_at: Instant,
    /// `None` where none is known.
    name: Option<Arc<str>>,
}

impl SqlCallerDirectory {
    pub fn new(database: Database) -> Self {
        Self { database, cache: Cache::new(CACHED), edition: Mutex::default() }
    }

    fn cached(&self, id: &str) -> Option<CachedName> {
        self.cache.get(id).filter(|cached| cached.read_at.elapsed() < MAX_AGE)
    }

    /// Keeps what was read of some callers, unless a name has changed since.
    fn remember(&self, ids: &[&str], found: &CallerNames, read_at: Instant, edition: u64) {
        let current = self.edition();
        if *current == edition {
            for id in ids {
                let name = found.get(*id).cloned();
                self.cache.insert((*id).into(), CachedName { read_at, name });
            }
        }
    }

    /// Forgets what was read of a caller.
    fn forget(&self, id: &str) {
        let mut edition = self.edition();
        *edition += 1;
        drop(self.cache.remove(id));
    }

    fn edition(&self) -> MutexGuard<'_, u64> {
        self.edition.lock()
    }
}

#[async_trait]
impl CallerDirectory for SqlCallerDirectory {
    async fn seen(&self, id: &str, name: &str, time: Timestamp) -> Result<(), RepositoryError> {
        let name = displayed(name);
        if name.is_empty() {
            return Ok(());
        }
        let values = [id.into(), name.into(), time.as_microsecond().into()];
        let dialect = self.database.reader.dialect();
        let seen = dialect.statement(sql_file!("both/caller_seen"), values);
        self.database.writer()?.execute("seen", seen).await?;
        self.forget(id);
        Ok(())
    }

    async fn names(&self, ids: &[Box<str>]) -> Result<CallerNames, RepositoryError> {
        let (mut names, mut unknown) = (CallerNames::new(), Vec::new());
        for id in ids {
            match self.cached(id) {
                Some(cached) => names.extend(cached.name.map(|name| (id.clone(), name))),
                None => unknown.push(&**id),
            }
        }
        unknown.sort_unstable();
        unknown.dedup();
        if !unknown.is_empty() {
            let (edition, read_at) = (*self.edition(), Instant::now());
            let (reader, dialect) = (&*self.database.reader, self.database.reader.dialect());
            let among = [keyed(unknown.iter().map(|id| (id, ())))];
            let statement = dialect.statement(sql_file!("both/caller_names"), among);
            let found = query(reader, "names", ReadMode::QUICK, statement, |rows| {
                rows.iter().map(entry).collect()
            });
            let found = found.await?;
            self.remember(&unknown, &found, read_at, edition);
            names.extend(found);
        }
        Ok(names)
    }

    async fn erase(&self, id: &str, time: Timestamp) -> Result<bool, RepositoryError> {
        let writer = self.database.writer()?;
        let [mark, clear] = erasure(writer.dialect(), id, time);
        writer.execute("erase", mark).await?;
        let erased = writer.execute("erase", clear).await?;
        self.forget(id);
        Ok(erased > 0)
    }
}

/// Erases the name of a caller. The first statement marks a caller who is not known, the second one
/// who is and had a name.
pub(crate) fn erasure(dialect: &Dialect, id: &str, time: Timestamp) -> [Statement; 2] {
    let values = [id.into(), time.as_microsecond().into()];
    let mark = dialect.statement(sql_file!("both/caller_erased"), values);
    [mark, dialect.statement(sql_file!("both/caller_cleared"), [id.into()])]
}

fn entry(row: &QueryResult) -> Result<(Box<str>, Arc<str>), DbErr> {
    Ok((get::<String>(row, "id")?.into(), get::<String>(row, "name")?.into()))
}

/// A name as it is kept.
fn displayed(name: &str) -> String {
    let name: String = name.chars().filter(|character| !character.is_control()).collect();
    let name = name.trim();
    name.char_indices().nth(LONGEST_NAME).map_or(name, |(end, _)| &name[..end]).to_owned()
}

#[cfg(test)]
mod tests {
    use super::displayed;

    #[test]
    fn a_name_is_a_line_that_a_store_can_keep() {
        for (name, expected) in
            [(" Ana Ñ \n", "Ana Ñ"), ("A\u{0}\u{7f}na", "Ana"), ("\u{1}", ""), ("", "")]
        {
            assert_eq!(displayed(name), expected);
        }
        assert_eq!(displayed(&"ñ".repeat(300)), "ñ".repeat(200));
    }
}
