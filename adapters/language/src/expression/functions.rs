//! Functions of expressions: those of CEL, and additions for rules.

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
use super::value::{ELEMENT, StringVal, Val};
use super::{Outcome, conversions, dates, identifiers, numbers};
use Run::{Between, Extreme, Identifies, Later, One, PartOf, Selector, Two};
use Style::{Both, Global, Method};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Global,
    Method,
    Both,
}

#[derive(Debug)]
pub(super) struct Function {
    pub name: &'static str,
    pub style: Style,
    pub parameters: &'static [Kinds],
    pub is_last_optional: bool,
    pub result: Kinds,
    run: Run,
}

pub(super) const MOST_PARAMETERS: usize = 2;

#[derive(Clone, Copy, Debug)]
enum Run {
    One(for<'a> fn(&Val<'a>, &Meter) -> Outcome<Val<'a>>),
    Two(for<'a> fn(&Val<'a>, &Val<'a>, &Meter) -> Outcome<Val<'a>>),
    PartOf(fn(&str, &str) -> bool),
    Identifies(fn(&str) -> bool),
    Between(fn(Date, Date) -> i64),
    Later(fn(Date, i64) -> Outcome<Date>),
    Selector(fn(Time) -> i64, Option<fn(&SignedDuration) -> i64>),
    Extreme(fn(Ordering) -> bool),
}

const SIZED: Kinds = STRING.or(LIST).or(MAP);
const NUMERIC: Kinds = NUMBER.or(STRING);
const PRINTABLE: Kinds = NUMERIC.or(BOOLEAN).or(TIMESTAMP).or(DURATION);
const TEMPORAL: Kinds = STRING.or(INTEGER).or(TIMESTAMP);
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

const fn selector(
    name: &'static str,
    of_time: fn(Time) -> i64,
    of_duration: Option<fn(&SignedDuration) -> i64>,
) -> Function {
    let parameters = if of_duration.is_some() { TIMED } else { DATED };
    let run = Selector(of_time, of_duration);
    Function { is_last_optional: true, ..function(name, Method, parameters, INTEGER, run) }
}

/// All functions. The compiler handles `matches`, `has` and the macros on lists: their arguments
/// are not plain values.
pub(super) const FUNCTIONS: &[Function] = &[
    // CEL's own.
    function("size", Both, &[SIZED], INTEGER, One(size)),
    function("contains", Method, STRINGS, BOOLEAN, PartOf(|text, part| text.contains(part))),
    function("startsWith", Method, STRINGS, BOOLEAN, PartOf(|text, part| text.starts_with(part))),
    function("endsWith", Method, STRINGS, BOOLEAN, PartOf(|text, part| text.ends_with(part))),
    function("int", Global, &[NUMERIC.or(TIMESTAMP)], INTEGER, One(conversions::integer)),
    function("double", Global, &[NUMERIC], DOUBLE, One(conversions::double)),
    function("string", Global, &[PRINTABLE], STRING, One(conversions::string)),
    function("bool", Global, &[BOOLEAN.or(STRING)], BOOLEAN, One(conversions::boolean)),
    function("type", Global, &[ANY], TYPE, One(|value, _| Ok(Val::Type(value.kind())))),
    function("dyn", Global, &[ANY], ANY, One(|value, _| Ok(value.clone()))),
    function("timestamp", Global, &[TEMPORAL], TIMESTAMP, One(conversions::timestamp)),
    function("duration", Global, &[STRING.or(DURATION)], DURATION, One(conversions::duration)),
    selector("getFullYear", |time| time.year().into(), None),
    selector("getMonth", |time| (time.month() - 1).into(), None),
    selector("getDate", |time| time.day().into(), None),
    selector("getDayOfMonth", |time| (time.day() - 1).into(), None),
    selector("getDayOfWeek", |time| time.weekday().to_sunday_zero_offset().into(), None),
    selector("getDayOfYear", |time| (time.day_of_year() - 1).into(), None),
    selector("getHours", |time| time.hour().into(), Some(SignedDuration::as_hours)),
    selector("getMinutes", |time| time.minute().into(), Some(SignedDuration::as_mins)),
    selector("getSeconds", |time| time.second().into(), Some(SignedDuration::as_secs)),
    selector("getMilliseconds", |time| time.millisecond().into(), Some(milliseconds)),
    // Strings.
    function("words", Both, &[STRING], INTEGER, One(words)),
    function("lower", Both, &[STRING], STRING, One(lower)),
    function("trim", Both, &[STRING], STRING, One(trim)),
    // Days.
    function("is_date", Both, &[STRING], BOOLEAN, One(is_date)),
    function("date", Both, &[TIMESTAMP], STRING, One(day_of)),
    function("days_between", Global, STRINGS, INTEGER, Between(dates::days_between)),
    function("months_between", Global, STRINGS, INTEGER, Between(dates::months_between)),
    function("add_days", Global, &[STRING, INTEGER], STRING, Later(dates::add_days)),
    function("add_months", Global, &[STRING, INTEGER], STRING, Later(dates::add_months)),
    // Money.
    function("decimal", Global, &[NUMERIC], DECIMAL, One(decimal)),
    function("round", Global, &[NUMERIC, INTEGER], DECIMAL, Two(round)),
    function("amount", Global, &[STRING], DECIMAL, One(amount)),
    function("currency", Global, &[STRING], STRING, One(currency)),
    // Identifiers.
    function("orcid", Global, &[STRING], BOOLEAN, Identifies(identifiers::is_orcid)),
    function("ror", Global, &[STRING], BOOLEAN, Identifies(identifiers::is_ror)),
    function("doi", Global, &[STRING], BOOLEAN, Identifies(identifiers::is_doi)),
    // Lists.
    function("sum", Both, &[LIST], DECIMAL, One(sum)),
    function("min", Both, &[LIST], ANY, Extreme(Ordering::is_lt)),
    function("max", Both, &[LIST], ANY, Extreme(Ordering::is_gt)),
    function("unique", Both, &[LIST], LIST, One(unique)),
    function("latest", Global, &[LIST], ANY, One(latest)),
];

pub(super) fn named(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|function| function.name == name)
}

impl Function {
    pub(super) fn call<'a>(
        &self,
        [first, second]: &[Val<'a>; MOST_PARAMETERS],
        meter: &Meter,
    ) -> Outcome<Val<'a>> {
        match self.run {
            One(run) => run(first, meter),
            Two(run) => run(first, second, meter),
            PartOf(is_part) => {
                let (text, part) = (first.as_string()?, second.as_string()?);
                meter.charge(text.len() + part.len())?;
                Ok(Val::Boolean(is_part(text, part)))
            }
            Identifies(is_one) => {
                let text = first.as_string()?;
                meter.charge(CONVERSION + text.len())?;
                Ok(Val::Boolean(is_one(text)))
            }
            Between(count) => {
                meter.charge(2 * CONVERSION)?;
                let (from, to) = (first.as_string()?, second.as_string()?);
                Ok(Val::Integer(count(dates::day(from)?, dates::day(to)?)))
            }
            Later(add) => {
                meter.charge(2 * CONVERSION)?;
                let later = add(dates::day(first.as_string()?)?, second.as_integer()?)?;
                Val::made_string(meter, &later.to_string())
            }
            Selector(of_time, of_duration) => match (of_duration, first, second) {
                (Some(part), Val::Duration(duration), Val::Null) => {
                    Ok(Val::Integer(part(duration)))
                }
                _ => part(first, second, meter, of_time),
            },
            Extreme(is_better) => extreme(self.name, first, meter, is_better),
        }
    }
}

fn size<'a>(value: &Val<'a>, meter: &Meter) -> Outcome<Val<'a>> {
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

fn words<'a>(text: &Val<'a>, meter: &Meter) -> Outcome<Val<'a>> {
    let text = text.as_string()?;
    meter.charge(2 * text.len())?;
    Ok(count(count_words(text)))
}

/// Counts words in chunks of bytes: word limits are the most expensive common rules.
fn count_words(text: &str) -> usize {
    let bytes = text.as_bytes();
    if has_space_beyond_ascii(bytes) {
        return text.split_whitespace().count();
    }
    let is_space = |byte: u8| matches!(byte, b'\t'..=b'\r' | b' ');
    let first = bytes.first().is_some_and(|byte| !is_space(*byte));
    // Chunks of 255 bytes: one-byte counters, in one register, cannot overflow.
    let (before, at) = (bytes.chunks(255), bytes.get(1..).unwrap_or_default().chunks(255));
    let begun = |(before, at): (&[u8], &[u8])| {
        let begins =
            before.iter().zip(at).map(|(before, at)| u8::from(is_space(*before) && !is_space(*at)));
        usize::from(begins.sum::<u8>())
    };
    usize::from(first) + before.zip(at).map(begun).sum::<usize>()
}

/// Searches for multi-byte white space. Most strings lack even its first bytes.
fn has_space_beyond_ascii(text: &[u8]) -> bool {
    let may_begin_one = |byte: &u8| matches!(byte, 0xC2 | 0xE1..=0xE3);
    if !text.iter().fold(false, |found, byte| found | may_begin_one(byte)) {
        return false;
    }
    let mut rest = text;
    while let Some(at) = rest.iter().position(may_begin_one) {
        rest = &rest[at..];
        // The Unicode property White_Space, in UTF-8.
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

fn lower<'a>(text: &Val<'a>, meter: &Meter) -> Outcome<Val<'a>> {
    let text = text.as_string()?;
    // A letter may take more bytes in lower case.
    meter.hold(2 * text.len())?;
    Val::made_string(meter, &text.to_lowercase())
}

fn trim<'a>(text: &Val<'a>, meter: &Meter) -> Outcome<Val<'a>> {
    meter.charge(text.as_string()?.len())?;
    match text {
        Val::String(StringVal::Borrowed(text)) => Ok(Val::String(StringVal::Borrowed(text.trim()))),
        _ => Val::made_string(meter, text.as_string()?.trim()),
    }
}

fn milliseconds(duration: &SignedDuration) -> i64 {
    duration.subsec_millis().into()
}

fn part<'a>(
    time: &Val<'a>,
    zone: &Val<'a>,
    meter: &Meter,
    part: fn(Time) -> i64,
) -> Outcome<Val<'a>> {
    meter.charge(CONVERSION)?;
    let Val::Timestamp(time) = time else { return Err(time.is_not("a timestamp")) };
    if let Val::Null = zone {
        return Ok(Val::Integer(part(*time)));
    }
    meter.charge(ZONE)?;
    Ok(Val::Integer(part(dates::in_zone(*time, zone.as_string()?)?)))
}

fn is_date<'a>(text: &Val<'a>, _: &Meter) -> Outcome<Val<'a>> {
    Ok(Val::Boolean(dates::date(text.as_string()?).is_some()))
}

fn day_of<'a>(time: &Val<'a>, meter: &Meter) -> Outcome<Val<'a>> {
    meter.charge(CONVERSION)?;
    match time {
        Val::Timestamp(time) => Val::made_string(meter, &time.date().to_string()),
        _ => Err(time.is_not("a timestamp")),
    }
}

fn decimal<'a>(value: &Val<'a>, meter: &Meter) -> Outcome<Val<'a>> {
    conversions::decimal(value, meter).map(Val::Decimal)
}

fn round<'a>(value: &Val<'a>, digits: &Val<'a>, meter: &Meter) -> Outcome<Val<'a>> {
    numbers::round(conversions::decimal(value, meter)?, digits.as_integer()?).map(Val::Decimal)
}

fn amount<'a>(value: &Val<'a>, meter: &Meter) -> Outcome<Val<'a>> {
    conversions::amount(value, meter).map(|(amount, _)| Val::Decimal(amount))
}

fn currency<'a>(value: &Val<'a>, meter: &Meter) -> Outcome<Val<'a>> {
    let (_, currency) = conversions::amount(value, meter)?;
    Val::made_string(meter, currency)
}

fn sum<'a>(list: &Val<'a>, meter: &Meter) -> Outcome<Val<'a>> {
    let mut sum = Decimal::ZERO;
    for element in list.as_list()?.iter(meter) {
        let element = conversions::decimal(&element?, meter)?;
        sum = numbers::decimals(Operator::Add, sum, element, meter)?;
    }
    Ok(Val::Decimal(sum))
}

fn extreme<'a>(
    name: &str,
    list: &Val<'a>,
    meter: &Meter,
    is_better: fn(Ordering) -> bool,
) -> Outcome<Val<'a>> {
    let mut best: Option<Val<'a>> = None;
    for element in list.as_list()?.iter(meter) {
        let element = element?;
        let is_best = match &best {
            None => true,
            Some(best) => {
                meter.charge(NODE)?;
                let ordering = element.compare(best, meter)?;
                let unordered = || {
                    let kinds = (element.kind().with_article(), best.kind().with_article());
                    failed!("{name}() cannot order {} and {}", kinds.0, kinds.1)
                };
                is_better(ordering.ok_or_else(unordered)?)
            }
        };
        if is_best {
            best = Some(element);
        }
    }
    best.ok_or_else(|| failed!("{name}() of an empty list has no value; test size() first"))
}

fn unique<'a>(list: &Val<'a>, meter: &Meter) -> Outcome<Val<'a>> {
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

/// Returns the last element: lookups find items in the order of their creation.
fn latest<'a>(list: &Val<'a>, meter: &Meter) -> Outcome<Val<'a>> {
    list.as_list()?.iter(meter).last().unwrap_or(Ok(Val::Null))
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
        fn words_are_separated_by_white_space(text in "([a-z \t-\r]{0,300})|([ -~\t-\r\x1c-\x1f\u{85}\u{a0}\u{3000}ñ’]{0,40})") {
            prop_assert_eq!(count_words(&text), text.split_whitespace().count());
        }
    }
}
