//! How times are written.

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use jiff::fmt::temporal::DateTimePrinter;

/// RFC 3339 in UTC, always with microseconds, so that the strings sort as the times do.
pub const TIME: DateTimePrinter = DateTimePrinter::new().precision(Some(6));

/// The time of this machine.
#[expect(
    clippy::disallowed_methods,
    reason = "`Date` tells this machine's time, as in hyper's answers; no use case sees it"
)]
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// An HTTP date (RFC 9110 section 5.6.7), which has whole seconds.
pub fn http_date(time: &Timestamp) -> String {
    rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(time).unwrap_or_default()
}
