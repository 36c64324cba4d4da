//! A server under measurement: a child process that ends with its handle, and what it has used of
//! the machine.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use procfs::process::{ClearRefs, Process, Stat};
use procfs::{CurrentSI, KernelStats};

use crate::connection::Connection;

const TIME_TO_START: Duration = Duration::from_secs(30);
const READY: &[u8] = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n";

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
            .arg("--listen")
            .arg(address.to_string())
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let mut server = Self { child, log, address };
        server.wait_until_ready().await?;
        Ok(server)
    }

    async fn wait_until_ready(&mut self) -> Result<()> {
        let patience = Instant::now() + TIME_TO_START;
        while Instant::now() < patience {
            if let Some(status) = self.child.try_wait()? {
                bail!("the server ended with {status}:\n{}", self.last_words());
            }
            if is_ready(self.address).await {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        bail!(
            "the server is not ready after {} s:\n{}",
            TIME_TO_START.as_secs(),
            self.last_words()
        );
    }

    pub(super) fn last_words(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<_> = text.lines().rev().take(10).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }

    pub(super) fn cpu_time(&self) -> Result<Duration> {
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
        let pid = self.child.id();
        Process::new(i32::try_from(pid)?).with_context(|| format!("process {pid} is gone"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) fn generator_cpu_time() -> Result<Duration> {
    Ok(own_time(&Process::myself()?.stat()?))
}

pub(super) fn machine_cpu_time() -> Result<Duration> {
    let total = KernelStats::current()?.total;
    Ok(ticks(
        total.user
            + total.nice
            + total.system
            + total.irq.unwrap_or_default()
            + total.softirq.unwrap_or_default(),
    ))
}

pub(super) fn family_cpu_time(parent: i32) -> Result<Duration> {
    let members =
        procfs::process::all_processes()?.flatten().filter_map(|process| process.stat().ok());
    Ok(members
        .filter(|stat| stat.pid == parent || stat.ppid == parent)
        .map(|stat| own_time(&stat) + reaped_time(&stat))
        .sum())
}

fn own_time(stat: &Stat) -> Duration {
    ticks(stat.utime + stat.stime)
}

fn reaped_time(stat: &Stat) -> Duration {
    ticks(u64::try_from(stat.cutime + stat.cstime).unwrap_or_default())
}

fn ticks(count: u64) -> Duration {
    Duration::from_millis(count * 1_000 / procfs::ticks_per_second())
}

async fn is_ready(address: SocketAddr) -> bool {
    let asked = async { Connection::open(address).await?.exchange(READY).await };
    matches!(tokio::time::timeout(Duration::from_secs(5), asked).await, Ok(Ok(200..300)))
}
