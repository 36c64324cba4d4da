//! Logs go to standard error, as text for people or as JSON for machines.

use std::io::{self, IsTerminal as _};
use std::panic;

use tracing_subscriber::EnvFilter;

use crate::error::CommandError;
use crate::options::{LogFormat, LoggingOptions};

/// Starts logging. Panics are logged too, so that they have the log's form and the id of their
/// request.
pub fn start(options: &LoggingOptions) -> Result<(), CommandError> {
    let filter = EnvFilter::try_new(&options.filter).map_err(|error| {
        CommandError::Usage(format!(
            "--log: {error}; give a level such as info, or `info,storage_adapter=debug`"
        ))
    })?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    match options.format {
        LogFormat::Text => log.with_ansi(is_coloured()).init(),
        LogFormat::Json => log.json().flatten_event(true).init(),
    }
    panic::set_hook(Box::new(|panic| tracing::error!("{}", panic.to_string().replace('\n', " "))));
    Ok(())
}

fn is_coloured() -> bool {
    // https://no-color.org
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
