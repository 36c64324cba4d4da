//! `If-Modified-Since` (RFC 9110 section 13.1.3), for clients without entity tags.

use std::time::{Duration, SystemTime};

use httpdate::parse_http_date;
use jiff::Timestamp;
use poem::http::HeaderMap;
use poem::http::header::{IF_MODIFIED_SINCE, IF_NONE_MATCH};

use super::sole::sole;
use crate::time::now;

/// Dates have whole seconds, so a second write within the same one would be missed.
const SETTLED: Duration = Duration::from_secs(2);

pub fn has_state_of(modified: Timestamp, headers: &HeaderMap) -> bool {
    headers.contains_key(IF_MODIFIED_SINCE) && is_known(modified, headers, now())
}

fn is_known(modified: Timestamp, headers: &HeaderMap, now: Timestamp) -> bool {
    let since = sole(headers, IF_MODIFIED_SINCE).ok().flatten();
    let since = since.and_then(|line| parse_http_date(line.to_str().ok()?).ok());
    let is_settled = now.as_second() >= modified.as_second() + SETTLED.as_secs().cast_signed();
    let is_current = |since| whole_seconds(modified).is_some_and(|modified| modified <= since);
    !headers.contains_key(IF_NONE_MATCH) && is_settled && since.is_some_and(is_current)
}

fn whole_seconds(time: Timestamp) -> Option<SystemTime> {
    let seconds = u64::try_from(time.as_second()).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use poem::http::header::{IF_MODIFIED_SINCE, IF_NONE_MATCH};
    use poem::http::{HeaderMap, HeaderValue};

    use super::is_known;

    const MODIFIED: &str = "2026-11-24T10:00:00.7Z";
    const LATER: &str = "2026-11-24T10:00:09Z";

    fn known(lines: &[&str], now: &str) -> bool {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(IF_MODIFIED_SINCE, HeaderValue::from_str(line).unwrap());
        }
        is_known(MODIFIED.parse().unwrap(), &headers, now.parse::<Timestamp>().unwrap())
    }

    #[test]
    fn a_date_is_compared_in_whole_seconds() {
        for (lines, is_known) in [
            (&["Tue, 24 Nov 2026 10:00:00 GMT"][..], true),
            (&["Tue, 24 Nov 2026 10:00:01 GMT"], true),
            (&["Tuesday, 24-Nov-26 10:00:00 GMT"], true),
            (&["Tue Nov 24 10:00:00 2026"], true),
            (&["Sun, 24 Nov 2126 10:00:00 GMT"], true),
            (&["Tue, 24 Nov 2026 09:59:59 GMT"], false),
            (&["2026-11-24T10:00:00Z"], false),
            (&["\u{e9}"], false),
            (&[""], false),
            (&["Tue, 24 Nov 2026 10:00:00 GMT", "Tue, 24 Nov 2026 10:00:00 GMT"], false),
            (&[], false),
        ] {
            assert_eq!(known(lines, LATER), is_known, "{lines:?}");
        }
    }

    #[test]
    fn it_is_ignored_until_two_seconds_after_the_write_and_with_an_entity_tag() {
        let line = "Tue, 24 Nov 2026 10:00:00 GMT";
        for (now, is_known) in [
            ("2026-11-24T09:00:00Z", false),
            ("2026-11-24T10:00:00.9Z", false),
            ("2026-11-24T10:00:01.9Z", false),
            ("2026-11-24T10:00:02Z", true),
        ] {
            assert_eq!(known(&[line], now), is_known, "{now}");
        }
        let mut headers = HeaderMap::new();
        headers.insert(IF_MODIFIED_SINCE, HeaderValue::from_static(line));
        headers.insert(IF_NONE_MATCH, HeaderValue::from_static("\"1\""));
        assert!(!is_known(MODIFIED.parse().unwrap(), &headers, LATER.parse().unwrap()));
    }
}
