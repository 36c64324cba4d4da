//! The reader of a page: the language, the labels and the time zone.

mod formats;

use std::sync::Arc;

use application::{FieldLabels, LabelSet, Labels};
use domain::{Collection, Fields};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use poem::http::HeaderMap;
use poem::http::header::ACCEPT_LANGUAGE;

use crate::explorer::cells::capitalized;
use crate::groups::GroupSpec;
use crate::headers::quality_list::elements;
use crate::time::TIME;
use formats::Formats;

/// Clients choose the tags of languages.
const MOST_TAGS: usize = 20;
const LONGEST_TAG: usize = 35;

/// Earlier years are mistakes, and formats add the era to them.
const FIRST_YEAR: i16 = 1000;

pub struct Reader {
    pub labels: Arc<LabelSet>,
    /// The index of the language of labels.
    language: usize,
    formats: Arc<Formats>,
    zone: TimeZone,
}

/// A time as people write it, and as RFC 3339 has it.
pub struct ShownTime {
    pub written: String,
    pub exact: String,
}

impl Reader {
    pub fn of(headers: &HeaderMap, labels: &dyn Labels, zone: &TimeZone) -> Self {
        let mut tags: Vec<_> = elements(headers, &ACCEPT_LANGUAGE)
            .into_iter()
            .flatten()
            .filter(|element| element.quality > 0 && element.name.len() <= LONGEST_TAG)
            .take(MOST_TAGS)
            .collect();
        tags.sort_by_key(|element| std::cmp::Reverse(element.quality));
        let tags: Vec<_> = tags.into_iter().map(|element| element.name).collect();
        let labels = labels.in_force();
        let language = tags.iter().find_map(|tag| language_of(&labels, tag)).unwrap_or_default();
        Self { language, formats: Formats::of_first(&tags), zone: zone.clone(), labels }
    }

    /// The language of dates and numbers.
    pub fn locale(&self) -> &str {
        &self.formats.language
    }

    pub fn zone(&self) -> &str {
        self.zone.iana_name().unwrap_or("UTC")
    }

    pub fn agency(&self) -> Option<&str> {
        Some(self.labels.name.as_ref()?.in_language(self.language))
    }

    pub fn group(&self, collection: Collection) -> &str {
        let own = self.labels.groups.get(&collection).and_then(|group| group.label.as_ref());
        own.map_or(GroupSpec::of(collection).label, |label| label.in_language(self.language))
    }

    /// The label of a member: that of the agency, the service's, or one made of the name.
    pub fn label(&self, collection: Collection, member: &str) -> String {
        let own = self.field(collection, member).and_then(|field| field.label.as_ref());
        if let Some(own) = own {
            return own.in_language(self.language).to_owned();
        }
        let known = match collection.spec().fields {
            Fields::Typed(fields) => {
                fields.iter().find(|field| field.name == member).map(|field| field.label)
            }
            Fields::Open(members) => {
                members.iter().find(|known| known.name == member).map(|known| known.label)
            }
        };
        let known = known.or(match member {
            "created_at" => Some("Created"),
            "updated_at" => Some("Changed"),
            "id" => Some("Identifier"),
            _ => None,
        });
        known.map_or_else(|| capitalized(&member.replace('_', " ")), str::to_owned)
    }

    pub fn help<'a>(
        &'a self,
        collection: Collection,
        member: &str,
        description: &'a str,
    ) -> &'a str {
        let own = self.field(collection, member).and_then(|field| field.help.as_ref());
        own.map_or(description, |help| help.in_language(self.language))
    }

    /// Values and labels of the agency's choices.
    pub fn choices(&self, collection: Collection, member: &str) -> Vec<(String, String)> {
        let field = self.field(collection, member);
        let choices = field.into_iter().flat_map(|field| &field.choices);
        let choice = |choice: &application::Choice| {
            let label = choice.label.as_ref().map(|label| label.in_language(self.language));
            (choice.value.to_string(), label.unwrap_or(&choice.value).to_owned())
        };
        choices.map(choice).collect()
    }

    fn field(&self, collection: Collection, member: &str) -> Option<&FieldLabels> {
        self.labels.field(collection, member)
    }

    pub fn time(&self, time: Timestamp) -> ShownTime {
        let local = self.zone.to_datetime(time);
        let exact = TIME.timestamp_to_string(&time);
        ShownTime { written: self.formats.time(local), exact }
    }

    /// The label of a value among the agency's choices, else the value as people write it.
    pub fn choice(&self, collection: Collection, member: &str, value: &str) -> String {
        let mut choices = self.field(collection, member).into_iter().flat_map(|it| &it.choices);
        let choice = choices.find(|choice| *choice.value == *value);
        let label = choice.and_then(|choice| choice.label.as_ref());
        let label = label.map(|label| label.in_language(self.language).to_owned());
        let summed = collection.spec().summed.iter().flat_map(|summed| summed.months);
        let is_summed = is_amount(value) && summed.into_iter().any(|month| month == member);
        let amount = || self.formats.number(value).filter(|_| is_summed);
        label.or_else(|| self.text(value)).or_else(amount).unwrap_or_else(|| value.to_owned())
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "templates pass references")]
    pub fn count(&self, number: &u64) -> String {
        let number = number.to_string();
        self.formats.number(&number).unwrap_or(number)
    }

    /// A string as people of the language write it: a date, a time, or an amount with its currency.
    pub fn text(&self, text: &str) -> Option<String> {
        let digits = text.bytes().next().is_some_and(|byte| byte.is_ascii_digit() || byte == b'-');
        if !digits || text.len() > 40 {
            return None;
        }
        if let Some(day) = text.parse::<Date>().ok().filter(|_| text.len() == 10) {
            return (day.year() >= FIRST_YEAR).then(|| self.formats.date(day));
        }
        if text.len() >= 20
            && let Ok(time) = text.parse::<Timestamp>()
        {
            let is_usual = self.zone.to_datetime(time).year() >= FIRST_YEAR;
            return is_usual.then(|| self.time(time).written);
        }
        let (number, currency) = text.split_once(' ')?;
        let is_currency = currency.len() == 3 && currency.bytes().all(|it| it.is_ascii_uppercase());
        let number = self.formats.number(number).filter(|_| is_currency && is_amount(number))?;
        Some(format!("{currency} {number}"))
    }
}

/// Two decimal places, and no leading zero as in a code.
fn is_amount(text: &str) -> bool {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let whole = whole.strip_prefix('-').unwrap_or(whole);
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    decimals.len() == 2
        && is_number(decimals)
        && is_number(whole)
        && (whole == "0" || !whole.is_empty() && !whole.starts_with('0'))
}

/// The lookup of RFC 4647 section 3.4: `fil-PH` also finds `fil`.
fn language_of(labels: &LabelSet, tag: &str) -> Option<usize> {
    let known = |tag: &str| labels.languages.iter().position(|it| it.eq_ignore_ascii_case(tag));
    std::iter::successors(Some(tag), |tag| tag.rfind('-').map(|end| &tag[..end])).find_map(known)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use application::{LabelSet, Labels};
    use jiff::tz::{TimeZone, offset};
    use poem::http::header::ACCEPT_LANGUAGE;
    use poem::http::{HeaderMap, HeaderValue};

    use super::Reader;

    #[derive(Debug)]
    struct Fixed(Arc<LabelSet>);

    impl Labels for Fixed {
        fn in_force(&self) -> Arc<LabelSet> {
            Arc::clone(&self.0)
        }

        fn edition(&self) -> u64 {
            0
        }
    }

    fn reader(accepted: &[u8]) -> Reader {
        let mut headers = HeaderMap::new();
        if !accepted.is_empty() {
            headers.insert(ACCEPT_LANGUAGE, HeaderValue::from_bytes(accepted).unwrap());
        }
        let languages = ["en", "fil", "zh-Hant"].map(Into::into).into();
        let labels = Fixed(Arc::new(LabelSet { languages, ..LabelSet::default() }));
        Reader::of(&headers, &labels, &TimeZone::fixed(offset(8)))
    }

    #[test]
    fn the_first_known_language_of_the_request_is_chosen() {
        let long = format!("{},fil", "a".repeat(10_000));
        let parts = format!("de{},fil", "-a1b2c3d4".repeat(2_000));
        let many = format!("{}fil", "xx;q=0.9,".repeat(10_000));
        for (accepted, of_labels, of_formats) in [
            ("", "en", "en"),
            ("fil", "fil", "fil"),
            ("FIL-ph", "fil", "FIL-ph"),
            ("en;q=0.5, fil;q=0.8", "fil", "fil"),
            ("fil;q=0, en-GB", "en", "en-GB"),
            ("fil;q=0", "en", "en"),
            // The formats of a language are known without its labels.
            ("de, fil;q=0.5", "fil", "de"),
            ("de", "en", "de"),
            ("zh-Hant-TW", "zh-Hant", "zh-Hant-TW"),
            ("zh", "en", "zh"),
            ("tlh, xx-DE;q=0.9, fil;q=0.1", "fil", "fil"),
            ("*", "en", "en"),
            ("fil;q=2, fil;q=x, ;;, \"", "en", "en"),
            ("fi, l", "en", "fi"),
            ("-fil, fil-, _", "fil", "en"),
            (&long, "fil", "fil"),
            (&parts, "fil", "fil"),
            (&many, "en", "en"),
        ] {
            let reader = reader(accepted.as_bytes());
            let found = (&*reader.labels.languages[reader.language], reader.locale());
            assert_eq!(found, (of_labels, of_formats), "{accepted:.80}");
        }
        assert_eq!(reader(b"\xff, fil").locale(), "fil");
    }

    #[test]
    fn dates_times_and_amounts_are_written_in_the_form_of_the_language() {
        for (text, english, german) in [
            ("2026-01-01", "Jan 1, 2026", "01.01.2026"),
            ("9999-12-31", "Dec 31, 9999", "31.12.9999"),
            ("2026-02-16T23:30:00Z", "Feb 17, 2026, 7:30\u{202f}AM", "17.02.2026, 07:30"),
            ("2026-02-16T09:30:00+08:00", "Feb 16, 2026, 9:30\u{202f}AM", "16.02.2026, 09:30"),
            ("24500000.00 PHP", "PHP 24,500,000.00", "PHP 24.500.000,00"),
            ("-12500.00 PHP", "PHP -12,500.00", "PHP -12.500,00"),
            ("0.05 EUR", "EUR 0.05", "EUR 0,05"),
        ] {
            let written = [&b"en"[..], b"de"].map(|tag| reader(tag).text(text));
            assert_eq!(written, [english, german].map(|it| Some(it.to_owned())), "{text}");
        }
        let cash = domain::Collection::known("cashprogram");
        assert_eq!(reader(b"de").choice(cash, "jan_amount", "12500.00"), "12.500,00");
        assert_eq!(reader(b"de").choice(cash, "code", "12500.00"), "12500.00");
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        let long = "9".repeat(100_000);
        for text in [
            "",
            "-",
            ".",
            "2026",
            "20260101",
            "0000-01-01",
            "0999-12-31",
            "2026-02-30",
            "2026-1-1",
            "2026-01-01 and later",
            "2026-01",
            "0000-01-01T00:00:00Z",
            "2026-02-16T09:30:00",
            "2026-02-16T25:00:00Z",
            "PRJ-2025-0201",
            "2025-0201",
            "007.50",
            "00.50",
            "1.5",
            "1.505",
            "1.e2",
            "1e5.00",
            "--1.00",
            "-.50",
            "+5.00",
            ".50",
            "1,000.00",
            "1000.00",
            "1000.00 php",
            "1000.00 PESO",
            "1000.00 ",
            "1000.00  PHP",
            "1000.00 PHP a",
            "100 PHP",
            "10.1038/1.00",
            "192.168.0.10",
            "\u{0661}.00",
            &long,
        ] {
            assert_eq!(reader(b"de").text(text), None, "{text:.80}");
        }
    }

    #[test]
    fn a_time_has_both_forms_and_counts_have_groups_of_digits() {
        let reader = reader(b"de");
        let shown = reader.time("2026-12-31T16:00:00Z".parse().unwrap());
        assert_eq!(shown.written, "01.01.2027, 00:00");
        assert!(shown.exact.starts_with("2026-12-31T16:00:00"), "{}", shown.exact);
        assert_eq!(reader.count(&1_234_567), "1.234.567");
        assert_eq!(reader.count(&u64::MAX), "18.446.744.073.709.551.615");
    }
}
