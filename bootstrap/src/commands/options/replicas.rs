//! Options of the standbys.

use std::time::Duration;

use clap::Args;

use crate::commands::quantities::timeout;

/// The standbys of PostgreSQL that are read.
#[derive(Args, Debug)]
#[command(next_help_heading = "Database")]
pub struct ReplicaOptions {
    /// A standby that follows the database: items are read there, too; given several times, each of
    /// them. Give all instances the same
    // Values from the environment are not shown: they hold a password.
    #[arg(
        long = "replica-url",
        env = "PROPOSAL_SERVICE_REPLICA_URL",
        value_name = "URL",
        hide_env_values = true
    )]
    pub urls: Vec<String>,
    /// The longest lag with which a standby is read; while the primary is out of reach the lag grows
    #[arg(long = "replica-max-lag", env = "PROPOSAL_SERVICE_REPLICA_MAX_LAG", value_name = "TIME", default_value = "30s", value_parser = timeout)]
    pub max_lag: Duration,
}
