//! Watches files: reloads them at SIGHUP or after a change.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::registry::Registry;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch as channel;
use tokio::task::{JoinError, JoinSet};
use tokio::time::sleep;

use crate::error::FileErrors;
use crate::metrics::ReloadMetrics;
use crate::reloadable::{FileContent, ReloadableFiles};

/// Polling interval. Each poll reads whole files, since times and sizes miss some changes.
const PAUSE: Duration = Duration::from_secs(1);

/// Number of signals and, for each kind of files, the last signal after which it was read.
pub type Readings = (u64, Vec<u64>);

pub type FailedReloads = BTreeSet<&'static str>;

pub struct Watches {
    pub tasks: JoinSet<()>,
    state: WatchState,
}

#[derive(Clone, Default)]
struct WatchState {
    readings: channel::Sender<Readings>,
    failed: channel::Sender<FailedReloads>,
    metrics: ReloadMetrics,
}

impl Watches {
    /// Listens to SIGHUP, which otherwise ends the process. The receiver sees each signal, and the
    /// end of its reload.
    pub fn new() -> (Self, channel::Receiver<Readings>) {
        let (state, mut tasks) = (WatchState::default(), JoinSet::new());
        match signal(SignalKind::hangup()) {
            Ok(hang_ups) => drop(tasks.spawn(count(hang_ups, state.readings.clone()))),
            Err(error) => tracing::warn!(%error, "SIGHUP is not handled"),
        }
        let seen = state.readings.subscribe();
        (Self { tasks, state }, seen)
    }

    pub fn failed(&self) -> channel::Receiver<FailedReloads> {
        self.state.failed.subscribe()
    }

    pub fn register(&self, registry: &mut Registry) {
        self.state.metrics.register(registry);
    }

    pub fn watch<T: FileContent>(&mut self, files: Arc<ReloadableFiles<T>>) {
        let mut index = 0;
        self.state.readings.send_modify(|(_, done)| {
            index = done.len();
            done.push(0);
        });
        if files.has_files() {
            self.state.metrics.show(T::KIND);
            files.current().warn_if_empty();
        }
        self.tasks.spawn(watch(files, index, self.state.clone()));
    }
}

async fn count(mut hang_ups: Signal, readings: channel::Sender<Readings>) {
    while hang_ups.recv().await.is_some() {
        readings.send_modify(|(asked, _)| *asked += 1);
    }
}

/// Keeps files current, forever. After each signal it records the read at `index`.
async fn watch<T: FileContent>(files: Arc<ReloadableFiles<T>>, index: usize, state: WatchState) {
    let (mut seen, mut last, mut signals) = (None, 0, state.readings.subscribe());
    loop {
        let asked_for = tokio::select! {
            () = sleep(PAUSE) => None,
            // The sender is in scope, so this cannot fail.
            asked = signals.wait_for(|(asked, _)| *asked > last) => asked.ok().map(|it| it.0),
        };
        let is_asked_for = asked_for.is_some();
        let reading = Arc::clone(&files);
        // Reading and compiling block.
        let done = tokio::task::spawn_blocking(move || {
            let changed = reading.changed();
            // Debounce: two equal polls mean that the write has ended. An error is logged once, or
            // again at the operator's request.
            let is_settled = changed.is_some() && changed == seen;
            let read =
                if is_asked_for || is_settled { reading.reload().map(Some) } else { Ok(None) };
            (changed, read)
        });
        let done = done.await.map(|(changed, read)| {
            seen = changed;
            read
        });
        // Kinds without configuration have no series.
        if files.has_files() {
            state.note::<T>(&done);
        }
        log(&*files.current(), done);
        if let Some(asked_for) = asked_for {
            last = asked_for;
            state.readings.send_modify(|(_, all)| all[index] = last);
        }
    }
}

type Done = Result<Result<Option<bool>, FileErrors>, JoinError>;

impl WatchState {
    fn note<T: FileContent>(&self, done: &Done) {
        let has_failed = match done {
            Ok(Ok(None)) => return,
            Ok(Ok(Some(_))) => false,
            _ => true,
        };
        self.failed.send_if_modified(|kinds| {
            if has_failed { kinds.insert(T::KIND) } else { kinds.remove(T::KIND) }
        });
        self.metrics.count(T::KIND, has_failed);
    }
}

fn log<T: FileContent>(content: &T, done: Done) {
    let name = T::NAME;
    match done {
        Ok(Ok(Some(true))) => {
            content.log_change();
            content.warn_if_empty();
        }
        Ok(Ok(Some(false))) => tracing::info!("the {name} are unchanged"),
        Ok(Ok(None)) => {}
        Ok(Err(errors)) => tracing::error!("the {name} are not reloaded, because {errors}"),
        Err(error) => tracing::error!(%error, "the {name} could not be reloaded"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread::sleep;
    use std::time::Duration;

    use prometheus_client::encoding::text::encode;
    use prometheus_client::registry::Registry;

    use super::{FileContent, Readings, ReloadableFiles, Watches};

    #[derive(Default)]
    struct Nothing;

    impl FileContent for Nothing {
        const NAME: &'static str = "slow files";
        const KIND: &'static str = "slow";
        const FILES: &'static str = "slow files";

        fn log_change(&self) {}
    }

    /// Files that take a while to read again.
    fn slow(reads: &Arc<AtomicU64>) -> ReloadableFiles<Nothing> {
        let reads = Arc::clone(reads);
        let read = move |_, old: Option<&Nothing>| {
            if old.is_some() {
                sleep(Duration::from_millis(30));
                reads.fetch_add(1, Ordering::Relaxed);
            }
            Ok(Nothing)
        };
        ReloadableFiles::open(Path::new("Cargo.toml"), read).unwrap()
    }

    #[tokio::test]
    async fn a_signal_counts_as_done_where_files_were_read_after_it() {
        let (mut watches, mut seen) = Watches::new();
        let reads = [(); 2].map(|()| Arc::<AtomicU64>::default());
        for reads in &reads {
            watches.watch(slow(reads).into());
        }
        // The second comes while the files are read for the first.
        for expected in [1, 2] {
            watches.state.readings.send_modify(|(asked, _)| *asked = expected);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let is_done = |(_, done): &Readings| *done == [2, 2];
        let _ = seen.wait_for(is_done).await.unwrap();
        assert!(reads.iter().all(|reads| reads.load(Ordering::Relaxed) == 2));
    }
    #[tokio::test]
    async fn reloads_are_counted_of_files_in_use_only() {
        for (files, is_counted) in
            [(slow(&Arc::default()), true), (ReloadableFiles::default(), false)]
        {
            let (mut watches, mut seen) = Watches::new();
            watches.watch(Arc::new(files));
            watches.state.readings.send_modify(|(asked, _)| *asked = 1);
            let _ = seen.wait_for(|(_, done)| *done == [1]).await.unwrap();
            let (mut registry, mut text) = (Registry::default(), String::new());
            watches.register(&mut registry);
            encode(&mut text, &registry).unwrap();
            assert_eq!(
                text.contains("files=\"slow\",outcome=\"success\"} 1"),
                is_counted,
                "{text}"
            );
            assert_eq!(text.contains("slow"), is_counted, "{text}");
        }
    }
}
