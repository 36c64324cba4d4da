//! A start by a service manager such as systemd: the service inherits a socket, reports its state,
//! and reads the database's URL from the credentials.

use std::fs;
use std::io::Read as _;
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use tempfile::TempDir;
use tests::stores::TestDatabase;
use tests::{Gate, binary, wait_until};

use super::{ON_FREE_PORT, PATIENCE, Running, command, folder, folder_with, refused};

/// A service that inherits its standard input as a socket, with the number and the variables of
/// `sd_listen_fds(3)`.
fn with_socket(folder: &TempDir, socket: OwnedFd, count: u32) -> Command {
    let mut command = Command::new("sh");
    let script = "exec 3<&0 < /dev/null; export LISTEN_PID=$$; exec \"$@\"";
    // The inherited socket takes precedence over the port.
    command.args(["-c", script, "sh"]).arg(binary::path()).args([
        "serve",
        "--listen",
        "127.0.0.1:1",
    ]);
    command.env_clear().env("LISTEN_FDS", count.to_string()).current_dir(folder.path());
    command.stdin(Stdio::from(socket)).stderr(Stdio::piped());
    command
}

fn socket(listener: &TcpListener) -> OwnedFd {
    listener.try_clone().unwrap().into()
}

#[test]
fn a_connection_to_an_inherited_socket_waits_while_the_service_restarts() {
    let folder = folder();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut first = Running::of(&mut with_socket(&folder, socket(&listener), 1));
    assert_eq!(first.address, listener.local_addr().unwrap());
    assert_eq!(first.total_items("/v1/files"), 0);
    first.signal("TERM");
    wait_until(|| first.process.try_wait().unwrap().is_some());
    let head = "GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    let mut client = first.connect(head);
    let (code, log) = first.end();
    assert_eq!(code, Some(0), "{log}");
    let _second = Running::of(&mut with_socket(&folder, socket(&listener), 1));
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[test]
fn an_inherited_socket_that_cannot_be_served_is_refused_with_the_correction() {
    let folder = folder();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let unix = folder.path().join("socket");
    let connection = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    for (socket, count, said) in [
        (std::os::unix::net::UnixListener::bind(unix).unwrap().into(), 1, "ListenStream="),
        (connection.into(), 1, "Accept=no"),
        (socket(&listener), 2, "one ListenStream="),
        (fs::File::open("/dev/null").unwrap().into(), 1, "not a socket"),
    ] {
        let line = refused(&with_socket(&folder, socket, count).output().unwrap(), 1);
        assert!(line.contains("LISTEN_FDS") && line.contains(said), "{line}");
    }
    let open_to_others = TcpListener::bind("0.0.0.0:0").unwrap();
    let output = with_socket(&folder, socket(&open_to_others), 1).output().unwrap();
    assert!(refused(&output, 2).contains("--identity"));
}

/// The socket of a service manager.
struct Manager(UnixDatagram);

impl Manager {
    fn new(folder: &TempDir, command: &mut Command) -> Self {
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        command.env("NOTIFY_SOCKET", path);
        Self(socket)
    }

    fn next_within(&self, time: Duration) -> Option<String> {
        self.0.set_read_timeout(Some(time)).unwrap();
        let mut bytes = [0; 4096];
        let length = self.0.recv(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes[..length]).into_owned())
    }

    #[track_caller]
    fn expect(&self, expected: &str) {
        let received = self.next_within(PATIENCE).unwrap();
        assert!(received.starts_with(expected), "{received}");
    }

    /// Discards the messages of this time and the earlier ones.
    fn discard(&self, time: Duration) {
        sleep(time);
        self.0.set_nonblocking(true).unwrap();
        while self.0.recv(&mut [0; 4096]).is_ok() {}
        self.0.set_nonblocking(false).unwrap();
    }
}

#[test]
fn the_service_manager_receives_start_reload_and_stop() {
    let folder = folder_with(&[("rules.yaml", "rules: []\n")]);
    let mut serve = command(&folder, &ON_FREE_PORT);
    let manager = Manager::new(&folder, serve.args(["--rules", "rules.yaml"]));
    let running = Running::of(&mut serve);
    manager.expect("READY=1\n");
    for _ in 0..3 {
        running.signal("HUP");
        manager.expect("RELOADING=1\nMONOTONIC_USEC=");
        // It is ready when the files were read, before the time limit of a reload.
        assert!(manager.next_within(Duration::from_secs(5)).is_some());
    }
    running.signal("TERM");
    manager.expect("STOPPING=1\n");
    let (code, log) = running.end();
    assert_eq!(code, Some(0), "{log}");
}

#[test]
fn a_start_that_fails_never_reports_ready() {
    let folder = folder();
    let mut serve = command(&folder, &ON_FREE_PORT);
    let manager = Manager::new(&folder, serve.args(["--rules", "none.yaml"]));
    assert_eq!(serve.output().unwrap().status.code(), Some(1));
    assert_eq!(manager.next_within(Duration::from_millis(50)), None);
}

#[test]
fn the_watchdog_is_fed_while_the_store_answers() {
    const FED: &str = "WATCHDOG=1\n";
    let folder = folder();
    let database = TestDatabase::postgres();
    let (gate, url) = Gate::before(&database);
    let mut serve = command(&folder, &ON_FREE_PORT);
    serve.args(["--database-url", &url]).env("WATCHDOG_USEC", "200000");
    let manager = Manager::new(&folder, &mut serve);
    let running = Running::of(&mut serve);
    manager.expect("READY=1\n");
    (0..10).for_each(|_| manager.expect(FED));
    // A database that refuses connections answers: a restart of the service would not help.
    gate.shut();
    manager.discard(Duration::from_millis(500));
    manager.expect(FED);
    gate.open();
    wait_until(|| running.ask("GET", "/readyz", "")["status"] == "ready");
    // A silent database does not answer.
    gate.silence();
    manager.discard(Duration::from_millis(500));
    assert_eq!(manager.next_within(Duration::from_secs(1)), None);
    gate.open();
    gate.shut();
    gate.open();
    manager.expect(FED);
    running.signal("STOP");
    manager.discard(Duration::from_millis(200));
    assert_eq!(manager.next_within(Duration::from_secs(1)), None);
    running.signal("CONT");
    manager.expect(FED);
}

#[test]
fn the_url_of_the_database_comes_from_a_file_or_from_the_credentials() {
    let folder = folder_with(&[
        ("database-url", "sqlite://by-credential.db?mode=rwc\n"),
        ("secret", "sqlite://by-file.db?mode=rwc\n"),
    ]);
    fs::create_dir(folder.path().join("empty")).unwrap();
    let no_credential = ("CREDENTIALS_DIRECTORY", "empty");
    let credential = ("CREDENTIALS_DIRECTORY", ".");
    let file = ("PROPOSAL_SERVICE_DATABASE_URL_FILE", "secret");
    for (settings, file) in [
        (&[][..], "data/proposals.db"),
        (&[no_credential], "data/proposals.db"),
        (&[credential], "by-credential.db"),
        (&[credential, file], "by-file.db"),
    ] {
        let mut migrate = command(&folder, &["migrate"]);
        assert!(migrate.envs(settings.iter().copied()).status().unwrap().success());
        let file = folder.path().join(file);
        assert!(file.is_file(), "{settings:?} use {}", file.display());
        fs::remove_file(file).unwrap();
    }
}
