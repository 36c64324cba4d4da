//! `keys new`: a machine key, which is printed once.

use std::io::{self, Write as _};

use crate::commands::error::{CommandError, Result};
use crate::commands::options::NewKeyOptions;
use crate::commands::print;

/// Prints the key and its line for the identity file to standard output, and explanations to
/// standard error.
pub fn new(options: &NewKeyOptions) -> Result<()> {
    let NewKeyOptions { name, roles, expires } = options;
    let made = identity_adapter::new_key(name, roles, *expires);
    let made = made.map_err(|error| CommandError::Usage(error.to_string()))?;
    // A failure to report an error cannot be reported.
    let _ = writeln!(
        io::stderr(),
        "The key (shown only once) and its line for `keys:` in the identity file:"
    );
    print(&format!("{}\n{}\n", made.printed, made.line))
}
