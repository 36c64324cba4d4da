//! `keys new`: a key for a machine, which is printed once.

use std::io::{self, Write as _};

use crate::commands::error::CommandError;
use crate::commands::options::NewKeyOptions;
use crate::commands::{Wiring, print};

/// Prints the key and its line for the identity file, so that a program can take each; what they are
/// goes to standard error.
pub fn new(options: &NewKeyOptions, wiring: &Wiring) -> Result<(), CommandError> {
    let [key, line] = (wiring.new_key)(options)?;
    // Nobody is left to report a failure to.
    let _ = writeln!(
        io::stderr(),
        "The key, which is shown only now, and the line for `keys:` in the identity file:"
    );
    print(&format!("{key}\n{line}\n"))
}
