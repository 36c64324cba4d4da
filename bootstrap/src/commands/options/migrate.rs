use clap::{Args, ValueEnum};

use super::DatabaseOptions;

/// The part of a migration that is to be done.
#[derive(Args, Debug)]
pub struct MigrateOptions {
    /// Add what this version uses, which older ones go on beside, or take away what only those use
    #[arg(long, value_name = "PHASE", value_enum, default_value_t = MigratePhase::Expand)]
    pub phase: MigratePhase,
    /// Print the steps that are left of both phases, and change nothing
    #[arg(long, conflicts_with = "phase")]
    pub plan: bool,
    /// The database.
    #[command(flatten)]
    pub database: DatabaseOptions,
}

/// A phase of migrations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MigratePhase {
    /// Add tables, columns and indexes, and fill them in
    Expand,
    /// Take away what only older versions use; refused while one runs
    Contract,
}
