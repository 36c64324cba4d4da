//! The functions of expressions: CEL's, and what rules need beside them.

use jiff::SignedDuration;
use rust_decimal::Decimal;

use super::dates::Time;
use super::kinds::{Kind, Kinds};
use super::meter::{CONVERSION, Meter, NODE, ZONE};
use super::operator::Operator;
use super::value::{ELEMENT, List, StringValue, Val};
use super::{EvaluationError, apply, conversions, dates, failed, numbers};

type Outcome<T> = Result<T, EvaluationError>;

/// The ways to call a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// `size(x)`
    Global,
    /// `x.contains(y)`
    Method,
    /// Either way.
    Both,
}

/// A function.
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

/// Most parameters of a function.
pub(super) const MOST_PARAMETERS: usize = 2;

const SIZED: Kinds = Kinds::TEXT.or(Kinds::LIST).or(Kinds::MAP);
const NUMERIC: Kinds = Kinds::NUMBER.or(Kinds::TEXT);
const PRINTABLE: Kinds = NUMERIC.or(Kinds::BOOLEAN).or(Kinds::TIMESTAMP).or(Kinds::DURATION);
/// A time, and the zone that may be left out.
const DATED: &[Kinds] = &[Kinds::TIMESTAMP, Kinds::TEXT];
const TIMED: &[Kinds] = &[Kinds::TIMESTAMP.or(Kinds::DURATION), Kinds::TEXT];
const DOUBLE: Kinds = Kinds::of(Kind::Double);
const TYPE: Kinds = Kinds::of(Kind::Type);

type Run = for<'a> fn(&[Val<'a>; 2], &Meter) -> Outcome<Val<'a>>;

const fn both(
    name: &'static str,
    parameters: &'static [Kinds],
    result: Kinds,
    run: Run,
) -> Function {
    Function { name, style: Style::Both, parameters, is_last_optional: false, result, run }
}

const fn global(
    name: &'static str,
    parameters: &'static [Kinds],
    result: Kinds,
    run: Run,
) -> Function {
    Function { name, style: Style::Global, parameters, is_last_optional: false, result, run }
}

const fn method(
    name: &'static str,
    parameters: &'static [Kinds],
    result: Kinds,
    run: Run,
) -> Function {
    Function { name, style: Style::Method, parameters, is_last_optional: false, result, run }
}

/// A method that gives a part of a time, in the time zone that may be named.
const fn selector(name: &'static str, parameters: &'static [Kinds], run: Run) -> Function {
    Function { is_last_optional: true, ..method(name, parameters, Kinds::INTEGER, run) }
}

/// All functions. `matches`, `has` and the macros on lists are read by the compiler, since they do
/// not take values alone.
pub(super) const FUNCTIONS: &[Function] = &[
    // CEL's own.
    both("size", &[SIZED], Kinds::INTEGER, |[value, _], meter| {
        size(value, meter).map(Val::Integer)
    }),
    method("contains", &[Kinds::TEXT, Kinds::TEXT], Kinds::BOOLEAN, |[text, part], meter| {
        part_of(text, part, meter, |text, part| text.contains(part))
    }),
    method("startsWith", &[Kinds::TEXT, Kinds::TEXT], Kinds::BOOLEAN, |[text, part], meter| {
        part_of(text, part, meter, |text, part| text.starts_with(part))
    }),
    method("endsWith", &[Kinds::TEXT, Kinds::TEXT], Kinds::BOOLEAN, |[text, part], meter| {
        part_of(text, part, meter, |text, part| text.ends_with(part))
    }),
    global("int", &[NUMERIC.or(Kinds::TIMESTAMP)], Kinds::INTEGER, |[value, _], meter| {
        conversions::integer(value, meter).map(Val::Integer)
    }),
    global("double", &[NUMERIC], DOUBLE, |[value, _], meter| {
        conversions::double(value, meter).map(Val::Double)
    }),
    global("string", &[PRINTABLE], Kinds::TEXT, |[value, _], meter| {
        conversions::text(value, meter)
    }),
    global("bool", &[Kinds::BOOLEAN.or(Kinds::TEXT)], Kinds::BOOLEAN, |[value, _], _| {
        conversions::boolean(value).map(Val::Boolean)
    }),
    global("type", &[Kinds::ANY], TYPE, |[value, _], _| Ok(Val::Type(value.kind()))),
    global("dyn", &[Kinds::ANY], Kinds::ANY, |[value, _], _| Ok(value.clone())),
    global(
        "timestamp",
        &[Kinds::TEXT.or(Kinds::INTEGER).or(Kinds::TIMESTAMP)],
        Kinds::TIMESTAMP,
        |[value, _], meter| conversions::timestamp(value, meter).map(Val::Timestamp),
    ),
    global("duration", &[Kinds::TEXT.or(Kinds::DURATION)], Kinds::DURATION, |[value, _], meter| {
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
    // Texts.
    both("words", &[Kinds::TEXT], Kinds::INTEGER, |[text, _], meter| {
        words(text.as_string()?, meter)
    }),
    both("lower", &[Kinds::TEXT], Kinds::TEXT, |[text, _], meter| lower(text.as_string()?, meter)),
    both("trim", &[Kinds::TEXT], Kinds::TEXT, |[text, _], meter| trim(text, meter)),
    // Days.
    both("is_date", &[Kinds::TEXT], Kinds::BOOLEAN, |[text, _], _| {
        Ok(Val::Boolean(dates::parse(text.as_string()?).is_some()))
    }),
    both("date", &[Kinds::TIMESTAMP], Kinds::TEXT, |[time, _], meter| day_of(time, meter)),
    global("days_between", &[Kinds::TEXT, Kinds::TEXT], Kinds::INTEGER, |[from, to], meter| {
        between(from, to, meter, dates::days_between)
    }),
    global("months_between", &[Kinds::TEXT, Kinds::TEXT], Kinds::INTEGER, |[from, to], meter| {
        between(from, to, meter, dates::months_between)
    }),
    global("add_days", &[Kinds::TEXT, Kinds::INTEGER], Kinds::TEXT, |[day, count], meter| {
        later(day, count, meter, dates::add_days)
    }),
    global("add_months", &[Kinds::TEXT, Kinds::INTEGER], Kinds::TEXT, |[day, count], meter| {
        later(day, count, meter, dates::add_months)
    }),
    // Money.
    global("decimal", &[NUMERIC], Kinds::DECIMAL, |[value, _], meter| {
        conversions::decimal(value, meter).map(Val::Decimal)
    }),
    global("round", &[NUMERIC, Kinds::INTEGER], Kinds::DECIMAL, |[value, digits], meter| {
        numbers::round(conversions::decimal(value, meter)?, digits.as_integer()?).map(Val::Decimal)
    }),
    // Lists.
    both("sum", &[Kinds::LIST], Kinds::DECIMAL, |[list, _], meter| {
        sum(list.as_list()?, meter).map(Val::Decimal)
    }),
    both("min", &[Kinds::LIST], Kinds::ANY, |[list, _], meter| {
        extreme("min", list.as_list()?, meter, std::cmp::Ordering::is_lt)
    }),
    both("max", &[Kinds::LIST], Kinds::ANY, |[list, _], meter| {
        extreme("max", list.as_list()?, meter, std::cmp::Ordering::is_gt)
    }),
    both("unique", &[Kinds::LIST], Kinds::LIST, |[list, _], meter| unique(list.as_list()?, meter)),
];

/// The function of a name.
pub(super) fn named(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|function| function.name == name)
}

/// The characters of a string, the elements of a list, the keys of a map.
fn size(value: &Val<'_>, meter: &Meter) -> Outcome<i64> {
    let size = match value {
        Val::List(list) => list.len(meter)?,
        Val::Map(map) => map.len(meter)?,
        _ => {
            let text = value.as_string()?;
            meter.scan(text.len())?;
            text.chars().count()
        }
    };
    Ok(i64::try_from(size).unwrap_or(i64::MAX))
}

fn part_of<'a>(
    text: &Val<'a>,
    part: &Val<'a>,
    meter: &Meter,
    is_part: impl Fn(&str, &str) -> bool,
) -> Outcome<Val<'a>> {
    let (text, part) = (text.as_string()?, part.as_string()?);
    meter.charge(text.len() + part.len())?;
    Ok(Val::Boolean(is_part(text, part)))
}

/// The number of words, which are separated by white space.
fn words<'a>(text: &str, meter: &Meter) -> Outcome<Val<'a>> {
    meter.charge(2 * text.len())?;
    Ok(Val::Integer(i64::try_from(count_words(text)).unwrap_or(i64::MAX)))
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

fn lower<'a>(text: &str, meter: &Meter) -> Outcome<Val<'a>> {
    // A letter may take more bytes in lower case.
    meter.hold(2 * text.len())?;
    Val::made_text(meter, &text.to_lowercase())
}

fn trim<'a>(value: &Val<'a>, meter: &Meter) -> Outcome<Val<'a>> {
    meter.charge(value.as_string()?.len())?;
    match value {
        Val::String(StringValue::Borrowed(text)) => {
            Ok(Val::String(StringValue::Borrowed(text.trim())))
        }
        _ => Val::made_text(meter, value.as_string()?.trim()),
    }
}

/// The part of a time, as clocks show it in UTC or in the zone that is given.
fn part<'a, P: Into<i64>>(
    [time, zone]: &[Val<'a>; 2],
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
    arguments: &[Val<'a>; 2],
    meter: &Meter,
    part_of_time: impl Fn(Time) -> P,
    part_of_duration: impl Fn(&SignedDuration) -> i64,
) -> Outcome<Val<'a>> {
    match arguments {
        [Val::Duration(duration), Val::Null] => Ok(Val::Integer(part_of_duration(duration))),
        _ => part(arguments, meter, part_of_time),
    }
}

fn day_of<'a>(time: &Val<'a>, meter: &Meter) -> Outcome<Val<'a>> {
    meter.charge(CONVERSION)?;
    match time {
        Val::Timestamp(time) => Val::made_text(meter, &time.date().to_string()),
        _ => Err(time.is_not("a timestamp")),
    }
}

fn between<'a>(
    from: &Val<'a>,
    to: &Val<'a>,
    meter: &Meter,
    count: impl Fn(jiff::civil::Date, jiff::civil::Date) -> i64,
) -> Outcome<Val<'a>> {
    meter.charge(2 * CONVERSION)?;
    Ok(Val::Integer(count(dates::day(from.as_string()?)?, dates::day(to.as_string()?)?)))
}

fn later<'a>(
    day: &Val<'a>,
    count: &Val<'a>,
    meter: &Meter,
    add: impl Fn(jiff::civil::Date, i64) -> Outcome<jiff::civil::Date>,
) -> Outcome<Val<'a>> {
    meter.charge(2 * CONVERSION)?;
    Val::made_text(meter, &add(dates::day(day.as_string()?)?, count.as_integer()?)?.to_string())
}

/// The exact sum of numbers, and of texts that are numbers, as amounts of money often are.
fn sum(list: &List<'_>, meter: &Meter) -> Outcome<Decimal> {
    let mut sum = Decimal::ZERO;
    for element in list.iter(meter) {
        sum =
            numbers::decimals(Operator::Add, sum, conversions::decimal(&element?, meter)?, meter)?;
    }
    Ok(sum)
}

fn extreme<'a>(
    name: &str,
    list: &List<'a>,
    meter: &Meter,
    is_better: impl Fn(std::cmp::Ordering) -> bool,
) -> Outcome<Val<'a>> {
    let mut best: Option<Val<'a>> = None;
    for element in list.iter(meter) {
        let element = element?;
        let is_best = match &best {
            None => true,
            Some(best) => {
                let ordering = apply::compare(&element, best, meter)?;
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
fn unique<'a>(list: &List<'a>, meter: &Meter) -> Outcome<Val<'a>> {
    let mut kept: Vec<Val<'a>> = Vec::new();
    for element in list.iter(meter) {
        let element = element?;
        let mut is_new = true;
        for earlier in &kept {
            if element.equals(earlier, meter)? {
                is_new = false;
                break;
            }
        }
        if is_new {
            meter.hold(ELEMENT + NODE)?;
            kept.push(element);
        }
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
