//! An S3 server (`tests/s3.py`).

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

use tempfile::TempDir;

/// Has one bucket, `bucket`.
pub struct S3Server {
    process: Child,
    port: String,
}

/// The server of the databases on a server, until this process ends.
static SHARED: LazyLock<(S3Server, TempDir)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    (S3Server::start(folder.path()), folder)
});

impl S3Server {
    /// Starts a server that keeps its objects in a folder.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn start(folder: &Path) -> Self {
        std::fs::create_dir_all(folder.join("bucket")).expect("a folder");
        let mut process = Command::new(python())
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/s3.py"))
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Python starts");
        let mut port = String::new();
        let output = process.stdout.take().expect("a pipe");
        BufReader::new(output).read_line(&mut port).expect("a port");
        Self { process, port: port.trim().to_owned() }
    }

    /// The server that is shared by the tests of this process.
    #[must_use]
    pub fn shared() -> &'static Self {
        &SHARED.0
    }

    /// The folder with the objects of the server that is [shared](Self::shared).
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        SHARED.1.path().join("bucket")
    }

    /// Returns the lines of `tests/bucket.py`.
    ///
    /// # Panics
    /// If the second client cannot read the bucket.
    #[must_use]
    pub fn seen_by_second_client(&self) -> String {
        let output = Command::new(python())
            .args([concat!(env!("CARGO_MANIFEST_DIR"), "/bucket.py"), &self.port])
            .output()
            .expect("Python starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }

    /// The host and port.
    #[must_use]
    pub fn server(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    #[must_use]
    pub fn address(&self, prefix: &str) -> String {
        Self::address_at(&self.server(), prefix)
    }

    /// The place of contents in the bucket of a server, by its host and port or those of a proxy.
    #[must_use]
    pub fn address_at(server: &str, prefix: &str) -> String {
        format!(
            "s3://bucket/{prefix}?endpoint=http://{server}&access_key_id=key&secret_access_key=secret"
        )
    }
}

fn python() -> String {
    std::env::var("TEST_PYTHON")
        .expect("TEST_PYTHON must name a Python with the packages of tests/requirements.txt")
}

impl Drop for S3Server {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}
