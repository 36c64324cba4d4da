//! Logs go to standard error, as text for people or as JSON for machines.

use std::io::{self, IsTerminal as _};
use std::panic;

use tracing_subscriber::EnvFilter;

use crate::options::{LogFormat, LoggingOptions};

/// Starts logging. Panics are logged too, so that they have the log's form and the id of their
/// request.
pub fn start(options: &LoggingOptions) {
    let log = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(&options.filter))
        .with_writer(io::stderr);
    match options.format {
        LogFormat::Plain => log.with_ansi(is_coloured()).init(),
        LogFormat::Json => log.json().flatten_event(true).init(),
    }
    panic::set_hook(Box::new(|panic| tracing::error!("{}", panic.to_string().replace('\n', " "))));
}

fn is_coloured() -> bool {
    // https://no-color.org
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
