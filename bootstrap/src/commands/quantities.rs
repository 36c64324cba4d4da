//! Quantities with units: `8MiB`, `30s`.

use std::net::IpAddr;
use std::time::Duration;

use bytesize::ByteSize;
use ipnet::IpNet;
use jiff::SignedDuration;

const LONGEST_WAIT: SignedDuration = SignedDuration::from_hours(24);

pub fn byte_size(text: &str) -> Result<usize, &'static str> {
    let size = text.parse::<ByteSize>().ok().and_then(|size| usize::try_from(size.as_u64()).ok());
    size.filter(|bytes| (1..usize::MAX).contains(bytes))
        .ok_or("give a positive number of bytes, such as 500000, 64KiB or 8MiB")
}

pub fn timeout(text: &str) -> Result<Duration, &'static str> {
    period(text, LONGEST_WAIT)
        .ok_or("give a time above zero and up to a day, such as 500ms, 30s or 2m")
}

pub fn delay(text: &str) -> Result<Duration, &'static str> {
    let none = text.parse::<SignedDuration>().ok().filter(SignedDuration::is_zero);
    none.map(|_| Duration::ZERO)
        .or_else(|| period(text, LONGEST_WAIT))
        .ok_or("give a time of up to a day, such as 0s, 15s or 2m")
}

pub fn lifetime(text: &str) -> Result<Duration, &'static str> {
    period(text, SignedDuration::from_hours(366 * 24))
        .ok_or("give a time of at most 8784h, such as 24h or 30m")
}

/// Rate limit: the time between evenly spaced requests, and the burst.
pub type RequestRate = (Duration, u32);

/// Parses a rate. The default of `burst` is the number of requests in the named period.
pub fn request_rate(text: &str) -> Result<RequestRate, &'static str> {
    read_rate(text).ok_or("give a rate such as 100/s, 6000/m or 100/s,burst=400")
}

fn read_rate(text: &str) -> Option<RequestRate> {
    let (rate, burst) = match text.split_once(",burst=") {
        Some((rate, burst)) => (rate, Some(burst.parse::<u32>().ok()?)),
        None => (text, None),
    };
    let (count, unit) = rate.split_once('/')?;
    let count: u32 = count.parse().ok()?;
    let period = match unit {
        "s" => Duration::from_secs(1),
        "m" => Duration::from_mins(1),
        "h" => Duration::from_hours(1),
        _ => return None,
    };
    let burst = burst.unwrap_or(count);
    let interval = period.checked_div(count)?;
    (burst > 0 && !interval.is_zero()).then_some((interval, burst))
}

/// Parses an address, or a network in CIDR notation (RFC 4632).
pub fn network(text: &str) -> Result<IpNet, &'static str> {
    let network = text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
    network.ok_or("give an address or a network, such as 10.0.0.1, 10.0.0.0/8 or fd00::/8")
}

fn period(text: &str, most: SignedDuration) -> Option<Duration> {
    let time: SignedDuration = text.parse().ok()?;
    Duration::try_from(time).ok().filter(|_| SignedDuration::ZERO < time && time <= most)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{byte_size, delay, lifetime, network, request_rate, timeout};

    #[test]
    fn rates_have_a_unit_and_perhaps_a_burst() {
        for (text, expected) in [
            ("100/s", Some((10_000_000, 100))),
            ("100/s,burst=400", Some((10_000_000, 400))),
            ("60/m", Some((1_000_000_000, 60))),
            ("1/h,burst=2", Some((3_600_000_000_000, 2))),
            ("0/s", None),
            ("100", None),
            ("100/d", None),
            ("100/s,burst=0", None),
            ("100/s burst=4", None),
            ("-1/s", None),
            ("", None),
        ] {
            let rate = request_rate(text).ok();
            let found = rate.map(|(interval, burst)| (interval.as_nanos(), burst));
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn networks_are_addresses_with_or_without_a_prefix() {
        for (text, prefix) in [
            ("10.0.0.0/8", Some(8)),
            ("10.0.0.1", Some(32)),
            ("fd00::/8", Some(8)),
            ("::1", Some(128)),
            ("10.0.0.0/33", None),
            ("10.0.0/8", None),
            ("example.org", None),
            ("", None),
        ] {
            assert_eq!(network(text).ok().map(|network| network.prefix_len()), prefix, "{text}");
        }
    }

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
