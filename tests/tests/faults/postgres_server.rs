//! A separate `PostgreSQL` server, which can be killed.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use procfs::process::{Process, all_processes};
use tempfile::TempDir;
use tests::free_address;
use tests::stores::TestDatabase;
use url::Url;

use crate::until;

/// How long the processes of a server may take to be gone.
const PATIENCE: Duration = Duration::from_secs(10);

/// A running server with its files in a temporary folder.
pub struct PostgresServer {
    programs: PathBuf,
    port: u16,
    folder: TempDir,
    /// Returns whether it has a small disk in addition to its files.
    has_small_disk: bool,
}

/// Mounts a disk that only the processes begun here see: `$1` where, then the program.
const WITH_SMALL_DISK: &str = r#"
set -e
mount -t tmpfs -o size=32m,mode=0755 tmpfs "$1"
mkdir "$1/space"
chown postgres "$1/space" 2> /dev/null || true
shift
exec "$@"
"#;

impl PostgresServer {
    pub fn start() -> Self {
        Self::initialise(false)
    }

    /// Starts a server with a disk of 32 MiB in [`small_disk`](Self::small_disk).
    pub fn start_with_small_disk() -> Self {
        Self::initialise(true)
    }

    /// Starts a server that follows this one and takes no writes.
    pub fn start_standby(&self) -> Self {
        let standby = Self::without_files(false);
        let mut copy = standby.program("pg_basebackup");
        let port = self.port.to_string();
        let primary = ["--host=127.0.0.1", "--username=postgres", "--port", &port];
        let options = ["--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast"];
        run(copy.args(primary).args(options));
        standby.start_again();
        standby
    }

    /// Lets a standby take writes.
    pub fn promote(&self) {
        run(self.program("pg_ctl").args(["promote", "--wait", "--silent"]));
    }

    /// A folder on the small disk, which only the server sees.
    pub fn small_disk(&self) -> PathBuf {
        self.folder.path().join("disk/space")
    }

    fn without_files(has_small_disk: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("disk")).unwrap();
        if is_root() {
            // PostgreSQL refuses to run as root.
            run(Command::new("chown").arg("postgres").arg(folder.path()));
        }
        Self { programs: programs(), port: free_address().port(), folder, has_small_disk }
    }

    fn initialise(has_small_disk: bool) -> Self {
        let server = Self::without_files(has_small_disk);
        let options = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-locale"];
        run(server.program("initdb").args(options));
        server.start_again();
        server
    }

    pub fn url(&self) -> Url {
        Url::parse(&format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)).unwrap()
    }

    /// The database `postgres`, which stays.
    pub fn database(&self) -> TestDatabase {
        TestDatabase::existing(self.url().as_str())
    }

    /// Returns when the server takes connections again.
    pub fn start_again(&self) {
        let options =
            format!("-p {} -c listen_addresses=127.0.0.1 -c unix_socket_directories=", self.port);
        let log = self.folder.path().join("log");
        let mut start = self.program("pg_ctl");
        if self.has_small_disk {
            start = self.with_small_disk(&start);
        }
        run(start.args(["start", "--wait", "--silent", "--options", &options, "--log"]).arg(log));
    }

    /// Changes a setting of a server that runs.
    pub fn set(&self, name: &str, value: &str) {
        let mut file =
            OpenOptions::new().append(true).open(self.data().join("postgresql.auto.conf")).unwrap();
        writeln!(file, "{name} = '{value}'").unwrap();
        run(self.program("pg_ctl").args(["reload", "--silent"]));
    }

    /// Refuses connections without a password; no user has one.
    pub fn require_passwords(&self) {
        let rules = "host all all all scram-sha-256\n";
        std::fs::write(self.data().join("pg_hba.conf"), rules).unwrap();
        run(self.program("pg_ctl").args(["reload", "--silent"]));
    }

    /// Kills every process of the server at once, and returns when they are gone.
    pub fn kill(&self) {
        let mut all = self.children();
        all.push(self.postmaster());
        kill(&all);
        // A process that has ended blocks the next one until its parent has noticed.
        until("the end of the server", PATIENCE, || all.iter().all(|it| it.stat().is_err()));
    }

    /// Kills one of the processes that serve a connection.
    pub fn kill_a_session(&self) {
        let session = self.children().into_iter().find(|child| {
            child.cmdline().is_ok_and(|words| words.join(" ").contains(" proposals_test_"))
        });
        kill(&[session.expect("the service is connected")]);
    }

    fn postmaster(&self) -> Process {
        let file = std::fs::read_to_string(self.data().join("postmaster.pid")).unwrap();
        Process::new(file.lines().next().unwrap().parse().unwrap()).expect("the server runs")
    }

    fn children(&self) -> Vec<Process> {
        let parent = self.postmaster().pid;
        let is_child = |process: &Process| process.stat().is_ok_and(|stat| stat.ppid == parent);
        all_processes().unwrap().flatten().filter(is_child).collect()
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The same program in a separate mount namespace, as the same user.
    fn with_small_disk(&self, program: &Command) -> Command {
        let mut within = Command::new("unshare");
        if !is_root() {
            within.args(["--user", "--map-root-user"]);
        }
        within
            .args(["--mount", "sh", "-c", WITH_SMALL_DISK, "sh"])
            .arg(self.folder.path().join("disk"));
        if !is_root() {
            within.args(["unshare", "--user", "--map-user=1000", "--map-group=1000", "--"]);
        }
        within.arg(program.get_program()).args(program.get_args()).current_dir("/");
        within
    }

    /// A program of `PostgreSQL` about this server's files.
    fn program(&self, name: &str) -> Command {
        let path = self.programs.join(name);
        let mut program = if is_root() {
            let mut program = Command::new("runuser");
            program.args(["--user", "postgres", "--"]).arg(path);
            program
        } else {
            Command::new(path)
        };
        program.arg("--pgdata").arg(self.data()).current_dir("/");
        program
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        // A test that failed may have left it killed.
        let _ = self
            .program("pg_ctl")
            .args(["stop", "--mode", "immediate", "--silent"])
            .stderr(Stdio::null())
            .status();
    }
}

fn is_root() -> bool {
    Process::myself().and_then(|own| own.uid()).is_ok_and(|uid| uid == 0)
}

/// Where the server's programs are: distributions keep them out of the search path.
fn programs() -> PathBuf {
    let installed = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = installed
        .map(|version| version.path().join("bin"))
        .filter(|bin| bin.join("initdb").is_file())
        .max();
    newest.unwrap_or_else(|| {
        let output = Command::new("pg_config").arg("--bindir").output();
        let output = output.expect("PostgreSQL is installed, or pg_config says where");
        Path::new(String::from_utf8_lossy(&output.stdout).trim()).to_owned()
    })
}

/// Kills without a chance to clean up. A process that has ended is ignored.
fn kill(processes: &[Process]) {
    let ids = processes.iter().map(|process| process.pid.to_string());
    Command::new("kill")
        .arg("-KILL")
        .args(ids)
        .stderr(Stdio::null())
        .status()
        .expect("there is `kill`");
}

fn run(command: &mut Command) {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status();
    let status = status.unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    assert!(status.success(), "{command:?} ended with {status}");
}
