//! Databases for tests: a file, or a database of its own on a real server, gone when dropped.

use std::path::Path;
use std::thread;

use sqlx::any::{AnyConnectOptions, AnyRow, install_default_drivers};
use sqlx::{AssertSqlSafe, Connection, Row};
use tempfile::TempDir;
use url::Url;

/// A fresh, empty database. It can be made and dropped in synchronous and in asynchronous tests
/// alike.
pub struct TestDatabase {
    url: String,
    home: Home,
}

enum Home {
    /// The folder goes with the value.
    File(#[expect(dead_code, reason = "held to be dropped")] TempDir),
    /// The URL of the server, and the name of the database on it.
    Server(Url, String),
    /// Another test value has it.
    Elsewhere,
}

impl TestDatabase {
    /// A file in a temporary folder.
    ///
    /// # Panics
    /// When there is no place for temporary files.
    #[must_use]
    pub fn sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("proposals.db").display());
        Self { url, home: Home::File(folder) }
    }

    /// A database on the server that `TEST_POSTGRES_URL` names, whose user must be allowed to
    /// create one.
    ///
    /// # Panics
    /// When no server is named or it refuses: a test is never skipped.
    #[must_use]
    pub fn postgres() -> Self {
        let server = std::env::var("TEST_POSTGRES_URL").expect(
            "TEST_POSTGRES_URL must name a PostgreSQL server; run ./tests/run, which starts one",
        );
        Self::on_server(Url::parse(&server).expect("TEST_POSTGRES_URL must be a URL"))
    }

    /// A database on a server whose URL names a user who may create one.
    ///
    /// # Panics
    /// When it refuses.
    #[must_use]
    pub fn on_server(server: Url) -> Self {
        let name = format!("proposals_test_{:016x}", fastrand::u64(..));
        rows(server.as_str(), format!("CREATE DATABASE {name}"));
        let mut url = server.clone();
        url.set_path(&name);
        Self { url: url.into(), home: Home::Server(server, name) }
    }

    /// A copy of a database on a server, which nobody is connected to.
    ///
    /// # Panics
    /// When it is a file, or the server refuses.
    #[must_use]
    pub fn copy(&self) -> Self {
        let Home::Server(server, original) = &self.home else { panic!("a database on a server") };
        let name = format!("proposals_test_{:016x}", fastrand::u64(..));
        rows(server.as_str(), format!("CREATE DATABASE {name} TEMPLATE {original}"));
        let mut url = server.clone();
        url.set_path(&name);
        Self { url: url.into(), home: Home::Server(server.clone(), name) }
    }

    /// A database that is there, and stays.
    #[must_use]
    pub fn existing(url: &str) -> Self {
        Self { url: url.to_owned(), home: Home::Elsewhere }
    }

    /// The URL that the service is given.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Where the file is, if it is one.
    ///
    /// # Panics
    /// When it is on a server.
    #[must_use]
    pub fn file(&self) -> &Path {
        let file =
            self.url.strip_prefix("sqlite://").and_then(|file| file.strip_suffix("?mode=rwc"));
        Path::new(file.expect("an SQLite file"))
    }

    /// Returns whether it is a file.
    #[must_use]
    pub const fn is_sqlite(&self) -> bool {
        matches!(self.home, Home::File(_))
    }

    /// The rows of a query, for tests that look behind the service. Its columns must be texts: cast
    /// them.
    #[must_use]
    pub fn query(&self, text: &str) -> Vec<Vec<Option<String>>> {
        rows(&self.url, text.to_owned())
    }
}

impl TestDatabase {
    /// Does something while another program has what every write needs, for less than the service
    /// waits for it.
    pub fn while_no_write_goes_through<T>(&self, work: impl FnOnce() -> T) -> T {
        self.while_locked(
            match self.home {
                Home::File(_) => "BEGIN IMMEDIATE",
                Home::Server(..) | Home::Elsewhere => "BEGIN; LOCK TABLE write_fence IN SHARE MODE",
            },
            work,
        )
    }

    /// Does something while another instance prepares the schema of this database of PostgreSQL.
    pub fn while_the_schema_is_locked<T>(&self, work: impl FnOnce() -> T) -> T {
        self.while_locked("BEGIN; SELECT pg_advisory_xact_lock(8102661208289796460)", work)
    }

    fn while_locked<T>(&self, take: &'static str, work: impl FnOnce() -> T) -> T {
        let let_go = "ROLLBACK";
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
            sqlx::raw_sql(let_go).execute(&mut connection).await?;
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

/// Runs a statement on a connection and a thread of its own, for a runtime cannot be blocked on
/// from within another.
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
