//! Proposals on PostgreSQL: a pool of connections, one prepared statement for each request, each in
//! its own transaction.

use anyhow::Result;
use jiff::Timestamp;
use sqlx::postgres::{PgArguments, PgPool, PgPoolOptions, PgRow};
use sqlx::query::Query;
use sqlx::types::time::OffsetDateTime;
use sqlx::{Executor, Row};
use uuid::Uuid;

use crate::logged::{self, LANES};
use crate::proposal::{Checked, Proposal};
use crate::store::{PAGE_START, PLAIN, Page, Reads, Store};

const CONNECTIONS: u32 = 10;

// The members travel as text, or the driver would want them parsed.
const STATEMENTS: Statements = Statements {
    schema: "CREATE TABLE IF NOT EXISTS minimal_proposals (
        id uuid PRIMARY KEY,
        version bigint NOT NULL,
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL,
        members json NOT NULL
    )",
    insert: "INSERT INTO minimal_proposals (id, version, created_at, updated_at, members) VALUES ($1, 1, $2, $2, $3::text::json)",
    update: "UPDATE minimal_proposals SET version = version + 1, updated_at = $2, members = $3::text::json \
             WHERE id = $1 RETURNING version, created_at",
};

/// Writes, which depend on the tables. They take `$1` id, `$2` time and `$3` members; with
/// keys also these, and a number that spreads the writers.
pub struct Statements {
    pub schema: &'static str,
    pub insert: &'static str,
    pub update: &'static str,
}

pub struct Postgres {
    pool: PgPool,
    statements: &'static Statements,
    reads: &'static Reads,
}

impl Postgres {
    pub async fn open(url: &str, is_logged: bool) -> Result<Self> {
        let (statements, reads) =
            if is_logged { (&logged::POSTGRES, &logged::READS) } else { (&STATEMENTS, &PLAIN) };
        // A ping before each statement would be a second round trip.
        let options = PgPoolOptions::new()
            .max_connections(CONNECTIONS)
            .min_connections(CONNECTIONS)
            .test_before_acquire(false);
        let pool = options.connect(url).await?;
        pool.execute(statements.schema).await?;
        if is_logged {
            pool.execute(logged::INDEXES).await?;
        }
        Ok(Self { pool, statements, reads })
    }
}

impl Store for Postgres {
    async fn create(&self, id: Uuid, now: Timestamp, new: Checked) -> Result<()> {
        write(self.statements.insert, id, now, &new)?.execute(&self.pool).await?;
        Ok(())
    }

    async fn replace(&self, id: Uuid, now: Timestamp, new: Checked) -> Result<Option<String>> {
        let update = write(self.statements.update, id, now, &new)?;
        let row = update.fetch_optional(&self.pool).await?;
        let Some(row) = row else { return Ok(None) };
        let mut body = String::new();
        let members = new.members.as_str();
        let (version, created_at) = (row.try_get(0)?, time(&row, 1)?);
        Proposal { id, version, created_at, updated_at: now, members }.push_json(&mut body);
        Ok(Some(body))
    }

    async fn read(&self, id: Uuid) -> Result<Option<String>> {
        let row = sqlx::query(self.reads.item).bind(id).fetch_optional(&self.pool).await?;
        let Some(row) = row else {
            return Ok(None);
        };
        let mut body = String::new();
        push_row(&row, &mut body)?;
        Ok(Some(body))
    }

    async fn page(&self, size: i64, offset: i64) -> Result<Page> {
        let query = sqlx::query(self.reads.page).bind(size).bind(offset);
        let rows = query.fetch_all(&self.pool).await?;
        let mut body = PAGE_START.to_owned();
        for (number, row) in rows.iter().enumerate() {
            if number > 0 {
                body.push(',');
            }
            push_row(row, &mut body)?;
        }
        let total = match rows.first() {
            Some(row) => row.try_get(5)?,
            // A page behind the last has no row to carry the total.
            None => sqlx::query_scalar(self.reads.count).fetch_one(&self.pool).await?,
        };
        Ok(Page { body, total })
    }
}

fn write<'a>(
    statement: &'static str,
    id: Uuid,
    now: Timestamp,
    Checked { members, keys }: &'a Checked,
) -> Result<Query<'a, sqlx::Postgres, PgArguments>> {
    let mut query = sqlx::query(statement).bind(id).bind(stored(now)?).bind(members);
    if let Some(keys) = keys {
        for key in keys {
            query = query.bind(key.as_deref());
        }
        query = query.bind(fastrand::i32(..LANES));
    }
    Ok(query)
}

fn push_row(row: &PgRow, out: &mut String) -> Result<()> {
    let (id, version) = (row.try_get(0)?, row.try_get(1)?);
    // PostgreSQL sends json as its text; borrowing it spares both a copy and a parse.
    let members = row.try_get_unchecked(4)?;
    Proposal { id, version, created_at: time(row, 2)?, updated_at: time(row, 3)?, members }
        .push_json(out);
    Ok(())
}

fn stored(time: Timestamp) -> Result<OffsetDateTime> {
    Ok(OffsetDateTime::from_unix_timestamp_nanos(time.as_nanosecond())?)
}

fn time(row: &PgRow, column: usize) -> Result<Timestamp> {
    Ok(Timestamp::from_nanosecond(
        row.try_get::<OffsetDateTime, _>(column)?.unix_timestamp_nanos(),
    )?)
}
