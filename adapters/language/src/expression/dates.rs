//! Days as strings of the form `YYYY-MM-DD`, and times.

use jiff::civil::{Date, DateTime};
use jiff::fmt::temporal::{DateTimeParser, Pieces};
use jiff::tz::Offset;
use jiff::{SignedDuration, Span, Timestamp};

use super::{Outcome, shorten};

pub fn date(text: &str) -> Option<Date> {
    // The library also accepts other forms of ISO 8601, and times.
    let has_form = matches!(text.as_bytes(), [b'0'..=b'9', .., b'-', _, _, b'-', _, _])
        && text.len() == "YYYY-MM-DD".len();
    if has_form { text.parse().ok() } else { None }
}

pub(super) fn day(text: &str) -> Outcome<Date> {
    date(text).ok_or_else(|| {
        failed!("the string \"{}\" is not a date of the form YYYY-MM-DD", shorten(text))
    })
}

/// Returns the days from `from` to `to`, negative if `to` is earlier.
pub(super) fn days_between(from: Date, to: Date) -> i64 {
    to.duration_since(from).as_hours() / 24
}

/// Returns the complete months from `from` to `to`, negative if `to` is earlier. A month is
/// complete on the same day of a later month, or on its last day if that day does not exist.
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

pub(super) fn add_months(date: Date, months: i64) -> Outcome<Date> {
    add(date, Span::new().try_months(months))
}

fn add(date: Date, span: Result<Span, jiff::Error>) -> Outcome<Date> {
    let in_range = |date: &Date| (0..=9999).contains(&date.year());
    let sum = span.ok().and_then(|span| date.checked_add(span).ok()).filter(in_range);
    sum.ok_or_else(|| failed!("the date lies beyond the years 0000 to 9999"))
}

/// Time in UTC, years 1 to 9999. `jiff::Timestamp` ends a day earlier.
pub(super) type Time = DateTime;

const EPOCH: Time = jiff::civil::datetime(1970, 1, 1, 0, 0, 0, 0);
/// Limit on the text of a time, a duration or a zone.
const MOST_TEXT: usize = 64;

pub(super) fn in_range(time: Result<Time, jiff::Error>) -> Option<Time> {
    time.ok().filter(|time| time.year() >= 1)
}

/// Returns the duration if its nanoseconds fit in 64 bits, as in CEL: up to 292 years.
pub(super) fn in_span(duration: SignedDuration) -> Option<SignedDuration> {
    i64::try_from(duration.as_nanos()).is_ok().then_some(duration)
}

pub(super) fn of_timestamp(timestamp: Timestamp) -> Time {
    Offset::UTC.to_datetime(timestamp)
}

pub(super) fn at_second(seconds: i64) -> Option<Time> {
    in_range(EPOCH.checked_add(SignedDuration::from_secs(seconds)))
}

pub(super) fn seconds(time: Time) -> i64 {
    time.duration_since(EPOCH).as_secs()
}

pub(super) fn timestamp(text: &str) -> Option<Time> {
    if text.len() > MOST_TEXT {
        return None;
    }
    let pieces = Pieces::parse(text).ok().filter(|it| it.time_zone_annotation().is_none())?;
    let offset = SignedDuration::from_secs(pieces.to_numeric_offset()?.seconds().into());
    in_range(pieces.date().to_datetime(pieces.time()?).checked_sub(offset))
}

pub(super) fn duration(text: &str) -> Option<SignedDuration> {
    if text.len() <= MOST_TEXT { text.parse().ok().and_then(in_span) } else { None }
}

pub(super) fn in_zone(time: Time, zone: &str) -> Outcome<Time> {
    let plus = if zone.starts_with(|first: char| first.is_ascii_digit()) { "+" } else { "" };
    let parser = DateTimeParser::new();
    let found = if zone.len() <= MOST_TEXT {
        parser.parse_time_zone(format!("{plus}{zone}")).ok()
    } else {
        None
    };
    let found = found.ok_or_else(|| {
        failed!("the string \"{}\" is not a time zone such as Asia/Manila or +08:00", shorten(zone))
    })?;
    let offset = found.to_offset(Offset::UTC.to_timestamp(time).unwrap_or(Timestamp::MAX));
    let shown = time.checked_add(SignedDuration::from_secs(offset.seconds().into()));
    shown.map_err(|_| failed!("the time lies beyond the year 9999 in that time zone"))
}
