//! The store behind the routes: whichever the URL names.

use anyhow::{Result, bail};
use jiff::Timestamp;
use uuid::Uuid;

use crate::postgres::Postgres;
use crate::sqlite::Sqlite;

/// An open store. Its answers are JSON already, written straight from the rows.
pub enum Store {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

/// Some proposals and how many there are.
pub struct Page {
    /// The beginning of the answer: all up to the last item.
    pub body: String,
    pub total: i64,
}

/// An empty page of the answer, ready for its items.
pub const PAGE_START: &str = r#"{"items":["#;

impl Store {
    pub async fn open(url: &str) -> Result<Self> {
        match url.split_once(':') {
            Some(("sqlite", _)) => Ok(Self::Sqlite(Sqlite::open(url)?)),
            Some(("postgres" | "postgresql", _)) => Ok(Self::Postgres(Postgres::open(url).await?)),
            _ => bail!("neither an SQLite nor a PostgreSQL URL: {url}"),
        }
    }

    pub async fn create(&self, id: Uuid, now: Timestamp, members: String) -> Result<()> {
        match self {
            Self::Sqlite(store) => store.create(id, now, members).await,
            Self::Postgres(store) => store.create(id, now, &members).await,
        }
    }

    /// The proposal as it is now, or nothing where there is none.
    pub async fn replace(
        &self,
        id: Uuid,
        now: Timestamp,
        members: String,
    ) -> Result<Option<String>> {
        match self {
            Self::Sqlite(store) => store.replace(id, now, members).await,
            Self::Postgres(store) => store.replace(id, now, &members).await,
        }
    }

    pub async fn read(&self, id: Uuid) -> Result<Option<String>> {
        match self {
            Self::Sqlite(store) => store.read(id).await,
            Self::Postgres(store) => store.read(id).await,
        }
    }

    pub async fn page(&self, size: i64, offset: i64) -> Result<Page> {
        match self {
            Self::Sqlite(store) => store.page(size, offset).await,
            Self::Postgres(store) => store.page(size, offset).await,
        }
    }
}
