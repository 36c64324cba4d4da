//! The functions of expressions: CEL's, and what rules need beside them.

use std::cmp::Ordering;

use jiff::SignedDuration;
use jiff::civil::Date;
use rust_decimal::Decimal;

use super::dates::Time;
use super::kinds::{
    ANY, BOOLEAN, DECIMAL, DOUBLE, DURATION, INTEGER, Kinds, LIST, MAP, NUMBER, STRING, TIMESTAMP,
    TYPE,
};
use super::meter::{CONVERSION, Meter, NODE, ZONE};
use super::operator::Operator;
use super::value::{ELEMENT, List, StringValue, Val};
use super::{EvaluationError, conversions, dates, failed, numbers};
use Style::{Both, Global, Method};

type Outcome<T> = Result<T, EvaluationError>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// `size(x)`
    Global,
    /// `x.contains(y)`
    Method,
    /// Either way.
    Both,
}

#[derive(Debug)]
pub(super) struct Function {
    pub name: &'static str,
    pub style: Style,
    /// Its arguments; the first of a method is the value that it is called on.
    pub parameters: &'static [Kinds],
    /// The last argument may be left out, and is null then.
    pub is_last_optional: bool,
    pub result: Kinds,
    pub run: Run,
}

pub(super) const MOST_PARAMETERS: usize = 2;

/// The arguments of a call; null where there are fewer.
type Arguments<'a> = [Val<'a>; MOST_PARAMETERS];

type Run = for<'a> fn(&Arguments<'a>, &Meter) -> Outcome<Val<'a>>;

const SIZED: Kinds = STRING.or(LIST).or(MAP);
const NUMERIC: Kinds = NUMBER.or(STRING);
const PRINTABLE: Kinds = NUMERIC.or(BOOLEAN).or(TIMESTAMP).or(DURATION);
/// A time, and the zone that may be left out.
const DATED: &[Kinds] = &[TIMESTAMP, STRING];
const TIMED: &[Kinds] = &[TIMESTAMP.or(DURATION), STRING];
const STRINGS: &[Kinds] = &[STRING, STRING];

const fn function(
    name: &'static str,
    style: Style,
    parameters: &'static [Kinds],
    result: Kinds,
    run: Run,
) -> Function {
    Function { name, style, parameters, is_last_optional: false, result, run }
}

/// A method that gives a part of a time, in the time zone that may be named.
const fn selector(name: &'static str, parameters: &'static [Kinds], run: Run) -> Function {
    Function { is_last_optional: true, ..function(name, Method, parameters, INTEGER, run) }
}

/// All functions. `matches`, `has` and the macros on lists are read by the compiler, since they do
/// not take values alone.
pub(super) const FUNCTIONS: &[Function] = &[
    // CEL's own.
    function("size", Both, &[SIZED], INTEGER, size),
    function("contains", Method, STRINGS, BOOLEAN, |strings, meter| {
        part_of(strings, meter, |text, part| text.contains(part))
    }),
    function("startsWith", Method, STRINGS, BOOLEAN, |strings, meter| {
        part_of(strings, meter, |text, part| text.starts_with(part))
    }),
    function("endsWith", Method, STRINGS, BOOLEAN, |strings, meter| {
        part_of(strings, meter, |text, part| text.ends_with(part))
    }),
    function("int", Global, &[NUMERIC.or(TIMESTAMP)], INTEGER, |[value, _], meter| {
        conversions::integer(value, meter).map(Val::Integer)
    }),
    function("double", Global, &[NUMERIC], DOUBLE, |[value, _], meter| {
        conversions::double(value, meter).map(Val::Double)
    }),
    function("string", Global, &[PRINTABLE], STRING, |[value, _], meter| {
        conversions::string(value, meter)
    }),
    function("bool", Global, &[BOOLEAN.or(STRING)], BOOLEAN, |[value, _], _| {
        conversions::boolean(value).map(Val::Boolean)
    }),
    function("type", Global, &[ANY], TYPE, |[value, _], _| Ok(Val::Type(value.kind()))),
    function("dyn", Global, &[ANY], ANY, |[value, _], _| Ok(value.clone())),
    function(
        "timestamp",
        Global,
        &[STRING.or(INTEGER).or(TIMESTAMP)],
        TIMESTAMP,
        |[value, _], meter| conversions::timestamp(value, meter).map(Val::Timestamp),
    ),
    function("duration", Global, &[STRING.or(DURATION)], DURATION, |[value, _], meter| {
        conversions::duration(value, meter).map(Val::Duration)
    }),
    selector("getFullYear", DATED, |time, meter| part(time, meter, Time::year)),
    selector("getMonth", DATED, |time, meter| part(time, meter, |time| time.month() - 1)),
    selector("getDate", DATED, |time, meter| part(time, meter, Time::day)),
    selector("getDayOfMonth", DATED, |time, meter| part(time, meter, |time| time.day() - 1)),
    selector("getDayOfWeek", DATED, |time, meter| {
        part(time, meter, |time| time.weekday().to_sunday_zero_offset())
    }),
    selector("getDayOfYear", DATED, |time, meter| part(time, meter, |time| time.day_of_year() - 1)),
    selector("getHours", TIMED, |time, meter| {
        part_or(time, meter, Time::hour, SignedDuration::as_hours)
    }),
    selector("getMinutes", TIMED, |time, meter| {
        part_or(time, meter, Time::minute, SignedDuration::as_mins)
    }),
    selector("getSeconds", TIMED, |time, meter| {
        part_or(time, meter, Time::second, SignedDuration::as_secs)
    }),
    selector("getMilliseconds", TIMED, |time, meter| {
        part_or(time, meter, Time::millisecond, |duration| duration.subsec_millis().into())
    }),
    // Strings.
    function("words", Both, &[STRING], INTEGER, words),
    function("lower", Both, &[STRING], STRING, lower),
    function("trim", Both, &[STRING], STRING, trim),
    // Days.
    function("is_date", Both, &[STRING], BOOLEAN, |[text, _], _| {
        Ok(Val::Boolean(dates::date(text.as_string()?).is_some()))
    }),
    function("date", Both, &[TIMESTAMP], STRING, day_of),
    function("days_between", Global, STRINGS, INTEGER, |days, meter| {
        between(days, meter, dates::days_between)
    }),
    function("months_between", Global, STRINGS, INTEGER, |days, meter| {
        between(days, meter, dates::months_between)
    }),
    function("add_days", Global, &[STRING, INTEGER], STRING, |arguments, meter| {
        later(arguments, meter, dates::add_days)
    }),
    function("add_months", Global, &[STRING, INTEGER], STRING, |arguments, meter| {
        later(arguments, meter, dates::add_months)
    }),
    // Money.
    function("decimal", Global, &[NUMERIC], DECIMAL, |[value, _], meter| {
        conversions::decimal(value, meter).map(Val::Decimal)
    }),
    function("round", Global, &[NUMERIC, INTEGER], DECIMAL, |[value, digits], meter| {
        numbers::round(conversions::decimal(value, meter)?, digits.as_integer()?).map(Val::Decimal)
    }),
    // Lists.
    function("sum", Both, &[LIST], DECIMAL, sum),
    function("min", Both, &[LIST], ANY, |[list, _], meter| {
        extreme("min", list.as_list()?, meter, Ordering::is_lt)
    }),
    function("max", Both, &[LIST], ANY, |[list, _], meter| {
        extreme("max", list.as_list()?, meter, Ordering::is_gt)
    }),
    function("unique", Both, &[LIST], LIST, unique),
];

pub(super) fn named(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|function| function.name == name)
}

/// The characters of a string, the elements of a list, the keys of a map.
fn size<'a>([value, _]: &Arguments<'a>, meter: &Meter) -> Outcome<Val<'a>> {
    Ok(count(match value {
        Val::List(list) => list.len(meter)?,
        Val::Map(map) => map.len(meter)?,
        _ => {
            let text = value.as_string()?;
            meter.scan(text.len())?;
            text.chars().count()
        }
    }))
}

fn count<'a>(count: usize) -> Val<'a> {
    Val::Integer(i64::try_from(count).unwrap_or(i64::MAX))
}

fn part_of<'a>(
    [text, part]: &Arguments<'a>,
    meter: &Meter,
    is_part: impl Fn(&str, &str) -> bool,
) -> Outcome<Val<'a>> {
    let (text, part) = (text.as_string()?, part.as_string()?);
    meter.charge(text.len() + part.len())?;
    Ok(Val::Boolean(is_part(text, part)))
}

/// The number of words, which are separated by white space.
fn words<'a>([text, _]: &Arguments<'a>, meter: &Meter) -> Outcome<Val<'a>> {
    let text = text.as_string()?;
    meter.charge(2 * text.len())?;
    Ok(count(count_words(text)))
}

/// Counts words many bytes at a time: rules that limit words are the most expensive of the usual
/// ones.
fn count_words(text: &str) -> usize {
    let bytes = text.as_bytes();
    if has_space_beyond_ascii(bytes) {
        return text.split_whitespace().count();
    }
    let is_space = |byte: u8| matches!(byte, b'\t'..=b'\r' | b' ');
    let first = bytes.first().is_some_and(|byte| !is_space(*byte));
    // As many as a byte can count, which are counted in one register.
    let (before, at) = (bytes.chunks(255), bytes.get(1..).unwrap_or_default().chunks(255));
    let begun = |(before, at): (&[u8], &[u8])| {
        let begins =
            before.iter().zip(at).map(|(before, at)| u8::from(is_space(*before) && !is_space(*at)));
        usize::from(begins.sum::<u8>())
    };
    usize::from(first) + before.zip(at).map(begun).sum::<usize>()
}

/// Looks for white space of more than one byte. Most strings have not even a byte with which such
/// white space begins.
fn has_space_beyond_ascii(text: &[u8]) -> bool {
    let may_begin_one = |byte: &u8| matches!(byte, 0xC2 | 0xE1..=0xE3);
    if !text.iter().fold(false, |found, byte| found | may_begin_one(byte)) {
        return false;
    }
    let mut rest = text;
    while let Some(at) = rest.iter().position(may_begin_one) {
        rest = &rest[at..];
        // Those of Unicode's property White_Space, in UTF-8.
        match rest {
            [0xC2, 0x85 | 0xA0, ..]
            | [0xE1, 0x9A, 0x80, ..]
            | [0xE2, 0x80, 0x80..=0x8A | 0xA8 | 0xA9 | 0xAF, ..]
            | [0xE2, 0x81, 0x9F, ..]
            | [0xE3, 0x80, 0x80, ..] => return true,
            _ => rest = &rest[1..],
        }
    }
    false
}

fn lower<'a>([text, _]: &Arguments<'a>, meter: &Meter) -> Outcome<Val<'a>> {
    let text = text.as_string()?;
    // A letter may take more bytes in lower case.
    meter.hold(2 * text.len())?;
    Val::made_string(meter, &text.to_lowercase())
}

fn trim<'a>([text, _]: &Arguments<'a>, meter: &Meter) -> Outcome<Val<'a>> {
    meter.charge(text.as_string()?.len())?;
    match text {
        Val::String(StringValue::Borrowed(text)) => {
            Ok(Val::String(StringValue::Borrowed(text.trim())))
        }
        _ => Val::made_string(meter, text.as_string()?.trim()),
    }
}

/// The part of a time, as clocks show it in UTC or in the zone that is given.
fn part<'a, P: Into<i64>>(
    [time, zone]: &Arguments<'a>,
    meter: &Meter,
    part: impl Fn(Time) -> P,
) -> Outcome<Val<'a>> {
    meter.charge(CONVERSION)?;
    let Val::Timestamp(time) = time else { return Err(time.is_not("a timestamp")) };
    if let Val::Null = zone {
        return Ok(Val::Integer(part(*time).into()));
    }
    meter.charge(ZONE)?;
    Ok(Val::Integer(part(dates::in_zone(*time, zone.as_string()?)?).into()))
}

/// The hour, minute or second of a time, and all hours, minutes or seconds of a duration.
fn part_or<'a, P: Into<i64>>(
    arguments: &Arguments<'a>,
    meter: &Meter,
    part_of_time: impl Fn(Time) -> P,
    part_of_duration: impl Fn(&SignedDuration) -> i64,
) -> Outcome<Val<'a>> {
    match arguments {
        [Val::Duration(duration), Val::Null] => Ok(Val::Integer(part_of_duration(duration))),
        _ => part(arguments, meter, part_of_time),
    }
}

fn day_of<'a>([time, _]: &Arguments<'a>, meter: &Meter) -> Outcome<Val<'a>> {
    meter.charge(CONVERSION)?;
    match time {
        Val::Timestamp(time) => Val::made_string(meter, &time.date().to_string()),
        _ => Err(time.is_not("a timestamp")),
    }
}

fn between<'a>(
    [from, to]: &Arguments<'a>,
    meter: &Meter,
    count: impl Fn(Date, Date) -> i64,
) -> Outcome<Val<'a>> {
    meter.charge(2 * CONVERSION)?;
    Ok(Val::Integer(count(dates::day(from.as_string()?)?, dates::day(to.as_string()?)?)))
}

fn later<'a>(
    [day, count]: &Arguments<'a>,
    meter: &Meter,
    add: impl Fn(Date, i64) -> Outcome<Date>,
) -> Outcome<Val<'a>> {
    meter.charge(2 * CONVERSION)?;
    Val::made_string(meter, &add(dates::day(day.as_string()?)?, count.as_integer()?)?.to_string())
}

/// The exact sum of numbers, and of strings that are numbers, as amounts of money often are.
fn sum<'a>([list, _]: &Arguments<'a>, meter: &Meter) -> Outcome<Val<'a>> {
    let mut sum = Decimal::ZERO;
    for element in list.as_list()?.iter(meter) {
        let element = conversions::decimal(&element?, meter)?;
        sum = numbers::decimals(Operator::Add, sum, element, meter)?;
    }
    Ok(Val::Decimal(sum))
}

fn extreme<'a>(
    name: &str,
    list: &List<'a>,
    meter: &Meter,
    is_better: impl Fn(Ordering) -> bool,
) -> Outcome<Val<'a>> {
    let mut best: Option<Val<'a>> = None;
    for element in list.iter(meter) {
        let element = element?;
        let is_best = match &best {
            None => true,
            Some(best) => {
                meter.charge(NODE)?;
                let ordering = element.compare(best, meter)?;
                let unordered = || {
                    let kinds = (element.kind().with_article(), best.kind().with_article());
                    failed(format_args!("{name}() cannot order {} and {}", kinds.0, kinds.1))
                };
                is_better(ordering.ok_or_else(unordered)?)
            }
        };
        if is_best {
            best = Some(element);
        }
    }
    best.ok_or_else(|| {
        failed(format_args!("{name}() of an empty list is nothing; test size() before"))
    })
}

/// The elements without those that equal an earlier one.
fn unique<'a>([list, _]: &Arguments<'a>, meter: &Meter) -> Outcome<Val<'a>> {
    let mut kept: Vec<Val<'a>> = Vec::new();
    'elements: for element in list.as_list()?.iter(meter) {
        let element = element?;
        for earlier in &kept {
            if element.equals(earlier, meter)? {
                continue 'elements;
            }
        }
        meter.hold(ELEMENT + NODE)?;
        kept.push(element);
    }
    Ok(Val::made_list(kept))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::count_words;

    #[test]
    fn every_white_space_parts_words() {
        for space in (0..=0x0010_FFFF).filter_map(char::from_u32) {
            let text = format!("a{space}’ñ");
            assert_eq!(count_words(&text), text.split_whitespace().count(), "{space:?}");
        }
    }

    proptest! {
        #[test]
        fn words_are_what_stands_between_white_space(text in "([a-z \t-\r]{0,300})|([ -~\t-\r\x1c-\x1f\u{85}\u{a0}\u{3000}ñ’]{0,40})") {
            prop_assert_eq!(count_words(&text), text.split_whitespace().count());
        }
    }
}
