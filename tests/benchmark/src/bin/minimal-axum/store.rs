//! The store behind the routes: whichever the URL names.

use anyhow::{Result, bail};
use jiff::Timestamp;
use uuid::Uuid;

use crate::postgres::Postgres;
use crate::proposal::Checked;
use crate::sqlite::Sqlite;

pub struct Store {
    engine: Engine,
    is_logged: bool,
}

enum Engine {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

pub struct Page {
    pub body: String,
    pub total: i64,
}

pub const PAGE_START: &str = r#"{"items":["#;

impl Store {
    pub async fn open(url: &str, is_logged: bool) -> Result<Self> {
        let engine = match url.split_once(':') {
            Some(("sqlite", _)) => Engine::Sqlite(Sqlite::open(url, is_logged)?),
            Some(("postgres" | "postgresql", _)) => {
                Engine::Postgres(Postgres::open(url, is_logged).await?)
            }
            _ => bail!("neither an SQLite nor a PostgreSQL URL: {url}"),
        };
        Ok(Self { engine, is_logged })
    }

    pub const fn is_logged(&self) -> bool {
        self.is_logged
    }

    pub async fn create(&self, id: Uuid, now: Timestamp, checked: Checked) -> Result<()> {
        match &self.engine {
            Engine::Sqlite(store) => store.create(id, now, checked).await,
            Engine::Postgres(store) => store.create(id, now, &checked).await,
        }
    }

    pub async fn replace(
        &self,
        id: Uuid,
        now: Timestamp,
        checked: Checked,
    ) -> Result<Option<String>> {
        match &self.engine {
            Engine::Sqlite(store) => store.replace(id, now, checked).await,
            Engine::Postgres(store) => store.replace(id, now, &checked).await,
        }
    }

    pub async fn read(&self, id: Uuid) -> Result<Option<String>> {
        match &self.engine {
            Engine::Sqlite(store) => store.read(id).await,
            Engine::Postgres(store) => store.read(id).await,
        }
    }

    pub async fn page(&self, size: i64, offset: i64) -> Result<Page> {
        match &self.engine {
            Engine::Sqlite(store) => store.page(size, offset).await,
            Engine::Postgres(store) => store.page(size, offset).await,
        }
    }
}
