//! Dates, times and numbers as people of a language write them (CLDR).

use std::sync::{Arc, LazyLock};

use icu_calendar::Iso;
use icu_datetime::fieldsets::{YMD, YMDT};
use icu_datetime::input::{Date, DateTime, Time};
use icu_datetime::options::TimePrecision;
use icu_datetime::{DateTimeFormatter, DateTimeFormatterPreferences};
use icu_decimal::DecimalFormatter;
use icu_decimal::input::Decimal;
use icu_decimal::options::DecimalFormatterOptions;
use icu_locale_core::Locale;
use jiff::civil;
use quick_cache::sync::Cache;

/// The language of pages without another.
pub const ENGLISH: &str = "en";

/// Clients choose the languages.
const MOST_LANGUAGES: usize = 64;

pub struct Formats {
    date: DateTimeFormatter<YMD>,
    time: DateTimeFormatter<YMDT>,
    number: DecimalFormatter,
    /// A tag of BCP 47.
    pub language: String,
}

impl Formats {
    /// Returns the formats of the first language that is known, else those of English.
    pub fn of_first(tags: &[&str]) -> Arc<Self> {
        static KNOWN: LazyLock<Cache<String, Arc<Formats>>> =
            LazyLock::new(|| Cache::new(MOST_LANGUAGES));
        let formats = |tag: &str| {
            KNOWN.get_or_insert_with(tag, || Self::of(tag).map(Arc::new).ok_or(())).ok()
        };
        let known = tags.iter().copied().find_map(formats);
        known.or_else(|| formats(ENGLISH)).expect("English is known")
    }

    /// `None` if CLDR does not know the language.
    fn of(tag: &str) -> Option<Self> {
        let locale: Locale = tag.parse().ok()?;
        let preferences: DateTimeFormatterPreferences = (&locale).into();
        let minutes = YMDT::medium().with_time_precision(TimePrecision::Minute);
        let options = DecimalFormatterOptions::default();
        let formats = Self {
            date: DateTimeFormatter::try_new(preferences, YMD::medium()).ok()?,
            time: DateTimeFormatter::try_new(preferences, minutes).ok()?,
            number: DecimalFormatter::try_new((&locale).into(), options).ok()?,
            language: tag.to_owned(),
        };
        // Unknown languages have the names of no language.
        (!formats.date(civil::date(2026, 1, 1)).contains("M01")).then_some(formats)
    }

    pub fn date(&self, day: civil::Date) -> String {
        iso(day).map_or_else(|| day.to_string(), |date| self.date.format(&date).to_string())
    }

    pub fn time(&self, at: civil::DateTime) -> String {
        let part = |number: i8| u8::try_from(number).unwrap_or_default();
        let time = Time::try_new(part(at.hour()), part(at.minute()), part(at.second()), 0);
        match (iso(at.date()), time) {
            (Some(date), Ok(time)) => self.time.format(&DateTime { date, time }).to_string(),
            _ => at.to_string(),
        }
    }

    /// `None` if the text is not a decimal number.
    pub fn number(&self, text: &str) -> Option<String> {
        let number: Decimal = text.parse().ok()?;
        Some(self.number.format(&number).to_string())
    }
}

fn iso(day: civil::Date) -> Option<Date<Iso>> {
    let part = |number: i8| u8::try_from(number).ok();
    Date::try_new_iso(day.year().into(), part(day.month())?, part(day.day())?).ok()
}

#[cfg(test)]
mod tests {
    use jiff::civil::{date, datetime};

    use super::Formats;

    #[test]
    fn each_language_has_its_forms() {
        for (tag, day, time, number) in [
            ("en", "Jan 31, 2026", "Dec 1, 2026, 12:05\u{202f}AM", "-1,234,567.50"),
            ("en-GB", "31 Jan 2026", "1 Dec 2026, 00:05", "-1,234,567.50"),
            ("de", "31.01.2026", "01.12.2026, 00:05", "-1.234.567,50"),
            ("DE-at", "31.01.2026", "01.12.2026, 00:05", "-1\u{a0}234\u{a0}567,50"),
            ("fil-PH", "Ene 31, 2026", "Dis 1, 2026, 12:05\u{202f}AM", "-1,234,567.50"),
            ("hi", "31 जन॰ 2026", "1 दिस॰ 2026, 12:05 am", "-12,34,567.50"),
            ("ja", "2026/01/31", "2026/12/01 0:05", "-1,234,567.50"),
        ] {
            let formats = Formats::of(tag).unwrap();
            assert_eq!(formats.date(date(2026, 1, 31)), day);
            assert_eq!(formats.time(datetime(2026, 12, 1, 0, 5, 59, 0)), time);
            assert_eq!(formats.number("-1234567.50").as_deref(), Some(number));
            for text in ["", "-", "1.", "1,5", "a", "1 000", "0x1"] {
                assert_eq!(formats.number(text), None, "{text}");
            }
        }
    }

    #[test]
    fn the_first_known_language_counts_else_english() {
        for (tags, expected) in [
            (&["xx", "tlh-Latn", "und", "de", "en"][..], "de"),
            (&["*", "", "-", "d", "de_", "toolongforatag", "ä"], "en"),
            (&["xx-u-nu-arab"], "en"),
            (&["de-u-nu-arab"], "de-u-nu-arab"),
            (&[], "en"),
        ] {
            assert_eq!(Formats::of_first(tags).language, expected, "{tags:?}");
        }
        // More languages than are kept.
        for number in 0..1_000 {
            let tag = format!("de-x-a{number}");
            assert_eq!(Formats::of_first(&[&tag]).date(date(2026, 1, 1)), "01.01.2026");
        }
    }
}
