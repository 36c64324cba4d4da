//! The amounts of money that the index task adds up.

use domain::{SummedMembers, Value};

/// Largest amount that is added up: 92 million of them overflow no sum.
const LARGEST: i64 = 1_000_000_000;

/// An item's amounts in hundredths by month (`2026-01`): unsigned, of at most two decimal places.
pub(crate) fn amounts(members: Value<'_>, summed: &SummedMembers) -> Vec<(String, i64)> {
    let year = members.member(summed.year).and_then(Value::as_written);
    let Some(year) = year.filter(|year| year.len() == 4 && is_digits(year)) else {
        return Vec::new();
    };
    let amount = |(month, name): (i32, &&str)| {
        let amount = hundredths(&members.member(name)?.as_written()?)?;
        Some((format!("{year}-{month:02}"), amount))
    };
    (1..).zip(&summed.months).filter_map(amount).collect()
}

fn hundredths(written: &str) -> Option<i64> {
    let (whole, places) = written.split_once('.').unwrap_or((written, "0"));
    let places = places.trim_end_matches('0');
    if !is_digits(whole) || !is_digits(places) || whole.is_empty() || places.len() > 2 {
        return None;
    }
    let whole = whole.parse().ok().filter(|whole: &i64| *whole <= LARGEST)?;
    let places: i64 = format!("{places:0<2}").parse().ok()?;
    Some(whole * 100 + places)
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::hundredths;

    #[test]
    fn amounts_are_exact_or_none() {
        for (written, expected) in [
            ("12500.00", Some(1_250_000)),
            ("0.1", Some(10)),
            ("0.07", Some(7)),
            ("7", Some(700)),
            ("1000000000", Some(100_000_000_000)),
            ("12.5000", Some(1250)),
            ("12.345", None),
            ("1000000001", None),
            ("99999999999999999999", None),
            ("-5", None),
            ("1e3", None),
            ("1,000.00", None),
            (".5", None),
            ("", None),
            ("PHP 5", None),
            ("٣", None),
        ] {
            assert_eq!(hundredths(written), expected, "{written}");
        }
    }
}
