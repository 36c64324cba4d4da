//! The cost of durability on this disk, which the figures of the writes depend on.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

const TRIES: usize = 101;

pub(super) fn time_to_sync(folder: &Path) -> Result<Duration> {
    let mut file = File::create(folder.join("sync"))?;
    let mut times =
        (0..TRIES).map(|_| append_and_sync(&mut file)).collect::<std::io::Result<Vec<_>>>()?;
    times.sort_unstable();
    times.get(TRIES / 2).copied().context("no tries")
}

fn append_and_sync(file: &mut File) -> std::io::Result<Duration> {
    let start = Instant::now();
    file.write_all(&[0; 4096])?;
    file.sync_data()?;
    Ok(start.elapsed())
}
