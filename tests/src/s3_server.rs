//! An S3 server (`tests/s3.py`).

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

use tempfile::TempDir;

/// Has one bucket.
pub struct S3Server {
    process: Child,
    /// Its address, as `--contents` takes it.
    bucket: String,
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
        let mut process = Command::new(python())
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/s3.py"))
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Python starts");
        let mut bucket = String::new();
        let output = process.stdout.take().expect("a pipe");
        BufReader::new(output).read_line(&mut bucket).expect("an address");
        assert!(bucket.starts_with("s3://"), "the S3 server did not start");
        Self { process, bucket: bucket.trim().to_owned() }
    }

    /// The server that is shared by the tests of this process.
    #[must_use]
    pub fn shared() -> &'static Self {
        &SHARED.0
    }

    /// Returns the lines of `tests/bucket.py` about the objects with a prefix.
    ///
    /// # Panics
    /// If the second client cannot read the bucket.
    #[must_use]
    pub fn seen_by_second_client(&self, prefix: &str) -> String {
        let output = Command::new(python())
            .args([concat!(env!("CARGO_MANIFEST_DIR"), "/bucket.py"), &self.address(prefix)])
            .output()
            .expect("Python starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }

    /// The host and port.
    ///
    /// # Panics
    /// If the address of the bucket has no endpoint.
    #[must_use]
    pub fn server(&self) -> &str {
        let (_, endpoint) = self.bucket.split_once("http://").expect("an endpoint");
        endpoint.split('&').next().unwrap_or_default()
    }

    /// The place of contents below a prefix of the bucket.
    #[must_use]
    pub fn address(&self, prefix: &str) -> String {
        self.bucket.replacen('?', &format!("/{prefix}?"), 1)
    }

    /// The place of contents as in [`address`](Self::address), through a proxy of the server.
    #[must_use]
    pub fn address_through(&self, proxy: SocketAddr, prefix: &str) -> String {
        self.address(prefix).replace(self.server(), &proxy.to_string())
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
