//! Random histories against a model in memory: after any writes, in any order, every port answers
//! as the model does.
//!
//! `TEST_MODEL_STEPS` says how many steps are made on each store. A history that fails is made
//! shorter, as far as that goes in `TEST_MODEL_SHRINK` seconds, and printed with the variables that
//! make it again.

mod body;
mod comparison;
mod concurrent;
mod history;
mod judgement;
mod past_page;
mod random_page;
mod random_write;
mod replay;
mod state;
mod write;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tests::number;
use tests::stores::TestDatabase;

use history::History;
pub use history::now;

on_both_stores! {
    ; postgres_alone:
    random_histories_are_as_the_model_says_on_postgresql
}

const LONGEST: u64 = 500;

const STEPS: u64 = 600;

/// Seconds in which a history that fails is made shorter.
const SHRINK: u64 = 60;

#[tokio::test(flavor = "multi_thread")]
async fn random_histories_are_as_the_model_says_on_sqlite() {
    histories(TestDatabase::sqlite).await;
}

async fn random_histories_are_as_the_model_says_on_postgresql() {
    histories(TestDatabase::postgres).await;
}

async fn histories(database: fn() -> TestDatabase) {
    let all = number("TEST_MODEL_STEPS", STEPS);
    let mut made = 0;
    while made < all {
        let seed = number("TEST_SEED", fastrand::u64(..));
        let length = LONGEST.min(all - made);
        let kept = std::env::var("TEST_MODEL_KEPT");
        let steps = match &kept {
            Ok(kept) => kept.split(',').map(|step| step.parse().expect("a number")).collect(),
            Err(_) => (1..=length).collect::<Vec<_>>(),
        };
        if let Some(mut failed) = run(database, seed, &steps).await {
            let mut steps = steps;
            if kept.is_err() {
                failed = shrink(database, seed, &mut steps, failed).await;
            }
            let numbers: Vec<_> = steps.iter().map(u64::to_string).collect();
            panic!(
                "{}\nTEST_SEED={seed} TEST_MODEL_KEPT={} makes the same again",
                failed.join("\n"),
                numbers.join(",")
            );
        }
        made += length;
        println!("{made} of {all} steps are made");
    }
}

/// Makes the steps in a new store; the lines of a history that fails, the last of them the reason.
async fn run(database: fn() -> TestDatabase, seed: u64, steps: &[u64]) -> Option<Vec<String>> {
    let trace = Arc::new(Mutex::new(Vec::new()));
    let (steps, own) = (steps.to_vec(), Arc::clone(&trace));
    let database = tokio::task::block_in_place(database);
    let run = tokio::spawn(async move {
        let mut history = History::begin(&database, own).await;
        for step in steps {
            history.step(seed, step).await;
        }
        history.end().await;
    });
    let panic = run.await.err()?.into_panic();
    let reason = panic.downcast::<String>().map_or_else(|_| String::from("a panic"), |text| *text);
    let mut lines = trace.lock().expect("its task has ended").clone();
    lines.push(reason);
    Some(lines)
}

/// Leaves out steps without which the history fails all the same.
async fn shrink(
    database: fn() -> TestDatabase,
    seed: u64,
    steps: &mut Vec<u64>,
    mut failed: Vec<String>,
) -> Vec<String> {
    let deadline = Instant::now() + Duration::from_secs(number("TEST_MODEL_SHRINK", SHRINK));
    // Steps that were not reached are not needed.
    let reached = failed.iter().rev().nth(1).and_then(|line| line.split(' ').next()?.parse().ok());
    steps.retain(|step| reached.is_none_or(|reached: u64| *step <= reached));
    let mut size = steps.len() / 2;
    while size > 0 {
        let mut from = 0;
        while from < steps.len() && Instant::now() < deadline {
            let mut fewer = steps.clone();
            fewer.drain(from..(from + size).min(fewer.len()));
            match run(database, seed, &fewer).await {
                Some(lines) => (*steps, failed) = (fewer, lines),
                None => from += size,
            }
        }
        size /= 2;
    }
    failed
}
