//! Byte ranges (RFC 9110 section 14).
//!
//! Written here because of the libraries tried, both refuse a suffix that is longer than the content,
//! and one refuses all ranges for a malformed one.

use std::ops::Range;

use poem::http::HeaderMap;
use poem::http::header::RANGE;

use super::sole::sole;

/// More would cost more than they save.
const MOST: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Requested {
    /// The whole content: no range, or one that may be ignored.
    Whole,
    /// Sorted, not empty and apart.
    Parts(Vec<Range<u64>>),
    Unsatisfiable,
}

pub fn requested(headers: &HeaderMap, size: u64) -> Requested {
    let line = sole(headers, RANGE).ok().flatten();
    let specs = line.and_then(|line| parse(line.to_str().ok()?));
    let Some(specs) = specs else { return Requested::Whole };
    let mut parts: Vec<_> = specs.iter().filter_map(|spec| spec.within(size)).collect();
    if parts.is_empty() {
        let is_suffix = |spec: &Spec| matches!(spec, Spec::Last(1..));
        let is_empty = size == 0 && specs.iter().any(is_suffix);
        return if is_empty { Requested::Whole } else { Requested::Unsatisfiable };
    }
    parts.sort_unstable_by_key(|part| part.start);
    let mut apart: Vec<Range<u64>> = Vec::new();
    for part in parts {
        match apart.last_mut() {
            Some(last) if part.start <= last.end => last.end = last.end.max(part.end),
            _ => apart.push(part),
        }
    }
    if apart.len() > MOST { Requested::Whole } else { Requested::Parts(apart) }
}

#[derive(Clone, Copy)]
enum Spec {
    From(u64, u64),
    Last(u64),
}

impl Spec {
    fn within(self, size: u64) -> Option<Range<u64>> {
        let part = match self {
            Self::From(first, last) => first..size.min(last.saturating_add(1)),
            Self::Last(length) => size.saturating_sub(length)..size,
        };
        (part.start < part.end).then_some(part)
    }
}

/// `None` for another unit, and for malformed ranges.
fn parse(line: &str) -> Option<Vec<Spec>> {
    let (unit, set) = line.split_once('=')?;
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return None;
    }
    let specs = set.split(',').map(str::trim).filter(|spec| !spec.is_empty());
    let specs: Vec<_> = specs.map(parse_one).collect::<Option<_>>()?;
    (!specs.is_empty()).then_some(specs)
}

fn parse_one(spec: &str) -> Option<Spec> {
    let (first, last) = spec.split_once('-')?;
    match (first, last) {
        ("", length) => Some(Spec::Last(number(length)?)),
        (first, "") => Some(Spec::From(number(first)?, u64::MAX)),
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            (first <= last).then_some(Spec::From(first, last))
        }
    }
}

/// Numbers beyond any content are the largest one.
fn number(digits: &str) -> Option<u64> {
    let are_digits = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    are_digits.then(|| digits.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use poem::http::header::RANGE;
    use proptest::prelude::*;

    use super::{Requested, requested};
    use crate::headers::sent;

    #[test]
    fn a_range_is_read_to_the_letter() {
        let parts = |parts: &[(u64, u64)]| {
            Requested::Parts(parts.iter().map(|(start, end)| *start..*end).collect())
        };
        for (line, expected) in [
            ("bytes=0-0", parts(&[(0, 1)])),
            ("bytes=0-", parts(&[(0, 100)])),
            ("bytes=99-99", parts(&[(99, 100)])),
            ("bytes=90-200", parts(&[(90, 100)])),
            ("bytes=-1", parts(&[(99, 100)])),
            ("bytes=-999999999999", parts(&[(0, 100)])),
            ("bytes=50-18446744073709551616", parts(&[(50, 100)])),
            ("Bytes = 0-1 , 50-59,,", parts(&[(0, 2), (50, 60)])),
            ("bytes=50-59,0-1", parts(&[(0, 2), (50, 60)])),
            ("bytes=0-9,5-19,20-29", parts(&[(0, 30)])),
            ("bytes=0-0,100-", parts(&[(0, 1)])),
            ("bytes=100-", Requested::Unsatisfiable),
            ("bytes=18446744073709551616-", Requested::Unsatisfiable),
            ("bytes=-0", Requested::Unsatisfiable),
            ("bytes=5-2", Requested::Whole),
            ("bytes=", Requested::Whole),
            ("bytes=-", Requested::Whole),
            ("bytes=+1-2", Requested::Whole),
            ("bytes=1-2-3", Requested::Whole),
            ("bytes=0-0,x", Requested::Whole),
            ("lines=0-1", Requested::Whole),
            ("0-1", Requested::Whole),
        ] {
            assert_eq!(requested(&sent(RANGE, &[line]), 100), expected, "{line}");
        }
        let twice = sent(RANGE, &["bytes=0-0", "bytes=1-1"]);
        assert_eq!(requested(&twice, 100), Requested::Whole);
        let many: Vec<_> = (0..9).map(|place| format!("{}-{}", place * 10, place * 10)).collect();
        let many = sent(RANGE, &[&format!("bytes={}", many.join(","))]);
        assert_eq!(requested(&many, 100), Requested::Whole);
        assert_eq!(requested(&sent(RANGE, &["bytes=-5"]), 0), Requested::Whole);
        assert_eq!(requested(&sent(RANGE, &["bytes=0-"]), 0), Requested::Unsatisfiable);
    }

    proptest! {
        #[test]
        fn parts_are_those_of_a_naive_reading(
            size in 0_u64..30,
            specs in prop::collection::vec((0_u64..35, 0_u64..35, 0..3), 1..6),
        ) {
            let (mut wanted, mut texts) = (BTreeSet::new(), Vec::new());
            for (one, other, kind) in specs {
                let (first, last) = (one.min(other), one.max(other));
                let (text, from, to) = match kind {
                    0 => (format!("{first}-{last}"), first, last + 1),
                    1 => (format!("{first}-"), first, size),
                    _ => (format!("-{one}"), size.saturating_sub(one), size),
                };
                texts.push(text);
                wanted.extend(from..to.min(size));
            }
            let found = requested(&sent(RANGE, &[&format!("bytes={}", texts.join(", "))]), size);
            let mut covered = BTreeSet::new();
            if let Requested::Parts(parts) = &found {
                for pair in parts.windows(2) {
                    prop_assert!(pair[0].end < pair[1].start);
                }
                covered.extend(parts.iter().flat_map(Clone::clone));
            }
            if found != Requested::Whole {
                prop_assert_eq!(covered, wanted);
            }
        }
    }
}
