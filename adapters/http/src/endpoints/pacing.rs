//! The pace of exports: they work in turns, and pause so that others have the processors.

use std::io::{self, Seek, SeekFrom, Write};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep};

use crate::problem::Problem;

/// The longest pause of an export, which keeps others waiting as well.
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

/// How long a writer works before it pauses.
const WORK_TIME: Duration = Duration::from_millis(20);

/// The pause after a piece of work: others have the processor for most of the time.
fn pause_after(worked: Duration) -> Duration {
    (worked * 3).min(LONGEST_PAUSE)
}

/// Does a piece of work while no other export does, and then pauses.
pub async fn paced<T>(
    work: &Semaphore,
    piece: impl Future<Output = Result<T, Problem>>,
) -> Result<T, Problem> {
    let Ok(_at_work) = work.acquire().await else {
        return Err(Problem::unavailable("The service is about to stop."));
    };
    let begun = Instant::now();
    let done = piece.await?;
    sleep(pause_after(begun.elapsed())).await;
    Ok(done)
}

/// A writer for a thread that may block: what is written through it is written at that pace, as
/// long as somebody waits for it.
pub struct PacedWriter<W> {
    inner: W,
    work: Arc<Semaphore>,
    /// Gone when nobody waits any more.
    client: Weak<()>,
    runtime: Handle,
    /// The permit to work, and since when it is held.
    permit: Option<(OwnedSemaphorePermit, Instant)>,
}

impl<W> PacedWriter<W> {
    /// A writer of this runtime.
    pub fn new(inner: W, work: Arc<Semaphore>, client: Weak<()>) -> Self {
        Self { inner, work, client, runtime: Handle::current(), permit: None }
    }

    /// Pauses when it has worked long enough, and waits until it may work again.
    fn keep_pace(&mut self) -> io::Result<()> {
        if self.client.strong_count() == 0 {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if let Some((permit, begun)) =
            self.permit.take_if(|(_, begun)| begun.elapsed() >= WORK_TIME)
        {
            // As after any piece of work, it pauses before others may work.
            std::thread::sleep(pause_after(begun.elapsed()));
            drop(permit);
        }
        if self.permit.is_none() {
            let permit = self.runtime.block_on(Arc::clone(&self.work).acquire_owned());
            self.permit = Some((permit.map_err(io::Error::other)?, Instant::now()));
        }
        Ok(())
    }
}

impl<W: Write> Write for PacedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.keep_pace()?;
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<W: Seek> Seek for PacedWriter<W> {
    fn seek(&mut self, place: SeekFrom) -> io::Result<u64> {
        self.inner.seek(place)
    }
}
