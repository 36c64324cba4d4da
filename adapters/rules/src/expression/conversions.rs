//! Conversions from one kind of value to another, as `int(x)` and its like make them.

use jiff::SignedDuration;
use rust_decimal::Decimal;

use super::dates::{self, Time};
use super::meter::{CONVERSION, Meter};
use super::numbers::{self, Number};
use super::value::Val;
use super::{EvaluationError, failed, shorten};

type Outcome<T> = Result<T, EvaluationError>;

const NUMBER_OR_STRING: &str = "a number or a string that is one";

/// A decimal from a number, or from a string that is one.
pub(super) fn decimal(value: &Val<'_>, meter: &Meter) -> Outcome<Decimal> {
    if let Some(number) = value.as_number() {
        return number.decimal(meter);
    }
    meter.charge(CONVERSION)?;
    let Val::String(text) = value else { return Err(value.is_not(NUMBER_OR_STRING)) };
    numbers::decimal_of_text(text.as_str())
        .ok_or_else(|| is_not(text.as_str(), "not a decimal number such as 12.10"))
}

/// An integer from a number, towards zero, from a string that is one, or from a timestamp its seconds
/// since 1970.
pub(super) fn integer(value: &Val<'_>, meter: &Meter) -> Outcome<i64> {
    meter.charge(CONVERSION)?;
    match value {
        Val::Timestamp(time) => Ok(dates::seconds(*time)),
        Val::String(text) => {
            meter.charge(text.as_str().len())?;
            text.as_str().parse().map_err(|_| is_not(text.as_str(), "not an integer"))
        }
        _ => {
            let number = value.as_number().ok_or_else(|| value.is_not(NUMBER_OR_STRING))?;
            number
                .truncated()
                .ok_or_else(|| failed(format_args!("the number is too large for an integer")))
        }
    }
}

pub(super) fn double(value: &Val<'_>, meter: &Meter) -> Outcome<f64> {
    meter.charge(CONVERSION)?;
    let Val::String(text) = value else {
        let number = value.as_number().ok_or_else(|| value.is_not(NUMBER_OR_STRING));
        return number.map(Number::to_double);
    };
    meter.charge(text.as_str().len())?;
    text.as_str().parse().map_err(|_| is_not(text.as_str(), "not a number"))
}

pub(super) fn string<'a>(value: &Val<'a>, meter: &Meter) -> Outcome<Val<'a>> {
    meter.charge(CONVERSION)?;
    let text = match value {
        Val::String(_) => return Ok(value.clone()),
        Val::Boolean(boolean) => boolean.to_string(),
        Val::Integer(integer) => integer.to_string(),
        Val::Double(double) => double.to_string(),
        Val::Decimal(decimal) => decimal.to_string(),
        Val::Timestamp(time) => format!("{time}Z"),
        Val::Duration(duration) => {
            let seconds = Decimal::from_i128_with_scale(duration.as_nanos(), 9);
            format!("{}s", seconds.normalize())
        }
        _ => return Err(value.is_not("a string, a number, a boolean or a time")),
    };
    Val::made_string(meter, &text)
}

pub(super) fn boolean(value: &Val<'_>) -> Outcome<bool> {
    if let Val::Boolean(boolean) = value {
        return Ok(*boolean);
    }
    match value.as_string()? {
        "true" | "True" | "TRUE" | "t" | "1" => Ok(true),
        "false" | "False" | "FALSE" | "f" | "0" => Ok(false),
        text => Err(is_not(text, "neither true nor false")),
    }
}

/// A time from its text, or from the seconds since 1970.
pub(super) fn timestamp(value: &Val<'_>, meter: &Meter) -> Outcome<Time> {
    meter.charge(2 * CONVERSION)?;
    match value {
        Val::Timestamp(time) => Ok(*time),
        Val::Integer(seconds) => dates::at_second(*seconds)
            .ok_or_else(|| failed(format_args!("{seconds} seconds are beyond the range of times"))),
        _ => {
            let text = value.as_string()?;
            dates::timestamp(text).ok_or_else(|| {
                is_not(text, "not a time such as 2026-02-01T00:00:00Z, of the years 1 to 9999")
            })
        }
    }
}

pub(super) fn duration(value: &Val<'_>, meter: &Meter) -> Outcome<SignedDuration> {
    meter.charge(CONVERSION)?;
    if let Val::Duration(duration) = value {
        return Ok(*duration);
    }
    let text = value.as_string()?;
    dates::duration(text)
        .ok_or_else(|| is_not(text, "not a duration such as 24h or 1h30m, of at most 292 years"))
}

fn is_not(text: &str, wanted: &str) -> EvaluationError {
    failed(format_args!("the string \"{}\" is {wanted}", shorten(text)))
}
