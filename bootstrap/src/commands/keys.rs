//! `keys new`: a key for a machine, which is printed once.

use std::io::{self, Write as _};

use crate::commands::error::CommandError;
use crate::commands::options::NewKeyOptions;
use crate::commands::print;

/// Prints the key and its line for the identity file, so that a program can take each; what they are
/// goes to standard error.
pub fn new(options: &NewKeyOptions) -> Result<(), CommandError> {
    let NewKeyOptions { name, roles, expires } = options;
    let made = identity_adapter::new_key(name, roles, *expires);
    let made = made.map_err(|error| CommandError::Usage(error.to_string()))?;
    // Nobody is left to report a failure to.
    let _ = writeln!(
        io::stderr(),
        "The key, which is shown only now, and the line for `keys:` in the identity file:"
    );
    print(&format!("{}\n{}\n", made.printed, made.line))
}
