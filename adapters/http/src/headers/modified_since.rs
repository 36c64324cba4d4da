//! `If-Modified-Since` (RFC 9110 section 13.1.3), for clients without entity tags.

use std::time::{Duration, SystemTime};

use httpdate::parse_http_date;
use jiff::Timestamp;
use poem::http::header::{IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_UNMODIFIED_SINCE};
use poem::http::{HeaderMap, HeaderName};

use super::sole::sole;
use crate::time::now;

/// Dates have whole seconds, so a second write within the same one would be missed.
const SETTLED: Duration = Duration::from_secs(2);

pub fn has_state_of(modified: Timestamp, headers: &HeaderMap) -> bool {
    headers.contains_key(IF_MODIFIED_SINCE) && is_known(modified, headers, now())
}

/// `If-Unmodified-Since`. A malformed or repeated date counts as absent.
pub fn was_modified(modified: Timestamp, headers: &HeaderMap) -> bool {
    date(headers, &IF_UNMODIFIED_SINCE)
        .is_some_and(|since| whole_seconds(modified).is_none_or(|modified| modified > since))
}

/// True if a header has the date of a state that no other one can share.
pub fn is_date_of(modified: Timestamp, headers: &HeaderMap, name: &HeaderName) -> bool {
    let since = date(headers, name);
    is_settled(modified, now()) && since.is_some() && since == whole_seconds(modified)
}

/// The date in a header; `None` if it is malformed or repeated.
pub fn date(headers: &HeaderMap, name: &HeaderName) -> Option<SystemTime> {
    let line = sole(headers, name).ok().flatten()?;
    parse_http_date(line.to_str().ok()?).ok()
}

fn is_known(modified: Timestamp, headers: &HeaderMap, now: Timestamp) -> bool {
    let since = date(headers, &IF_MODIFIED_SINCE);
    let is_current = |since| whole_seconds(modified).is_some_and(|modified| modified <= since);
    let is_settled = is_settled(modified, now);
    !headers.contains_key(IF_NONE_MATCH) && is_settled && since.is_some_and(is_current)
}

fn is_settled(modified: Timestamp, now: Timestamp) -> bool {
    now.as_second() >= modified.as_second() + SETTLED.as_secs().cast_signed()
}

pub fn whole_seconds(time: Timestamp) -> Option<SystemTime> {
    let seconds = u64::try_from(time.as_second()).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use poem::http::header::IF_MODIFIED_SINCE;

    use super::is_known;
    use crate::headers::sent;

    #[test]
    fn a_date_is_compared_in_whole_seconds_and_ignored_until_two_seconds_after_the_write() {
        const DATE: &str = "Tue, 24 Nov 2026 10:00:00 GMT";
        const LATER: &str = "10:00:09";
        for (lines, now, expected) in [
            (&[DATE][..], LATER, true),
            (&["Tue, 24 Nov 2026 10:00:01 GMT"], LATER, true),
            (&["Tuesday, 24-Nov-26 10:00:00 GMT"], LATER, true),
            (&["Tue Nov 24 10:00:00 2026"], LATER, true),
            (&["Sun, 24 Nov 2126 10:00:00 GMT"], LATER, true),
            (&["Tue, 24 Nov 2026 09:59:59 GMT"], LATER, false),
            (&["2026-11-24T10:00:00Z"], LATER, false),
            (&["\u{e9}"], LATER, false),
            (&[""], LATER, false),
            (&[DATE, DATE], LATER, false),
            (&[], LATER, false),
            (&[DATE], "09:00:00", false),
            (&[DATE], "10:00:00.9", false),
            (&[DATE], "10:00:01.9", false),
            (&[DATE], "10:00:02", true),
        ] {
            let [modified, now] =
                ["10:00:00.7", now].map(|time| format!("2026-11-24T{time}Z").parse().unwrap());
            let found = is_known(modified, &sent(IF_MODIFIED_SINCE, lines), now);
            assert_eq!(found, expected, "{lines:?} at {now}");
        }
    }
}
