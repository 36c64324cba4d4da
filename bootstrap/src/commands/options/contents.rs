//! The options of contents.

use clap::{Args, Subcommand};

use super::DatabaseOptions;

/// The place for contents.
#[derive(Args, Clone, Debug)]
pub struct ContentsPlace {
    /// Folder or bucket (`s3://BUCKET/PREFIX`) for the contents of files and library items; by default FILE.contents next to an SQLite file
    #[arg(long, env = "PROPOSAL_SERVICE_CONTENTS", hide_env_values = true, value_name = "PLACE")]
    pub contents: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum ContentsCommand {
    /// Read all contents, and list missing, truncated and corrupted ones with the versions that have them; safe while the service runs
    Verify(ContentsOptions),
    /// Register the contents that the versions of an imported history have
    Register(ContentsOptions),
    /// List the files or objects that the database does not know, as after it was restored from a backup; safe while the service runs
    Sweep {
        /// Remove them
        #[arg(long)]
        remove: bool,
        #[command(flatten)]
        contents: ContentsOptions,
    },
}

#[derive(Args, Debug)]
pub struct ContentsOptions {
    #[command(flatten)]
    pub contents: ContentsPlace,
    #[command(flatten)]
    pub database: DatabaseOptions,
}
