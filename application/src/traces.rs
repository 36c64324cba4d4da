//! The port for traces: sampling, and the spans of work.
//!
//! [`Tracer`] decides on sampling before a request makes any span. Work for the request runs within
//! [`scope`]. [`trace_span!`](crate::trace_span) makes spans only there, so a request that is not
//! sampled costs one look at a thread-local variable.

use std::cell::Cell;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;

use tracing::Span;

/// The target of exported spans. Logs exclude it, for any filter.
pub const TARGET: &str = "proposal_service::trace";

/// The id of a trace (W3C Trace Context), never zero. It displays as 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceId(pub u128);

impl fmt::Display for TraceId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", self.0)
    }
}

/// The caller's span that a request belongs to (W3C Trace Context).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteSpan {
    pub trace: TraceId,
    /// Never zero.
    pub span: u64,
    pub is_sampled: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanIds {
    pub trace: TraceId,
    pub span: u64,
}

pub trait Tracer: fmt::Debug + Send + Sync {
    /// Decides at random whether to sample a request without a caller's trace. MUST NOT wait.
    fn samples(&self) -> bool;

    /// Starts `span` below the caller's span, if any. `state` is the trace's `tracestate` and may
    /// be malformed. MUST NOT wait.
    fn start(&self, span: &Span, parent: Option<&RemoteSpan>, state: &str) -> SpanIds;

    fn rename(&self, span: &Span, name: String);
}

thread_local! {
    static IS_TRACED: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether the current work belongs to an exported trace.
pub fn is_traced() -> bool {
    IS_TRACED.get()
}

/// Runs work within a trace or without one. The caller pins it, because it may be large.
pub fn scope<F: Future + Unpin>(is_traced: bool, mut work: F) -> impl Future<Output = F::Output> {
    poll_fn(move |context| {
        let _restore = Restore(IS_TRACED.replace(is_traced));
        Pin::new(&mut work).poll(context)
    })
}

/// Restores the variable, also on a panic.
struct Restore(bool);

impl Drop for Restore {
    fn drop(&mut self) {
        IS_TRACED.set(self.0);
    }
}

/// Makes a span of the current trace, or a disabled one without a trace. Takes the arguments of
/// `tracing::info_span!` after the target. Numbers must be `i64`: `tracing-opentelemetry` turns
/// others into strings.
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
