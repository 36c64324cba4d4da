//! Options of retention, for `serve` and `compact`.

use std::path::PathBuf;

use clap::Args;
use domain::{RetentionPolicy, RetentionTime, ThinningSchedule};

use super::{DatabaseOptions, TimeZoneOptions};
use crate::commands::error::{CommandError, Result};

/// The bodies of superseded versions that are kept. Who wrote what and when is kept in any case.
#[derive(Args, Debug)]
#[command(next_help_heading = "Retention")]
pub struct RetentionOptions {
    /// How long to keep the bodies of superseded versions, such as 90d, 6mo or 7y [default: forever; 1d with --history-thin]
    #[arg(long, env = "PROPOSAL_SERVICE_HISTORY_KEEP", value_name = "TIME")]
    pub history_keep: Option<RetentionTime>,
    /// Keep the last version of each day, week, month or year for longer, such as daily:90d,monthly:7y
    #[arg(long, env = "PROPOSAL_SERVICE_HISTORY_THIN", value_name = "PERIOD:TIME,…")]
    pub history_thin: Option<ThinningSchedule>,
    /// File or folder with the ids of programmes and items whose bodies are always kept; reloaded when it changes and at
    /// SIGHUP
    #[arg(long, env = "PROPOSAL_SERVICE_LEGAL_HOLDS", value_name = "PATH")]
    pub legal_holds: Option<PathBuf>,
}

impl RetentionOptions {
    /// Returns the policy; `None` keeps everything. Fails if options contradict each other.
    pub fn policy(&self) -> Result<Option<RetentionPolicy>> {
        if self.history_keep.is_none() && self.history_thin.is_none() {
            return Ok(None);
        }
        let thinning = self.history_thin.clone().unwrap_or_default();
        let policy = RetentionPolicy::new(self.history_keep, thinning);
        policy.map(Some).map_err(|error| CommandError::Usage(format!("--history-thin: {error}")))
    }
}

/// Options of `compact`.
#[derive(Args, Debug)]
pub struct CompactOptions {
    /// Count what would be removed, but remove nothing; safe while the service runs
    #[arg(long)]
    pub dry_run: bool,
    /// The policy.
    #[command(flatten)]
    pub retention: RetentionOptions,
    /// The time zone in which days begin.
    #[command(flatten)]
    pub time_zone: TimeZoneOptions,
    /// The database.
    #[command(flatten)]
    pub database: DatabaseOptions,
}
