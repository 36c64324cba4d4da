//! Quantities as people write them: `8MiB`, `30s`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use jiff::SignedDuration;
use thiserror::Error;

/// An amount of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteSize(usize);

/// Why a text is no amount of memory.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("give a positive number of bytes, such as 500000, 64KiB or 8MiB")]
pub struct InvalidByteSize;

impl ByteSize {
    /// The number of bytes.
    pub const fn bytes(self) -> usize {
        self.0
    }
}

impl FromStr for ByteSize {
    type Err = InvalidByteSize;

    fn from_str(text: &str) -> Result<Self, InvalidByteSize> {
        let end = text.find(|digit: char| !digit.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let factor: usize = match unit.trim_start().to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "kb" => 1000,
            "kib" | "k" => 1 << 10,
            "mb" => 1_000_000,
            "mib" | "m" => 1 << 20,
            "gb" => 1_000_000_000,
            "gib" | "g" => 1 << 30,
            _ => return Err(InvalidByteSize),
        };
        let number: usize = number.parse().map_err(|_| InvalidByteSize)?;
        number.checked_mul(factor).filter(|bytes| *bytes > 0).map(Self).ok_or(InvalidByteSize)
    }
}

/// A time to wait at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeout(Duration);

/// Why a text is no time to wait.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("give a time above zero and up to a day, such as 500ms, 30s or 2m")]
pub struct InvalidTimeout;

impl Timeout {
    /// The time.
    pub const fn duration(self) -> Duration {
        self.0
    }
}

impl FromStr for Timeout {
    type Err = InvalidTimeout;

    fn from_str(text: &str) -> Result<Self, InvalidTimeout> {
        period(text, SignedDuration::from_hours(24)).map(Self).ok_or(InvalidTimeout)
    }
}

/// How long something is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime(Duration);

/// Why a text is no lifetime.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("give a time of at most 8784h, such as 24h or 30m")]
pub struct InvalidLifetime;

impl Lifetime {
    /// The time.
    pub const fn duration(self) -> Duration {
        self.0
    }
}

impl FromStr for Lifetime {
    type Err = InvalidLifetime;

    fn from_str(text: &str) -> Result<Self, InvalidLifetime> {
        period(text, SignedDuration::from_hours(366 * 24)).map(Self).ok_or(InvalidLifetime)
    }
}

/// A time that is not zero and at most so long.
fn period(text: &str, most: SignedDuration) -> Option<Duration> {
    let time: SignedDuration = text.parse().ok()?;
    Duration::try_from(time).ok().filter(|_| SignedDuration::ZERO < time && time <= most)
}

impl fmt::Display for Timeout {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{ByteSize, Lifetime, Timeout};

    #[test]
    fn sizes_are_numbers_with_or_without_a_unit() {
        for (text, bytes) in [
            ("500000", Some(500_000)),
            ("1b", Some(1)),
            ("8MiB", Some(8 << 20)),
            ("8 mib", Some(8 << 20)),
            ("64K", Some(64 << 10)),
            ("2MB", Some(2_000_000)),
            ("1GiB", Some(1 << 30)),
            ("0", None),
            ("-1", None),
            ("", None),
            ("MiB", None),
            ("8.5MiB", None),
            ("8MiBs", None),
            ("99999999999999999999", None),
            ("99999999999GiB", None),
        ] {
            assert_eq!(text.parse().ok().map(ByteSize::bytes), bytes, "{text}");
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
            assert_eq!(
                text.parse().ok().map(Timeout::duration),
                millis.map(Duration::from_millis),
                "{text}"
            );
        }
        for (text, hours) in
            [("24h", Some(24)), ("8784h", Some(8784)), ("8785h", None), ("0h", None)]
        {
            assert_eq!(
                text.parse().ok().map(Lifetime::duration),
                hours.map(Duration::from_hours),
                "{text}"
            );
        }
    }
}
