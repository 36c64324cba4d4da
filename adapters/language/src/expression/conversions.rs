use rust_decimal::Decimal;

use super::dates;
use super::meter::{CONVERSION, Meter};
use super::numbers::{self, Number};
use super::value::Val;
use super::{EvaluationError, Outcome, shorten};

const NUMBER_OR_STRING: &str = "a number or a string that is one";

pub(super) fn decimal(value: &Val<'_>, meter: &Meter) -> Outcome<Decimal> {
    if let Some(number) = value.as_number() {
        return number.decimal(meter);
    }
    meter.charge(CONVERSION)?;
    let Val::String(text) = value else { return Err(value.is_not(NUMBER_OR_STRING)) };
    numbers::decimal_of_text(text.as_str())
        .ok_or_else(|| is_not(text.as_str(), "not a decimal number such as 12.10"))
}

/// Splits money such as `24500000.00 PHP` into its amount and its currency, by the form of ISO 4217.
pub(super) fn amount<'v>(value: &'v Val<'_>, meter: &Meter) -> Outcome<(Decimal, &'v str)> {
    const WANTED: &str = "not an amount of money such as 24500000.00 PHP";
    meter.charge(CONVERSION)?;
    let text = value.as_string()?;
    let is_currency =
        |code: &str| code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase());
    text.split_once(' ')
        .filter(|(_, currency)| is_currency(currency))
        .and_then(|(amount, currency)| Some((numbers::decimal_of_text(amount)?, currency)))
        .ok_or_else(|| is_not(text, WANTED))
}

pub(super) fn integer<'a>(value: &Val<'a>, meter: &Meter) -> Outcome<Val<'a>> {
    meter.charge(CONVERSION)?;
    let integer = match value {
        Val::Timestamp(time) => dates::seconds(*time),
        Val::String(text) => {
            meter.charge(text.as_str().len())?;
            text.as_str().parse().map_err(|_| is_not(text.as_str(), "not an integer"))?
        }
        _ => {
            let number = value.as_number().ok_or_else(|| value.is_not(NUMBER_OR_STRING))?;
            number.truncated().ok_or_else(|| failed!("the number is too large for an integer"))?
        }
    };
    Ok(Val::Integer(integer))
}

pub(super) fn double<'a>(value: &Val<'a>, meter: &Meter) -> Outcome<Val<'a>> {
    meter.charge(CONVERSION)?;
    let double = if let Val::String(text) = value {
        meter.charge(text.as_str().len())?;
        text.as_str().parse().map_err(|_| is_not(text.as_str(), "not a number"))
    } else {
        let number = value.as_number().ok_or_else(|| value.is_not(NUMBER_OR_STRING));
        number.map(Number::to_double)
    };
    double.map(Val::Double)
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

pub(super) fn boolean<'a>(value: &Val<'a>, _: &Meter) -> Outcome<Val<'a>> {
    if let Val::Boolean(_) = value {
        return Ok(value.clone());
    }
    match value.as_string()? {
        "true" | "True" | "TRUE" | "t" | "1" => Ok(Val::Boolean(true)),
        "false" | "False" | "FALSE" | "f" | "0" => Ok(Val::Boolean(false)),
        text => Err(is_not(text, "neither true nor false")),
    }
}

pub(super) fn timestamp<'a>(value: &Val<'a>, meter: &Meter) -> Outcome<Val<'a>> {
    const WANTED: &str = "not a time such as 2026-02-01T00:00:00Z, of the years 1 to 9999";
    meter.charge(2 * CONVERSION)?;
    let time = match value {
        Val::Timestamp(time) => Ok(*time),
        Val::Integer(seconds) => dates::at_second(*seconds)
            .ok_or_else(|| failed!("{seconds} seconds are beyond the range of times")),
        _ => {
            let text = value.as_string()?;
            dates::timestamp(text).ok_or_else(|| is_not(text, WANTED))
        }
    };
    time.map(Val::Timestamp)
}

pub(super) fn duration<'a>(value: &Val<'a>, meter: &Meter) -> Outcome<Val<'a>> {
    const WANTED: &str = "not a duration such as 24h or 1h30m, of at most 292 years";
    meter.charge(CONVERSION)?;
    if let Val::Duration(_) = value {
        return Ok(value.clone());
    }
    let text = value.as_string()?;
    dates::duration(text).map(Val::Duration).ok_or_else(|| is_not(text, WANTED))
}

fn is_not(text: &str, wanted: &str) -> EvaluationError {
    failed!("the string \"{}\" is {wanted}", shorten(text))
}
