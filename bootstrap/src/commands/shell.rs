//! Shell completions and manual pages, generated from the command line.

use std::fs;
use std::path::Path;

use clap_complete::Shell;
use clap_mangen::Man;

use crate::commands::error::Result;
use crate::commands::{options, print};
use crate::failed;

pub fn completions(shell: Shell) -> String {
    let mut script = Vec::new();
    let mut definition = options::definition("");
    let name = definition.get_name().to_owned();
    clap_complete::generate(shell, &mut definition, name, &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

pub fn manual(version: &'static str, folder: Option<&Path>) -> Result<()> {
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
