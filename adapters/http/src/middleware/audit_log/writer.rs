//! The task that writes the audit log.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use application::Clock;
use bytes::Bytes;
use rustix::fs::OFlags;
use serde_json::json;
use tokio::signal::unix::Signal;
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

const MOST_LINES: usize = 1024;

/// The retry interval after a write error.
const RETRY: Duration = Duration::from_secs(1);

const PIPE_PAUSE: Duration = Duration::from_millis(10);

const WARNING_PERIOD: Duration = Duration::from_mins(1);

pub struct AuditLine {
    pub text: String,
    pub written: Option<oneshot::Sender<bool>>,
}

#[derive(Default)]
pub struct WriterHealth {
    is_failing: AtomicBool,
    /// Lost lines that the file does not mention yet.
    dropped: AtomicU64,
}

impl WriterHealth {
    pub fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }

    pub fn count_dropped(&self, lines: u64) {
        self.dropped.fetch_add(lines, Ordering::Relaxed);
    }
}

pub struct Writer {
    path: PathBuf,
    file: Arc<File>,
    /// True if the file ends within a line. The writer then ends that line first.
    is_torn: bool,
    lines: mpsc::Receiver<AuditLine>,
    health: Arc<WriterHealth>,
    time_limit: Duration,
    clock: Arc<dyn Clock>,
    warned: Option<Instant>,
}

impl Writer {
    pub fn open(
        path: &Path,
        lines: mpsc::Receiver<AuditLine>,
        health: Arc<WriterHealth>,
        time_limit: Duration,
        clock: &Arc<dyn Clock>,
    ) -> io::Result<Self> {
        let (file, is_torn) = open(path)?;
        let (path, clock) = (path.to_owned(), Arc::clone(clock));
        Ok(Self { path, file, is_torn, lines, health, time_limit, clock, warned: None })
    }

    /// Runs until all senders are gone. A SIGHUP means that the file was renamed, so it reopens the
    /// path.
    pub async fn run(mut self, mut hang_ups: Option<Signal>) {
        let mut batch = Vec::new();
        loop {
            let hang_up = async {
                match &mut hang_ups {
                    Some(hang_ups) => drop(hang_ups.recv().await),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                count = self.lines.recv_many(&mut batch, MOST_LINES) => match count {
                    0 => return,
                    _ => self.write(&mut batch).await,
                },
                () = hang_up => self.reopen().await,
                () = sleep(RETRY), if self.health.is_failing() => self.write(&mut batch).await,
            }
        }
    }

    async fn reopen(&mut self) {
        let path = self.path.clone();
        match spawn_blocking(move || open(&path)).await.unwrap_or_else(|error| Err(error.into())) {
            Ok((file, is_torn)) => {
                (self.file, self.is_torn) = (file, is_torn);
                tracing::info!("the audit log was reopened");
            }
            Err(error) => tracing::error!(
                %error,
                "cannot reopen the audit log; the previous file is still written"
            ),
        }
    }

    /// Writes a line about lost lines first.
    async fn write(&mut self, batch: &mut Vec<AuditLine>) {
        let dropped = self.health.dropped.load(Ordering::Relaxed);
        let mut text = String::new();
        if self.is_torn {
            text.push('\n');
        }
        if dropped > 0 {
            let time = self.clock.now().to_string();
            text.push_str(&json!({ "time": time, "dropped": dropped }).to_string());
            text.push('\n');
        }
        let start = text.len();
        let mut ends = Vec::with_capacity(batch.len());
        for line in &*batch {
            text.push_str(&line.text);
            text.push('\n');
            ends.push(text.len());
        }
        let bytes = Bytes::from(text);
        let (written, outcome) = self.append(&bytes).await;
        if let Some(last) = written.checked_sub(1) {
            self.is_torn = bytes.get(last) != Some(&b'\n');
        }
        if written >= start {
            self.health.dropped.fetch_sub(dropped, Ordering::Relaxed);
        }
        let mut lost = 0;
        for (line, end) in batch.drain(..).zip(ends) {
            let is_written = end <= written;
            lost += u64::from(!is_written);
            // A request that timed out has its response already.
            let _ = line.written.map(|written| written.send(is_written));
        }
        self.health.count_dropped(lost);
        self.health.is_failing.store(outcome.is_err(), Ordering::Relaxed);
        if let Err(error) = outcome {
            self.warn(&error);
        }
    }

    /// Returns the bytes written. A slow file delays only this task.
    async fn append(&self, bytes: &Bytes) -> (usize, io::Result<()>) {
        let deadline = Instant::now() + self.time_limit;
        let mut written = 0;
        while written < bytes.len() {
            let (file, rest) = (Arc::clone(&self.file), bytes.slice(written..));
            let outcome = spawn_blocking(move || (&*file).write(&rest)).await;
            match outcome.unwrap_or_else(|error| Err(error.into())) {
                Ok(0) => return (written, Err(ErrorKind::WriteZero.into())),
                Ok(count) => written += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error)
                    if error.kind() == ErrorKind::WouldBlock && Instant::now() < deadline =>
                {
                    sleep(PIPE_PAUSE).await;
                }
                Err(error) => return (written, Err(error)),
            }
        }
        (written, Ok(()))
    }

    fn warn(&mut self, error: &io::Error) {
        if self.warned.is_none_or(|warned| warned.elapsed() >= WARNING_PERIOD) {
            self.warned = Some(Instant::now());
            tracing::warn!(
                %error,
                "cannot write the audit log; audited requests are answered with 503"
            );
        }
    }
}

/// Creates the file readable by its owner only. Fails for a pipe without a reader, and never blocks
/// on a full one.
fn open(path: &Path) -> io::Result<(Arc<File>, bool)> {
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path)?;
    // A killed process may have left part of a line.
    let is_torn = file.metadata()?.is_file() && last_byte(path).is_some_and(|last| last != b'\n');
    Ok((Arc::new(file), is_torn))
}

fn last_byte(path: &Path) -> Option<u8> {
    let mut file = File::open(path).ok()?;
    file.seek(SeekFrom::End(-1)).ok()?;
    let mut last = [0];
    file.read_exact(&mut last).ok()?;
    Some(last[0])
}
