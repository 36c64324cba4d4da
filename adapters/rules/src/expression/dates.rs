//! Days as texts of the form `YYYY-MM-DD`, and times.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Timestamp, Zoned};

use super::{EvaluationFault, failed, shorten};

type Outcome<T> = Result<T, EvaluationFault>;

/// The day of a text, which has exactly the form `YYYY-MM-DD`.
pub(super) fn parse(text: &str) -> Option<Date> {
    let has_form = text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| {
            if matches!(at, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() }
        });
    if !has_form {
        return None;
    }
    Date::new(text[..4].parse().ok()?, text[5..7].parse().ok()?, text[8..].parse().ok()?).ok()
}

pub(super) fn day(text: &str) -> Outcome<Date> {
    parse(text).ok_or_else(|| {
        failed(format_args!("the text \"{}\" is no day of the form YYYY-MM-DD", shorten(text)))
    })
}

/// The days from the one to the other; negative when the other is earlier.
pub(super) fn days_between(from: Date, to: Date) -> i64 {
    to.duration_since(from).as_hours() / 24
}

/// The complete months from the one to the other; negative when the other is earlier. A month is
/// complete on the same day of a later month, or on its last day when it has no such day.
pub(super) fn months_between(from: Date, to: Date) -> i64 {
    if to < from {
        return -months_between(to, from);
    }
    let months = (i64::from(to.year()) - i64::from(from.year())) * 12 + i64::from(to.month())
        - i64::from(from.month());
    let is_complete = add_months(from, months).is_ok_and(|day| day <= to);
    if is_complete { months } else { months - 1 }
}

pub(super) fn add_days(date: Date, days: i64) -> Outcome<Date> {
    add(date, Span::new().try_days(days))
}

/// The same day so many months later, or the last day of that month when it has no such day.
pub(super) fn add_months(date: Date, months: i64) -> Outcome<Date> {
    add(date, Span::new().try_months(months))
}

fn add(date: Date, span: Result<Span, jiff::Error>) -> Outcome<Date> {
    let in_range = |date: &Date| (0..=9999).contains(&date.year());
    let sum = span.ok().and_then(|span| date.checked_add(span).ok()).filter(in_range);
    sum.ok_or_else(|| failed(format_args!("the day lies beyond the years 0000 to 9999")))
}

/// A time as RFC 3339 writes it: `2026-02-01T00:00:00Z`.
pub(super) fn timestamp(text: &str) -> Outcome<Timestamp> {
    let time = if text.len() <= 64 { text.parse().ok() } else { None };
    time.ok_or_else(|| {
        failed(format_args!(
            "the text \"{}\" is no time such as 2026-02-01T00:00:00Z",
            shorten(text)
        ))
    })
}

/// A duration such as `24h` or `1h30m`.
pub(super) fn duration(text: &str) -> Outcome<SignedDuration> {
    let duration = if text.len() <= 64 { text.parse().ok() } else { None };
    duration.ok_or_else(|| {
        failed(format_args!("the text \"{}\" is no duration such as 24h or 1h30m", shorten(text)))
    })
}

/// A time with its calendar, in UTC.
pub(super) fn in_utc(time: Timestamp) -> Zoned {
    time.to_zoned(TimeZone::UTC)
}
