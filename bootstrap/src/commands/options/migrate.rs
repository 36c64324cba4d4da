use clap::{Args, ValueEnum};

use super::DatabaseOptions;

/// The part of a migration that is to be done.
#[derive(Args, Debug)]
pub struct MigrateOptions {
    /// Add the schema parts that this version needs, or remove the parts that only older versions use
    #[arg(long, value_name = "PHASE", value_enum, default_value_t = MigratePhase::Expand)]
    pub phase: MigratePhase,
    /// Print the remaining steps of both phases, and change nothing
    #[arg(long, conflicts_with = "phase")]
    pub plan: bool,
    /// The database.
    #[command(flatten)]
    pub database: DatabaseOptions,
}

/// A phase of migrations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MigratePhase {
    /// Add and fill tables, columns and indexes; older versions can keep running
    Expand,
    /// Remove the parts that only older versions use; refused while one runs
    Contract,
}
