//! Formats of times.

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use jiff::fmt::temporal::DateTimePrinter;

/// RFC 3339 in UTC with microseconds, so that strings sort like times.
pub const TIME: DateTimePrinter = DateTimePrinter::new().precision(Some(6));

#[expect(
    clippy::disallowed_methods,
    reason = "the `Date` header uses this machine's clock, as hyper does; use cases do not see this time"
)]
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// Formats an HTTP date (RFC 9110 section 5.6.7): whole seconds.
pub fn http_date(time: &Timestamp) -> String {
    rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(time).unwrap_or_default()
}
