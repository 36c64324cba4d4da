//! The path of the binary under test.

use std::path::PathBuf;

const NAME: &str = "proposal-service";

/// The binary in `PROPOSAL_SERVICE_BIN`, or the one built with the profile of this test.
pub fn path() -> PathBuf {
    let named = std::env::var_os("PROPOSAL_SERVICE_BIN").map(PathBuf::from);
    let binary = named.or_else(in_the_target_folder).unwrap_or_else(|| PathBuf::from(NAME));
    assert!(
        binary.is_file(),
        "there is no {}; build it first: cargo build -p bootstrap, or run ./tests/run",
        binary.display()
    );
    binary
}

/// Tests are built in `target/<profile>/deps`, the binary one folder above.
fn in_the_target_folder() -> Option<PathBuf> {
    let test = std::env::current_exe().ok()?;
    test.ancestors().skip(1).take(2).map(|folder| folder.join(NAME)).find(|binary| binary.is_file())
}
