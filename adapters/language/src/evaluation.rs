//! How evaluations share the runtime's threads with other tasks.

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;
use tokio::task::coop::consume_budget;
use tokio::task::spawn_blocking;

use crate::expression::{CostLimit, Meter};

/// Long evaluations that run at a time, whatever the writes: each may take all the
/// time and memory it is allowed. Whoever waits for a permit holds no thread.
static LONG_EVALUATIONS: Semaphore = Semaphore::const_new(2);

/// Readers of sources that nobody has approved, at a time: each may take much stack.
static READERS: Semaphore = Semaphore::const_new(1);

/// The work after which a task gives up one of the 128 units that tokio lets it use before others
/// run: all of them are about a millisecond.
const WORK_PER_UNIT: u64 = 8_000;

/// Runs an evaluation within a small limit. Where that is reached, runs it again within `limit`,
/// beside other tasks of the thread, and few at a time.
pub async fn run<T>(limit: CostLimit, evaluate: impl Fn(&Meter) -> T) -> T {
    let (outcome, work) = {
        let meter = Meter::of(CostLimit::AtOnce);
        let outcome = evaluate(&meter);
        ((!meter.is_exhausted()).then_some(outcome), meter.work_done(CostLimit::AtOnce))
    };
    for _ in 0..=work / WORK_PER_UNIT {
        consume_budget().await;
    }
    if let Some(outcome) = outcome {
        return outcome;
    }
    // The semaphore is never closed; were it, more evaluations would run at a time.
    let _permit = LONG_EVALUATIONS.acquire().await.ok();
    beside(|| evaluate(&Meter::of(limit)))
}

/// Reads a source that anybody may have sent, on a thread of its own: whoever waits for it may give
/// up. `None` where the reading panicked.
pub async fn read<T: Send + 'static>(read: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    // The semaphore is never closed.
    let permit = READERS.acquire().await.ok();
    let reading = spawn_blocking(move || {
        let _permit = permit;
        read()
    });
    reading.await.ok()
}

/// Runs an evaluation that may be long, while other tasks of the thread go on elsewhere.
fn beside<T>(evaluate: impl FnOnce() -> T) -> T {
    // Outside a runtime there are no other tasks on the thread, and on a runtime of one thread there
    // is no other thread for them.
    let has_threads = Handle::try_current()
        .is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
    if has_threads { tokio::task::block_in_place(evaluate) } else { evaluate() }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{LONG_EVALUATIONS, beside, run};
    use crate::expression::CostLimit;

    #[tokio::test]
    async fn short_evaluations_do_not_wait_for_long_ones() {
        let _permits = LONG_EVALUATIONS.acquire_many(2).await.unwrap();
        let short = run(CostLimit::Verdict, |_| 1);
        assert_eq!(tokio::time::timeout(Duration::from_secs(10), short).await, Ok(1));
        let long = run(CostLimit::Verdict, |meter| while meter.hold(1 << 20).is_ok() {});
        assert!(tokio::time::timeout(Duration::from_millis(20), long).await.is_err());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn other_tasks_go_on_beside_a_long_evaluation() {
        let (sender, receiver) = std::sync::mpsc::channel();
        tokio::spawn(async move { sender.send(1) });
        let task = tokio::spawn(async move { beside(|| receiver.recv()) });
        assert_eq!(task.await.expect("the task ends"), Ok(1));
    }

    #[tokio::test]
    async fn a_runtime_of_one_thread_evaluates_where_it_is() {
        assert_eq!(beside(|| 1), 1);
    }
}
