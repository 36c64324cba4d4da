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

/// Most lines that are written at once.
const MOST_LINES: usize = 1024;

/// How often a file that could not be written is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// How long a pipe that is full is left alone.
const PIPE_PAUSE: Duration = Duration::from_millis(10);

/// How often the operator is warned.
const WARNING_PERIOD: Duration = Duration::from_mins(1);

/// A line to be written.
pub struct AuditLine {
    /// The line, without its end.
    pub text: String,
    /// Told whether it is in the file, if somebody waits for that.
    pub written: Option<oneshot::Sender<bool>>,
}

/// The state of the file, for those who send lines.
#[derive(Default)]
pub struct WriterHealth {
    is_failing: AtomicBool,
    /// Lines that are not in the file, and that the file does not yet tell of.
    dropped: AtomicU64,
}

impl WriterHealth {
    /// Tells whether the last line could not be written.
    pub fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }

    /// Counts lines that were not written.
    pub fn count_dropped(&self, lines: u64) {
        self.dropped.fetch_add(lines, Ordering::Relaxed);
    }
}

/// Writes lines to the file, many at once where many wait.
pub struct Writer {
    path: PathBuf,
    file: Arc<File>,
    /// True if the file ends within a line, which is then ended first.
    is_torn: bool,
    lines: mpsc::Receiver<AuditLine>,
    health: Arc<WriterHealth>,
    /// How long a pipe may stay full.
    time_limit: Duration,
    clock: Arc<dyn Clock>,
    warned: Option<Instant>,
}

impl Writer {
    /// Opens the file.
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

    /// Writes lines until nobody can send any. A signal means that the file was renamed: a new one
    /// is opened.
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
                tracing::info!("the audit log was opened again");
            }
            Err(error) => tracing::error!(
                %error,
                "the audit log could not be opened again; the file that was open is written still"
            ),
        }
    }

    /// Writes lines, after one that tells how many were lost before them.
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
            // Who does not wait any more has been answered already.
            let _ = line.written.map(|told| told.send(is_written));
        }
        self.health.count_dropped(lost);
        self.health.is_failing.store(outcome.is_err(), Ordering::Relaxed);
        if let Err(error) = outcome {
            self.warn(&error);
        }
    }

    /// Appends bytes; returns how many are in the file. Files that are slow keep this task waiting,
    /// and no thread that answers requests.
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
                "the audit log cannot be written: requests that are audited are answered with 503"
            );
        }
    }
}

/// Opens a file to append to, which nobody but its owner may read; returns it, and whether it ends
/// within a line. A pipe that nobody reads is an error, and one that is full does not block.
fn open(path: &Path) -> io::Result<(Arc<File>, bool)> {
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path)?;
    // A process that was killed may have left part of a line.
    let is_torn = file.metadata()?.is_file() && last_byte(path).is_some_and(|last| last != b'\n');
    Ok((Arc::new(file), is_torn))
}

/// The last byte of a file that can be read and is not empty.
fn last_byte(path: &Path) -> Option<u8> {
    let mut file = File::open(path).ok()?;
    file.seek(SeekFrom::End(-1)).ok()?;
    let mut last = [0];
    file.read_exact(&mut last).ok()?;
    Some(last[0])
}
