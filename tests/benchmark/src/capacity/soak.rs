//! A long run at a part of the full load: memory, latency, descriptors, bytes and the lag of the
//! full-text index must not grow with time.

#![expect(clippy::cast_precision_loss, reason = "counts of a bounded run, to reckon with")]

use std::cell::RefCell;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use fastrand::Rng;
use futures_util::future::try_join_all;
use hdrhistogram::Histogram;

use super::LONGEST_LATENCY;
use super::history::History;
use super::stage::Stage;
use crate::arguments::Arguments;
use crate::connection::{Connection, get};
use crate::figures::median;

/// How long the full load is measured, and the part of it that the run is at.
const MEASURING: Duration = Duration::from_secs(10);
const LOAD: f64 = 0.3;

/// The samples of a run; the first fifth of them is not counted.
const SAMPLES: u32 = 50;
const WARMING: usize = 10;

/// One item in this number is replaced repeatedly.
const COLD: u64 = 100;

/// The most that a figure may grow over the run: a part of its median plus a constant.
const BOUNDS: [Bound; 4] = [
    Bound { name: "resident memory, MB", part: 0.10, constant: 16.0 },
    Bound { name: "p99, ms", part: 0.50, constant: 5.0 },
    Bound { name: "descriptors", part: 0.0, constant: 8.0 },
    Bound { name: "changes that wait to be indexed", part: 0.0, constant: 5_000.0 },
];

/// The most bytes of the store for each write of about 400 bytes.
const BYTES_OF_A_WRITE: f64 = 4_000.0;

struct Bound {
    name: &'static str,
    part: f64,
    constant: f64,
}

struct Sample {
    hours: f64,
    figures: [f64; BOUNDS.len()],
}

struct Window {
    latencies: Histogram<u64>,
    requests: u64,
    writes: u64,
    refused: u64,
}

/// Runs for this number of minutes and prints the slopes. Fails if one is beyond its bound.
pub(crate) async fn run(arguments: &Arguments, minutes: u32, folder: &Path) -> Result<()> {
    let folder = arguments.folder.as_deref().unwrap_or(folder);
    for &store in &arguments.stores {
        let (title, mut costs) = (store.title(), Vec::new());
        let stage = Stage::set(store, arguments.proposals.into(), folder, &mut costs).await?;
        let connections = usize::from(arguments.connections);
        let full = keep_busy(&stage, connections, MEASURING, None).await?;
        let rate = full.requests as f64 / MEASURING.as_secs_f64() * LOAD;
        println!(
            "{title}, {} items: {rate:.0} requests/s, {LOAD} of the full load, for {minutes} minutes",
            stage.items
        );
        soak(title, &stage, connections, rate, minutes).await?;
    }
    Ok(())
}

async fn soak(
    title: &str,
    stage: &Stage,
    connections: usize,
    rate: f64,
    minutes: u32,
) -> Result<()> {
    let time = Duration::from_mins(1) * minutes / SAMPLES;
    let (begun, bytes) = (Instant::now(), stage.bytes()?);
    let (mut samples, mut writes, mut refused) = (Vec::new(), 0, 0);
    for _ in 0..SAMPLES {
        let window = keep_busy(stage, connections, time, Some(rate)).await?;
        writes += window.writes;
        refused += window.refused;
        samples.push(sample(stage, &window, begun)?);
    }
    let counted = &samples[WARMING..];
    let hours = counted[counted.len() - 1].hours - counted[0].hours;
    let mut beyond = Vec::new();
    for (place, Bound { name, part, constant }) in BOUNDS.iter().enumerate() {
        let typical = median(counted.iter().map(|sample| sample.figures[place]));
        let slope = slope(counted, place);
        let allowed = (typical * part + constant) / hours;
        println!(
            "{title}: {name}: median {typical:.1}, slope {slope:.2} an hour, at most {allowed:.2}"
        );
        if slope > allowed {
            beyond.push(*name);
        }
    }
    let each = (stage.bytes()? - bytes) as f64 / writes.max(1) as f64;
    println!(
        "{title}: {writes} writes, {each:.0} bytes of the store each, at most {BYTES_OF_A_WRITE:.0}; {refused} requests refused"
    );
    ensure!(beyond.is_empty(), "beyond their bounds: {}", beyond.join(", "));
    ensure!(each <= BYTES_OF_A_WRITE, "the store grew by {each:.0} bytes for each write");
    ensure!(refused == 0, "{refused} requests were refused");
    Ok(())
}

fn sample(stage: &Stage, window: &Window, begun: Instant) -> Result<Sample> {
    let (memory, descriptors) = stage.server.held()?;
    let figures = [
        memory as f64 / 1e6,
        window.latencies.value_at_quantile(0.99) as f64 / 1_000.0,
        descriptors as f64,
        stage.lag()? as f64,
    ];
    let hours = begun.elapsed().as_secs_f64() / 3_600.0;
    eprintln!("{hours:.3} h: {figures:.1?}");
    Ok(Sample { hours, figures })
}

/// By least squares, for an hour.
fn slope(samples: &[Sample], place: usize) -> f64 {
    let count = samples.len() as f64;
    let mean = |of: &dyn Fn(&Sample) -> f64| samples.iter().map(of).sum::<f64>() / count;
    let [hours, figures] = [mean(&|sample| sample.hours), mean(&|sample| sample.figures[place])];
    let across: f64 = samples
        .iter()
        .map(|sample| (sample.hours - hours) * (sample.figures[place] - figures))
        .sum();
    let along: f64 = samples.iter().map(|sample| (sample.hours - hours).powi(2)).sum();
    across / along
}

/// Sends requests for a while: as many as possible, or at a rate. At a rate, latency counts from the
/// time when the request was due.
async fn keep_busy(
    stage: &Stage,
    connections: usize,
    time: Duration,
    rate: Option<f64>,
) -> Result<Window> {
    let latencies = Histogram::new_with_bounds(1, LONGEST_LATENCY, 3)?;
    let window = RefCell::new(Window { latencies, requests: 0, writes: 0, refused: 0 });
    let begun = Instant::now();
    let interval = rate.map(|rate| Duration::from_secs_f64(connections as f64 / rate));
    let all = (0..connections).map(async |number| {
        let mut connection = Connection::open(stage.server.address).await?;
        let mut random = Rng::new();
        let mut due =
            begun + interval.unwrap_or_default().mul_f64(number as f64 / connections as f64);
        while due < begun + time && begun.elapsed() < time {
            tokio::time::sleep_until(due.into()).await;
            let (request, is_write) = request(stage.items, &mut random);
            let status = connection.exchange(&request).await?;
            let mut window = window.borrow_mut();
            let latency = u64::try_from(due.elapsed().as_micros()).unwrap_or(u64::MAX);
            window.latencies.saturating_record(latency);
            window.requests += 1;
            window.writes += u64::from(is_write && status == 200);
            // Some items are of the rare group.
            window.refused += u64::from(!matches!(status, 200 | 404));
            due = interval.map_or_else(Instant::now, |interval| due + interval);
        }
        anyhow::Ok(())
    });
    try_join_all(all).await?;
    Ok(window.into_inner())
}

/// A read of any item or page, or in one case of ten a replacement of a hot item.
fn request(items: u64, random: &mut Rng) -> (Vec<u8>, bool) {
    let history = History { items };
    match random.u8(..100) {
        0..75 => (get(&format!("/v1/proposals/{}", History::id(random.u64(..items)))), false),
        75..90 => (get(&format!("/v1/proposals?page={}", random.u64(1..=items / 50))), false),
        _ => (history.replacement(random.u64(..items / COLD) * COLD, random.u64(..)), true),
    }
}

#[cfg(test)]
mod tests {
    use super::{BOUNDS, Sample, slope};

    #[test]
    fn the_slope_is_that_of_the_line() {
        let sample = |turn: u32| {
            let turn = f64::from(turn);
            Sample { hours: turn / 2.0, figures: [3.0 * turn + 7.0; BOUNDS.len()] }
        };
        let samples: Vec<_> = (0..9).map(sample).collect();
        assert!((slope(&samples, 0) - 6.0).abs() < 1e-9);
    }
}
