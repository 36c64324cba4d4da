//! The tables of `--log`: a log that has each version's members, items that say which change made
//! them, with the indexed columns, and totals.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};
use uuid::Uuid;

use crate::postgres::Statements;
use crate::proposal::{Keys, Proposal};
use crate::store::Reads;

/// Rows of totals on PostgreSQL, so that writers seldom wait for each other.
pub const LANES: i32 = 16;

/// Indexes of both stores.
pub const INDEXES: &str =
    "CREATE UNIQUE INDEX IF NOT EXISTS logged_changes_by_item ON logged_changes (item_id, version);
    CREATE INDEX IF NOT EXISTS logged_changes_by_time ON logged_changes (time, item_id);
    CREATE INDEX IF NOT EXISTS logged_by_program_id ON logged_proposals (program_id, id) WHERE program_id IS NOT NULL;
    CREATE INDEX IF NOT EXISTS logged_by_research_type ON logged_proposals (research_type, id) WHERE research_type IS NOT NULL;
    CREATE INDEX IF NOT EXISTS logged_by_researcher_id ON logged_proposals (researcher_id, id) WHERE researcher_id IS NOT NULL;
    CREATE INDEX IF NOT EXISTS logged_by_start_date ON logged_proposals (start_date, id) WHERE start_date IS NOT NULL;";

pub const READS: Reads = Reads {
    item: "SELECT p.id, p.version, p.created_at, p.updated_at, c.members \
           FROM logged_proposals p JOIN logged_changes c ON c.sequence = p.sequence WHERE p.id = $1",
    page: "SELECT p.id, p.version, p.created_at, p.updated_at, c.members, (SELECT CAST(sum(items) AS bigint) FROM logged_totals) \
           FROM (SELECT * FROM logged_proposals ORDER BY id LIMIT $1 OFFSET $2) p \
           JOIN logged_changes c ON c.sequence = p.sequence ORDER BY p.id",
    count: "SELECT CAST(sum(items) AS bigint) FROM logged_totals",
};

pub const SQLITE_SCHEMA: &str = "CREATE TABLE IF NOT EXISTS logged_changes (
        sequence INTEGER PRIMARY KEY,
        item_id BLOB NOT NULL,
        version INTEGER NOT NULL,
        kind TEXT NOT NULL,
        time TEXT NOT NULL,
        caller TEXT,
        members TEXT NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS logged_proposals (
        id BLOB PRIMARY KEY NOT NULL,
        version INTEGER NOT NULL,
        sequence INTEGER NOT NULL,
        created_at TEXT NOT NULL,
        updated_at TEXT NOT NULL,
        program_id TEXT,
        research_type TEXT,
        researcher_id TEXT,
        start_date TEXT
    ) STRICT;
    CREATE TABLE IF NOT EXISTS logged_totals (collection TEXT PRIMARY KEY, items INTEGER NOT NULL, writes INTEGER NOT NULL) STRICT;
    INSERT OR IGNORE INTO logged_totals VALUES ('proposals', 0, 0)";

const LOG: &str = "INSERT INTO logged_changes (item_id, version, kind, time, members) VALUES (?1, ?2, ?3, ?4, ?5)";
const INSERT: &str = "INSERT INTO logged_proposals (id, version, sequence, created_at, updated_at, program_id, research_type, \
                      researcher_id, start_date) VALUES (?1, 1, ?2, ?3, ?3, ?4, ?5, ?6, ?7)";
const FIND: &str = "SELECT version, created_at FROM logged_proposals WHERE id = ?1";
const UPDATE: &str = "UPDATE logged_proposals SET version = ?2, sequence = ?3, updated_at = ?4, program_id = ?5, \
                      research_type = ?6, researcher_id = ?7, start_date = ?8 WHERE id = ?1";
const COUNT: &str = "UPDATE logged_totals SET items = items + ?1, writes = writes + 1";

pub fn create(
    writer: &Connection,
    id: Uuid,
    now: Timestamp,
    members: &str,
    [program, kind, researcher, start]: &Keys,
) -> rusqlite::Result<()> {
    let now = now.to_string();
    writer.prepare_cached(LOG)?.execute(params![id, 1, "created", now, members])?;
    let sequence = writer.last_insert_rowid();
    let item = params![id, sequence, now, program, kind, researcher, start];
    writer.prepare_cached(INSERT)?.execute(item)?;
    writer.prepare_cached(COUNT)?.execute([1])?;
    Ok(())
}

pub fn replace(
    writer: &Connection,
    id: Uuid,
    now: Timestamp,
    members: &str,
    [program, kind, researcher, start]: &Keys,
) -> rusqlite::Result<Option<String>> {
    let found = writer.prepare_cached(FIND)?.query_row([id], |row| Ok((row.get(0)?, row.get(1)?)));
    let Some((version, created_at)): Option<(i64, String)> = found.optional()? else {
        return Ok(None);
    };
    let (version, updated_at) = (version + 1, now.to_string());
    writer.prepare_cached(LOG)?.execute(params![id, version, "replaced", updated_at, members])?;
    let sequence = writer.last_insert_rowid();
    let item = params![id, version, sequence, updated_at, program, kind, researcher, start];
    writer.prepare_cached(UPDATE)?.execute(item)?;
    writer.prepare_cached(COUNT)?.execute([0])?;
    let mut body = String::new();
    Proposal { id, version, created_at, updated_at, members }.push_json(&mut body);
    Ok(Some(body))
}

pub const POSTGRES: Statements = Statements {
    schema: "CREATE TABLE IF NOT EXISTS logged_changes (
        sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        item_id uuid NOT NULL,
        version bigint NOT NULL,
        kind text NOT NULL,
        time timestamptz NOT NULL,
        caller text,
        members json NOT NULL
    );
    CREATE TABLE IF NOT EXISTS logged_proposals (
        id uuid PRIMARY KEY,
        version bigint NOT NULL,
        sequence bigint NOT NULL,
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL,
        program_id text,
        research_type text,
        researcher_id text,
        start_date text
    ) WITH (fillfactor = 80);
    CREATE TABLE IF NOT EXISTS logged_totals (lane integer PRIMARY KEY, items bigint NOT NULL, writes bigint NOT NULL) WITH (fillfactor = 50);
    INSERT INTO logged_totals SELECT lane, 0, 0 FROM generate_series(0, 15) lane ON CONFLICT DO NOTHING",
    insert: "WITH logged AS (INSERT INTO logged_changes (item_id, version, kind, time, members) \
             VALUES ($1, 1, 'created', $2, $3::text::json) RETURNING sequence), \
             written AS (INSERT INTO logged_proposals (id, version, sequence, created_at, updated_at, program_id, research_type, \
             researcher_id, start_date) SELECT $1, 1, sequence, $2, $2, $4, $5, $6, $7 FROM logged) \
             UPDATE logged_totals SET items = items + 1, writes = writes + 1 WHERE lane = $8",
    update: "WITH found AS (SELECT version FROM logged_proposals WHERE id = $1 FOR NO KEY UPDATE), \
             logged AS (INSERT INTO logged_changes (item_id, version, kind, time, members) \
             SELECT $1, version + 1, 'replaced', $2, $3::text::json FROM found RETURNING sequence, version), \
             counted AS (UPDATE logged_totals SET writes = writes + 1 WHERE lane = $8 AND EXISTS (SELECT 1 FROM found)) \
             UPDATE logged_proposals p SET version = l.version, sequence = l.sequence, updated_at = $2, program_id = $4, \
             research_type = $5, researcher_id = $6, start_date = $7 FROM logged l WHERE p.id = $1 RETURNING p.version, p.created_at",
};
