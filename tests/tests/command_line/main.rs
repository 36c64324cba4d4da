//! The binary as a command: its output, exit codes and signals.

#![expect(clippy::unwrap_used, reason = "a failure ends the test")]

mod contents;
mod loading;
mod manuals;
mod policies;
mod rules;
mod signals;
mod supervised;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tests::stores::TestDatabase;
use tests::tool::tool;
use tests::{Request, free_address, wait_until};

/// The longest time that an operation may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// The arguments of a service on a free port.
const ON_FREE_PORT: [&str; 2] = ["--listen", "127.0.0.1:0"];

fn command(folder: &TempDir, arguments: &[&str]) -> Command {
    let mut command = tool(arguments);
    command.current_dir(folder.path());
    command
}

fn run(arguments: &[&str]) -> Output {
    command(&folder(), arguments).output().unwrap()
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn folder_with(files: &[(&str, &str)]) -> TempDir {
    let folder = folder();
    for (name, content) in files {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    folder
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// The exit code, standard output and standard error of a command.
fn result(command: &mut Command) -> (Option<i32>, String, String) {
    let output = command.output().unwrap();
    let [out, error] = [output.stdout, output.stderr].map(|bytes| text(&bytes).to_owned());
    (output.status.code(), out, error)
}

/// Asserts that the command ended with `code` and one line on standard error; the line.
#[track_caller]
fn refused(output: &Output, code: i32) -> String {
    let (out, line) = (text(&output.stdout), text(&output.stderr));
    assert_eq!((output.status.code(), out), (Some(code), ""), "{line}");
    assert!(
        line.starts_with("proposal-service: ") && line.ends_with('\n') && line.lines().count() == 1,
        "{line}"
    );
    line.to_owned()
}

fn kill(process: &Child, signal: &str) {
    let id = process.id().to_string();
    assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
}

/// A service that listens.
struct Running {
    process: Child,
    /// The log before the service listened.
    started: String,
    log: BufReader<ChildStderr>,
    address: SocketAddr,
}

impl Running {
    fn start(folder: &TempDir, arguments: &[&str]) -> Self {
        Self::of(command(folder, arguments).args(ON_FREE_PORT))
    }

    fn of(command: &mut Command) -> Self {
        let mut process = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut log = BufReader::new(process.stderr.take().unwrap());
        let started = lines_to(&mut log, "listening on http://");
        let (_, rest) = started.split_once("listening on http://").unwrap();
        let address = rest.split(',').next().unwrap().parse().unwrap();
        Self { process, started, log, address }
    }

    fn signal(&self, name: &str) {
        kill(&self.process, name);
    }

    /// Waits for the end, and returns the exit code and the rest of the log.
    fn end(mut self) -> (Option<i32>, String) {
        wait_until(|| self.process.try_wait().unwrap().is_some());
        let mut log = String::new();
        self.log.read_to_string(&mut log).unwrap();
        (self.process.wait().unwrap().code(), log)
    }

    fn total_items(&self, path: &str) -> u64 {
        self.ask("GET", &format!("{path}?page_size=1"), "")["total_items"].as_u64().unwrap()
    }

    fn ask(&self, method: &str, target: &str, body: &str) -> serde_json::Value {
        Request::new(self.address, method, target).json(body).send_unchecked().value()
    }

    fn create(&self, collection: &str, body: &str) -> String {
        self.ask("POST", collection, body)["id"].as_str().unwrap().to_owned()
    }

    fn connect(&self, head: &str) -> TcpStream {
        let mut client = TcpStream::connect(self.address).unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        client.write_all(head.as_bytes()).unwrap();
        client
    }

    /// A request in progress: its body was not sent completely.
    fn begin_request(&self) -> TcpStream {
        let mut client = self.connect("POST /v1/files HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nexpect: 100-continue\r\ncontent-length: 10\r\n\r\n");
        let mut answer = [0; 25];
        client.read_exact(&mut answer).unwrap();
        assert_eq!(text(&answer), "HTTP/1.1 100 Continue\r\n\r\n");
        client
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The process has ended unless the test failed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The lines to the first one with these words.
#[track_caller]
fn lines_to(log: &mut impl std::io::BufRead, words: &str) -> String {
    let mut lines = String::new();
    for line in log.lines() {
        lines += &line.unwrap();
        lines.push('\n');
        if lines.contains(words) {
            return lines;
        }
    }
    panic!("`{words}` is not in:\n{lines}");
}

#[test]
fn a_wrong_option_is_refused_in_one_line_with_the_correction() {
    for (arguments, fix) in [
        (["--lisen", "127.0.0.1:0"].as_slice(), "'--listen'"),
        (&["sevre"], "'serve'"),
        (&["--listen", "localhost"], "127.0.0.1:8080"),
        (&["--admin-listen", "9090"], "127.0.0.1:8080"),
        (&["--access-log", "xml"], "text, json"),
        (&["--trace-sample", "2"], "from 0 (no requests) to 1 (all requests)"),
        (&["--otlp-endpoint", "grpc://collector:4317"], "--otlp-endpoint"),
        (&["--otlp-endpoint", "http://collector/?key=secret"], "OTEL_EXPORTER_OTLP_HEADERS"),
        (&["--base-url", "example.org"], "http:// or https://"),
        (&["--cors-origin", "https://example.org/app"], "https://example.org"),
        (&["--max-body", "lots"], "8MiB"),
        (&["--max-connections", "0"], "1.."),
        (&["--database-connections", "0"], "1..=1000"),
        (&["--request-timeout", "30"], "30s"),
        (&["--body-timeout", "0s"], "above zero"),
        (&["--drain-timeout", "soon"], "30s"),
        (&["--drain-delay", "soon"], "15s"),
        (&["--max-streams", "0"], "1.."),
        (&["--stream-max-age", "0s"], "30s"),
        (&["--migrate", "maybe"], "auto, never"),
        (&["--log-format", "xml"], "text, json"),
        (&["--log", "info=a=b"], "info"),
        (&["--database-url", "mysql://me:secret@db/a"], "sqlite:// or postgres://"),
        (&["--replica-url", "postgres://me:secret@db/a"], "only PostgreSQL"),
        (&["--replica-max-lag", "0s"], "30s"),
        (&["migrate", "--demo"], "--help"),
        (&["seed"], "--proposals"),
        (&["seed", "--proposals", "0"], "1.."),
        (&["seed", "--proposals", "1", "--library", "few"], "--library"),
        (&["seed", "--proposals", "1", "--median-size", "9"], "1KiB"),
        (&["backup"], "<FILE>"),
        (&["import", "--max-body", "lots"], "8MiB"),
        (&["export", "--database-url", "mysql://me:secret@db/a"], "sqlite:// or postgres://"),
        (&["openapi", "--base-url", "example"], "http:// or https://"),
        (&["--time-zone", "Asia/Manilla"], "Asia/Manila"),
        (&["rules"], "--help"),
        (&["rules", "test"], "<FILE>"),
        (&["policies", "test"], "<FILE>"),
        (&["access", "check", "--group", "filez"], "files"),
        (&["load", "a.csv", "--group", "proposal"], "'proposals'"),
        (&["load", "x.pdf", "--group", "files"], "must end in .csv, .xlsx, .ndjson, .json"),
        (&["migrate", "--database-url-file", "none"], "(--database-url-file): No such file"),
        (&["migrate", "--database-url-file", "/dev/null"], "/dev/null is empty"),
        (&["--database-url-file", "/dev/zero"], "/dev/zero (--database-url-file): it is longer"),
        (
            &["migrate", "--database-url-file", "a", "--database-url", "postgres://me:secret@db/a"],
            "give one",
        ),
        (&["completions", "csh"], "bash, elvish, fish"),
        (&["postgres://me:secret@db/a"], "--help"),
    ] {
        let line = refused(&run(arguments), 2);
        assert!(line.contains(fix) && !line.contains("secret"), "{arguments:?}: {line}");
    }
}

#[test]
fn a_wrong_variable_is_refused_like_a_wrong_option_and_named() {
    for (variable, value, fix) in [
        ("PROPOSAL_SERVICE_CORS_ORIGIN", "https://example.org,example.com", "'example.com'"),
        ("PROPOSAL_SERVICE_BASE_URL", "example", "http:// or https://"),
        ("PROPOSAL_SERVICE_LOG", "json", "off, error, warn, info, debug, trace"),
        ("PROPOSAL_SERVICE_LOG", "1", "info,storage_adapter=debug"),
        ("RUST_LOG", "verbose", "info,storage_adapter=debug"),
        ("PROPOSAL_SERVICE_MAX_BODY", "lots", "8MiB"),
        ("PROPOSAL_SERVICE_LOG_FORMAT", "xml", "text, json"),
    ] {
        let folder = folder();
        let output = command(&folder, &ON_FREE_PORT).env(variable, value).output().unwrap();
        let line = refused(&output, 2);
        assert!(line.contains(variable) && line.contains(fix), "{variable}={value}: {line}");
    }
    let folder = folder();
    let mut wrong_option = command(&folder, &["--log", "verbose"]);
    let line = refused(&wrong_option.env("PROPOSAL_SERVICE_LOG", "info").output().unwrap(), 2);
    assert!(!line.contains("PROPOSAL_SERVICE_LOG"), "the option is wrong: {line}");
    // A variable without the prefix is ignored.
    let mut migrate = command(&folder, &["migrate"]);
    assert!(migrate.env("DATABASE_URL", "mysql://a").status().unwrap().success());
}

#[test]
fn an_unreachable_postgresql_is_named_immediately_with_the_cause_and_without_its_password() {
    let refusing = format!("postgres://me:secret@{}/proposals", free_address());
    let server = std::env::var("TEST_POSTGRES_URL").unwrap();
    let unknown = format!("{}/no_such_database", server.rsplit_once('/').unwrap().0);
    for (url, cause) in [
        (refusing.as_str(), "Connection refused"),
        ("postgres://me:secret@no-such-host.invalid/proposals", "lookup"),
        (&unknown, "does not exist"),
    ] {
        let start = Instant::now();
        let line = refused(&run(&[&ON_FREE_PORT[..], &["--database-url", url]].concat()), 1);
        assert!(
            line.contains(cause) && line.contains("--database-url") && !line.contains("secret"),
            "{line}"
        );
        assert!(start.elapsed() < Duration::from_secs(4), "{:?} for {cause}", start.elapsed());
    }
}

#[test]
fn a_command_that_cannot_run_names_the_cause_and_makes_no_file() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let files = [
        ("file", "rules: []\n"),
        ("keys.yaml", "keys: []\n"),
        ("nameless.yaml", "keys: [{name: a}]\n"),
        ("open.yaml", "keys: [\n"),
        ("policies.yaml", "policies: [{id: all, group: files, allow: [read], to: [signed_in]}]\n"),
        ("short.yaml", "policies: [{id: a, group: files, allow: [read]}]\n"),
        ("seven.yaml", "policies: 7\n"),
    ];
    let folder = folder_with(&files);
    let unreachable = ["--database-url", "postgres://me@127.0.0.1:1/proposals"];
    let serve = |arguments: &[&'static str]| [&ON_FREE_PORT[..], arguments].concat();
    let access = |identity, policies| serve(&["--identity", identity, "--policies", policies]);
    let unprepared = "sqlite://a/b.db?mode=rwc";
    for (arguments, cause) in [
        (vec!["migrate", "--database-url", "sqlite://a/b.db"], unprepared),
        (serve(&["--database-url", "sqlite://a/b.db"]), unprepared),
        (vec!["migrate", "--database-url", "sqlite://file/a.db?mode=rwc"], "file"),
        (vec!["--listen", &address], &address),
        ([&serve(&["--identity", "missing.yaml"])[..], &unreachable].concat(), "missing.yaml"),
        ([&serve(&["--policies", "missing.yaml"])[..], &unreachable].concat(), "missing.yaml"),
        (serve(&["--rules", "missing.yaml"]), "missing.yaml"),
        (
            access("nameless.yaml", "policies.yaml"),
            ": nameless.yaml:1:8: a key needs the key `sha256`",
        ),
        (access("open.yaml", "policies.yaml"), ": open.yaml:"),
        (access("keys.yaml", "short.yaml"), ": short.yaml:1:12: a policy needs the key `to`"),
        (access("keys.yaml", "seven.yaml"), ": seven.yaml:1:11: `policies` must be a list"),
        (vec!["rules", "check", "/dev/zero"], "/dev/zero"),
        (vec!["rules", "audit", "file", "--database-url", unprepared], "a/b.db"),
        (vec!["load", "missing.csv", "--group", "files"], "cannot read missing.csv"),
        (vec!["man", "file"], "cannot write to file"),
    ] {
        let line = refused(&command(&folder, &arguments).output().unwrap(), 1);
        assert!(line.contains(cause) && !line.contains("user"), "{arguments:?}: {line}");
        let found = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(found, files.len(), "{arguments:?} made a file");
    }
}

#[test]
fn an_error_in_a_file_prevents_the_start_before_a_database_is_migrated() {
    let database = TestDatabase::postgres();
    let folder = folder_with(&[("identity.yaml", "keys: 7\n")]);
    let serve = [&ON_FREE_PORT[..], &["--database-url", database.url()]].concat();
    for (arguments, words) in [
        (["--identity", "identity.yaml"], "identity.yaml:1:7: "),
        (["--migrate", "never"], "the database is not prepared"),
    ] {
        let output = command(&folder, &[&serve[..], &arguments].concat()).output().unwrap();
        let line = refused(&output, 1);
        assert!(line.contains(words), "{line}");
    }
}

#[test]
fn others_are_not_served_without_identity_unless_the_operator_allows_it() {
    let beyond = ["--listen", "0.0.0.0:0"];
    let proxied = [&ON_FREE_PORT[..], &["--base-url", "https://proposals.example.org"]].concat();
    for arguments in [&beyond[..], &proxied] {
        let line = refused(&run(arguments), 2);
        assert!(line.contains("--identity") && line.contains("--allow-anonymous"), "{line}");
    }
    let arguments = [&beyond[..], &["--allow-anonymous", "--migrate", "never"]].concat();
    assert!(refused(&run(&arguments), 1).contains("proposal-service migrate"));
}

#[test]
fn openapi_prints_the_document() {
    let output = run(&["openapi", "--base-url", "https://proposals.example.org"]);
    assert!(output.status.success());
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(document["openapi"].is_string() && document["paths"].is_object());
    assert_eq!(document["servers"][0]["url"], "https://proposals.example.org");
}

#[test]
fn demonstration_items_are_loaded_once() {
    let folder = folder();
    for said in ["loaded the demonstration items", "the store is not empty"] {
        let running = Running::start(&folder, &["--demo"]);
        assert!(running.started.contains(said), "{}", running.started);
        let page = running.ask("GET", "/v1/proposals?embed=program", "");
        let program = &page["_embedded"]["proposals"][0]["_embedded"]["program"];
        assert!(program["title"].is_string(), "the proposal names the programme: {page}");
        for (path, total) in [
            ("/v1/gadscores", 1),
            ("/v1/statuses", 1),
            ("/v1/files", 1),
            ("/lib", 2),
            ("/v1/cashprogram", 1),
            ("/status", 1),
        ] {
            assert_eq!(running.ask("GET", path, "")["total_items"], total, "{path}");
        }
    }
}

/// In the order in which `seed` counts them.
const SEEDED: [&str; 8] = [
    "/v1/proposals",
    "/lib",
    "/v1/proposedprograms",
    "/v1/statuses",
    "/v1/files",
    "/v1/gadscores",
    "/status",
    "/v1/cashprogram",
];

#[test]
fn seeding_adds_the_number_each_time_to_a_migrated_store() {
    let folder = folder();
    for _ in 0..2 {
        assert!(command(&folder, &["migrate"]).status().unwrap().success());
        let arguments = ["seed", "--proposals", "50", "--library", "3", "--median-size", "4KiB"];
        let (code, out, error) = result(&mut command(&folder, &arguments));
        assert_eq!((code, out.lines().count()), (Some(0), 1), "{out}{error}");
        let stored = "stored 50 proposals, 150 library items, 1 programmes, 5 status codes, 50 files, \
                      50 score sheets, 50 status messages, 50 cash programmes in ";
        assert!(out.starts_with(stored), "{out}");
    }
    let running = Running::start(&folder, &["--migrate", "never"]);
    let totals = SEEDED.map(|path| running.total_items(path));
    assert_eq!(totals, [100, 300, 2, 10, 100, 100, 100, 100]);
    let page = running.ask("GET", "/v1/proposals?page_size=100&embed=program", "");
    let proposals = page["_embedded"]["proposals"].as_array().unwrap();
    let programs = proposals.iter().map(|proposal| &proposal["_embedded"]["program"]["title"]);
    assert!(programs.filter(|title| title.is_string()).count() > 40, "{page}");
}

#[test]
fn a_signal_ends_seeding_with_the_number_of_stored_items() {
    let folder = folder();
    let mut seed = command(&folder, &["seed", "--proposals", "1000000", "--library", "9"]);
    let mut seeding = seed.stderr(Stdio::piped()).spawn().unwrap();
    let mut log = BufReader::new(seeding.stderr.take().unwrap());
    lines_to(&mut log, "adding test data");
    kill(&seeding, "INT");
    let said = lines_to(&mut log, "proposal-service: stopped by SIGINT; ");
    assert_eq!(seeding.wait().unwrap().code(), Some(1));
    let (_, stored) = said.split_once("SIGINT; ").unwrap();
    let stored: Vec<u64> = stored.split(' ').filter_map(|word| word.parse().ok()).collect();
    let running = Running::start(&folder, &["--migrate", "never"]);
    assert_eq!(stored, SEEDED.map(|path| running.total_items(path)));
}
