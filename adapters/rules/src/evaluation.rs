//! Where evaluations run that may be long: aside from the runtime's workers, a few at a time.

use std::sync::Arc;

use application::Permit;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;

/// How many long evaluations run at a time, whatever the writes: each may take the whole budget of
/// its time and memory.
const MOST: usize = 2;

/// Leave for long evaluations. Who waits for it holds no thread.
#[derive(Debug)]
pub(crate) struct Permits(Arc<Semaphore>);

impl Default for Permits {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MOST)))
    }
}

impl Permits {
    pub async fn one(&self) -> Permit {
        // The semaphore is never closed; were it, evaluations would only be more at a time.
        Box::new(self.0.clone().acquire_owned().await.ok())
    }
}

/// Runs an evaluation that may be long, while other tasks of the thread go on elsewhere.
pub(crate) fn aside<T>(run: impl FnOnce() -> T) -> T {
    // Elsewhere there are no other tasks on the thread, or no other thread for them.
    let can_step_aside = Handle::try_current()
        .is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
    if can_step_aside { tokio::task::block_in_place(run) } else { run() }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{MOST, Permits, aside};

    #[tokio::test]
    async fn a_few_have_leave_at_a_time() {
        let permits = Permits::default();
        let mut held = Vec::new();
        for _ in 0..MOST {
            held.push(permits.one().await);
        }
        assert!(tokio::time::timeout(Duration::from_millis(20), permits.one()).await.is_err());
        held.pop();
        let _next = permits.one().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn other_tasks_go_on_beside_a_long_evaluation() {
        let (sender, receiver) = std::sync::mpsc::channel();
        tokio::spawn(async move { sender.send(1) });
        let task = tokio::spawn(async move { aside(|| receiver.recv()) });
        assert_eq!(task.await.expect("the task ends"), Ok(1));
    }

    #[tokio::test]
    async fn a_runtime_of_one_thread_evaluates_where_it_is() {
        assert_eq!(aside(|| 1), 1);
    }
}
