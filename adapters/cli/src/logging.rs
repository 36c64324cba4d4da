//! Logs go to standard error, as text for people or as JSON for machines.

use std::io::{self, IsTerminal as _};
use std::panic;
use std::sync::OnceLock;

use application::traces::TARGET;
use tracing::Subscriber;
use tracing_subscriber::filter::{FilterExt as _, filter_fn};
use tracing_subscriber::layer::Filter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt, registry, reload};

use crate::log_filter;
use crate::options::{LogFormat, LoggingOptions};

/// A layer that makes traces of the spans of [`TARGET`].
pub type TraceLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// The filter in force: the log is the process's own.
static FILTER: OnceLock<reload::Handle<EnvFilter, Registry>> = OnceLock::new();

/// Starts logging. Panics are logged too, so that they have the log's form and the id of their
/// request. Only a filter that can be set later costs a lock at each line.
pub fn start(options: &LoggingOptions, is_settable: bool, traces: Option<TraceLayer>) {
    let filter = EnvFilter::new(&options.filter);
    match traces {
        // What the filter refuses costs nothing.
        None => {
            registry().with(filter_of_all(filter, is_settable)).with(lines(options.format)).init();
        }
        // It is that of the log alone, and spans of traces are none of the log's.
        Some(traces) => {
            let is_logged = filter_fn(|about| about.target() != TARGET);
            let filter = filter_of_log(filter, is_settable).and(is_logged);
            registry().with(lines(options.format).with_filter(filter).and_then(traces)).init();
        }
    }
    panic::set_hook(Box::new(|panic| tracing::error!("{}", panic.to_string().replace('\n', " "))));
}

fn filter_of_all(filter: EnvFilter, is_settable: bool) -> Box<dyn Layer<Registry> + Send + Sync> {
    if is_settable { Box::new(settable(filter)) } else { Box::new(filter) }
}

fn filter_of_log(filter: EnvFilter, is_settable: bool) -> Box<dyn Filter<Registry> + Send + Sync> {
    if is_settable { Box::new(settable(filter)) } else { Box::new(filter) }
}

fn settable(filter: EnvFilter) -> reload::Layer<EnvFilter, Registry> {
    let (filter, handle) = reload::Layer::new(filter);
    FILTER.get_or_init(|| handle);
    filter
}

fn lines<S>(format: LogFormat) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    match format {
        LogFormat::Plain => fmt::layer().with_writer(io::stderr).with_ansi(is_coloured()).boxed(),
        LogFormat::Json => fmt::layer().with_writer(io::stderr).json().flatten_event(true).boxed(),
    }
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

#[cfg(test)]
mod tests {
    use tracing_subscriber::EnvFilter;

    use super::{FILTER, filter_of_all, set_filter};

    #[test]
    fn a_filter_is_settable_where_it_was_asked_for() {
        drop(filter_of_all(EnvFilter::new("info"), false));
        assert!(FILTER.get().is_none());
        assert!(set_filter("nonsense").is_err());
        let _layer = filter_of_all(EnvFilter::new("info"), true);
        assert_eq!(set_filter("debug"), Ok(()));
        let in_force = FILTER.get().unwrap().with_current(ToString::to_string).unwrap();
        assert_eq!(in_force, "debug");
    }
}
