//! Where evaluations run: at once when they are short, aside from the runtime's workers when they may be long.

use std::sync::{Condvar, Mutex, PoisonError};

use tokio::runtime::{Handle, RuntimeFlavor};

/// From how many bytes of items an evaluation may keep a worker longer than other tasks should wait: read once, that
/// many take about a tenth of a millisecond.
const HEAVY: usize = 64 << 10;

/// How many heavy evaluations run at a time, whatever the writes: each may take the whole budget of its time and memory.
const MOST_HEAVY: usize = 2;

static HEAVY_ONES: Places = Places { free: Mutex::new(MOST_HEAVY), freed: Condvar::new() };

/// Runs an evaluation over this many bytes.
pub(crate) fn evaluate<T>(bytes: usize, run: impl FnOnce() -> T) -> T {
    if bytes < HEAVY {
        return run();
    }
    // Elsewhere there are no other tasks on the thread, or no other thread for them.
    let can_step_aside = Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
    let run = || HEAVY_ONES.hold(run);
    if can_step_aside { tokio::task::block_in_place(run) } else { run() }
}

/// Places for evaluations, which wait for a free one.
struct Places {
    free: Mutex<usize>,
    freed: Condvar,
}

impl Places {
    fn hold<T>(&self, run: impl FnOnce() -> T) -> T {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = self.freed.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        drop(free);
        let _held = Held(self);
        run()
    }
}

/// A place that is free again when this is dropped, also by a panic.
struct Held<'a>(&'a Places);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::{HEAVY, MOST_HEAVY, evaluate};

    #[test]
    fn heavy_evaluations_run_a_few_at_a_time() {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        evaluate(HEAVY, || {
                            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                            std::thread::yield_now();
                            now.fetch_sub(1, Ordering::SeqCst);
                        });
                    }
                });
            }
        });
        assert!(most.into_inner() <= MOST_HEAVY);
    }

    #[test]
    fn a_place_is_free_again_after_a_panic() {
        for _ in 0..=MOST_HEAVY {
            assert!(std::panic::catch_unwind(|| evaluate(HEAVY, || panic!("as a test"))).is_err());
        }
        assert_eq!(evaluate(HEAVY, || 1), 1);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn other_tasks_go_on_beside_a_heavy_evaluation() {
        let (sender, receiver) = std::sync::mpsc::channel();
        tokio::spawn(async move { sender.send(1) });
        let task = tokio::spawn(async move { evaluate(HEAVY, || receiver.recv()) });
        assert_eq!(task.await.expect("the task ends"), Ok(1));
    }

    #[tokio::test]
    async fn a_runtime_of_one_thread_evaluates_at_once() {
        assert_eq!(evaluate(HEAVY, || 1), 1);
    }
}
