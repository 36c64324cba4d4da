//! Where the binary under test is.

use std::path::PathBuf;

const NAME: &str = "proposal-service";

/// The binary that `PROPOSAL_SERVICE_BIN` names, or else the one that was built with the profile of
/// this test.
///
/// # Panics
/// Where there is none.
#[must_use]
pub fn path() -> PathBuf {
    let named = std::env::var_os("PROPOSAL_SERVICE_BIN").map(PathBuf::from);
    let binary = named.or_else(beside_this_test).unwrap_or_else(|| PathBuf::from(NAME));
    assert!(
        binary.is_file(),
        "there is no {}; build it first: cargo build -p bootstrap, or run ./tests/run",
        binary.display()
    );
    binary
}

/// Tests are built in `target/<profile>/deps`, the binary one folder above.
fn beside_this_test() -> Option<PathBuf> {
    let test = std::env::current_exe().ok()?;
    test.ancestors().skip(1).take(2).map(|folder| folder.join(NAME)).find(|binary| binary.is_file())
}
