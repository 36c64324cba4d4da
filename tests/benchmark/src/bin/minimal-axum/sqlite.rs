//! Proposals on SQLite: a few threads that read, and one that writes, whose waiting writes share a
//! commit.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use crossbeam_channel::{Receiver, Sender, unbounded};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::logged;
use crate::proposal::{Checked, Proposal};
use crate::store::{PAGE_START, PLAIN, Page, Reads, Store};

const LARGEST_GROUP: usize = 256;

const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Mapping the file spares the readers a copy of each page they do not hold.
const MAPPED_BYTES: i64 = 256 * 1024 * 1024;

const INSERT: &str = "INSERT INTO minimal_proposals (id, version, created_at, updated_at, members) VALUES (?1, 1, ?2, ?2, ?3)";
const UPDATE: &str = "UPDATE minimal_proposals SET version = version + 1, updated_at = ?2, members = ?3 WHERE id = ?1 \
                      RETURNING id, version, created_at, updated_at, members";

const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS minimal_proposals (
    id BLOB PRIMARY KEY NOT NULL,
    version INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    members TEXT NOT NULL
) STRICT";

type Read = Box<dyn FnOnce(&Connection) + Send>;

/// A write, which gives what to do once it is known whether it was committed.
type Write = Box<dyn FnOnce(&Connection) -> AfterCommit + Send>;
type AfterCommit = Box<dyn FnOnce(Result<(), String>)>;

pub struct Sqlite {
    reads: Sender<Read>,
    writes: Sender<Write>,
    statements: &'static Reads,
}

impl Sqlite {
    pub fn open(url: &str, is_logged: bool) -> Result<Self> {
        let (schema, indexes, statements) = if is_logged {
            (logged::SQLITE_SCHEMA, logged::INDEXES, &logged::READS)
        } else {
            (SCHEMA, "", &PLAIN)
        };
        let file = file(url)?;
        let (writes, open_writes) = unbounded();
        let connection = open_writer(&file, schema)?;
        connection.execute_batch(indexes)?;
        thread::Builder::new()
            .name("writer".to_owned())
            .spawn(move || write_groups(&connection, &open_writes))?;
        let (reads, open_reads) = unbounded::<Read>();
        for _ in 0..thread::available_parallelism().map_or(2, usize::from).max(2) {
            let (reader, open_reads) = (open_connection(&file)?, open_reads.clone());
            let work = move || open_reads.iter().for_each(|read| read(&reader));
            thread::Builder::new().name("reader".to_owned()).spawn(work)?;
        }
        Ok(Self { reads, writes, statements })
    }

    async fn ask<T, F>(&self, question: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let read = move |reader: &Connection| {
            // The receiver is gone if the client disconnected.
            let _ = answer.send(question(reader));
        };
        self.reads.send(Box::new(read)).map_err(|_| anyhow!("the readers are gone"))?;
        Ok(answered.await??)
    }

    async fn write<T, F>(&self, change: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let write = move |writer: &Connection| -> AfterCommit {
            let outcome = change(writer);
            Box::new(move |committed| {
                // The receiver is gone if the client disconnected.
                let _ = answer.send(
                    committed.map_err(anyhow::Error::msg).and(outcome.map_err(anyhow::Error::from)),
                );
            })
        };
        self.writes.send(Box::new(write)).map_err(|_| anyhow!("the writer is gone"))?;
        answered.await?
    }
}

impl Store for Sqlite {
    async fn create(&self, id: Uuid, now: Timestamp, new: Checked) -> Result<()> {
        let Checked { members, keys } = new;
        let insert = move |writer: &Connection| match keys {
            Some(keys) => logged::create(writer, id, now, &members, &keys),
            None => writer
                .prepare_cached(INSERT)?
                .execute(params![id, now.to_string(), members])
                .map(drop),
        };
        self.write(insert).await
    }

    async fn replace(&self, id: Uuid, now: Timestamp, new: Checked) -> Result<Option<String>> {
        let Checked { members, keys } = new;
        let update = move |writer: &Connection| match keys {
            Some(keys) => logged::replace(writer, id, now, &members, &keys),
            None => writer
                .prepare_cached(UPDATE)?
                .query_row(params![id, now.to_string(), members], item)
                .optional(),
        };
        self.write(update).await
    }

    async fn read(&self, id: Uuid) -> Result<Option<String>> {
        let select = self.statements.item;
        self.ask(move |reader| reader.prepare_cached(select)?.query_row([id], item).optional())
            .await
    }

    async fn page(&self, size: i64, offset: i64) -> Result<Page> {
        let statements = self.statements;
        self.ask(move |reader| page(reader, statements, size, offset)).await
    }
}

/// The path between `sqlite:` or `sqlite://` and the parameters.
fn file(url: &str) -> Result<PathBuf> {
    let location = url.strip_prefix("sqlite:").context("not an SQLite URL")?;
    let location = location.strip_prefix("//").unwrap_or(location);
    Ok(location.split('?').next().unwrap_or(location).into())
}

fn open_connection(file: &Path) -> Result<Connection> {
    let connection =
        Connection::open(file).with_context(|| format!("cannot open {}", file.display()))?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "mmap_size", MAPPED_BYTES)?;
    Ok(connection)
}

fn open_writer(file: &Path, schema: &str) -> Result<Connection> {
    let writer = open_connection(file)?;
    writer.pragma_update(None, "journal_mode", "WAL")?;
    writer.pragma_update(None, "synchronous", "FULL")?;
    writer.execute_batch(schema)?;
    Ok(writer)
}

/// Takes all writes that wait, commits them together, then answers them.
fn write_groups(writer: &Connection, open: &Receiver<Write>) {
    for first in open {
        let group = std::iter::once(first).chain(open.try_iter().take(LARGEST_GROUP - 1));
        let mut answers = Vec::new();
        let committed = commit(writer, group, &mut answers).map_err(|error| error.to_string());
        for answer in answers {
            answer(committed.clone());
        }
    }
}

/// A write that fails undoes itself alone; a failed commit undoes all. Where it does not even
/// begin, the writes are dropped, which their clients learn.
fn commit(
    writer: &Connection,
    group: impl Iterator<Item = Write>,
    answers: &mut Vec<AfterCommit>,
) -> rusqlite::Result<()> {
    writer.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    answers.extend(group.map(|write| write(writer)));
    let committed = writer.prepare_cached("COMMIT")?.execute([]);
    if committed.is_err() && !writer.is_autocommit() {
        writer.execute_batch("ROLLBACK")?;
    }
    committed.map(drop)
}

fn page(reader: &Connection, statements: &Reads, size: i64, offset: i64) -> rusqlite::Result<Page> {
    let mut statement = reader.prepare_cached(statements.page)?;
    let mut rows = statement.query([size, offset])?;
    let mut body = PAGE_START.to_owned();
    let mut total = None;
    while let Some(row) = rows.next()? {
        if total.is_some() {
            body.push(',');
        } else {
            total = Some(row.get(5)?);
        }
        push_row(row, &mut body)?;
    }
    // A page behind the last has no row to carry the total.
    let total = total.map_or_else(
        || reader.prepare_cached(statements.count)?.query_row([], |row| row.get(0)),
        Ok,
    )?;
    Ok(Page { body, total })
}

fn item(row: &Row<'_>) -> rusqlite::Result<String> {
    let mut body = String::new();
    push_row(row, &mut body)?;
    Ok(body)
}

fn push_row(row: &Row<'_>, out: &mut String) -> rusqlite::Result<()> {
    let (id, version) = (row.get(0)?, row.get(1)?);
    let (created_at, updated_at) = (row.get_ref(2)?.as_str()?, row.get_ref(3)?.as_str()?);
    Proposal { id, version, created_at, updated_at, members: row.get_ref(4)?.as_str()? }
        .push_json(out);
    Ok(())
}
