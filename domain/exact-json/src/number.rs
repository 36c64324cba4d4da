/// The digit limits of PostgreSQL's `numeric`, before and after the decimal point.
const MAX_INTEGER_DIGITS: i64 = 131_072;
const MAX_FRACTION_DIGITS: i64 = 16_383;

/// Returns `true` if a number, as valid JSON text, is in the store's range. Counts the digits
/// written out in full as the exponent requires, leading zeros included.
pub fn is_storable_number(text: &str) -> bool {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent_value(exponent)),
        None => (unsigned, 0),
    };
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let length = |digits: &str| i64::try_from(digits.len()).unwrap_or(i64::MAX);
    if mantissa.bytes().all(|byte| matches!(byte, b'0' | b'.')) {
        return length(fraction).saturating_sub(exponent) <= MAX_FRACTION_DIGITS
            && exponent <= MAX_INTEGER_DIGITS;
    }
    length(integer).saturating_add(exponent) <= MAX_INTEGER_DIGITS
        && length(fraction).saturating_sub(exponent) <= MAX_FRACTION_DIGITS
}

/// The exponent, saturated far outside the range.
fn exponent_value(text: &str) -> i64 {
    let digits = text.trim_start_matches(['+', '-']).trim_start_matches('0');
    let magnitude = if digits.len() > 9 { 1_000_000_000 } else { digits.parse().unwrap_or(0) };
    if text.starts_with('-') { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::is_storable_number;

    #[test]
    fn the_range_is_that_of_a_postgresql_numeric() {
        for (text, storable) in [
            ("0", true),
            ("-0.0", true),
            ("100.10", true),
            ("123456789012345678901234567890", true),
            ("1e400", true),
            ("1E+131071", true),
            ("1e131072", false),
            ("1e-16383", true),
            ("1e-16384", false),
            ("0.5e-16383", false),
            ("1e99999999999999999999", false),
            ("1e-99999999999999999999", false),
            ("0e99999999999999999999", false),
        ] {
            assert_eq!(is_storable_number(text), storable, "{text}");
        }
    }
}
