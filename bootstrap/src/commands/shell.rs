//! Completions for shells, and manual pages, made from the definition of the command line.

use std::fs;
use std::path::Path;

use clap_complete::Shell;
use clap_mangen::Man;

use crate::commands::error::CommandError;
use crate::commands::{options, print};
use crate::failed;

/// A script that completes commands and options in a shell.
pub fn completions(shell: Shell) -> String {
    let mut script = Vec::new();
    // The script is the same for every version.
    let mut definition = options::definition("");
    let name = definition.get_name().to_owned();
    clap_complete::generate(shell, &mut definition, name, &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Prints the manual page, or writes those of all commands to a folder.
///
/// # Errors
/// Where it cannot be written.
pub fn manual(version: &'static str, folder: Option<&Path>) -> Result<(), CommandError> {
    let definition = options::definition(version);
    let Some(folder) = folder else {
        let mut page = Vec::new();
        Man::new(definition).render(&mut page)?;
        return print(&String::from_utf8_lossy(&page));
    };
    let written =
        fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(definition, folder));
    written.map_err(|error| failed(format!("cannot write to {}: {error}", folder.display())))
}
