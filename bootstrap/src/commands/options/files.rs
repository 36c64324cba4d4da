//! Options of commands that read rules or policies in files.

use std::path::PathBuf;

use application::Clock as _;
use clap::Args;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use system_adapter::SystemClock;

/// Where days begin.
#[derive(Args, Debug)]
#[command(next_help_heading = "Business rules")]
pub struct TimeZoneOptions {
    /// Time zone that defines days, for rules, retention and pages, such as Asia/Manila
    #[arg(long = "time-zone", env = "PROPOSAL_SERVICE_TIME_ZONE", value_name = "ZONE", default_value = "UTC", value_parser = time_zone)]
    pub zone: TimeZone,
}

impl TimeZoneOptions {
    pub fn clock(&self) -> SystemClock {
        SystemClock::in_zone(self.zone.clone())
    }

    pub fn today(&self) -> Date {
        let clock = self.clock();
        clock.day_of(clock.now())
    }
}

/// Files of rules or of policies.
#[derive(Args, Debug)]
pub struct FileOptions {
    /// A file, or a folder of files
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// Options of `rules check` and `policies check`.
#[derive(Args, Debug)]
pub struct CheckOptions {
    /// The files.
    #[command(flatten)]
    pub files: FileOptions,
    /// Fail if there are warnings
    #[arg(long)]
    pub strict: bool,
    /// The time zone in which it is today.
    #[command(flatten)]
    pub time_zone: TimeZoneOptions,
}

fn time_zone(text: &str) -> Result<TimeZone, &'static str> {
    TimeZone::get(text)
        .map_err(|_| "give the name of a time zone, such as UTC, Asia/Manila or Europe/Berlin")
}
