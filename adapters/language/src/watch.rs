//! Files in force: read at the start, and again at SIGHUP or when they have changed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::registry::Registry;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch as channel;
use tokio::task::{JoinError, JoinSet};
use tokio::time::sleep;

use crate::error::FileErrors;
use crate::files::Fingerprint;
use crate::metrics::ReloadMetrics;

/// How often the files are looked at. A look reads them whole: times and sizes do not tell every
/// change.
const PAUSE: Duration = Duration::from_secs(1);

/// The number of signals to read files again, and for each kind of files the number of those after which
/// they were read.
pub type Readings = (u64, Vec<u64>);

/// The kinds of files that were refused when they were last read, so that older content is in force.
pub type FailedReloads = BTreeSet<&'static str>;

/// Things that were read from files and are in force, such as rules, and can be read again.
pub trait Reload: Send + Sync + 'static {
    /// Their name in messages: "rules".
    const NAME: &'static str;

    /// The kind of files in metrics and for programs: "rules".
    const KIND: &'static str;

    /// Returns false where there is nothing to read.
    fn has_files(&self) -> bool {
        true
    }

    /// Returns the fingerprint of the files if they have changed since they were last read. A
    /// reload that was refused counts as a read.
    fn changed(&self) -> Option<Fingerprint>;

    /// Puts the content of the files in force, all of it, and says whether it is another than
    /// before.
    ///
    /// # Errors
    /// Everything that is wrong with the files; the old content stays in force.
    fn reload(&self) -> Result<bool, FileErrors>;

    /// Logs that other content is in force.
    fn log_change(&self);

    /// Logs a warning with the effect on requests if an empty list is in force.
    fn warn_if_empty(&self) {}
}

/// The tasks that keep files up to date, and others that end with them.
pub struct Watches {
    /// The tasks; they end when it is dropped.
    pub tasks: JoinSet<()>,
    readings: channel::Sender<Readings>,
    failed: channel::Sender<FailedReloads>,
    metrics: ReloadMetrics,
}

impl Watches {
    /// Listens to SIGHUP from now on; without it the signal ends the process. The receiver sees each
    /// signal, and when the files were read again after it.
    #[must_use]
    pub fn new() -> (Self, channel::Receiver<Readings>) {
        let (readings, seen) = channel::channel(Readings::default());
        let (failed, _) = channel::channel(FailedReloads::default());
        let mut tasks = JoinSet::new();
        match signal(SignalKind::hangup()) {
            Ok(hang_ups) => drop(tasks.spawn(count(hang_ups, readings.clone()))),
            Err(error) => tracing::warn!(%error, "SIGHUP is not listened to"),
        }
        (Self { tasks, readings, failed, metrics: ReloadMetrics::default() }, seen)
    }

    /// The kinds of files whose reload failed, now and later.
    #[must_use]
    pub fn failed(&self) -> channel::Receiver<FailedReloads> {
        self.failed.subscribe()
    }

    /// Registers the metrics of all that is watched, now and later.
    pub fn register(&self, registry: &mut Registry) {
        self.metrics.register(registry);
    }

    /// Keeps what was read from files up to date.
    pub fn watch<T: Reload>(&mut self, files: Arc<T>) {
        let mut index = 0;
        self.readings.send_modify(|(_, done)| {
            index = done.len();
            done.push(0);
        });
        files.warn_if_empty();
        let metrics = files.has_files().then(|| self.metrics.clone());
        if let Some(metrics) = &metrics {
            metrics.show(T::KIND);
        }
        let (readings, failed) = (self.readings.clone(), self.failed.clone());
        self.tasks.spawn(watch(files, index, readings, failed, metrics));
    }
}

/// Counts the signals.
async fn count(mut hang_ups: Signal, readings: channel::Sender<Readings>) {
    while hang_ups.recv().await.is_some() {
        readings.send_modify(|(asked, _)| *asked += 1);
    }
}

/// Keeps what was read from files up to date, for ever. After each signal it notes at its index that
/// they were read again.
async fn watch<T: Reload>(
    files: Arc<T>,
    index: usize,
    readings: channel::Sender<Readings>,
    failed: channel::Sender<FailedReloads>,
    metrics: Option<ReloadMetrics>,
) {
    let (mut seen, mut last, mut signals) = (None, 0, readings.subscribe());
    loop {
        let asked_for = tokio::select! {
            () = sleep(PAUSE) => None,
            // An error cannot be: this has a sender.
            asked = signals.wait_for(|(asked, _)| *asked > last) => asked.ok().map(|it| it.0),
        };
        let is_asked_for = asked_for.is_some();
        let reading = Arc::clone(&files);
        // Files are read, and expressions compiled, on a thread that may wait.
        let done = tokio::task::spawn_blocking(move || {
            let changed = reading.changed();
            // Files that are the same at two looks are not being written; an error is told once,
            // unless the operator asks.
            let is_settled = changed.is_some() && changed == seen;
            let read =
                if is_asked_for || is_settled { reading.reload().map(Some) } else { Ok(None) };
            (changed, read)
        });
        let done = done.await.map(|(changed, read)| {
            seen = changed;
            read
        });
        let has_failed = match &done {
            Ok(Ok(read)) => read.map(|_| false),
            _ => Some(true),
        };
        log(&*files, done);
        if let (Some(metrics), Some(has_failed)) = (&metrics, has_failed) {
            metrics.count(T::KIND, has_failed);
        }
        failed.send_if_modified(|kinds| match has_failed {
            Some(true) => kinds.insert(T::KIND),
            Some(false) => kinds.remove(T::KIND),
            None => false,
        });
        if let Some(asked_for) = asked_for {
            last = asked_for;
            readings.send_modify(|(_, all)| all[index] = last);
        }
    }
}

/// Logs what became of the files: whether other content is in force, if they were read.
fn log<T: Reload>(files: &T, done: Result<Result<Option<bool>, FileErrors>, JoinError>) {
    let name = T::NAME;
    match done {
        Ok(Ok(Some(true))) => {
            files.log_change();
            files.warn_if_empty();
        }
        Ok(Ok(Some(false))) => tracing::info!("the {name} are as they were"),
        Ok(Ok(None)) => {}
        Ok(Err(errors)) => tracing::error!("the {name} stay as they were, because {errors}"),
        Err(error) => tracing::error!(%error, "the {name} could not be read again"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread::sleep;
    use std::time::Duration;

    use super::{FileErrors, Fingerprint, Readings, Reload, Watches};

    /// Files that take a while to read.
    #[derive(Default)]
    struct Slow(AtomicU64);

    impl Reload for Slow {
        const NAME: &'static str = "slow files";
        const KIND: &'static str = "slow";

        fn changed(&self) -> Option<Fingerprint> {
            None
        }

        fn reload(&self) -> Result<bool, FileErrors> {
            sleep(Duration::from_millis(30));
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(false)
        }

        fn log_change(&self) {}
    }

    #[tokio::test]
    async fn a_signal_counts_as_done_where_files_were_read_after_it() {
        let (mut watches, mut seen) = Watches::new();
        let files = [(); 2].map(|()| Arc::<Slow>::default());
        for files in &files {
            watches.watch(Arc::clone(files));
        }
        // The second comes while the files are read for the first.
        for expected in [1, 2] {
            watches.readings.send_modify(|(asked, _)| *asked = expected);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let is_done = |(_, done): &Readings| *done == [2, 2];
        let _ = seen.wait_for(is_done).await.unwrap();
        assert!(files.iter().all(|files| files.0.load(Ordering::Relaxed) == 2));
    }
}
