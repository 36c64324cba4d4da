//! The real binary on a free port, with a fresh database of its own, stopped when dropped.

use std::fs::File;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use procfs::process::Process;
use tempfile::TempDir;

use crate::stores::TestDatabase;
use crate::{Answer, Request, binary};

/// Longer than a start may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Starts that are tried: between choosing a free port and listening on it, another process may
/// take it.
const STARTS: usize = 5;

/// A kind of database the service keeps its items in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// A file of its own.
    Sqlite,
    /// A database of its own on the server that `TEST_POSTGRES_URL` names.
    Postgres,
}

/// An item that a test created.
#[derive(Clone, Debug)]
pub struct Item {
    /// Its id.
    pub id: String,
    /// The path it was created under.
    pub path: String,
    /// Its entity tag after creation.
    pub etag: String,
}

/// A running service.
pub struct Service {
    address: SocketAddr,
    process: Child,
    /// How it reaches its database.
    url: String,
    // Dropped after the process was stopped. Only the first instance has it.
    database: Option<TestDatabase>,
    /// The file of its output.
    log: PathBuf,
    _directory: TempDir,
}

/// Runs a test on a fresh service over each kind of store; the output of a failing test names the
/// store.
pub fn on_each_store(test: impl Fn(&Service)) {
    for store in [Store::Sqlite, Store::Postgres] {
        println!("on {store:?}:");
        test(&Service::start(store));
    }
}

impl Service {
    /// Starts the service over a fresh database.
    #[must_use]
    pub fn start(store: Store) -> Self {
        Self::start_with(store, &[])
    }

    /// Starts the service over a fresh database, with further arguments of `serve`.
    #[must_use]
    pub fn start_with(store: Store, arguments: &[&str]) -> Self {
        let database = match store {
            Store::Sqlite => TestDatabase::sqlite(),
            Store::Postgres => TestDatabase::postgres(),
        };
        let url = database.url().to_owned();
        Self::start_at(database, &url, arguments)
    }

    /// Starts the service over a database that it reaches at another URL than the database's own.
    #[must_use]
    pub fn start_at(database: TestDatabase, url: &str, arguments: &[&str]) -> Self {
        Self::run(Some(database), url, arguments)
    }

    /// Starts the service over a database that goes on when the service ends, which it does by
    /// SIGKILL.
    #[must_use]
    pub fn start_on(database: &TestDatabase) -> Self {
        Self::start_on_with(database, &[])
    }

    /// The same with further arguments of `serve`.
    #[must_use]
    pub fn start_on_with(database: &TestDatabase, arguments: &[&str]) -> Self {
        Self::run(None, database.url(), arguments)
    }

    /// Starts another instance over the same database, which must outlive it.
    #[must_use]
    pub fn start_another(&self) -> Self {
        self.start_another_with(&[])
    }

    /// The same with further arguments of `serve`.
    #[must_use]
    pub fn start_another_with(&self, arguments: &[&str]) -> Self {
        Self::run(None, &self.url, arguments)
    }

    /// Sends SIGHUP.
    pub fn hang_up(&self) {
        self.signal("-HUP");
    }

    /// Stops the process where it is (SIGSTOP), as on a machine that is suspended.
    pub fn suspend(&self) {
        self.signal("-STOP");
    }

    /// Lets a suspended process go on.
    pub fn resume(&self) {
        self.signal("-CONT");
    }

    /// Stops the service as an operator does (SIGTERM), and returns how long that took.
    ///
    /// # Panics
    /// If it does not end well.
    pub fn terminate(&mut self) -> Duration {
        let began = Instant::now();
        self.signal("-TERM");
        let ended = self.process.wait().expect("the process ends");
        assert!(ended.success(), "{ended}");
        began.elapsed()
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.process.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "the service runs");
    }

    fn run(database: Option<TestDatabase>, url: &str, arguments: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let log = directory.path().join("service.log");
        let (process, address) =
            (0..STARTS).find_map(|_| try_start(url, arguments, &log)).unwrap_or_else(|| {
                let said = std::fs::read_to_string(&log).unwrap_or_default();
                panic!("the service does not start; it said:\n{said}")
            });
        Self { address, process, url: url.to_owned(), database, log, _directory: directory }
    }

    /// Where the service listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The most memory the process has held since its start, in bytes.
    #[must_use]
    #[track_caller]
    pub fn peak_memory(&self) -> u64 {
        self.proc().status().ok().and_then(|status| status.vmhwm).expect("Linux tells the peak")
            * 1024
    }

    /// The memory the process holds now, in bytes.
    #[must_use]
    #[track_caller]
    pub fn memory(&self) -> u64 {
        self.proc().status().ok().and_then(|status| status.vmrss).expect("Linux tells the memory")
            * 1024
    }

    /// The processor time that the process has used since its start.
    #[must_use]
    #[track_caller]
    pub fn processor_time(&self) -> Duration {
        let used = self.proc().stat().expect("Linux tells the time");
        Duration::from_millis((used.utime + used.stime) * 1000 / procfs::ticks_per_second())
    }

    /// The database that was made for it.
    #[must_use]
    pub const fn database(&self) -> Option<&TestDatabase> {
        self.database.as_ref()
    }

    /// How many files and sockets the process has open.
    #[must_use]
    #[track_caller]
    pub fn open_files(&self) -> usize {
        self.proc().fd_count().expect("Linux tells the open files")
    }

    /// The output of the process so far.
    #[must_use]
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    #[track_caller]
    fn proc(&self) -> Process {
        let id = i32::try_from(self.process.id()).expect("a process id");
        Process::new(id).expect("the service runs")
    }

    /// A request with any method.
    pub fn request(&self, method: &str, target: &str) -> Request {
        Request::new(self.address, method, target)
    }

    /// A GET request.
    pub fn get(&self, target: &str) -> Request {
        self.request("GET", target)
    }

    /// A POST request.
    pub fn post(&self, target: &str) -> Request {
        self.request("POST", target)
    }

    /// A PUT request.
    pub fn put(&self, target: &str) -> Request {
        self.request("PUT", target)
    }

    /// A PATCH request.
    pub fn patch(&self, target: &str) -> Request {
        self.request("PATCH", target)
    }

    /// A DELETE request.
    pub fn delete(&self, target: &str) -> Request {
        self.request("DELETE", target)
    }

    /// Creates an item in a collection.
    #[track_caller]
    pub fn create(&self, collection: &str, body: &str) -> Item {
        let answer = self.post(collection).json(body).send().expect(201);
        let id = answer.id();
        Item { path: format!("{collection}/{id}"), etag: answer.etag(), id }
    }

    /// The page of a collection that a query asks for.
    #[must_use]
    #[track_caller]
    pub fn list(&self, collection: &str, query: &str) -> Answer {
        self.get(&format!("{collection}?{query}")).send().expect(200)
    }

    /// All that a collection shows; equal texts mean that nothing was written in between.
    #[must_use]
    #[track_caller]
    pub fn contents(&self, collection: &str) -> String {
        self.get(&format!("{collection}?page_size=250")).send().expect(200).text().to_owned()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if !matches!(self.process.try_wait(), Ok(Some(_))) {
            stop(&mut self.process);
        }
    }
}

fn try_start(database_url: &str, arguments: &[&str], log: &Path) -> Option<(Child, SocketAddr)> {
    let address = free_address();
    let output = File::create(log).expect("a log file");
    let mut process = Command::new(binary::path())
        .args(["serve", "--listen", &address.to_string(), "--database-url", database_url])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(output.try_clone().expect("a second handle on the log file"))
        .stderr(output)
        .spawn()
        .expect("the binary runs");
    let is_ready = wait_until_ready(address, &mut process);
    if !is_ready {
        stop(&mut process);
    }
    is_ready.then_some((process, address))
}

fn wait_until_ready(address: SocketAddr, process: &mut Child) -> bool {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if process.try_wait().expect("the process can be asked").is_some() {
            return false;
        }
        let listens = std::net::TcpStream::connect(address).is_ok();
        if listens && Request::new(address, "GET", "/readyz").send_unchecked().status == 200 {
            return process.try_wait().expect("the process can be asked").is_none();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

fn stop(process: &mut Child) {
    process.kill().expect("the process can be stopped");
    process.wait().expect("the process ends");
}

/// An address on this machine at which nobody listens.
///
/// # Panics
/// When there is none.
#[must_use]
pub fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a free port")
}
