//! A store of a size: filling it, indexing it, and what else is done to a whole store, each timed.

use std::cell::Cell;
use std::fs;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use futures_util::future::try_join_all;

use super::history::History;
use crate::arguments::Store;
use crate::connection::Connection;
use crate::database::Database;
use crate::process::Server;
use crate::program::program;

/// A search that finds nothing, which is answered when everything is indexed.
const SEARCH: &[u8] = b"GET /v1/proposals?q=zzzz&page_size=1&total=none HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n\r\n";

const WRITERS: usize = 32;

const PATIENCE: Duration = Duration::from_hours(6);

pub(super) struct Stage {
    pub(super) store: Store,
    pub(super) items: u64,
    pub(super) server: Server,
    database: Option<Database>,
    file: PathBuf,
}

impl Stage {
    /// Fills a store, unless a file of its name exists, and serves it. Adds to `costs` the time and
    /// bytes of each step.
    pub(super) async fn set(
        store: Store,
        items: u64,
        folder: &Path,
        costs: &mut Vec<(String, String)>,
    ) -> Result<Self> {
        let file = folder.join(format!("capacity-{items}.db"));
        let database = if store == Store::Postgres { Some(Database::create()?) } else { None };
        let url = url(database.as_ref(), &file);
        if database.is_some() || !file.exists() {
            let start = Instant::now();
            fill(&url, History { items })?;
            costs.push(("fill (import)".to_owned(), seconds(start.elapsed())));
        }
        if let Some(database) = &database {
            database.settle();
        }
        let start = Instant::now();
        let migration = Command::new(program("proposal-service")?)
            .args(["migrate", "--database-url", &url])
            .status()?;
        ensure!(migration.success(), "the migration ended with {migration}");
        costs.push(("migrate".to_owned(), seconds(start.elapsed())));
        let arguments = ["--database-url", url.as_str()];
        let server = Server::start(&program("proposal-service")?, &arguments, folder).await?;
        let stage = Self { store, items, server, database, file };
        costs.push(("bytes before the index".to_owned(), stage.bytes()?.to_string()));
        let start = Instant::now();
        stage.wait_until_indexed().await?;
        costs.push(("index".to_owned(), seconds(start.elapsed())));
        costs.push(("bytes".to_owned(), stage.bytes()?.to_string()));
        Ok(stage)
    }

    pub(super) fn bytes(&self) -> Result<u64> {
        if let Some(database) = &self.database {
            let size = "SELECT CAST(pg_database_size(current_database()) AS TEXT)";
            return Ok(database.value(size)?.parse()?);
        }
        // As the file will be when the write-ahead log is copied into it.
        let file = self.look()?;
        let value = |name| file.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        Ok((value("page_count")? * value("page_size")?).unsigned_abs())
    }

    pub(super) fn cpu_time(&self) -> Result<Duration> {
        let database = self.database.as_ref().map(Database::cpu_time).transpose()?.flatten();
        Ok(self.server.cpu_time()? + database.unwrap_or_default())
    }

    pub(super) fn lag(&self) -> Result<u64> {
        const LAG: &str = "SELECT CAST(MAX(c.sequence) - (SELECT sequence FROM search_progress) AS TEXT) FROM changes c";
        let lag = match &self.database {
            Some(database) => database.value(LAG)?,
            None => self.look()?.query_row(LAG, [], |row| row.get(0))?,
        };
        Ok(lag.parse()?)
    }

    fn look(&self) -> rusqlite::Result<rusqlite::Connection> {
        let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
        rusqlite::Connection::open_with_flags(&self.file, flags)
    }

    /// Makes a small change to this number of items, spread evenly, and waits for the index.
    pub(super) async fn replace(&self, count: u64) -> Result<()> {
        let open = Cell::new(0..count);
        let step = (self.items / count).max(1);
        let workers = (0..WRITERS).map(async |_| {
            let mut connection = Connection::open(self.server.address).await?;
            loop {
                let mut left = open.take();
                let next = left.next();
                open.set(left);
                let Some(turn) = next else { return anyhow::Ok(()) };
                let request = History { items: self.items }.replacement(turn * step, turn);
                let status = connection.exchange(&request).await?;
                // Some are of the rare group.
                ensure!(matches!(status, 200 | 404), "a replacement was answered {status}");
            }
        });
        try_join_all(workers).await?;
        self.wait_until_indexed().await
    }

    /// Times the commands that copy the store. What they made is removed.
    pub(super) fn copy(&self, folder: &Path, costs: &mut Vec<(String, String)>) -> Result<()> {
        let url = url(self.database.as_ref(), &self.file);
        let commands: &[&str] =
            if self.store == Store::Sqlite { &["backup", "export"] } else { &["export"] };
        for &command in commands {
            let copy = folder.join(format!("capacity-{command}"));
            let start = Instant::now();
            let status = Command::new(program("proposal-service")?)
                .args([command, &copy.display().to_string(), "--database-url", &url])
                .stdout(Stdio::null())
                .status()?;
            ensure!(status.success(), "{command} ended with {status}");
            costs.push((command.to_owned(), seconds(start.elapsed())));
            costs.push((format!("bytes of the {command}"), fs::metadata(&copy)?.len().to_string()));
            fs::remove_file(&copy)?;
        }
        Ok(())
    }

    async fn wait_until_indexed(&self) -> Result<()> {
        let end = Instant::now() + PATIENCE;
        let mut connection = Connection::open(self.server.address).await?;
        while connection.exchange(SEARCH).await? != 200 {
            ensure!(Instant::now() < end, "the index is not done");
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        Ok(())
    }
}

fn fill(url: &str, history: History) -> Result<()> {
    eprintln!("filling a store with {} items", history.items);
    let mut import = Command::new(program("proposal-service")?)
        .args(["import", "--database-url", url])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .context("cannot import")?;
    let input = import.stdin.take().context("no input")?;
    let written: io::Result<()> = history.write(&mut BufWriter::with_capacity(1 << 20, input));
    let status = import.wait()?;
    ensure!(status.success(), "the import ended with {status}");
    written.context("the import stopped reading")
}

fn url(database: Option<&Database>, file: &Path) -> String {
    let of_file = || format!("sqlite://{}?mode=rwc", file.display());
    database.map_or_else(of_file, |database| database.url().to_owned())
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
