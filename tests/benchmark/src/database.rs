//! A PostgreSQL database of the run's own, and what the database server spends on it.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use procfs::process::Process;
use tests::stores::TestDatabase;
use url::Url;

use crate::process::family_cpu_time;

/// A fresh database, removed when dropped.
pub(super) struct Database {
    database: TestDatabase,
    /// The process whose children serve the connections, where it runs on this machine.
    postmaster: Option<i32>,
}

impl Database {
    /// Refuses at once what would else fail after the other stores were filled.
    pub(super) fn require_server() -> Result<()> {
        ensure!(
            std::env::var_os("TEST_POSTGRES_URL").is_some(),
            "TEST_POSTGRES_URL does not name a PostgreSQL server: see --help"
        );
        Ok(())
    }

    pub(super) fn create() -> Result<Self> {
        let database = TestDatabase::postgres();
        let postmaster = postmaster(&database)?;
        Ok(Self { database, postmaster })
    }

    pub(super) fn url(&self) -> &str {
        self.database.url()
    }

    /// Makes commits take longer, as on a slow disk or with a slow standby.
    pub(super) fn delay_commits(&self, microseconds: u32) -> Result<()> {
        let url = Url::parse(self.url())?;
        let name = url.path().trim_start_matches('/');
        for setting in [format!("commit_delay = {microseconds}"), "commit_siblings = 0".to_owned()]
        {
            let _no_rows = self.database.query(&format!("ALTER DATABASE {name} SET {setting}"));
        }
        Ok(())
    }

    /// Lets the planner know the tables, as autovacuum would within a minute, so that the figures
    /// do not hang on when it comes.
    pub(super) fn analyze(&self) {
        let _no_rows = self.database.query("ANALYZE");
    }

    /// The same for a store that was filled fast and will only be read: what PostgreSQL would come
    /// to by itself within minutes, a vacuum and writing back what was changed, would else fall
    /// into somebody's turn.
    pub(super) fn settle(&self) {
        for statement in ["VACUUM (ANALYZE)", "CHECKPOINT"] {
            let _no_rows = self.database.query(statement);
        }
    }

    pub(super) fn wal_bytes(&self) -> Result<u64> {
        let position = "SELECT CAST(CAST(pg_current_wal_lsn() - '0/0' AS BIGINT) AS TEXT)";
        Ok(self.value(position)?.parse()?)
    }

    pub(super) fn value(&self, query: &str) -> Result<String> {
        let value = self.database.query(query).pop().and_then(|mut row| row.pop()?);
        value.with_context(|| format!("PostgreSQL does not answer {query}"))
    }

    /// Returns whether whole pages are written to the write-ahead log after a checkpoint, which makes
    /// its length depend on when that was.
    pub(super) fn writes_full_pages(&self) -> bool {
        self.database.query("SHOW full_page_writes") != [[Some("off".to_owned())]]
    }

    /// Processor time of the whole database server so far: user and system time of the postmaster and
    /// its children.
    pub(super) fn cpu_time(&self) -> Result<Option<Duration>> {
        self.postmaster.map(family_cpu_time).transpose()
    }
}

fn postmaster(database: &TestDatabase) -> Result<Option<i32>> {
    let rows = database.query("SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)");
    let pid = rows
        .first()
        .and_then(|row| row.first()?.as_ref())
        .context("PostgreSQL does not tell its process")?
        .trim()
        .parse()?;
    let stat = Process::new(pid).and_then(|process| process.stat());
    Ok(stat.is_ok_and(|stat| stat.comm.starts_with("postgres")).then_some(pid))
}
