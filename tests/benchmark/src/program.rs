//! The paths of the measured programs: next to the benchmark itself, or from the environment.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

/// The path of `proposal-service` or of a reference. `PROPOSAL_SERVICE_BIN` (and so on for the
/// others) goes first.
pub(super) fn program(name: &str) -> Result<PathBuf> {
    let variable = format!("{}_BIN", name.replace('-', "_").to_uppercase());
    let path = match std::env::var_os(&variable) {
        Some(path) => PathBuf::from(path),
        None => {
            std::env::current_exe()?.parent().context("the benchmark has no folder")?.join(name)
        }
    };
    ensure!(path.is_file(), "{} is not built: see --help, or set {variable}", path.display());
    Ok(path)
}
