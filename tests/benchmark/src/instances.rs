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

use crate::arguments::Arguments;
use crate::database::Database;
use crate::figures::{median, spread};
use crate::load::Load;
use crate::process::{Server, program};
use crate::work::{Bodies, Requests, Work, made_up_bodies};

#[derive(Clone, Copy)]
struct Side {
    instances: u16,
    has_keys: bool,
    /// Microseconds that a commit takes longer.
    commit_delay: u32,
    distance: Duration,
}

pub(super) async fn measure(arguments: &Arguments, instances: u16, folder: &Path) -> Result<()> {
    let bodies = made_up_bodies();
    let one = Side { instances: 1, has_keys: false, commit_delay: 0, distance: Duration::ZERO };
    let slow = Side { commit_delay: 2_000, ..one };
    let far = Side { distance: Duration::from_millis(1), ..one };
    let several = format!("{instances} instances against 1, commits");
    // The target is the least rate of the second side, of that of the first.
    for (title, sides, target) in [
        (format!("{several} as they are"), [one, Side { instances, ..one }], 0.9),
        (format!("{several} 2 ms longer"), [slow, Side { instances, ..slow }], 1.5),
        (
            "with an idempotency key against without, 2 ms to the database and back".to_owned(),
            [far, Side { has_keys: true, ..far }],
            0.7,
        ),
    ] {
        let (mut ratios, mut rates) = (Vec::new(), [0.0; 2]);
        for round in 1..=arguments.rounds {
            eprintln!("{title}, round {round} of {}", arguments.rounds);
            for (rate, side) in rates.iter_mut().zip(sides) {
                let measured = creates(side, &bodies, arguments, folder).await;
                *rate = measured.with_context(|| title.clone())?;
            }
            ratios.push(rates[1] / rates[0]);
        }
        let verdict = if median(ratios.iter().copied()) >= target { "reached" } else { "missed" };
        let ([first, second], ratios) = (rates, spread(&ratios));
        println!(
            "{title}: {ratios}, {second:.0} against {first:.0} creates/s in the last round; target {target:.1}, {verdict}."
        );
    }
    Ok(())
}

async fn creates(side: Side, bodies: &Bodies, arguments: &Arguments, folder: &Path) -> Result<f64> {
    let database = Database::create()?;
    database.delay_commits(side.commit_delay);
    let url = database.url_at_a_distance(side.distance)?;
    let mut servers = Vec::new();
    for _ in 0..side.instances {
        let said = ["--database-url", url.as_str()];
        servers.push(Server::start(&program("proposal-service")?, &said, folder).await?);
    }
    let addresses: Vec<_> = servers.iter().map(|server| server.address).collect();
    let requests = Requests::to_service(bodies.clone(), arguments.proposals);
    let keys = Cell::new(0_u64);
    let source = |random: &mut Rng, request: &mut Vec<u8>| {
        requests.write(Work::Create, random, request);
        if side.has_keys {
            keys.set(keys.get() + 1);
            let first_line = request.iter().position(|byte| *byte == b'\n').unwrap_or_default();
            let header = format!("Idempotency-Key: \"{}\"\r\n", keys.get());
            request.splice(first_line + 1..=first_line, header.into_bytes());
        }
    };
    let time = Duration::from_secs(arguments.seconds);
    let mut load = Load::open(&addresses, arguments.connections).await?;
    load.repeat(&source, time / 10, None).await?;
    let tally = load.repeat(&source, time, None).await?;
    ensure!(tally.failures == 0, "{:?}", tally.first_failure);
    Ok(tally.rate())
}
