//! Admission control and pacing of exports: they work in turns, with pauses for other requests.

use std::io::{self, Seek, SeekFrom, Write};
use std::net::IpAddr;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use poem::Request;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep};

use crate::middleware::gate::Gate;
use crate::problem::{Problem, Result};
use crate::request::caller::caller_of;

const MOST_EXPORTS: usize = 16;

const MOST_OF_A_CALLER: usize = 4;

/// A known caller, or the address of an anonymous one.
#[derive(Debug, PartialEq, Eq)]
pub enum Exporter {
    Caller(Box<str>),
    Address(Option<IpAddr>),
}

impl Exporter {
    pub fn of(request: &Request, gate: &Gate) -> Self {
        match caller_of(request).id() {
            Some(id) => Self::Caller(id.into()),
            None => Self::Address(gate.limits.address_of(request)),
        }
    }
}

#[derive(Default)]
pub struct ExportPlaces {
    taken: Mutex<Vec<(Exporter, Weak<()>)>>,
}

/// Free again when it is dropped.
pub struct ExportPlace(#[expect(dead_code, reason = "it is dropped")] Arc<()>);

impl ExportPlaces {
    pub fn take(&self, exporter: Exporter) -> Result<ExportPlace> {
        let mut taken = self.taken.lock();
        taken.retain(|(_, place)| place.strong_count() > 0);
        if taken.iter().filter(|(other, _)| *other == exporter).count() >= MOST_OF_A_CALLER {
            return Err(Problem::unavailable(&format!(
                "You are running {MOST_OF_A_CALLER} exports or dossiers, which is the limit. Wait until one has finished.",
            )));
        }
        if taken.len() >= MOST_EXPORTS {
            return Err(Problem::unavailable(&format!(
                "The service is running {MOST_EXPORTS} exports or dossiers, which is the limit.",
            )));
        }
        let place = Arc::new(());
        taken.push((exporter, Arc::downgrade(&place)));
        Ok(ExportPlace(place))
    }
}

/// Limits the time that other exports wait.
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

const WORK_TIME: Duration = Duration::from_millis(20);

/// Leaves most of the processor time to other requests.
fn pause_after(worked: Duration) -> Duration {
    (worked * 3).min(LONGEST_PAUSE)
}

/// Pauses before it releases the permit.
pub async fn paced<T>(work: &Semaphore, piece: impl Future<Output = Result<T>>) -> Result<T> {
    let Ok(_permit) = work.acquire().await else {
        return Err(Problem::unavailable("The service is shutting down."));
    };
    let begun = Instant::now();
    let done = piece.await?;
    sleep(pause_after(begun.elapsed())).await;
    Ok(done)
}

/// A paced writer for a blocking thread. It fails once the client has disconnected.
pub struct PacedWriter<W> {
    inner: W,
    work: Arc<Semaphore>,
    client: Weak<()>,
    runtime: Handle,
    /// The permit, and the start of the work under it.
    permit: Option<(OwnedSemaphorePermit, Instant)>,
}

impl<W> PacedWriter<W> {
    pub fn new(inner: W, work: Arc<Semaphore>, client: Weak<()>) -> Self {
        Self { inner, work, client, runtime: Handle::current(), permit: None }
    }

    fn keep_pace(&mut self) -> io::Result<()> {
        if self.client.strong_count() == 0 {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if let Some((permit, begun)) =
            self.permit.take_if(|(_, begun)| begun.elapsed() >= WORK_TIME)
        {
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

#[cfg(test)]
mod tests {
    use super::{ExportPlaces, Exporter};

    #[test]
    fn a_caller_has_four_places_of_sixteen() {
        let places = ExportPlaces::default();
        let caller = |name: &str| Exporter::Caller(name.into());
        let mut held = Vec::new();
        for name in ["a", "b", "c"] {
            held.extend((0..4).map(|_| places.take(caller(name)).unwrap()));
            assert!(places.take(caller(name)).is_err(), "a fifth of one caller");
        }
        let address = |text: &str| Exporter::Address(text.parse().ok());
        held.extend((0..4).map(|_| places.take(address("192.0.2.1")).unwrap()));
        assert!(places.take(address("192.0.2.2")).is_err(), "a seventeenth");
        drop(held.pop());
        held.push(places.take(address("192.0.2.2")).unwrap());
        held.clear();
        held.push(places.take(address("192.0.2.3")).unwrap());
        assert_eq!(places.taken.lock().len(), 1, "who has ended is forgotten");
    }
}
