//! A store of a size, with timed commands: fill, index, copy and replace.

use std::cell::Cell;
use std::fmt::Display;
use std::fs;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use futures_util::future::try_join_all;

use crate::arguments::Store;
use crate::connection::Connection;
use crate::database::Database;
use crate::history::History;
use crate::process::{Server, command, program};
use crate::subject::store_url;
use crate::turn::Running;

const WRITERS: usize = 32;

/// The median length of a seeded proposal, in bytes, as those of the other benchmark have.
pub(super) const MEDIAN_SIZE: &str = "2400";

/// Fills the store at a URL with this number of items.
pub(super) type Fill = fn(&str, u64) -> Result<()>;

pub(super) struct Stage {
    pub(super) store: Store,
    pub(super) items: u64,
    pub(super) running: Running,
    /// The file of SQLite.
    file: PathBuf,
    url: String,
}

impl Stage {
    /// Fills a store, unless a file of its name exists, and serves it. Prints the time and bytes of
    /// each step.
    pub(super) async fn set(
        store: Store,
        items: u64,
        filling: Fill,
        folder: &Path,
    ) -> Result<Self> {
        let name = folder.join(format!("capacity-{items}"));
        let (file, database) = (name.with_extension("db"), Database::of(store)?);
        let url = store_url(database.as_ref(), &name);
        let print = |name, figure: &dyn Display| print(store, items, name, figure);
        let start = Instant::now();
        if database.is_some() || !file.exists() {
            eprintln!("filling a store with {items} items");
            filling(&url, items)?;
            print("fill", &seconds(start.elapsed()));
        }
        if let Some(database) = &database {
            // Otherwise autovacuum and a checkpoint would run during a turn.
            database.run("VACUUM (ANALYZE)");
            database.run("CHECKPOINT");
        }
        print("migrate", &timed(&["migrate", "--database-url", &url])?);
        let arguments = ["--database-url", url.as_str()];
        let server = Server::start(&program("proposal-service")?, &arguments, folder).await?;
        let stage = Self { store, items, running: Running { server, database }, file, url };
        print("bytes before the index", &stage.bytes()?);
        print("index", &seconds(stage.running.settle("").await?.0));
        print("bytes", &stage.bytes()?);
        Ok(stage)
    }

    pub(super) fn title(&self) -> String {
        format!("{}, {} items", self.store.title(), self.items)
    }

    pub(super) fn bytes(&self) -> Result<u64> {
        if let Some(database) = &self.running.database {
            let size = "SELECT CAST(pg_database_size(current_database()) AS TEXT)";
            return Ok(database.value(size)?.parse()?);
        }
        // As the file will be when the write-ahead log is copied into it.
        let file = self.look()?;
        let value = |name| file.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        Ok((value("page_count")? * value("page_size")?).unsigned_abs())
    }

    pub(super) fn lag(&self) -> Result<u64> {
        const LAG: &str = "SELECT CAST(MAX(c.sequence) - (SELECT sequence FROM search_progress) AS TEXT) FROM changes c";
        let lag = match &self.running.database {
            Some(database) => database.value(LAG)?,
            None => self.look()?.query_row(LAG, [], |row| row.get(0))?,
        };
        Ok(lag.parse()?)
    }

    fn look(&self) -> rusqlite::Result<rusqlite::Connection> {
        let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
        rusqlite::Connection::open_with_flags(&self.file, flags)
    }

    /// Makes a small change to this number of items, spread evenly, waits for the index, and prints
    /// the bytes of a change.
    pub(super) async fn replace(&self, count: u64) -> Result<()> {
        let (before, next, step) = (self.bytes()?, Cell::new(0), (self.items / count).max(1));
        let history = History { items: self.items };
        let workers = (0..WRITERS).map(async |_| {
            let mut connection = Connection::open(self.running.server.address).await?;
            while next.get() < count {
                let turn = next.replace(next.get() + 1);
                let status = connection.exchange(&history.replacement(turn * step, turn)).await?;
                ensure!(status == 200, "a replacement was answered {status}");
            }
            anyhow::Ok(())
        });
        try_join_all(workers).await?;
        self.running.settle("").await?;
        let bytes = self.bytes()?.saturating_sub(before) / count;
        print(self.store, self.items, "bytes of a further version", &bytes);
        Ok(())
    }

    /// Times the commands that copy the store, and removes the copies.
    pub(super) fn copy(&self, folder: &Path) -> Result<()> {
        let commands =
            if self.store == Store::Sqlite { &["backup", "export"][..] } else { &["export"] };
        for command in commands {
            let copy = folder.join(format!("capacity-{command}"));
            let time = timed(&[command, &copy.display().to_string(), "--database-url", &self.url])?;
            print(self.store, self.items, command, &time);
            let (bytes, name) = (fs::metadata(&copy)?.len(), format!("bytes of the {command}"));
            print(self.store, self.items, &name, &bytes);
            fs::remove_file(&copy)?;
        }
        Ok(())
    }
}

fn print(store: Store, items: u64, name: &str, figure: &dyn Display) {
    println!("{}, {items} items: {name}: {figure}", store.title());
}

/// Fills a fresh store by the service's own command, which is faster than its interface.
pub(super) fn seed(url: &str, proposals: u64) -> Result<()> {
    let number = proposals.to_string();
    let arguments = ["seed", "--database-url", url, "--median-size", MEDIAN_SIZE];
    timed(&[&arguments[..], &["--proposals", &number]].concat()).map(drop)
}

/// Fills a fresh store with small items.
pub(super) fn import(url: &str, items: u64) -> Result<()> {
    let mut import = command(&["import", "--database-url", url])?;
    let mut import = import.stdin(Stdio::piped()).spawn().context("cannot import")?;
    let input = import.stdin.take().context("no input")?;
    let written = History { items }.write(&mut BufWriter::with_capacity(1 << 20, input));
    let status = import.wait()?;
    ensure!(status.success(), "the import ended with {status}");
    written.context("the import stopped reading")
}

/// Runs a command of the service, and returns how long it took.
fn timed(arguments: &[&str]) -> Result<String> {
    let start = Instant::now();
    let status = command(arguments)?.status()?;
    ensure!(status.success(), "{} ended with {status}", arguments[0]);
    Ok(seconds(start.elapsed()))
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
