//! The real binary on a free port, with a new database, stopped when dropped.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use procfs::process::{Process, Status};
use tempfile::TempDir;

use crate::s3_server::S3Server;
use crate::stores::TestDatabase;
use crate::{Answer, Request, binary};

/// The longest time that a start or a condition may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Start attempts: another process may take the free port before the service listens on it.
const STARTS: usize = 5;

/// The collections; deleting a proposal deletes its library.
const COLLECTIONS: [&str; 8] = [
    "/v1/proposals",
    "/v1/proposedprograms",
    "/v1/gadscores",
    "/v1/statuses",
    "/v1/files",
    "/lib",
    "/v1/cashprogram",
    "/status",
];

/// A kind of database the service keeps its items in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// A new file.
    Sqlite,
    /// A new database on the server that `TEST_POSTGRES_URL` names.
    Postgres,
}

/// An item that a test created.
#[derive(Clone, Debug)]
pub struct Item {
    pub id: String,
    pub path: String,
    pub etag: String,
}

/// A running service.
pub struct Service {
    address: SocketAddr,
    process: Child,
    url: String,
    // Dropped after the process has stopped. Only the first instance has it.
    database: Option<TestDatabase>,
    log: PathBuf,
    _directory: TempDir,
}

/// Runs a test on a new service with each kind of store; the output of a failing test names it.
pub fn on_each_store(test: impl Fn(&Service)) {
    for store in [Store::Sqlite, Store::Postgres] {
        println!("on {store:?}:");
        test(&Service::start(store));
    }
}

/// A case of a test: its name, and the function that runs it.
pub type Case<'a> = (&'a str, fn(&Service));

/// Runs cases on one service over each kind of store; every case begins with empty collections.
/// The output of a failing test names the store and the case.
pub fn run_cases(arguments: &[&str], cases: &[Case]) {
    let names: BTreeSet<_> = cases.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), cases.len(), "a case is listed more than once");
    for store in [Store::Sqlite, Store::Postgres] {
        let service = Service::start_with(store, arguments);
        for (name, case) in cases {
            println!("{name} on {store:?}:");
            service.empty();
            case(&service);
        }
    }
}

/// Makes one test of functions, its cases: see [`run_cases`].
#[macro_export]
macro_rules! cases {
    [$($case:ident),+ $(,)?] => {
        #[test]
        fn every_case_holds() {
            $crate::run_cases(&[], &[$((stringify!($case), $case)),+]);
        }
    };
}

impl Service {
    /// Starts the service over a fresh database.
    pub fn start(store: Store) -> Self {
        Self::start_with(store, &[])
    }

    /// Starts the service over a fresh database, with further arguments of `serve`.
    pub fn start_with(store: Store, arguments: &[&str]) -> Self {
        let database = TestDatabase::of(store);
        let url = database.url().to_owned();
        Self::start_at(database, &url, arguments)
    }

    /// Starts the service over a database that it reaches at another URL than the database's own.
    pub fn start_at(database: TestDatabase, url: &str, arguments: &[&str]) -> Self {
        Self::run(Some(database), url, arguments)
    }

    /// Starts the service with a database that remains after the service was killed.
    pub fn start_on(database: &TestDatabase) -> Self {
        Self::start_on_with(database, &[])
    }

    pub fn start_on_with(database: &TestDatabase, arguments: &[&str]) -> Self {
        Self::run(None, database.url(), arguments)
    }

    /// Starts another instance over the same database, which must outlive it.
    pub fn start_another(&self) -> Self {
        self.start_another_with(&[])
    }

    pub fn start_another_with(&self, arguments: &[&str]) -> Self {
        Self::run(None, &self.url, arguments)
    }

    pub fn hang_up(&self) {
        self.signal("-HUP");
    }

    /// Stops the process where it is (SIGSTOP), as on a machine that is suspended.
    pub fn suspend(&self) {
        self.signal("-STOP");
    }

    /// Resumes a suspended process (SIGCONT).
    pub fn resume(&self) {
        self.signal("-CONT");
    }

    /// Stops the service as an operator does (SIGTERM), and returns how long that took.
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

    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The most memory the process has held since its start, in bytes.
    #[track_caller]
    pub fn peak_memory(&self) -> u64 {
        self.status().vmhwm.expect("Linux reports the peak") * 1024
    }

    /// The memory the process holds now, in bytes.
    #[track_caller]
    pub fn memory(&self) -> u64 {
        self.status().vmrss.expect("Linux reports the memory") * 1024
    }

    /// The processor time that the process has used since its start.
    #[track_caller]
    pub fn processor_time(&self) -> Duration {
        let used = self.proc().stat().expect("Linux reports the time");
        Duration::from_millis((used.utime + used.stime) * 1000 / procfs::ticks_per_second())
    }

    pub const fn database(&self) -> Option<&TestDatabase> {
        self.database.as_ref()
    }

    /// How many files and sockets the process has open.
    #[track_caller]
    pub fn open_files(&self) -> usize {
        self.proc().fd_count().expect("Linux reports the open files")
    }

    /// The output of the process so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// The bytes of the output so far.
    pub fn log_length(&self) -> u64 {
        std::fs::metadata(&self.log).map_or(0, |log| log.len())
    }

    /// The output from a byte on.
    pub fn log_from(&self, byte: u64) -> String {
        let mut text = String::new();
        let mut log = File::open(&self.log).expect("a log file");
        log.seek(SeekFrom::Start(byte)).expect("a place in the log");
        log.read_to_string(&mut text).expect("a log of text");
        text
    }

    #[track_caller]
    fn proc(&self) -> Process {
        let id = i32::try_from(self.process.id()).expect("a process id");
        Process::new(id).expect("the service runs")
    }

    #[track_caller]
    fn status(&self) -> Status {
        self.proc().status().expect("Linux reports the status")
    }

    pub fn request(&self, method: &str, target: &str) -> Request {
        Request::new(self.address, method, target)
    }

    pub fn get(&self, target: &str) -> Request {
        self.request("GET", target)
    }

    pub fn post(&self, target: &str) -> Request {
        self.request("POST", target)
    }

    pub fn put(&self, target: &str) -> Request {
        self.request("PUT", target)
    }

    pub fn patch(&self, target: &str) -> Request {
        self.request("PATCH", target)
    }

    pub fn delete(&self, target: &str) -> Request {
        self.request("DELETE", target)
    }

    #[track_caller]
    pub fn read(&self, target: &str) -> Answer {
        self.get(target).expect(200)
    }

    #[track_caller]
    pub fn replace(&self, target: &str, body: impl Into<Vec<u8>>) -> Answer {
        self.put(target).json(body).expect(200)
    }

    /// Changes an item by a merge patch.
    #[track_caller]
    pub fn change(&self, target: &str, body: impl Into<Vec<u8>>) -> Answer {
        self.patch(target).json(body).expect(200)
    }

    #[track_caller]
    pub fn remove(&self, target: &str) -> Answer {
        self.delete(target).expect(204)
    }

    /// Deletes all items.
    #[track_caller]
    pub fn empty(&self) {
        for collection in COLLECTIONS {
            loop {
                let page = self.list(collection, "page_size=250&fields=id");
                for id in page.each("id") {
                    self.remove(&format!("{collection}/{}", id.as_str().expect("an id")));
                }
                if page.link("next").is_none() {
                    break;
                }
            }
        }
    }

    #[track_caller]
    pub fn create(&self, collection: &str, body: &str) -> Item {
        let answer = self.post(collection).json(body).send().expect(201);
        let id = answer.id();
        Item { path: format!("{collection}/{id}"), etag: answer.etag(), id }
    }

    #[track_caller]
    pub fn list(&self, collection: &str, query: &str) -> Answer {
        self.get(&format!("{collection}?{query}")).send().expect(200)
    }

    /// The complete collection; equal texts mean that it was not written in between.
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
        .args(contents_of(database_url))
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

/// The bucket for contents that the instances over a database on a server share. An SQLite file has
/// a folder.
fn contents_of(database_url: &str) -> Vec<String> {
    match database_url.strip_prefix("postgres").and_then(|url| url.rsplit_once('/')) {
        Some((_, name)) => {
            let name = name.split('?').next().unwrap_or_default();
            vec!["--contents".to_owned(), S3Server::shared().address(name)]
        }
        None => Vec::new(),
    }
}

fn wait_until_ready(address: SocketAddr, process: &mut Child) -> bool {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if process.try_wait().expect("the process can be asked").is_some() {
            return false;
        }
        // Before the service listens, a connection can come from another owner of the port, or from
        // itself: Linux may choose a free local port as the source of a connection to that port.
        let answer = Request::new(address, "GET", "/readyz").try_send();
        if answer.is_some_and(|answer| answer.status == 200) {
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

/// Waits until a condition holds.
#[track_caller]
pub fn wait_until(mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "the condition does not hold after {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Sets its flag at the end of a scope, also after a panic.
pub struct End<'a>(pub &'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// An address on this machine without a listener.
pub fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a free port")
}
