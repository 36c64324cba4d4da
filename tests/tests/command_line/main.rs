//! The binary as an operator meets it: what it says, how it ends, and what a signal does.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod access;
mod loading;
mod manuals;
mod policies;
mod rules;
mod signals;
mod supervised;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tests::binary;

/// Longer than anything here may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Variables that the service reads; tests must not meet the developer's.
const VARIABLES: [&str; 41] = [
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "PROPOSAL_SERVICE_ACCESS_LOG",
    "PROPOSAL_SERVICE_ADDRESS_RATE",
    "PROPOSAL_SERVICE_ADMIN_LISTEN",
    "PROPOSAL_SERVICE_ALLOW_ANONYMOUS",
    "PROPOSAL_SERVICE_AUDIT",
    "PROPOSAL_SERVICE_AUDIT_LOG",
    "PROPOSAL_SERVICE_BASE_URL",
    "PROPOSAL_SERVICE_BODY_TIMEOUT",
    "PROPOSAL_SERVICE_CORS_ORIGIN",
    "PROPOSAL_SERVICE_DATABASE_CONNECTIONS",
    "PROPOSAL_SERVICE_DATABASE_URL",
    "PROPOSAL_SERVICE_DATABASE_URL_FILE",
    "PROPOSAL_SERVICE_DRAIN_DELAY",
    "PROPOSAL_SERVICE_DRAIN_TIMEOUT",
    "PROPOSAL_SERVICE_HISTORY_KEEP",
    "PROPOSAL_SERVICE_HISTORY_THIN",
    "PROPOSAL_SERVICE_IDEMPOTENCY_TTL",
    "PROPOSAL_SERVICE_IDENTITY",
    "PROPOSAL_SERVICE_LEGAL_HOLDS",
    "PROPOSAL_SERVICE_LISTEN",
    "PROPOSAL_SERVICE_LOG",
    "PROPOSAL_SERVICE_LOG_FORMAT",
    "PROPOSAL_SERVICE_MAX_BODY",
    "PROPOSAL_SERVICE_MAX_CONNECTIONS",
    "PROPOSAL_SERVICE_MAX_IMPORT",
    "PROPOSAL_SERVICE_MAX_STREAMS",
    "PROPOSAL_SERVICE_MIGRATE",
    "PROPOSAL_SERVICE_POLICIES",
    "PROPOSAL_SERVICE_RATE",
    "PROPOSAL_SERVICE_REPLICA_MAX_LAG",
    "PROPOSAL_SERVICE_REPLICA_URL",
    "PROPOSAL_SERVICE_REQUEST_TIMEOUT",
    "PROPOSAL_SERVICE_REQUIRE_IF_MATCH",
    "PROPOSAL_SERVICE_RULES",
    "PROPOSAL_SERVICE_STREAM_MAX_AGE",
    "PROPOSAL_SERVICE_TEMP_DIR",
    "PROPOSAL_SERVICE_TIME_ZONE",
    "PROPOSAL_SERVICE_TRACE_SAMPLE",
    "PROPOSAL_SERVICE_TRUSTED_PROXIES",
    "RUST_LOG",
];

/// The binary in a folder of its own.
fn command(folder: &TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(binary::path());
    command.args(arguments).current_dir(folder.path()).stdin(Stdio::null());
    for variable in VARIABLES {
        command.env_remove(variable);
    }
    command.env_remove("PROPOSAL_SERVICE_TOKEN");
    command
}

fn run(arguments: &[&str]) -> Output {
    command(&folder(), arguments).output().unwrap()
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Asserts that the command ended with `code` and one line on standard error; the line.
#[track_caller]
fn refused(output: &Output, code: i32) -> String {
    let (said, line) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{line}");
    assert_eq!(said, "");
    assert!(
        line.starts_with("proposal-service: ") && line.ends_with('\n') && line.lines().count() == 1,
        "{line}"
    );
    line.to_owned()
}

/// A service that listens, and what it logs.
struct Running {
    process: Child,
    log: BufReader<ChildStderr>,
    address: SocketAddr,
}

impl Running {
    fn start(folder: &TempDir, arguments: &[&str]) -> Self {
        let mut command = command(folder, arguments);
        let mut process =
            command.args(["--listen", "127.0.0.1:0"]).stderr(Stdio::piped()).spawn().unwrap();
        let mut log = BufReader::new(process.stderr.take().unwrap());
        let line = line_with(&mut log, "listening on http://");
        let (_, rest) = line.split_once("listening on http://").unwrap();
        let address = rest.split(',').next().unwrap().parse().unwrap();
        Self { process, log, address }
    }

    fn signal(&self, name: &str) {
        let process = self.process.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &process]).status().unwrap().success());
    }

    /// Waits for the end; its exit code and what was logged last.
    fn end(mut self) -> (Option<i32>, String) {
        wait_until(|| self.process.try_wait().unwrap().is_some());
        let mut log = String::new();
        self.log.read_to_string(&mut log).unwrap();
        (self.process.wait().unwrap().code(), log)
    }

    /// How many items the collection at `path` says it has.
    fn total_items(&self, path: &str) -> u64 {
        self.ask("GET", &format!("{path}?page_size=1"), "")["total_items"].as_u64().unwrap()
    }

    /// The answer to a request.
    fn ask(&self, method: &str, target: &str, body: &str) -> serde_json::Value {
        let mut client = TcpStream::connect(self.address).unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!(
            "{method} {target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n"
        );
        write!(client, "{head}content-length: {}\r\n\r\n{body}", body.len()).unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    }

    /// A request that is at work: its body has not been sent to its end.
    fn begin_request(&self) -> TcpStream {
        let mut client = TcpStream::connect(self.address).unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = "POST /v1/files HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nexpect: 100-continue\r\ncontent-length: 10\r\n\r\n";
        client.write_all(head.as_bytes()).unwrap();
        let mut answer = [0; 25];
        client.read_exact(&mut answer).unwrap();
        assert_eq!(text(&answer), "HTTP/1.1 100 Continue\r\n\r\n");
        client
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A test that failed leaves nothing behind; otherwise the process has ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[track_caller]
fn line_with(log: &mut impl std::io::BufRead, words: &str) -> String {
    let mut lines = String::new();
    for line in log.lines() {
        let line = line.unwrap();
        if line.contains(words) {
            return line;
        }
        lines += &line;
        lines.push('\n');
    }
    panic!("it never said `{words}`, but:\n{lines}");
}

#[test]
fn help_names_every_option_and_its_variable() {
    let output = run(&["--help"]);
    assert!(output.status.success());
    let help = text(&output.stdout);
    for variable in VARIABLES {
        assert!(help.contains(variable), "no {variable} in:\n{help}");
    }
    // Pages of subcommands have a hyphen in their names.
    let commands = manuals::COMMANDS.into_iter().filter(|name| !name.contains('-'));
    for word in commands.chain(["--demo"]) {
        assert!(help.contains(word), "no {word} in:\n{help}");
    }
}

#[test]
fn help_does_not_show_the_database_password() {
    for arguments in [["--help"].as_slice(), &["migrate", "--help"]] {
        let output = command(&folder(), arguments)
            .env("PROPOSAL_SERVICE_DATABASE_URL", "postgres://me:secret@db/a")
            .output()
            .unwrap();
        assert!(!text(&output.stdout).contains("secret"));
    }
}

#[test]
fn a_wrong_option_is_refused_in_one_line_that_says_what_is_right() {
    for (arguments, fix) in [
        (["--lisen", "127.0.0.1:0"].as_slice(), "'--listen'"),
        (&["sevre"], "'serve'"),
        (&["--listen", "localhost"], "127.0.0.1:8080"),
        (&["--admin-listen", "9090"], "127.0.0.1:8080"),
        (&["--access-log", "xml"], "text, json"),
        (&["--trace-sample", "2"], "from 0, for none, to 1, for all"),
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
        (&["openapi", "--base-url", "nowhere"], "http:// or https://"),
        (&["--time-zone", "Asia/Manilla"], "Asia/Manila"),
        (&["rules"], "--help"),
        (&["rules", "test"], "<FILE>"),
        (&["policies", "test"], "<FILE>"),
        (&["access", "check", "--group", "filez"], "files"),
        (&["load", "a.csv", "--group", "proposal"], "'proposals'"),
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
        ("PROPOSAL_SERVICE_BASE_URL", "nowhere", "http:// or https://"),
        ("PROPOSAL_SERVICE_LOG", "json", "off, error, warn, info, debug, trace"),
        ("PROPOSAL_SERVICE_LOG", "1", "info,storage_adapter=debug"),
        ("RUST_LOG", "verbose", "info,storage_adapter=debug"),
        ("PROPOSAL_SERVICE_MAX_BODY", "lots", "8MiB"),
        ("PROPOSAL_SERVICE_LOG_FORMAT", "xml", "text, json"),
    ] {
        let folder = folder();
        let mut command = command(&folder, &["--listen", "127.0.0.1:0"]);
        let line = refused(&command.env(variable, value).output().unwrap(), 2);
        assert!(line.contains(variable) && line.contains(fix), "{variable}={value}: {line}");
    }
    let folder = folder();
    let mut command = command(&folder, &["--log", "verbose"]);
    let line = refused(&command.env("PROPOSAL_SERVICE_LOG", "info").output().unwrap(), 2);
    assert!(!line.contains("PROPOSAL_SERVICE_LOG"), "the option is wrong: {line}");
}

#[test]
fn a_variable_without_the_prefix_means_nothing() {
    let folder = folder();
    let output = command(&folder, &["migrate"]).env("DATABASE_URL", "mysql://a").output();
    assert!(output.unwrap().status.success());
}

#[test]
fn an_unreachable_postgresql_is_named_at_once_with_the_cause_and_without_its_password() {
    let refusing = format!("postgres://me:secret@{}/proposals", free_address());
    let server = std::env::var("TEST_POSTGRES_URL").unwrap_or_default();
    let unknown = server.rsplit_once('/').map(|(server, _)| format!("{server}/no_such_database"));
    for (url, cause) in [
        (Some(refusing.as_str()), "Connection refused"),
        (Some("postgres://me:secret@no-such-host.invalid/proposals"), "lookup"),
        (unknown.as_deref(), "does not exist"),
    ] {
        let Some(url) = url else { continue };
        let start = Instant::now();
        let line = refused(&run(&["--listen", "127.0.0.1:0", "--database-url", url]), 1);
        assert!(
            line.contains(cause) && line.contains("--database-url") && !line.contains("secret"),
            "{line}"
        );
        assert!(start.elapsed() < Duration::from_secs(4), "{:?} for {cause}", start.elapsed());
    }
}

#[test]
fn a_missing_file_is_named_with_the_url_that_creates_it() {
    let folder = folder();
    for arguments in [["migrate"].as_slice(), &["--listen", "127.0.0.1:0"]] {
        let mut command = command(&folder, arguments);
        let output = command.args(["--database-url", "sqlite://a/b.db"]).output().unwrap();
        let line = refused(&output, 1);
        assert!(line.contains("sqlite://a/b.db?mode=rwc") && !line.contains("user"), "{line}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let folder = folder();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let output =
        command(&folder, &["migrate", "--database-url", "sqlite://file/below/a.db?mode=rwc"])
            .output()
            .unwrap();
    assert!(refused(&output, 1).contains("file/below"));
}

#[test]
fn others_are_not_served_without_identity_unless_the_operator_wants_it() {
    let beyond = ["--listen", "0.0.0.0:0"];
    let proxied = ["--listen", "127.0.0.1:0", "--base-url", "https://proposals.example.org"];
    for arguments in [&beyond[..], &proxied] {
        let line = refused(&run(arguments), 2);
        assert!(line.contains("--identity") && line.contains("--allow-anonymous"), "{line}");
    }
    let folder = folder();
    let arguments = [&beyond[..], &["--allow-anonymous", "--migrate", "never"]].concat();
    let said = command(&folder, &arguments).output().unwrap();
    assert_eq!(said.status.code(), Some(1), "it only lacks a store: {}", text(&said.stderr));
}

#[test]
fn a_busy_port_is_named_and_the_database_left_alone() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let folder = folder();
    let line = refused(&command(&folder, &["--listen", &address]).output().unwrap(), 1);
    assert!(line.contains(&address) && line.contains("--listen"), "{line}");
    assert!(!folder.path().join("data").exists());
}

#[test]
fn migrating_prepares_what_serving_may_insist_on() {
    let folder = folder();
    let insist = ["--migrate", "never", "--listen", "127.0.0.1:0"];
    let line = refused(&command(&folder, &insist).output().unwrap(), 1);
    assert!(line.contains("proposal-service migrate"), "{line}");
    assert!(command(&folder, &["migrate"]).status().unwrap().success());
    assert!(
        command(&folder, &["migrate"]).status().unwrap().success(),
        "a second time does no harm"
    );
    let running = Running::start(&folder, &["--migrate", "never"]);
    running.signal("TERM");
    assert_eq!(running.end().0, Some(0));
}

#[test]
fn openapi_prints_the_document() {
    let output = run(&["openapi", "--base-url", "https://proposals.example.org"]);
    assert!(output.status.success());
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(document["openapi"].is_string() && document["paths"].is_object());
    assert_eq!(document["servers"][0]["url"], "https://proposals.example.org");
    assert!(text(&output.stdout).contains("https://proposals.example.org"));
}

#[test]
fn demonstration_items_are_loaded_once() {
    let folder = folder();
    for said in ["loaded the demonstration items", "the store is not empty"] {
        let mut command = command(&folder, &["--demo", "--listen", "127.0.0.1:0"]);
        let mut process = command.stderr(Stdio::piped()).spawn().unwrap();
        line_with(&mut BufReader::new(process.stderr.take().unwrap()), said);
        process.kill().unwrap();
        process.wait().unwrap();
    }
    let running = Running::start(&folder, &["--demo"]);
    let page = running.ask("GET", "/v1/proposals?embed=program", "");
    let program = &page["_embedded"]["proposals"][0]["_embedded"]["program"];
    assert!(program["title"].is_string(), "the proposal names the programme: {page}");
}

#[test]
fn seeding_adds_what_is_asked_for_each_time() {
    let folder = folder();
    for (proposals, library_items) in [(50, 150), (100, 300)] {
        let arguments = ["seed", "--proposals", "50", "--library", "3", "--median-size", "4KiB"];
        let output = command(&folder, &arguments).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let said = text(&output.stdout);
        assert!(
            said.starts_with("stored 50 proposals, 150 library items and 1 programmes in ")
                && said.lines().count() == 1,
            "{said}"
        );
        let running = Running::start(&folder, &["--migrate", "never"]);
        assert_eq!(
            (running.total_items("/v1/proposals"), running.total_items("/lib")),
            (proposals, library_items)
        );
        let page = running.ask("GET", "/v1/proposals?page_size=100&embed=program", "");
        let proposals = page["_embedded"]["proposals"].as_array().unwrap();
        let programs = proposals.iter().map(|proposal| &proposal["_embedded"]["program"]["title"]);
        assert!(programs.filter(|title| title.is_string()).count() > 20, "{page}");
    }
}

#[test]
fn a_signal_ends_seeding_with_a_word_on_how_far_it_came() {
    let folder = folder();
    let mut seeding = command(&folder, &["seed", "--proposals", "1000000", "--library", "9"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(seeding.stderr.take().unwrap());
    line_with(&mut log, "adding made-up data");
    assert!(
        Command::new("kill")
            .args(["-s", "INT", &seeding.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
    let line = line_with(&mut log, "proposal-service: stopped by SIGINT; ");
    assert_eq!(seeding.wait().unwrap().code(), Some(1));
    let (_, stored) = line.split_once("; ").unwrap();
    let stored: Vec<u64> = stored.split(' ').filter_map(|word| word.parse().ok()).collect();
    let running = Running::start(&folder, &["--migrate", "never"]);
    let totals =
        ["/v1/proposals", "/lib", "/v1/proposedprograms"].map(|path| running.total_items(path));
    assert_eq!(stored, totals);
}

#[test]
fn json_logs_have_an_object_on_every_line() {
    let folder = folder();
    let running = Running::start(&folder, &["--log-format", "json"]);
    running.signal("TERM");
    let (_, log) = running.end();
    assert!(log.lines().count() > 1);
    for line in log.lines() {
        let entry: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(entry["message"].is_string() && entry["level"].is_string(), "{line}");
    }
}

#[track_caller]
fn wait_until(mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "it does not come to pass");
        sleep(Duration::from_millis(10));
    }
}

fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).unwrap()
}
