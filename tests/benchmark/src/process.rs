//! A server under measurement: a child process that ends with its handle, and what it has used of
//! the machine.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use procfs::process::{ClearRefs, Process, Stat};
use procfs::{CurrentSI, KernelStats};

use crate::connection::Connection;

const TIME_TO_START: Duration = Duration::from_secs(30);
const READY: &[u8] = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n";

/// The path of `proposal-service` or of a reference: next to the benchmark itself, unless
/// `PROPOSAL_SERVICE_BIN` (and so on for the others) names it.
pub(super) fn program(name: &str) -> Result<PathBuf> {
    let variable = format!("{}_BIN", name.replace('-', "_").to_uppercase());
    let given = std::env::var_os(&variable).map(PathBuf::from);
    let path = given.unwrap_or(std::env::current_exe()?.with_file_name(name));
    ensure!(path.is_file(), "{} is not built: see --help, or set {variable}", path.display());
    Ok(path)
}

/// A command of the service.
pub(super) fn command(arguments: &[&str]) -> Result<Command> {
    let mut command = Command::new(program("proposal-service")?);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
    Ok(command)
}

/// A running server. Dropping it kills the process and waits for its end.
pub(super) struct Server {
    child: Child,
    log: PathBuf,
    pub(super) address: SocketAddr,
}

impl Server {
    pub(super) async fn start(program: &Path, arguments: &[&str], folder: &Path) -> Result<Self> {
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let log = folder.join(format!("{}.log", address.port()));
        let output = File::create(&log)?;
        let child = Command::new(program)
            .args(["--listen", &address.to_string()])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let mut server = Self { child, log, address };
        let patience = Instant::now() + TIME_TO_START;
        while !is_ready(address).await {
            let ended = server.child.try_wait()?.is_some();
            if ended || Instant::now() > patience {
                bail!("the server does not start:\n{}", server.last_words());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(server)
    }

    pub(super) fn last_words(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<_> = text.lines().collect();
        lines[lines.len().saturating_sub(10)..].join("\n")
    }

    pub(super) fn cpu_time(&self) -> Result<f64> {
        Ok(own_time(&self.process()?.stat()?))
    }

    pub(super) fn peak_memory(&self) -> Result<u64> {
        let kilobytes = self.process()?.status()?.vmhwm.context("no VmHWM")?;
        Ok(kilobytes * 1024)
    }

    pub(super) fn write_calls(&self) -> Result<u64> {
        Ok(self.process()?.io()?.syscw)
    }

    /// The resident memory in bytes, and the number of open descriptors.
    pub(super) fn held(&self) -> Result<(u64, usize)> {
        let process = self.process()?;
        let kilobytes = process.status()?.vmrss.context("no VmRSS")?;
        Ok((kilobytes * 1024, process.fd_count()?))
    }

    pub(super) fn forget_peak_memory(&self) -> Result<()> {
        self.process()?.clear_refs(ClearRefs::PeakRSS).context("cannot reset VmHWM")
    }

    fn process(&self) -> Result<Process> {
        Process::new(i32::try_from(self.child.id())?).context("the server is gone")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) fn generator_cpu_time() -> Result<f64> {
    Ok(own_time(&Process::myself()?.stat()?))
}

pub(super) fn machine_cpu_time() -> Result<f64> {
    let total = KernelStats::current()?.total;
    let interrupts = total.irq.unwrap_or_default() + total.softirq.unwrap_or_default();
    Ok(seconds(total.user + total.nice + total.system + interrupts))
}

/// Processor time of a process and its children.
pub(super) fn family_cpu_time(parent: i32) -> Result<f64> {
    let members =
        procfs::process::all_processes()?.flatten().filter_map(|process| process.stat().ok());
    Ok(members
        .filter(|stat| stat.pid == parent || stat.ppid == parent)
        .map(|stat| own_time(&stat) + seconds((stat.cutime + stat.cstime).unsigned_abs()))
        .sum())
}

fn own_time(stat: &Stat) -> f64 {
    seconds(stat.utime + stat.stime)
}

fn seconds(ticks: u64) -> f64 {
    ticks as f64 / procfs::ticks_per_second() as f64
}

async fn is_ready(address: SocketAddr) -> bool {
    let asked = async { Connection::open(address).await?.exchange(READY).await };
    matches!(tokio::time::timeout(Duration::from_secs(5), asked).await, Ok(Ok(200..300)))
}
