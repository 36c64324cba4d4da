//! A long run at a part of the full load: memory, latency, descriptors, bytes and the lag of the
//! full-text index must not grow with time.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use fastrand::Rng;

use crate::arguments::Arguments;
use crate::connection::get;
use crate::figures::median;
use crate::history::History;
use crate::load::{Load, Tally};
use crate::stage::{Stage, import};

/// How long the full load is measured, and the part of it that the run is at.
const MEASURING: Duration = Duration::from_secs(10);
const LOAD: f64 = 0.3;

/// The samples of a run; the first fifth of them is not counted.
const SAMPLES: u32 = 50;
const WARMING: usize = 10;

/// One item in this number is replaced repeatedly.
const COLD: u64 = 100;

/// The most that a figure may grow over the run: a part of its median plus a constant.
const BOUNDS: [(&str, f64, f64); 4] = [
    ("resident memory, MB", 0.10, 16.0),
    ("p99, ms", 0.50, 5.0),
    ("descriptors", 0.0, 8.0),
    ("changes that wait to be indexed", 0.0, 5_000.0),
];

/// The most bytes of the store for each write of about 400 bytes.
const BYTES_OF_A_WRITE: f64 = 4_000.0;

struct Sample {
    hours: f64,
    figures: [f64; BOUNDS.len()],
}

/// Runs for this number of minutes and prints the slopes. Fails if one is beyond its bound.
pub(super) async fn run(arguments: &Arguments, minutes: u32, folder: &Path) -> Result<()> {
    for &store in &arguments.stores {
        let stage = Stage::set(store, arguments.proposals.into(), import, folder).await?;
        let mut clients = Clients {
            load: Load::open(&[stage.running.server.address], arguments.connections).await?,
            history: History { items: stage.items },
            random: RefCell::new(Rng::new()),
            writes: Cell::new(0),
        };
        let rate = clients.keep_busy(MEASURING, None).await?.rate() * LOAD;
        println!(
            "{}: {rate:.0} requests/s, {LOAD} of the full load, for {minutes} minutes",
            stage.title()
        );
        soak(&stage, &mut clients, rate, minutes).await?;
    }
    Ok(())
}

async fn soak(stage: &Stage, clients: &mut Clients, rate: f64, minutes: u32) -> Result<()> {
    let title = stage.store.title();
    let time = Duration::from_mins(1) * minutes / SAMPLES;
    let (begun, bytes) = (Instant::now(), stage.bytes()?);
    let (mut samples, mut refused) = (Vec::new(), 0);
    clients.writes.set(0);
    for _ in 0..SAMPLES {
        let tally = clients.keep_busy(time, Some(rate)).await?;
        refused += tally.failures;
        samples.push(sample(stage, &tally, begun)?);
    }
    let counted = &samples[WARMING..];
    let hours = counted[counted.len() - 1].hours - counted[0].hours;
    let mut beyond = Vec::new();
    for (place, (name, part, constant)) in BOUNDS.iter().enumerate() {
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
    let writes = clients.writes.get();
    let each = (stage.bytes()? - bytes) as f64 / writes.max(1) as f64;
    println!(
        "{title}: {writes} writes, {each:.0} bytes of the store each, at most {BYTES_OF_A_WRITE:.0}; {refused} requests refused"
    );
    ensure!(beyond.is_empty(), "beyond their bounds: {}", beyond.join(", "));
    ensure!(each <= BYTES_OF_A_WRITE, "the store grew by {each:.0} bytes for each write");
    ensure!(refused == 0, "{refused} requests were refused");
    Ok(())
}

fn sample(stage: &Stage, tally: &Tally, begun: Instant) -> Result<Sample> {
    let (memory, descriptors) = stage.running.server.held()?;
    let figures =
        [memory as f64 / 1e6, tally.latency(0.99), descriptors as f64, stage.lag()? as f64];
    let hours = begun.elapsed().as_secs_f64() / 3_600.0;
    eprintln!("{hours:.3} h: {figures:.1?}");
    Ok(Sample { hours, figures })
}

/// Clients that read any item or page, or in one case of ten replace a hot item.
struct Clients {
    load: Load,
    history: History,
    /// Other requests in each window.
    random: RefCell<Rng>,
    writes: Cell<u64>,
}

impl Clients {
    /// Sends requests for a while: as many as possible, or at a rate.
    async fn keep_busy(&mut self, time: Duration, rate: Option<f64>) -> Result<Tally> {
        let Self { load, history, random, writes } = self;
        let items = history.items;
        let source = |_: &mut Rng, request: &mut Vec<u8>| {
            let mut random = random.borrow_mut();
            *request = match random.u8(..100) {
                0..75 => {
                    get(&format!("/v1/proposals/{}", history.id_of_proposal(random.u64(..items))))
                }
                75..90 => get(&format!("/v1/proposals?page={}", random.u64(1..=items / 50))),
                _ => {
                    writes.set(writes.get() + 1);
                    history.replacement(random.u64(..items / COLD) * COLD, random.u64(..))
                }
            };
        };
        load.repeat(&source, time, rate).await
    }
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
