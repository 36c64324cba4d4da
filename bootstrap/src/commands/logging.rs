//! Logs go to standard error, as text for people or as JSON for machines.

use std::io::{self, IsTerminal as _};
use std::panic;
use std::sync::OnceLock;

use application::traces::TARGET;
use tracing::level_filters::LevelFilter;
use tracing::subscriber::Interest;
use tracing::{Metadata, Subscriber};
use tracing_subscriber::filter::{FilterExt as _, Targets, filter_fn};
use tracing_subscriber::layer::{Context, Filter, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer, Registry, fmt, registry, reload};

use crate::commands::log_filter;
use crate::commands::options::{LogFormat, LoggingOptions};

/// A layer that makes traces of the spans of [`TARGET`].
pub type TraceLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// The filter in force: the log is the process's own.
static FILTER: OnceLock<reload::Handle<Targets, Registry>> = OnceLock::new();

/// The filter of the log, which can be set. It is asked which lines and spans there are, and no more: `reload` alone would
/// take a lock, which all threads share, whenever a span is made, entered, left and closed.
struct Levels(reload::Layer<Targets, Registry>);

impl Levels {
    fn new(filter: &Targets) -> Self {
        let (filter, handle) = reload::Layer::new(filter.clone());
        FILTER.get_or_init(|| handle);
        Self(filter)
    }
}

impl Layer<Registry> for Levels {
    fn register_callsite(&self, about: &'static Metadata<'static>) -> Interest {
        Layer::register_callsite(&self.0, about)
    }

    fn enabled(&self, about: &Metadata<'_>, context: Context<'_, Registry>) -> bool {
        Layer::enabled(&self.0, about, context)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Layer::max_level_hint(&self.0)
    }
}

impl Filter<Registry> for Levels {
    fn callsite_enabled(&self, about: &'static Metadata<'static>) -> Interest {
        Filter::callsite_enabled(&self.0, about)
    }

    fn enabled(&self, about: &Metadata<'_>, context: &Context<'_, Registry>) -> bool {
        Filter::enabled(&self.0, about, context)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Filter::max_level_hint(&self.0)
    }
}

/// Starts logging. Panics are logged too, so that they have the log's form and the id of their
/// request.
pub fn start(options: &LoggingOptions, traces: Option<TraceLayer>) {
    let filter = Levels::new(&options.filter);
    match traces {
        // What the filter refuses costs nothing.
        None => registry().with(filter).with(lines(options.format)).init(),
        // It is that of the log alone, and spans of traces are none of the log's.
        Some(traces) => {
            let is_logged = filter_fn(|about| about.target() != TARGET);
            let lines = lines(options.format).with_filter(filter.and(is_logged));
            registry().with(lines.and_then(traces)).init();
        }
    }
    panic::set_hook(Box::new(|panic| tracing::error!("{}", panic.to_string().replace('\n', " "))));
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
    let filter = log_filter::parse(filter)?;
    let set = FILTER.get().map_or(Ok(()), |handle| handle.reload(filter));
    set.map_err(|error| format!("the filter cannot be set: {error}"))
}

fn is_coloured() -> bool {
    // https://no-color.org
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::filter::Targets;

    use super::{FILTER, Levels, set_filter};

    #[test]
    fn the_filter_in_force_is_the_one_that_was_set() {
        let _layer = Levels::new(&Targets::new());
        assert!(set_filter("nonsense").is_err());
        assert_eq!(set_filter("debug"), Ok(()));
        let in_force = FILTER.get().unwrap().with_current(ToString::to_string).unwrap();
        assert_eq!(in_force, "debug");
    }
}
