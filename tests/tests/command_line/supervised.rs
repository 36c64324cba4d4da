//! Started by a service manager, as systemd does it: a socket is handed over, the manager is told of the state, and the
//! database's URL is among the credentials.

use std::fs;
use std::io::{BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tests::stores::TestDatabase;
use tests::{Gate, binary, free_address};
use url::Url;

use super::{PATIENCE, Running, VARIABLES, command, folder, line_with, refused};

/// A service whose standard input is handed over as a socket, under the number and the variables of
/// `sd_listen_fds(3)`.
fn with_socket(folder: &TempDir, socket: OwnedFd, count: u32, arguments: &[&str]) -> Command {
    let mut command = Command::new("sh");
    let script = "exec 3<&0 < /dev/null; export LISTEN_PID=$$; exec \"$@\"";
    command.args(["-c", script, "sh"]).arg(binary::path()).args(arguments);
    command.env("LISTEN_FDS", count.to_string()).current_dir(folder.path());
    command.stdin(Stdio::from(socket)).stderr(Stdio::piped());
    for variable in VARIABLES {
        command.env_remove(variable);
    }
    command
}

fn socket(listener: &TcpListener) -> OwnedFd {
    listener.try_clone().unwrap().into()
}

fn running(mut command: Command) -> Running {
    let mut process = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut log = BufReader::new(process.stderr.take().unwrap());
    let line = line_with(&mut log, "listening on http://");
    let (_, rest) = line.split_once("listening on http://").unwrap();
    let address = rest.split(',').next().unwrap().parse().unwrap();
    Running { process, log, address }
}

#[test]
fn a_connection_to_a_socket_that_was_handed_over_waits_while_the_service_restarts() {
    let folder = folder();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    // The port of the option is not asked.
    let arguments = ["serve", "--listen", "127.0.0.1:1"];
    let first = running(with_socket(&folder, socket(&listener), 1, &arguments));
    assert_eq!(first.address, listener.local_addr().unwrap());
    assert_eq!(first.total_items("/v1/files"), 0);
    first.signal("TERM");
    let (code, log) = first.end();
    assert_eq!(code, Some(0), "{log}");
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    client.write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").unwrap();
    let _second = running(with_socket(&folder, socket(&listener), 1, &arguments));
    let mut answer = String::new();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[test]
fn a_socket_that_was_handed_over_is_asked_whom_it_lets_in() {
    let folder = folder();
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let output = with_socket(&folder, socket(&listener), 1, &["serve"]).output().unwrap();
    assert!(refused(&output, 2).contains("--identity"));
}

#[test]
fn a_socket_that_cannot_be_served_is_refused_with_what_to_write_instead() {
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
        let output = with_socket(&folder, socket, count, &["serve"]).output().unwrap();
        let line = refused(&output, 1);
        assert!(line.contains("LISTEN_FDS") && line.contains(said), "{line}");
    }
}

/// A service manager that was told nothing yet.
struct Manager {
    socket: UnixDatagram,
}

impl Manager {
    fn new(folder: &TempDir, command: &mut Command) -> Self {
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        command.env("NOTIFY_SOCKET", path);
        Self { socket }
    }

    /// The next thing it is told.
    fn told(&self) -> Option<String> {
        let mut bytes = [0; 4096];
        let length = self.socket.recv(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes[..length]).into_owned())
    }

    /// Forgets what it was told until now.
    fn forget(&self) {
        self.socket.set_nonblocking(true).unwrap();
        while self.told().is_some() {}
        self.socket.set_nonblocking(false).unwrap();
    }

    fn is_told_within(&self, time: Duration) -> bool {
        self.socket.set_read_timeout(Some(time)).unwrap();
        let is_told = self.told().is_some();
        self.socket.set_read_timeout(Some(PATIENCE)).unwrap();
        is_told
    }
}

#[test]
fn the_service_manager_is_told_of_start_reload_and_stop() {
    let folder = folder();
    fs::write(folder.path().join("rules.yaml"), "rules: []\n").unwrap();
    let mut command = command(&folder, &["--listen", "127.0.0.1:0", "--rules", "rules.yaml"]);
    let manager = Manager::new(&folder, &mut command);
    let running = running(command);
    assert_eq!(manager.told().as_deref(), Some("READY=1\n"));
    for _ in 0..3 {
        running.signal("HUP");
        let reloading = manager.told().unwrap();
        assert!(reloading.starts_with("RELOADING=1\nMONOTONIC_USEC="), "{reloading}");
        // It is ready again when the files were read, and not only after the time that this may take.
        assert!(manager.is_told_within(Duration::from_secs(5)));
    }
    running.signal("TERM");
    assert_eq!(manager.told().as_deref(), Some("STOPPING=1\n"));
    let (code, log) = running.end();
    assert_eq!(code, Some(0), "{log}");
}

#[test]
fn a_start_that_fails_is_never_called_ready() {
    let folder = folder();
    let mut command = command(&folder, &["--listen", "127.0.0.1:0", "--rules", "none.yaml"]);
    let manager = Manager::new(&folder, &mut command);
    assert_eq!(command.output().unwrap().status.code(), Some(1));
    assert!(!manager.is_told_within(Duration::from_millis(50)));
}

#[test]
fn the_watchdog_is_fed_while_the_store_answers() {
    let folder = folder();
    let database = TestDatabase::postgres();
    let mut url = Url::parse(database.url()).unwrap();
    let server = format!("{}:{}", url.host_str().unwrap(), url.port().unwrap_or(5432));
    let gate = Gate::to(server);
    url.set_ip_host(gate.address().ip()).unwrap();
    url.set_port(Some(gate.address().port())).unwrap();
    let mut command =
        command(&folder, &["--listen", "127.0.0.1:0", "--database-url", url.as_str()]);
    command.env("WATCHDOG_USEC", "400000");
    let manager = Manager::new(&folder, &mut command);
    let running = running(command);
    assert_eq!(manager.told().as_deref(), Some("READY=1\n"));
    for _ in 0..10 {
        assert_eq!(manager.told().as_deref(), Some("WATCHDOG=1\n"));
    }
    // A database that refuses answers: a restart of the service would not bring it back.
    gate.shut();
    sleep(Duration::from_millis(500));
    manager.forget();
    assert_eq!(manager.told().as_deref(), Some("WATCHDOG=1\n"));
    gate.open();
    let deadline = Instant::now() + PATIENCE;
    while running.ask("GET", "/readyz", "")["status"] != "ready" {
        assert!(Instant::now() < deadline, "the database is back");
        sleep(Duration::from_millis(100));
    }
    // One that says nothing does not.
    gate.silence();
    sleep(Duration::from_millis(500));
    manager.forget();
    assert!(!manager.is_told_within(Duration::from_secs(2)));
    // Nor does a process that stands still.
    gate.open();
    gate.shut();
    gate.open();
    assert_eq!(manager.told().as_deref(), Some("WATCHDOG=1\n"));
    running.signal("STOP");
    sleep(Duration::from_millis(200));
    manager.forget();
    assert!(!manager.is_told_within(Duration::from_secs(1)));
    running.signal("CONT");
    assert_eq!(manager.told().as_deref(), Some("WATCHDOG=1\n"));
}

/// The SQLite file that a service with these settings serves, by the store that it makes.
fn serves(folder: &TempDir, settings: &[(&str, &Path)], file: &str) {
    let mut command = command(folder, &["--listen", &free_address().to_string()]);
    command.envs(settings.iter().copied());
    let _running = running(command);
    assert!(folder.path().join(file).is_file(), "{settings:?} serve {file}");
}

#[test]
fn the_url_of_the_database_comes_from_a_file_or_from_the_credentials() {
    let folder = folder();
    let write = |name: &str, url: &str| {
        let file = folder.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, url).unwrap();
        file
    };
    let credential = write("credentials/database-url", "sqlite://by-credential.db?mode=rwc\n");
    let file = write("secret", "sqlite://by-file.db?mode=rwc\n");
    let credentials = ("CREDENTIALS_DIRECTORY", credential.parent().unwrap());
    let named = ("PROPOSAL_SERVICE_DATABASE_URL_FILE", &*file);
    serves(&folder, &[], "data/proposals.db");
    serves(&folder, &[("CREDENTIALS_DIRECTORY", folder.path())], "data/proposals.db");
    serves(&folder, &[credentials], "by-credential.db");
    serves(&folder, &[credentials, named], "by-file.db");
}

#[test]
fn a_file_of_the_database_that_cannot_be_used_is_named() {
    let folder = folder();
    for (arguments, said) in [
        (
            &["migrate", "--database-url-file", "none"][..],
            "none (--database-url-file): No such file",
        ),
        (&["migrate", "--database-url-file", "/dev/null"], "/dev/null is empty"),
        (&["--database-url-file", "/dev/zero"], "/dev/zero (--database-url-file): it is longer"),
        (
            &["migrate", "--database-url-file", "a", "--database-url", "postgres://me:secret@db/a"],
            "give one",
        ),
    ] {
        let output = command(&folder, arguments).output().unwrap();
        let line = refused(&output, 2);
        assert!(line.contains(said) && !line.contains("secret@"), "{line}");
    }
}
