//! The reader of a page: the language, the labels and the time zone.

use std::sync::Arc;

use application::{FieldLabels, LabelSet, Labels};
use domain::{Collection, Fields};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use poem::http::HeaderMap;
use poem::http::header::ACCEPT_LANGUAGE;

use super::cells::{ShownValue, capitalized};
use super::formats::Formats;
use crate::groups::GroupSpec;
use crate::headers::quality_list::elements;
use crate::time::TIME;

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
            .filter(|element| element.quality > 0)
            .collect();
        tags.sort_by_key(|element| std::cmp::Reverse(element.quality));
        let tags: Vec<_> = tags.into_iter().map(|element| element.name).collect();
        let labels = labels.in_force();
        let language = tags.iter().find_map(|tag| language_of(&labels, tag)).unwrap_or_default();
        Self { language, formats: Formats::of_first(&tags), zone: zone.clone(), labels }
    }

    pub fn language(&self) -> &str {
        self.labels.languages.get(self.language).map_or("en", AsRef::as_ref)
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
        let choices = self.choices(collection, member);
        let label = choices.into_iter().find(|(own, _)| own == value).map(|(_, label)| label);
        label.or_else(|| self.text(value)).unwrap_or_else(|| value.to_owned())
    }

    pub fn count(&self, number: impl ToString) -> String {
        let number = number.to_string();
        self.formats.number(&number).unwrap_or(number)
    }

    pub fn short(&self, value: &ShownValue) -> String {
        let written = match value {
            ShownValue::Simple(text) => self.text(text),
            _ => None,
        };
        written.unwrap_or_else(|| value.short())
    }

    /// A text as people of the language write it: a date, a time, or an amount of money.
    pub fn text(&self, text: &str) -> Option<String> {
        let digits = text.bytes().next().is_some_and(|byte| byte.is_ascii_digit() || byte == b'-');
        if !digits || text.len() > 40 {
            return None;
        }
        if let Some(day) = text.parse::<Date>().ok().filter(|_| text.len() == 10) {
            return Some(self.formats.date(day));
        }
        if text.len() >= 20
            && let Ok(time) = text.parse::<Timestamp>()
        {
            return Some(self.time(time).written);
        }
        let (number, currency) = text.split_once(' ').map_or((text, ""), |(it, of)| (it, of));
        let (_, decimals) = number.split_once('.')?;
        let is_amount = decimals.len() == 2
            && (currency.is_empty()
                || currency.len() == 3 && currency.bytes().all(|byte| byte.is_ascii_uppercase()));
        let number = self.formats.number(number).filter(|_| is_amount)?;
        Some(if currency.is_empty() { number } else { format!("{currency} {number}") })
    }
}

/// The lookup of RFC 4647 section 3.4: `fil-PH` also finds `fil`.
fn language_of(labels: &LabelSet, tag: &str) -> Option<usize> {
    let known = |tag: &str| labels.languages.iter().position(|it| it.eq_ignore_ascii_case(tag));
    std::iter::successors(Some(tag), |tag| tag.rfind('-').map(|end| &tag[..end])).find_map(known)
}
