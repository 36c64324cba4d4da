//! Databases for tests: a file, or a new database on a real server, deleted when dropped.

use std::net::SocketAddr;
use std::path::Path;
use std::thread;

use crate::Store;

use sqlx::any::{AnyConnectOptions, AnyRow, install_default_drivers};
use sqlx::{AssertSqlSafe, Connection, Row};
use tempfile::TempDir;
use url::Url;

/// A new, empty database for synchronous and asynchronous tests.
pub struct TestDatabase {
    url: String,
    home: Home,
}

enum Home {
    File(#[expect(dead_code, reason = "deletes the folder when dropped")] TempDir),
    /// The URL of the server, and the name of the database on it.
    Server(Url, String),
    /// Another value owns it.
    Elsewhere,
}

impl TestDatabase {
    pub fn of(store: Store) -> Self {
        match store {
            Store::Sqlite => Self::sqlite(),
            Store::Postgres => Self::postgres(),
        }
    }

    /// A file in a temporary folder.
    pub fn sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("proposals.db").display());
        Self { url, home: Home::File(folder) }
    }

    /// A database on the server that `TEST_POSTGRES_URL` names, whose user must be allowed to
    /// create one.
    pub fn postgres() -> Self {
        let server = std::env::var("TEST_POSTGRES_URL").expect(
            "TEST_POSTGRES_URL must name a PostgreSQL server; run ./tests/run, which starts one",
        );
        Self::on_server(Url::parse(&server).expect("TEST_POSTGRES_URL must be a URL"))
    }

    /// A database on a server whose URL names a user who may create one.
    pub fn on_server(server: Url) -> Self {
        Self::created(server, "")
    }

    fn created(server: Url, options: &str) -> Self {
        let name = format!("proposals_test_{:016x}", fastrand::u64(..));
        rows(server.as_str(), format!("CREATE DATABASE {name} {options}"));
        let mut url = server.clone();
        url.set_path(&name);
        Self { url: url.into(), home: Home::Server(server, name) }
    }

    /// A copy of a database on a server, which has no connections.
    pub fn copy(&self) -> Self {
        let Home::Server(server, name) = &self.home else { panic!("a database on a server") };
        Self::created(server.clone(), &format!("TEMPLATE {name}"))
    }

    /// An existing database that remains.
    pub fn existing(url: &str) -> Self {
        Self { url: url.to_owned(), home: Home::Elsewhere }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// The host and port of its server.
    pub fn server(&self) -> String {
        let url = Url::parse(&self.url).expect("a URL");
        format!("{}:{}", url.host_str().expect("a host"), url.port().unwrap_or(5432))
    }

    /// Gives later connections another value of a setting.
    pub fn set(&self, setting: &str, value: &str) {
        let Home::Server(server, name) = &self.home else { panic!("a database on a server") };
        rows(server.as_str(), format!("ALTER DATABASE {name} SET {setting} = {value}"));
    }

    /// Its URL with another address of the server.
    pub fn url_through(&self, address: SocketAddr) -> String {
        let mut url = Url::parse(&self.url).expect("a URL");
        url.set_ip_host(address.ip()).expect("the URL has a host");
        url.set_port(Some(address.port())).expect("the URL has a host");
        url.into()
    }

    pub fn file(&self) -> &Path {
        let file =
            self.url.strip_prefix("sqlite://").and_then(|file| file.strip_suffix("?mode=rwc"));
        Path::new(file.expect("an SQLite file"))
    }

    pub const fn is_sqlite(&self) -> bool {
        matches!(self.home, Home::File(_))
    }

    /// The rows of a query, for tests that inspect the database. Its columns must be cast to text.
    pub fn query(&self, text: &str) -> Vec<Vec<Option<String>>> {
        rows(&self.url, text.to_owned())
    }

    /// Runs `work` while another program holds a lock that every write needs.
    pub fn while_no_write_goes_through<T>(&self, work: impl FnOnce() -> T) -> T {
        self.while_locked(
            match self.home {
                Home::File(_) => "BEGIN IMMEDIATE",
                Home::Server(..) | Home::Elsewhere => "BEGIN; LOCK TABLE write_fence IN SHARE MODE",
            },
            work,
        )
    }

    /// Runs `work` while another instance prepares the schema of this PostgreSQL database.
    pub fn while_the_schema_is_locked<T>(&self, work: impl FnOnce() -> T) -> T {
        self.while_locked("BEGIN; SELECT pg_advisory_xact_lock(8102661208289796460)", work)
    }

    /// Runs `work` while another program is in the transaction that a text begins.
    pub fn while_locked<T>(&self, take: &'static str, work: impl FnOnce() -> T) -> T {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let url = self.url.clone();
        let connection = runtime.block_on(async {
            install_default_drivers();
            let options: AnyConnectOptions = url.parse()?;
            let mut connection = sqlx::AnyConnection::connect_with(&options).await?;
            sqlx::raw_sql(take).execute(&mut connection).await?;
            Ok::<_, sqlx::Error>(connection)
        });
        let mut connection =
            connection.unwrap_or_else(|error| panic!("the test database refused: {error}"));
        let done = work();
        let ended = runtime.block_on(async {
            sqlx::raw_sql("ROLLBACK").execute(&mut connection).await?;
            connection.close().await
        });
        ended.unwrap_or_else(|error| panic!("the test database refused: {error}"));
        done
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        if let Home::Server(server, name) = &self.home {
            rows(server.as_str(), format!("DROP DATABASE {name} WITH (FORCE)"));
        }
    }
}

/// Runs a statement on a new connection and thread: a runtime cannot block within another.
fn rows(url: &str, text: String) -> Vec<Vec<Option<String>>> {
    let url = url.to_owned();
    let query = async move {
        install_default_drivers();
        let options: AnyConnectOptions = url.parse()?;
        let mut connection = sqlx::AnyConnection::connect_with(&options).await?;
        let rows = sqlx::query(AssertSqlSafe(text)).fetch_all(&mut connection).await?;
        connection.close().await?;
        rows.iter().map(texts).collect::<Result<Vec<_>, _>>()
    };
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let answer =
        thread::spawn(move || runtime.block_on(query)).join().expect("no panic in the driver");
    answer.unwrap_or_else(|error: sqlx::Error| panic!("the test database refused: {error}"))
}

fn texts(row: &AnyRow) -> Result<Vec<Option<String>>, sqlx::Error> {
    (0..row.len()).map(|column| row.try_get(column)).collect()
}
