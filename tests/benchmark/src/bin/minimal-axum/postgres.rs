//! Proposals on PostgreSQL: a pool of connections, one prepared statement for each request, each a
//! transaction of its own.

use anyhow::Result;
use jiff::Timestamp;
use sqlx::postgres::{PgPool, PgPoolOptions, PgRow};
use sqlx::types::time::OffsetDateTime;
use sqlx::{Executor, Row};
use uuid::Uuid;

use crate::proposal::Proposal;
use crate::store::{PAGE_START, Page};

const CONNECTIONS: u32 = 10;

const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS minimal_proposals (
    id uuid PRIMARY KEY,
    version bigint NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    members json NOT NULL
)";

// The members travel as text, or the driver would want them parsed.
const INSERT: &str = "INSERT INTO minimal_proposals (id, version, created_at, updated_at, members) VALUES ($1, 1, $2, $2, $3::text::json)";
const UPDATE: &str = "UPDATE minimal_proposals SET version = version + 1, updated_at = $2, members = $3::text::json \
                      WHERE id = $1 RETURNING version, created_at";
const SELECT: &str =
    "SELECT id, version, created_at, updated_at, members FROM minimal_proposals WHERE id = $1";
const SELECT_PAGE: &str = "SELECT id, version, created_at, updated_at, members, (SELECT count(*) FROM minimal_proposals) AS total \
                           FROM minimal_proposals ORDER BY id LIMIT $1 OFFSET $2";
const COUNT: &str = "SELECT count(*) FROM minimal_proposals";

/// A pool of connections.
pub struct Postgres(PgPool);

impl Postgres {
    pub async fn open(url: &str) -> Result<Self> {
        // A ping before each statement would be a second round trip.
        let options = PgPoolOptions::new()
            .max_connections(CONNECTIONS)
            .min_connections(CONNECTIONS)
            .test_before_acquire(false);
        let pool = options.connect(url).await?;
        pool.execute(SCHEMA).await?;
        Ok(Self(pool))
    }

    pub async fn create(&self, id: Uuid, now: Timestamp, members: &str) -> Result<()> {
        sqlx::query(INSERT).bind(id).bind(stored(now)?).bind(members).execute(&self.0).await?;
        Ok(())
    }

    pub async fn replace(&self, id: Uuid, now: Timestamp, members: &str) -> Result<Option<String>> {
        let row = sqlx::query(UPDATE)
            .bind(id)
            .bind(stored(now)?)
            .bind(members)
            .fetch_optional(&self.0)
            .await?;
        let Some(row) = row else { return Ok(None) };
        let mut body = String::new();
        let (version, created_at) = (row.try_get(0)?, time(&row, 1)?);
        Proposal { id, version, created_at, updated_at: now, members }.push_json(&mut body);
        Ok(Some(body))
    }

    pub async fn read(&self, id: Uuid) -> Result<Option<String>> {
        let Some(row) = sqlx::query(SELECT).bind(id).fetch_optional(&self.0).await? else {
            return Ok(None);
        };
        let mut body = String::new();
        push_row(&row, &mut body)?;
        Ok(Some(body))
    }

    pub async fn page(&self, size: i64, offset: i64) -> Result<Page> {
        let rows = sqlx::query(SELECT_PAGE).bind(size).bind(offset).fetch_all(&self.0).await?;
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
            None => sqlx::query_scalar(COUNT).fetch_one(&self.0).await?,
        };
        Ok(Page { body, total })
    }
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
