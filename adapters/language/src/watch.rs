//! Files in force: read at the start, and again at SIGHUP or when they have changed.

use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::error::FileErrors;
use crate::files::Fingerprint;

/// How often the files are looked at. A look reads them whole: times and sizes do not tell every
/// change.
const PAUSE: Duration = Duration::from_secs(1);

/// More than there are kinds of files that are read again at a signal.
const MOST_RELOADS: usize = 16;

/// Things that were read from files and are in force, such as rules, and can be read again.
pub trait Reload: Send + Sync + 'static {
    /// Their name in messages: "rules".
    const NAME: &'static str;

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
}

/// The tasks that keep files up to date, and others that end with them.
pub struct Watches {
    tasks: JoinSet<()>,
    reloaded: mpsc::Sender<()>,
}

impl Watches {
    /// Listens to SIGHUP from now on; without it the signal ends the process. The receiver gets a
    /// message after each reading at the signal.
    #[must_use]
    pub fn new() -> (Self, mpsc::Receiver<()>) {
        drop(hang_ups());
        let (reloaded, reloads) = mpsc::channel(MOST_RELOADS);
        (Self { tasks: JoinSet::new(), reloaded }, reloads)
    }

    /// Keeps what was read from files up to date.
    pub fn watch<T: Reload>(&mut self, files: Arc<T>) {
        self.tasks.spawn(watch(files, hang_ups(), self.reloaded.clone()));
    }

    /// Runs another task beside.
    pub fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }

    /// Returns the tasks, to which nothing is added any more; they end when it is dropped.
    #[must_use]
    pub fn into_tasks(self) -> JoinSet<()> {
        self.tasks
    }
}

fn hang_ups() -> Option<Signal> {
    signal(SignalKind::hangup())
        .map_err(|error| tracing::warn!(%error, "SIGHUP is not listened to"))
        .ok()
}

/// Keeps what was read from files up to date, for ever. After each SIGHUP it tells `reloaded` that
/// they were read again.
async fn watch<T: Reload>(files: Arc<T>, mut hang_ups: Option<Signal>, reloaded: mpsc::Sender<()>) {
    let mut seen = None;
    loop {
        let hang_up = async {
            match &mut hang_ups {
                Some(hang_ups) => drop(hang_ups.recv().await),
                None => std::future::pending().await,
            }
        };
        let is_asked_for = tokio::select! {
            () = tokio::time::sleep(PAUSE) => false,
            () = hang_up => true,
        };
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
        let name = T::NAME;
        match done {
            Ok(Ok(Some(true))) => files.log_change(),
            Ok(Ok(Some(false))) => tracing::info!("the {name} are as they were"),
            Ok(Ok(None)) => {}
            Ok(Err(errors)) => tracing::error!("the {name} stay as they were, because {errors}"),
            Err(error) => tracing::error!(%error, "the {name} could not be read again"),
        }
        if is_asked_for {
            // Nobody listens where no service manager waits for it, and then the channel is full.
            let _ = reloaded.try_send(());
        }
    }
}
