//! The port for traces: which requests are sampled, and the spans of their work.
//!
//! A request is sampled or not before any span of its trace is made ([`Tracer`]). Work that is done for it runs
//! within [`scope`], and [`trace_span!`](crate::trace_span) makes spans there alone, so that requests that are not sampled
//! cost a look at a variable of the thread.

use std::cell::Cell;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;

use tracing::Span;

/// The target of the spans that are exported. Logs have none of them, whatever the filter of the log is.
pub const TARGET: &str = "proposal_service::trace";

/// The id of a trace (W3C Trace Context), never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceId(pub u128);

/// As it is written everywhere: 32 hexadecimal digits.
impl fmt::Display for TraceId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", self.0)
    }
}

/// The span of a caller that a request belongs to (W3C Trace Context).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteSpan {
    /// The trace.
    pub trace: TraceId,
    /// The id of the span, never zero.
    pub span: u64,
    /// True if the caller records the trace.
    pub is_sampled: bool,
}

/// The ids of a span, for logs and metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanIds {
    /// The trace.
    pub trace: TraceId,
    /// The span.
    pub span: u64,
}

/// Starts the traces that are exported.
pub trait Tracer: fmt::Debug + Send + Sync {
    /// Decides at random whether a request of a caller without a trace is sampled. MUST NOT wait.
    fn samples(&self) -> bool;

    /// Starts `span`, below a caller's span if there is one, whose trace has a `tracestate`, which may be malformed.
    /// MUST NOT wait.
    fn start(&self, span: &Span, parent: Option<&RemoteSpan>, state: &str) -> SpanIds;

    /// Gives a span that was started another name.
    fn rename(&self, span: &Span, name: String);
}

thread_local! {
    static IS_TRACED: Cell<bool> = const { Cell::new(false) };
}

/// Tells whether the work under way belongs to a trace that is exported.
pub fn is_traced() -> bool {
    IS_TRACED.get()
}

/// Runs work that belongs to a trace, or to none. It is pinned elsewhere, as it may be large.
pub fn scope<F: Future + Unpin>(is_traced: bool, mut work: F) -> impl Future<Output = F::Output> {
    poll_fn(move |context| {
        let _restore = Restore(IS_TRACED.replace(is_traced));
        Pin::new(&mut work).poll(context)
    })
}

/// Sets the variable back, also when the work panics.
struct Restore(bool);

impl Drop for Restore {
    fn drop(&mut self) {
        IS_TRACED.set(self.0);
    }
}

/// Makes a span of the trace that the work under way belongs to; where there is none, a span that is nowhere. Takes what
/// `tracing::info_span!` takes after a target. Numbers must be `i64`: of others, `tracing-opentelemetry` makes strings.
#[macro_export]
macro_rules! trace_span {
    ($($span:tt)+) => {
        if $crate::traces::is_traced() {
            ::tracing::info_span!(target: $crate::traces::TARGET, $($span)+)
        } else {
            ::tracing::Span::none()
        }
    };
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::pin::pin;

    use futures_lite::future::{block_on, yield_now, zip};

    use super::{is_traced, scope};

    #[test]
    fn work_is_traced_while_it_is_polled_and_no_other_is() {
        let traced = async {
            assert!(is_traced());
            yield_now().await;
            assert!(is_traced());
            scope(false, pin!(async { assert!(!is_traced()) })).await;
            assert!(is_traced());
        };
        let other = async {
            assert!(!is_traced());
            yield_now().await;
            assert!(!is_traced());
        };
        block_on(zip(scope(true, pin!(traced)), other));
        let panicking =
            AssertUnwindSafe(|| block_on(scope(true, pin!(async { panic!("as it should") }))));
        assert!(catch_unwind(panicking).is_err() && !is_traced());
    }
}
