//! Scheduling of evaluations next to the other tasks of the runtime.

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;
use tokio::task::coop::consume_budget;
use tokio::task::spawn_blocking;

use crate::expression::{CostLimit, Meter};

/// Limit on concurrent long evaluations: each may use its full limit of time and memory. A waiting
/// evaluation holds no thread.
static LONG_EVALUATIONS: Semaphore = Semaphore::const_new(2);

/// Limit on concurrent readers of untrusted sources: each may use much stack.
static READERS: Semaphore = Semaphore::const_new(1);

/// Work per unit of tokio's cooperative budget. The 128 units are about a millisecond.
const WORK_PER_UNIT: u64 = 8_000;

/// Runs an evaluation within a small limit. Above it, the evaluation runs again within `limit`,
/// with few at the same time, and other tasks leave the thread.
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
    let _permit = LONG_EVALUATIONS.acquire().await.ok();
    blocking(|| evaluate(&Meter::of(limit)))
}

/// Reads an untrusted source on its own thread, so that the waiting task may be cancelled. `None`
/// after a panic.
pub async fn read<T: Send + 'static>(read: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let permit = READERS.acquire().await.ok();
    let reading = spawn_blocking(move || {
        let _permit = permit;
        read()
    });
    reading.await.ok()
}

/// Runs a long evaluation, while the other tasks of the thread move to another one.
fn blocking<T>(evaluate: impl FnOnce() -> T) -> T {
    // Without a runtime the thread has no other tasks. A single-threaded runtime has no other
    // thread for them.
    let has_threads = Handle::try_current()
        .is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
    if has_threads { tokio::task::block_in_place(evaluate) } else { evaluate() }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{LONG_EVALUATIONS, blocking, run};
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
    async fn other_tasks_continue_during_a_long_evaluation() {
        let (sender, receiver) = std::sync::mpsc::channel();
        tokio::spawn(async move { sender.send(1) });
        let task = tokio::spawn(async move { blocking(|| receiver.recv()) });
        assert_eq!(task.await.expect("the task ends"), Ok(1));
    }

    #[tokio::test]
    async fn a_runtime_of_one_thread_evaluates_where_it_is() {
        assert_eq!(blocking(|| 1), 1);
    }
}
