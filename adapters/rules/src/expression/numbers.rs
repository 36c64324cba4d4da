//! Numbers: 64-bit integers, doubles, and decimals of 28 digits for money.

use std::cmp::Ordering;

use rust_decimal::{Decimal, RoundingStrategy};

use super::meter::{CONVERSION, Meter};
use super::operators::Operator;
use super::value::Val;
use super::{EvaluationFault, failed, shorten};

type Outcome<T> = Result<T, EvaluationFault>;

/// Most digits of which a double keeps every one.
const DIGITS_OF_A_DOUBLE: usize = 15;

const TOO_LARGE: &str = "the result is too large for a decimal, which has 28 digits";

/// The value of a JSON number: an integer when it is written as one, a double when that keeps its
/// digits, else a decimal.
pub(super) fn of_json<'a>(meter: &Meter, digits: &str) -> Outcome<Val<'a>> {
    meter.charge(digits.len())?;
    if let Ok(integer) = digits.parse() {
        return Ok(Val::Integer(integer));
    }
    meter.charge(CONVERSION)?;
    let mantissa = digits.split(['e', 'E']).next().unwrap_or_default();
    let significant =
        mantissa.bytes().filter(u8::is_ascii_digit).skip_while(|digit| *digit == b'0').count();
    if significant <= DIGITS_OF_A_DOUBLE
        && let Some(double) = digits.parse().ok().filter(|double: &f64| double.is_finite())
    {
        return Ok(Val::Double(double));
    }
    let is_scientific = mantissa.len() < digits.len();
    let decimal =
        if is_scientific { scientific(digits) } else { Decimal::from_str_exact(digits).ok() };
    decimal.map(Val::Decimal).ok_or_else(|| {
        failed(format_args!(
            "the number {} has more digits than rules compute with (28)",
            shorten(digits)
        ))
    })
}

/// A number with an exponent, when a decimal keeps its digits.
fn scientific(digits: &str) -> Option<Decimal> {
    let (mantissa, exponent) = digits.split_once(['e', 'E'])?;
    Decimal::from_str_exact(mantissa).ok()?;
    let exponent: i32 = exponent.parse().ok()?;
    if exponent.unsigned_abs() > Decimal::MAX_SCALE {
        None
    } else {
        Decimal::from_scientific(digits).ok()
    }
}

/// A decimal from a text as people write it: `-12.10`.
pub(super) fn decimal_of_text(text: &str) -> Option<Decimal> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (integer, fraction) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
    let are_digits =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if text.len() <= 64 && are_digits(integer) && are_digits(fraction) {
        Decimal::from_str_exact(text).ok()
    } else {
        None
    }
}

/// A decimal from a number, or from a text that is one. A double gives the decimal that is written
/// like it: 0.1 is one tenth.
pub(super) fn decimal(value: &Val<'_>, meter: &Meter) -> Outcome<Decimal> {
    meter.charge(CONVERSION)?;
    match value {
        Val::Decimal(decimal) => Ok(*decimal),
        Val::Integer(integer) => Ok(Decimal::from(*integer)),
        Val::Double(double) => decimal_of_double(*double).ok_or_else(|| {
            failed(format_args!("the number {double:e} is no decimal of 28 digits"))
        }),
        Val::Text(text) => decimal_of_text(text.as_str()).ok_or_else(|| {
            failed(format_args!(
                "the text \"{}\" is no decimal number such as 12.10",
                shorten(text.as_str())
            ))
        }),
        _ => Err(value.is_not("a number or a text that is one")),
    }
}

fn decimal_of_double(double: f64) -> Option<Decimal> {
    if !double.is_finite() || double.abs() >= 1e28 {
        return None;
    }
    // The shortest digits that tell this double from its neighbours, without an exponent; below
    // 1e-28 there is nothing left of it.
    let digits = double.to_string();
    Decimal::from_str_exact(&digits).ok()
}

/// A double from a number.
#[expect(clippy::cast_precision_loss, reason = "beyond 2^53 a double is the nearest there is")]
fn double(value: &Val<'_>) -> Option<f64> {
    match value {
        Val::Integer(integer) => Some(*integer as f64),
        Val::Double(double) => Some(*double),
        // Through its digits, since the conversion of the library is not exact.
        Val::Decimal(decimal) => decimal.to_string().parse().ok(),
        _ => None,
    }
}

/// Which of two numbers is greater; nothing when one is not a number (NaN).
pub(super) fn compare(left: &Val<'_>, right: &Val<'_>, meter: &Meter) -> Outcome<Option<Ordering>> {
    Ok(match (left, right) {
        (Val::Integer(left), Val::Integer(right)) => Some(left.cmp(right)),
        (Val::Double(left), Val::Double(right)) => left.partial_cmp(right),
        (Val::Integer(left), Val::Double(right)) => compare_mixed(*left, *right),
        (Val::Double(left), Val::Integer(right)) => {
            compare_mixed(*right, *left).map(Ordering::reverse)
        }
        _ => {
            meter.charge(2 * CONVERSION)?;
            match (exact(left), exact(right)) {
                (Some(left), Some(right)) => Some(left.cmp(&right)),
                _ => double(left).partial_cmp(&double(right)),
            }
        }
    })
}

/// The decimal of a number, when there is one.
fn exact(value: &Val<'_>) -> Option<Decimal> {
    match value {
        Val::Decimal(decimal) => Some(*decimal),
        Val::Integer(integer) => Some(Decimal::from(*integer)),
        Val::Double(double) => decimal_of_double(*double),
        _ => None,
    }
}

/// An integer beside a double, by their values: as doubles, and where these are the same (a double
/// has 53 bits) as integers.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "what is lost is compared afterwards"
)]
fn compare_mixed(integer: i64, double: f64) -> Option<Ordering> {
    let ordering = (integer as f64).partial_cmp(&double)?;
    Some(if ordering.is_eq() { i128::from(integer).cmp(&(double as i128)) } else { ordering })
}

/// Computes with two numbers. One that is a decimal makes the result one; else one that is a double
/// does.
pub(super) fn compute<'a>(
    operator: Operator,
    left: &Val<'a>,
    right: &Val<'a>,
    meter: &Meter,
) -> Outcome<Val<'a>> {
    match (left, right) {
        (Val::Integer(left), Val::Integer(right)) => {
            integers(operator, *left, *right).map(Val::Integer)
        }
        (Val::Decimal(_), _) | (_, Val::Decimal(_)) => {
            let (left, right) = (decimal(left, meter)?, decimal(right, meter)?);
            decimals(operator, left, right, meter).map(Val::Decimal)
        }
        _ => match (double(left), double(right)) {
            (Some(left), Some(right)) => doubles(operator, left, right).map(Val::Double),
            _ => Err(operator.cannot_take(left.kind(), right.kind())),
        },
    }
}

fn integers(operator: Operator, left: i64, right: i64) -> Outcome<i64> {
    if right == 0 && matches!(operator, Operator::Divide | Operator::Remainder) {
        return Err(failed(format_args!("{left} cannot be divided by zero")));
    }
    let result = match operator {
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
        Operator::Divide => left.checked_div(right),
        _ => left.checked_rem(right),
    };
    result.ok_or_else(|| {
        failed(format_args!(
            "{left} {} {right} is too large for an integer; compute with decimal()",
            operator.sign()
        ))
    })
}

fn doubles(operator: Operator, left: f64, right: f64) -> Outcome<f64> {
    match operator {
        Operator::Add => Ok(left + right),
        Operator::Subtract => Ok(left - right),
        Operator::Multiply => Ok(left * right),
        Operator::Divide => Ok(left / right),
        _ => Err(failed(format_args!("`%` takes integers only"))),
    }
}

/// Sums and differences are exact or fail; products and quotients are rounded to 28 digits.
pub(super) fn decimals(
    operator: Operator,
    left: Decimal,
    right: Decimal,
    meter: &Meter,
) -> Outcome<Decimal> {
    meter.charge(CONVERSION)?;
    let result = match operator {
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
        Operator::Divide if right.is_zero() => {
            return Err(failed(format_args!("{left} cannot be divided by zero")));
        }
        Operator::Divide => left.checked_div(right),
        _ => return Err(failed(format_args!("`%` takes integers only"))),
    };
    let is_sum = matches!(operator, Operator::Add | Operator::Subtract);
    // A sum that does not fit loses digits from its end, which shows in its scale.
    let is_exact =
        |sum: &Decimal| sum.scale() >= left.normalize().scale().max(right.normalize().scale());
    result
        .filter(|result| !is_sum || is_exact(result))
        .ok_or_else(|| failed(format_args!("{TOO_LARGE}")))
}

/// The number with the sign turned.
pub(super) fn negate<'a>(value: &Val<'a>) -> Outcome<Val<'a>> {
    match value {
        Val::Integer(integer) => integer
            .checked_neg()
            .map(Val::Integer)
            .ok_or_else(|| failed(format_args!("-({integer}) is too large for an integer"))),
        Val::Double(double) => Ok(Val::Double(-double)),
        Val::Decimal(decimal) => Ok(Val::Decimal(-decimal)),
        Val::Duration(duration) => duration
            .checked_neg()
            .map(Val::Duration)
            .ok_or_else(|| failed(format_args!("the duration is too long to be turned round"))),
        _ => Err(value.is_not("a number")),
    }
}

/// Rounds half away from zero: 2.5 to 3, -2.5 to -3. The result shows that many digits, as far as
/// they fit.
pub(super) fn round(value: Decimal, digits: i64) -> Outcome<Decimal> {
    match u32::try_from(digits) {
        Ok(digits @ 0..=28) => {
            let mut rounded =
                value.round_dp_with_strategy(digits, RoundingStrategy::MidpointAwayFromZero);
            rounded.rescale(digits);
            Ok(rounded)
        }
        _ => Err(failed(format_args!("round() takes 0 to 28 digits, not {digits}"))),
    }
}

/// CEL's `int(x)`: towards zero.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
pub(super) fn to_integer(value: &Val<'_>, meter: &Meter) -> Outcome<i64> {
    meter.charge(CONVERSION)?;
    let whole = |integer: Option<i64>| {
        integer.ok_or_else(|| failed(format_args!("the number is too large for an integer")))
    };
    match value {
        Val::Integer(integer) => Ok(*integer),
        Val::Double(double) => whole((double.abs() < 9.2e18).then_some(*double as i64)),
        Val::Decimal(decimal) => whole(i64::try_from(decimal.trunc()).ok()),
        Val::Timestamp(timestamp) => Ok(timestamp.as_second()),
        Val::Text(text) => text.as_str().parse().map_err(|_| {
            failed(format_args!("the text \"{}\" is no integer", shorten(text.as_str())))
        }),
        _ => Err(value.is_not("a number or a text that is one")),
    }
}

/// CEL's `double(x)`.
pub(super) fn to_double(value: &Val<'_>, meter: &Meter) -> Outcome<f64> {
    meter.charge(CONVERSION)?;
    if let Val::Text(text) = value {
        meter.charge(text.as_str().len())?;
        return text.as_str().parse().map_err(|_| {
            failed(format_args!("the text \"{}\" is no number", shorten(text.as_str())))
        });
    }
    double(value).ok_or_else(|| value.is_not("a number or a text that is one"))
}
