//! Logs go to standard error, as text for people or as JSON for machines.

use std::io::{self, IsTerminal as _};
use std::panic;
use std::sync::OnceLock;

use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, Registry, fmt, reload};

use crate::log_filter;
use crate::options::{LogFormat, LoggingOptions};

/// The filter in force: the log is the process's own.
static FILTER: OnceLock<reload::Handle<EnvFilter, Registry>> = OnceLock::new();

/// Starts logging. Panics are logged too, so that they have the log's form and the id of their
/// request.
pub fn start(options: &LoggingOptions) {
    let (filter, handle) = reload::Layer::new(EnvFilter::new(&options.filter));
    let lines = match options.format {
        LogFormat::Plain => fmt::layer().with_writer(io::stderr).with_ansi(is_coloured()).boxed(),
        LogFormat::Json => fmt::layer().with_writer(io::stderr).json().flatten_event(true).boxed(),
    };
    tracing_subscriber::registry().with(filter).with(lines).init();
    FILTER.get_or_init(|| handle);
    panic::set_hook(Box::new(|panic| tracing::error!("{}", panic.to_string().replace('\n', " "))));
}

/// Sets the filter of the log while the process runs.
///
/// # Errors
/// A filter that would log nothing by mistake, with how to fix it.
pub fn set_filter(filter: &str) -> Result<(), String> {
    let filter = EnvFilter::new(log_filter::parse(filter)?);
    let set = FILTER.get().map_or(Ok(()), |handle| handle.reload(filter));
    set.map_err(|error| format!("the filter cannot be set: {error}"))
}

fn is_coloured() -> bool {
    // https://no-color.org
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
