//! Creates by several instances on one PostgreSQL against those by one, and creates with an
//! idempotency key against those without where the database is far away.
//!
//! Both sides of a comparison take turns on fresh databases, and what counts is the ratio within a
//! round.

use std::cell::Cell;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fastrand::Rng;
use tokio::net::lookup_host;
use url::Url;

use crate::arguments::Arguments;
use crate::database::Database;
use crate::distant_server;
use crate::load::{Load, Source};
use crate::process::Server;
use crate::program::program;
use crate::work::{Bodies, Group, Requests, Work, WorkRequests};

#[derive(Clone, Copy)]
struct Side {
    instances: u16,
    has_keys: bool,
}

struct Comparison {
    title: String,
    sides: [Side; 2],
    /// Microseconds that a commit takes longer.
    commit_delay: u32,
    distance: Duration,
    /// The least rate of the second side, of that of the first.
    target: f64,
}

pub(super) async fn measure(arguments: &Arguments, instances: u16, folder: &Path) -> Result<()> {
    let bodies = Bodies::make_up();
    for comparison in comparisons(instances) {
        let mut ratios = Vec::new();
        let mut rates = [0.0; 2];
        for round in 1..=arguments.rounds {
            eprintln!("{}, round {round} of {}", comparison.title, arguments.rounds);
            for (rate, side) in rates.iter_mut().zip(comparison.sides) {
                *rate = creates(&comparison, side, &bodies, arguments, folder).await?;
            }
            ratios.push(rates[1] / rates[0]);
        }
        ratios.sort_by(f64::total_cmp);
        let (median, target) = (ratios[ratios.len() / 2], comparison.target);
        let verdict = if median >= target { "reached" } else { "missed" };
        println!(
            "{}: {median:.2} ({:.2}–{:.2}), {:.0} against {:.0} creates/s in the last round; target {target:.1}, {verdict}.",
            comparison.title,
            ratios[0],
            ratios[ratios.len() - 1],
            rates[1],
            rates[0]
        );
    }
    Ok(())
}

fn comparisons(instances: u16) -> Vec<Comparison> {
    let one = Side { instances: 1, has_keys: false };
    let several = |commit_delay: u32, target| Comparison {
        title: format!(
            "{instances} instances against 1, commits {} ms longer",
            commit_delay / 1_000
        ),
        sides: [one, Side { instances, ..one }],
        commit_delay,
        distance: Duration::ZERO,
        target,
    };
    let keys = Comparison {
        title: "with an idempotency key against without, 2 ms to the database and back".to_owned(),
        sides: [one, Side { has_keys: true, ..one }],
        commit_delay: 0,
        distance: Duration::from_millis(1),
        target: 0.7,
    };
    vec![several(0, 0.9), several(2_000, 1.5), keys]
}

async fn creates(
    comparison: &Comparison,
    side: Side,
    bodies: &Bodies,
    arguments: &Arguments,
    folder: &Path,
) -> Result<f64> {
    let database = Database::create()?;
    database.delay_commits(comparison.commit_delay)?;
    let url = at_a_distance(database.url(), comparison.distance).await?;
    let mut servers = Vec::new();
    for _ in 0..side.instances {
        let said = ["--database-url", url.as_str()];
        servers.push(Server::start(&program("proposal-service")?, &said, folder).await?);
    }
    let addresses: Vec<_> = servers.iter().map(|server| server.address).collect();
    let requests = Requests::to_service(bodies.clone(), arguments.proposals);
    let source = Creates {
        plain: requests.of(Work::Create, Group::Proposals),
        keys: side.has_keys.then(Cell::default),
    };
    let time = Duration::from_secs(arguments.seconds);
    let mut load = Load::open_on(&addresses, arguments.connections).await?;
    load.repeat(&source, time / 10).await?;
    let tally = load.repeat(&source, time).await?;
    ensure!(tally.failures == 0, "{}: {:?}", comparison.title, tally.first_failure);
    let requests = u32::try_from(tally.requests()).context("too many requests")?;
    Ok(f64::from(requests) / tally.elapsed.as_secs_f64())
}

async fn at_a_distance(url: &str, distance: Duration) -> Result<Url> {
    let mut url = Url::parse(url)?;
    if !distance.is_zero() {
        let (host, port) = (url.host_str().context("a host")?, url.port().unwrap_or(5432));
        let server = lookup_host((host, port)).await?.next().context("an address")?;
        let address = distant_server::start(server, distance)?;
        url.set_ip_host(address.ip()).ok().context("a URL with a host")?;
        url.set_port(Some(address.port())).ok().context("a URL with a port")?;
    }
    Ok(url)
}

struct Creates<'a> {
    plain: WorkRequests<'a>,
    keys: Option<Cell<u64>>,
}

impl Source for Creates<'_> {
    fn write(&self, random: &mut Rng, request: &mut Vec<u8>) -> std::io::Result<()> {
        self.plain.write(random, request)?;
        if let Some(keys) = &self.keys {
            keys.set(keys.get() + 1);
            let first_line = request.iter().position(|byte| *byte == b'\n').unwrap_or_default();
            let header = format!("Idempotency-Key: \"{}\"\r\n", keys.get());
            request.splice(first_line + 1..=first_line, header.into_bytes());
        }
        Ok(())
    }

    fn title(&self) -> String {
        self.plain.title()
    }
}
