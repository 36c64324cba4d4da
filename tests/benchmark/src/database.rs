//! A PostgreSQL database of the run's own, and what the database server spends on it.

use std::time::Duration;

use anyhow::{Context, Result};
use procfs::process::Process;
use tests::stores::TestDatabase;

use crate::arguments::Store;
use crate::distant_server;
use crate::process::family_cpu_time;

/// A fresh database, removed when dropped.
pub(super) struct Database {
    database: TestDatabase,
    /// The process whose children serve the connections, where it runs on this machine.
    postmaster: Option<i32>,
}

impl Database {
    pub(super) fn create() -> Result<Self> {
        let mut created = Self { database: TestDatabase::postgres(), postmaster: None };
        let file = "SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)";
        let pid = created.value(file)?.trim().parse()?;
        let stat = Process::new(pid).and_then(|process| process.stat());
        let is_here = stat.is_ok_and(|stat| stat.comm.starts_with("postgres"));
        created.postmaster = is_here.then_some(pid);
        Ok(created)
    }

    /// A database if that is the store.
    pub(super) fn of(store: Store) -> Result<Option<Self>> {
        (store == Store::Postgres).then(Self::create).transpose()
    }

    pub(super) fn url(&self) -> &str {
        self.database.url()
    }

    pub(super) fn run(&self, statement: &str) {
        let _no_rows = self.database.query(statement);
    }

    /// Makes commits take longer, as on a slow disk or with a slow standby.
    pub(super) fn delay_commits(&self, microseconds: u32) {
        self.database.set("commit_delay", &microseconds.to_string());
        self.database.set("commit_siblings", "0");
    }

    /// Its URL through a server that is further away by this time for each way.
    pub(super) fn url_at_a_distance(&self, distance: Duration) -> Result<String> {
        if distance.is_zero() {
            return Ok(self.url().to_owned());
        }
        let address = distant_server::start(self.database.server(), distance)?;
        Ok(self.database.url_through(address))
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
    /// its children, in seconds.
    pub(super) fn cpu_time(&self) -> Result<Option<f64>> {
        self.postmaster.map(family_cpu_time).transpose()
    }
}
