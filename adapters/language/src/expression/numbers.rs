//! Numbers: 64-bit integers, doubles, and decimals of 28 digits for money.

use std::cmp::Ordering;

use rust_decimal::{Decimal, RoundingStrategy};

use super::meter::{CONVERSION, Meter};
use super::operator::Operator;
use super::{Outcome, shorten};

/// Digits that a double always preserves.
const DIGITS_OF_A_DOUBLE: usize = 15;

const TOO_LARGE: &str = "the result is too large for a decimal, which has 28 digits";

#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    Integer(i64),
    Double(f64),
    Decimal(Decimal),
}

/// Returns an integer if the source has that form, a double if it keeps all digits, otherwise a
/// decimal.
pub(super) fn of_json(meter: &Meter, digits: &str) -> Outcome<Number> {
    meter.charge(digits.len())?;
    if let Ok(integer) = digits.parse() {
        return Ok(Number::Integer(integer));
    }
    meter.charge(CONVERSION)?;
    let mantissa = digits.split(['e', 'E']).next().unwrap_or_default();
    let significant =
        mantissa.bytes().filter(u8::is_ascii_digit).skip_while(|digit| *digit == b'0').count();
    if significant <= DIGITS_OF_A_DOUBLE
        && let Some(double) = digits.parse().ok().filter(|double: &f64| double.is_finite())
    {
        return Ok(Number::Double(double));
    }
    let is_scientific = mantissa.len() < digits.len();
    let decimal =
        if is_scientific { scientific(digits) } else { Decimal::from_str_exact(digits).ok() };
    decimal.map(Number::Decimal).ok_or_else(|| {
        failed!("the number {} has more digits than rules support (28)", shorten(digits))
    })
}

fn scientific(digits: &str) -> Option<Decimal> {
    let (mantissa, exponent) = digits.split_once(['e', 'E'])?;
    Decimal::from_str_exact(mantissa).ok()?;
    exponent.parse().ok().filter(|by: &i32| by.unsigned_abs() <= Decimal::MAX_SCALE)?;
    Decimal::from_scientific(digits).ok()
}

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

impl Number {
    /// Converts to a decimal. A double becomes its shortest text: 0.1 is one tenth.
    pub(super) fn to_decimal(self) -> Option<Decimal> {
        match self {
            Self::Decimal(decimal) => Some(decimal),
            Self::Integer(integer) => Some(Decimal::from(integer)),
            Self::Double(double) if !double.is_finite() || double.abs() >= 1e28 => None,
            // The shortest digits that identify this double, without an exponent. Below 1e-28 they
            // become 0.
            Self::Double(double) => Decimal::from_str_exact(&double.to_string()).ok(),
        }
    }

    pub(super) fn decimal(self, meter: &Meter) -> Outcome<Decimal> {
        meter.charge(CONVERSION)?;
        self.to_decimal().ok_or_else(|| {
            failed!("the number {:e} is not a decimal of 28 digits", self.to_double())
        })
    }

    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    pub(super) fn truncated(self) -> Option<i64> {
        const END: f64 = 9_223_372_036_854_775_808.0;
        match self {
            Self::Integer(integer) => Some(integer),
            Self::Double(double) => (double.abs() < END).then_some(double as i64),
            Self::Decimal(decimal) => i64::try_from(decimal.trunc()).ok(),
        }
    }

    pub(super) fn whole(self) -> Option<i64> {
        let has_fraction = matches!(self, Self::Double(double) if double.fract() != 0.0)
            || matches!(self, Self::Decimal(decimal) if !decimal.fract().is_zero());
        self.truncated().filter(|_| !has_fraction)
    }

    #[expect(clippy::cast_precision_loss, reason = "beyond 2^53 a double is the nearest there is")]
    pub(super) fn to_double(self) -> f64 {
        match self {
            Self::Integer(integer) => integer as f64,
            Self::Double(double) => double,
            Self::Decimal(decimal) => decimal.to_string().parse().unwrap_or(f64::NAN),
        }
    }
}

/// Compares two numbers; `None` if one is NaN. An integer next to a double counts as a double.
pub(super) fn compare(left: Number, right: Number, meter: &Meter) -> Outcome<Option<Ordering>> {
    Ok(match (left, right) {
        (Number::Integer(left), Number::Integer(right)) => Some(left.cmp(&right)),
        (Number::Decimal(_), _) | (_, Number::Decimal(_)) => {
            meter.charge(2 * CONVERSION)?;
            match (left.to_decimal(), right.to_decimal()) {
                (Some(left), Some(right)) => Some(left.cmp(&right)),
                _ => left.to_double().partial_cmp(&right.to_double()),
            }
        }
        _ => left.to_double().partial_cmp(&right.to_double()),
    })
}

/// Computes with two numbers. The result is a decimal if an operand is one, otherwise a double if
/// an operand is one.
pub(super) fn compute(
    operator: Operator,
    left: Number,
    right: Number,
    meter: &Meter,
) -> Outcome<Number> {
    match (left, right) {
        (Number::Integer(left), Number::Integer(right)) => {
            integers(operator, left, right).map(Number::Integer)
        }
        (Number::Decimal(_), _) | (_, Number::Decimal(_)) => {
            let (left, right) = (left.decimal(meter)?, right.decimal(meter)?);
            decimals(operator, left, right, meter).map(Number::Decimal)
        }
        _ => doubles(operator, left.to_double(), right.to_double()).map(Number::Double),
    }
}

fn integers(operator: Operator, left: i64, right: i64) -> Outcome<i64> {
    if right == 0 && matches!(operator, Operator::Divide | Operator::Remainder) {
        return Err(failed!("{left} cannot be divided by zero"));
    }
    let result = match operator {
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
        Operator::Divide => left.checked_div(right),
        _ => left.checked_rem(right),
    };
    result.ok_or_else(|| {
        failed!(
            "{left} {} {right} is too large for an integer; compute with decimal()",
            operator.sign()
        )
    })
}

fn doubles(operator: Operator, left: f64, right: f64) -> Outcome<f64> {
    match operator {
        Operator::Add => Ok(left + right),
        Operator::Subtract => Ok(left - right),
        Operator::Multiply => Ok(left * right),
        Operator::Divide => Ok(left / right),
        _ => Err(failed!("`%` takes integers only")),
    }
}

/// Computes with decimals. Sums and differences are exact or fail. Products and quotients are
/// rounded to 28 digits.
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
            return Err(failed!("{left} cannot be divided by zero"));
        }
        Operator::Divide => left.checked_div(right),
        _ => return Err(failed!("`%` takes integers only")),
    };
    let is_sum = matches!(operator, Operator::Add | Operator::Subtract);
    // A sum that does not fit loses its last digits, which reduces its scale.
    let is_exact =
        |sum: &Decimal| sum.scale() >= left.normalize().scale().max(right.normalize().scale());
    result.filter(|result| !is_sum || is_exact(result)).ok_or_else(|| failed!("{TOO_LARGE}"))
}

pub(super) fn negate(number: Number) -> Outcome<Number> {
    match number {
        Number::Integer(integer) => integer
            .checked_neg()
            .map(Number::Integer)
            .ok_or_else(|| failed!("-({integer}) is too large for an integer")),
        Number::Double(double) => Ok(Number::Double(-double)),
        Number::Decimal(decimal) => Ok(Number::Decimal(-decimal)),
    }
}

/// Rounds half away from zero: 2.5 to 3, -2.5 to -3. The result shows `digits` decimals if they
/// fit.
pub(super) fn round(value: Decimal, digits: i64) -> Outcome<Decimal> {
    match u32::try_from(digits) {
        Ok(digits @ 0..=28) => {
            let mut rounded =
                value.round_dp_with_strategy(digits, RoundingStrategy::MidpointAwayFromZero);
            rounded.rescale(digits);
            Ok(rounded)
        }
        _ => Err(failed!("round() takes 0 to 28 digits, not {digits}")),
    }
}
