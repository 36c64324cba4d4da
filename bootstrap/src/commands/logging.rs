//! Logs to standard error, as text or JSON.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};
use std::panic;
use std::sync::OnceLock;

use application::traces::TARGET;
use telemetry_adapter::traces::TraceLayer;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::subscriber::Interest;
use tracing::{Metadata, Subscriber};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::filter::{FilterExt as _, Targets, filter_fn};
use tracing_subscriber::fmt::format::{DefaultFields, DefaultVisitor, FormatFields, Writer};
use tracing_subscriber::layer::{Context, Filter, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer, Registry, fmt, registry, reload};

use crate::commands::log_filter;
use crate::commands::options::{LogFormat, LoggingOptions};

static FILTER: OnceLock<reload::Handle<Targets, Registry>> = OnceLock::new();

/// Replaceable log filter. It implements only the checks of lines and spans: `reload` alone would
/// take a shared lock each time a span is created, entered, left or closed.
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

/// Starts logging. Panics go to the log, with the id of their request.
pub fn start(options: &LoggingOptions, traces: Option<TraceLayer>) {
    let filter = Levels::new(&options.filter);
    match traces {
        // A global filter makes rejected lines free.
        None => registry().with(filter).with(lines(options.format)).init(),
        // The filter applies to the log only, not to traces.
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
        LogFormat::Plain => fmt::layer()
            .fmt_fields(PlainFields)
            .with_writer(io::stderr)
            .with_ansi(is_coloured())
            .boxed(),
        LogFormat::Json => fmt::layer().with_writer(io::stderr).json().flatten_event(true).boxed(),
    }
}

/// Formats fields as [`DefaultFields`] does, in a tenth of its instructions: each request has a
/// span with fields, even without a log line.
struct PlainFields;

impl<'writer> FormatFields<'writer> for PlainFields {
    fn format_fields<R: RecordFields>(
        &self,
        mut writer: Writer<'writer>,
        fields: R,
    ) -> std::fmt::Result {
        if writer.has_ansi_escapes() {
            return DefaultFields::new().format_fields(writer, fields);
        }
        let mut text = FieldText(String::with_capacity(128));
        fields.record(&mut text);
        writer.write_str(&text.0)
    }
}

struct FieldText(String);

impl FieldText {
    /// Writes the name of a field. Returns `false` for fields that [`DefaultVisitor`] treats
    /// specially.
    fn begins(&mut self, field: &Field) -> bool {
        let name = field.name();
        if name == "message" || name.starts_with("log.") || name.starts_with("r#") {
            return false;
        }
        self.0.extend([if self.0.is_empty() { "" } else { " " }, name, "="]);
        true
    }

    fn with_default(&mut self, record: impl FnOnce(&mut DefaultVisitor<'_>)) {
        let is_empty = self.0.is_empty();
        record(&mut DefaultVisitor::new(Writer::new(&mut self.0), is_empty));
    }
}

impl Visit for FieldText {
    fn record_str(&mut self, field: &Field, value: &str) {
        let is_plain = |byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
        // No early exit, so that the compiler vectorizes the loop.
        let are_plain = value.bytes().fold(true, |are_plain, byte| are_plain & is_plain(byte));
        if are_plain && self.begins(field) {
            self.0.extend(["\"", value, "\""]);
        } else {
            self.with_default(|default| default.record_str(field, value));
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if self.begins(field) {
            let _ = write!(self.0, "{value:?}");
        } else {
            self.with_default(|default| default.record_debug(field, value));
        }
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.with_default(|default| default.record_error(field, value));
    }
}

pub fn set_filter(filter: &str) -> Result<(), String> {
    let filter = log_filter::parse(filter)?;
    let set = FILTER.get().map_or(Ok(()), |handle| handle.reload(filter));
    set.map_err(|error| format!("cannot set the log filter: {error}"))
}

fn is_coloured() -> bool {
    // https://no-color.org
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tracing_subscriber::fmt::format::{DefaultFields, FormatFields};
    use tracing_subscriber::fmt::{self, MakeWriter};

    use super::PlainFields;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl MakeWriter<'_> for Lines {
        type Writer = Self;

        fn make_writer(&self) -> Self {
            self.clone()
        }
    }

    fn lines<F>(fields: F, is_coloured: bool) -> String
    where
        F: for<'writer> FormatFields<'writer> + Send + Sync + 'static,
    {
        let lines = Lines::default();
        let subscriber = fmt::fmt()
            .fmt_fields(fields)
            .with_writer(lines.clone())
            .with_ansi(is_coloured)
            .without_time()
            .finish();
        tracing::subscriber::with_default(subscriber, || {
            let quoted = "a \"quoted\" \\ \u{1b}[31m text\n\u{e9}";
            let error = std::io::Error::other("a cause");
            let error: &(dyn std::error::Error + 'static) = &error;
            let span = tracing::info_span!("request", id = "a-1", method = %"GET", path = quoted);
            let _entered = span.enter();
            tracing::info!(number = 1, r#type = "t", text = "plain", error, "the message");
            tracing::info!(message = quoted);
        });
        String::from_utf8(lines.0.lock().unwrap().clone()).unwrap()
    }

    #[test]
    fn fields_look_like_those_of_the_default() {
        for is_coloured in [false, true] {
            let expected = lines(DefaultFields::new(), is_coloured);
            assert_eq!(lines(PlainFields, is_coloured), expected);
        }
    }
}
