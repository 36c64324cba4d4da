//! Display names of callers, stored outside the change log. An empty name marks an erased caller.

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

use application::ports::{CallerDirectory, CallerNames, Result};
use async_trait::async_trait;
use jiff::Timestamp;
use quick_cache::sync::Cache;
use sea_orm::{ConnectionTrait, QueryResult, Statement};

use crate::engine::Database;
use crate::error::DbResult;
use crate::migration::schema_version::{Access, is_up_to_date};
use crate::sql::dialect::Dialect;
use crate::sql::row_mapping::get;
use crate::sql::sql_text::keyed;
use crate::transfer::connect_with;
use crate::{StoreError, StoreOptions};

const CACHED: usize = 4_096;

/// The time after which a name is read again: another process may have erased it.
const MAX_AGE: Duration = Duration::from_secs(55);

const LONGEST_NAME: usize = 200;

pub(crate) struct SqlCallerDirectory {
    database: Database,
    /// Names (`None` of unknown callers), with the times of their reads.
    cache: Cache<Box<str>, (Instant, Option<Arc<str>>)>,
    /// The number of changes by this process: names that were read before the last are not cached.
    edition: Mutex<u64>,
}

impl SqlCallerDirectory {
    pub fn new(database: Database) -> Self {
        Self { database, cache: Cache::new(CACHED), edition: Mutex::default() }
    }

    fn forget(&self, id: &str) {
        let mut edition = self.edition.lock();
        *edition += 1;
        drop(self.cache.remove(id));
    }
}

#[async_trait]
impl CallerDirectory for SqlCallerDirectory {
    async fn seen(&self, id: &str, name: &str, time: Timestamp) -> Result<()> {
        let name = displayed(name);
        if name.is_empty() {
            return Ok(());
        }
        let values = [id.into(), name.into(), time.as_microsecond().into()];
        self.database.execute("seen", sql_file!("both/callers/seen"), values).await?;
        self.forget(id);
        Ok(())
    }

    async fn names(&self, ids: &[Box<str>]) -> Result<CallerNames> {
        let (mut names, mut unknown) = (CallerNames::new(), Vec::new());
        for id in ids {
            match self.cache.get(&**id).filter(|(read_at, _)| read_at.elapsed() < MAX_AGE) {
                Some((_, name)) => names.extend(name.map(|name| (id.clone(), name))),
                None => unknown.push(&**id),
            }
        }
        unknown.sort_unstable();
        unknown.dedup();
        if !unknown.is_empty() {
            let (edition, read_at) = (*self.edition.lock(), Instant::now());
            let among = [keyed(unknown.iter().map(|id| (id, ())))];
            let found = self.database.look("names", sql_file!("both/callers/names"), among, entry);
            let found: CallerNames = found.await?.into_iter().collect();
            let current = self.edition.lock();
            if *current == edition {
                for id in unknown {
                    self.cache.insert(id.into(), (read_at, found.get(id).cloned()));
                }
            }
            drop(current);
            names.extend(found);
        }
        Ok(names)
    }

    async fn erase(&self, id: &str, time: Timestamp) -> Result<bool> {
        let writer = self.database.writer()?;
        let [mark, clear] = erasure(writer.dialect(), id, time);
        writer.execute("erase", mark).await?;
        let erased = writer.execute("erase", clear).await?;
        self.forget(id);
        Ok(erased > 0)
    }
}

/// Marks an unknown caller as erased, and clears the name of a known one.
pub(crate) fn erasure(dialect: &Dialect, id: &str, time: Timestamp) -> [Statement; 2] {
    let values = [id.into(), time.as_microsecond().into()];
    let mark = dialect.statement(sql_file!("both/callers/erased"), values);
    [mark, dialect.statement(sql_file!("both/callers/cleared"), [id.into()])]
}

impl StoreOptions {
    /// Erases a name permanently. Other processes may return it for a minute. True if it was known.
    pub async fn erase_caller(&self, id: &str, time: Timestamp) -> Result<bool, StoreError> {
        // The erased name is overwritten in the file.
        let connection = connect_with(self, |file| file.pragma("secure_delete", "ON")).await?;
        if !is_up_to_date(&connection, Access::Write).await? {
            return Err(StoreError::NoStore);
        }
        let [mark, clear] = erasure(Dialect::of(connection.get_database_backend()), id, time);
        connection.execute_raw(mark).await?;
        let cleared = connection.execute_raw(clear).await?;
        connection.close().await?;
        Ok(cleared.rows_affected() > 0)
    }
}

fn entry(row: &QueryResult) -> DbResult<(Box<str>, Arc<str>)> {
    Ok((get::<String>(row, "id")?.into(), get::<String>(row, "name")?.into()))
}

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
