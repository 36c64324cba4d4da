//! Quantities as people write them: `8MiB`, `30s`.

use std::time::Duration;

use bytesize::ByteSize;
use jiff::SignedDuration;

const LONGEST_WAIT: SignedDuration = SignedDuration::from_hours(24);

/// Reads an amount of memory, in bytes.
pub fn byte_size(text: &str) -> Result<usize, &'static str> {
    let size = text.parse::<ByteSize>().ok().and_then(|size| usize::try_from(size.as_u64()).ok());
    size.filter(|bytes| (1..usize::MAX).contains(bytes))
        .ok_or("give a positive number of bytes, such as 500000, 64KiB or 8MiB")
}

/// Reads a time to wait at most.
pub fn timeout(text: &str) -> Result<Duration, &'static str> {
    period(text, LONGEST_WAIT)
        .ok_or("give a time above zero and up to a day, such as 500ms, 30s or 2m")
}

/// Reads a time to wait before something is done, which may be none.
pub fn delay(text: &str) -> Result<Duration, &'static str> {
    let none = text.parse::<SignedDuration>().ok().filter(SignedDuration::is_zero);
    none.map(|_| Duration::ZERO)
        .or_else(|| period(text, LONGEST_WAIT))
        .ok_or("give a time of up to a day, such as 0s, 15s or 2m")
}

/// Reads how long something is kept.
pub fn lifetime(text: &str) -> Result<Duration, &'static str> {
    period(text, SignedDuration::from_hours(366 * 24))
        .ok_or("give a time of at most 8784h, such as 24h or 30m")
}

/// Reads a time above zero and up to `most`.
fn period(text: &str, most: SignedDuration) -> Option<Duration> {
    let time: SignedDuration = text.parse().ok()?;
    Duration::try_from(time).ok().filter(|_| SignedDuration::ZERO < time && time <= most)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{byte_size, delay, lifetime, timeout};

    #[test]
    fn sizes_are_numbers_with_or_without_a_unit() {
        for (text, bytes) in [
            ("500000", Some(500_000)),
            ("1b", Some(1)),
            ("8MiB", Some(8 << 20)),
            ("8 mib", Some(8 << 20)),
            ("64KiB", Some(64 << 10)),
            ("2MB", Some(2_000_000)),
            ("1GiB", Some(1 << 30)),
            ("0", None),
            ("-1", None),
            ("", None),
            ("MiB", None),
            ("8MiBs", None),
            ("99999999999999999999", None),
            ("99999999999GiB", None),
        ] {
            assert_eq!(byte_size(text).ok(), bytes, "{text}");
        }
    }

    #[test]
    fn times_have_a_unit_and_end() {
        for (text, millis) in [
            ("500ms", Some(500)),
            ("30s", Some(30_000)),
            ("2m", Some(120_000)),
            ("1m 30s", Some(90_000)),
            ("1h", Some(3_600_000)),
            ("30", None),
            ("0s", None),
            ("-5s", None),
            ("25h", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(timeout(text).ok(), millis.map(Duration::from_millis), "{text}");
        }
        for (text, seconds) in
            [("0s", Some(0)), ("15s", Some(15)), ("25h", None), ("-1s", None), ("0", None)]
        {
            assert_eq!(delay(text).ok(), seconds.map(Duration::from_secs), "{text}");
        }
        for (text, hours) in
            [("24h", Some(24)), ("8784h", Some(8784)), ("8785h", None), ("0h", None)]
        {
            assert_eq!(lifetime(text).ok(), hours.map(Duration::from_hours), "{text}");
        }
    }
}
