//! The filters of a table: a form with a control for each field, and chips.
//!
//! The table ignores malformed filters, and the form shows their errors.

use std::borrow::Cow;
use std::sync::Arc;

use application::Caller;
use domain::{Collection, ItemId};

use super::links::escaped;
use super::reader::Reader;
use super::titles::{Titles, referenced};
use super::{Explorer, forms};
use crate::groups::Group;
use crate::problem::Result;
use crate::query::{
    CollectionQuery, FilterParameter, OF_A_PAGE, Parameter, pieces, with_query, without,
};

/// The most frequent values that a choice has.
const MOST_CHOICES: u64 = 50;

const IS_MORE: &str = "gte";
const IS_LESS: &str = "lte";

pub struct RefusedFilter {
    filter: FilterParameter,
    detail: String,
}

/// A field of the form.
pub struct FilterField {
    pub member: String,
    pub label: String,
    pub control: FilterControl,
    /// `true`, `false` or empty: the value of the operator `exists`.
    pub exists: String,
    pub errors: Vec<String>,
}

pub enum FilterControl {
    /// The chosen value, and values with their labels.
    Choice(String, Vec<(String, String)>),
    /// The type of the inputs, and their values.
    Range(&'static str, [String; 2]),
    Contains(String),
}

impl FilterField {
    fn of(
        group: Group,
        query: &str,
        member: &str,
        (mut choices, refused, reader): (Vec<(String, String)>, &[RefusedFilter], &Reader),
    ) -> Self {
        let given: Vec<_> =
            filters(query).chain(refused.iter().map(|it| it.filter.clone())).collect();
        let written = |operator: &str| {
            let is_meant = |it: &&FilterParameter| {
                it.member == member && it.operator.as_deref().unwrap_or("eq") == operator
            };
            given.iter().find(is_meant).map(|it| it.value.clone()).unwrap_or_default()
        };
        let range = || [IS_MORE, IS_LESS].map(written);
        let control = match kind(group.collection, member) {
            _ if !choices.is_empty() => {
                let chosen = written("eq");
                if !chosen.is_empty() && choices.iter().all(|(value, _)| *value != chosen) {
                    choices.push((chosen.clone(), chosen.clone()));
                }
                FilterControl::Choice(chosen, choices)
            }
            Kind::Date => FilterControl::Range("date", range()),
            Kind::Number => FilterControl::Range("text", range()),
            Kind::Other => FilterControl::Contains(written("contains")),
        };
        let errors = refused.iter().filter(|it| it.filter.member == member);
        Self {
            label: reader.label(group.collection, member),
            control,
            exists: written("exists"),
            errors: errors.map(|it| it.detail.clone()).collect(),
            member: member.to_owned(),
        }
    }

    /// The name of an input; [`forms`] makes a filter of it.
    pub fn input(&self, operator: &str) -> String {
        format!("{}{}.{operator}", forms::FILTER, self.member)
    }
}

pub struct Filters {
    pub fields: Vec<FilterField>,
    /// The filters without a control, as hidden inputs.
    pub others: Vec<(String, String)>,
    pub chips: Vec<Chip>,
    pub has_errors: bool,
}

/// A group, the query and the address of its page.
type Selection<'a> = (Group, &'a str, &'a str);

/// A filter, and the address of the page without it.
pub struct Chip {
    pub text: String,
    pub without: String,
}

/// Removes malformed filters. Also removes page and cursor, which belong to another selection.
pub fn without_refused(group: Group, query: &str) -> (Cow<'_, str>, Vec<RefusedFilter>) {
    let mut refused = Vec::new();
    let mut is_understood = |piece: &&str| {
        let Ok(Parameter::Filter(filter)) = Parameter::read(piece) else { return true };
        let Err(problem) = CollectionQuery::read(group, piece, None) else { return true };
        refused.push(RefusedFilter { filter, detail: problem.detail });
        false
    };
    let kept: Vec<_> = pieces(query).filter(|piece| is_understood(piece)).collect();
    if refused.is_empty() {
        return (query.into(), refused);
    }
    (without(&kept.join("&"), &OF_A_PAGE).join("&").into(), refused)
}

pub fn filters(query: &str) -> impl Iterator<Item = FilterParameter> {
    pieces(query).filter_map(|piece| match Parameter::read(piece) {
        Ok(Parameter::Filter(filter)) => Some(filter),
        _ => None,
    })
}

/// The items that filters name, whose titles chips show.
pub fn named_items(collection: Collection, query: &str) -> Vec<(Collection, ItemId)> {
    let named = |it: FilterParameter| {
        Some((referenced(collection, &it.member)?, ItemId::parse(&it.value)?))
    };
    filters(query).filter_map(named).collect()
}

fn chips((group, query, path): Selection<'_>, reader: &Reader, titles: &Titles) -> Vec<Chip> {
    let kept = without(query, &OF_A_PAGE);
    let chip = |(index, piece): (usize, &&str)| {
        let Ok(Parameter::Filter(filter)) = Parameter::read(piece) else { return None };
        let others = [&kept[..index], &kept[index + 1..]].concat().join("&");
        let text = described(group.collection, &filter, reader, titles);
        Some(Chip { text, without: with_query(path, &others) })
    };
    kept.iter().enumerate().filter_map(chip).collect()
}

fn described(
    collection: Collection,
    filter: &FilterParameter,
    reader: &Reader,
    titles: &Titles,
) -> String {
    let FilterParameter { member, operator, value } = filter;
    let label = reader.label(collection, member);
    let title = || titles.of(referenced(collection, member)?, ItemId::parse(value)?);
    let value = || match title() {
        Some(title) => title.to_owned(),
        None => reader.choice(collection, member, value),
    };
    match (operator.as_deref().unwrap_or("eq"), filter.value.as_str()) {
        ("eq", _) => format!("{label}: {}", value()),
        ("ne", _) => format!("{label}: not {}", value()),
        (IS_MORE, _) => format!("{label} from {}", value()),
        (IS_LESS, _) => format!("{label} to {}", value()),
        ("gt", _) => format!("{label} after {}", value()),
        ("lt", _) => format!("{label} before {}", value()),
        ("contains", text) => format!("{label} contains “{text}”"),
        ("in", list) => format!("{label}: one of {}", list.replace(',', ", ")),
        ("exists", "true") => format!("{label} has a value"),
        ("exists", "false") => format!("{label} is empty"),
        (operator, value) => format!("{label} {operator} {value}"),
    }
}

enum Kind {
    Date,
    Number,
    Other,
}

fn kind(collection: Collection, member: &str) -> Kind {
    if matches!(member, "created_at" | "updated_at") {
        return Kind::Date;
    }
    let example = collection.known_members().find(|(name, _)| *name == member);
    let example = example.map_or("", |(_, example)| example);
    let is_date = |text: &str| text.parse::<jiff::civil::Date>().is_ok();
    match example.as_bytes() {
        [b'0'..=b'9' | b'-', ..] => Kind::Number,
        [b'"', text @ .., b'"'] if std::str::from_utf8(text).is_ok_and(is_date) => Kind::Date,
        _ => Kind::Other,
    }
}

impl Explorer {
    /// The form has the shown columns, the counted members and the time of the last change.
    pub(super) async fn filters(
        &self,
        (caller, reader, titles): (&Caller, &Reader, &Titles),
        selection: Selection<'_>,
        columns: &[Arc<str>],
        refused: Vec<RefusedFilter>,
    ) -> Result<Filters> {
        let (group, query, _) = selection;
        let collection = group.collection;
        let counted = collection.spec().counted.iter().filter(|it| it.characters.is_none());
        let mut members: Vec<&str> = columns.iter().map(AsRef::as_ref).collect();
        members.extend(counted.map(|it| it.name));
        members.push("updated_at");
        let mut fields: Vec<FilterField> = Vec::new();
        for member in members {
            let is_known = fields.iter().any(|field| field.member == member);
            if !is_known && referenced(collection, member).is_none() {
                let choices = self.choices(caller, group, member, reader).await?;
                fields.push(FilterField::of(group, query, member, (choices, &refused, reader)));
            }
        }
        Ok(Filters {
            others: others(query, &fields),
            chips: chips(selection, reader, titles),
            has_errors: !refused.is_empty(),
            fields,
        })
    }

    /// The agency's choices of a member, else the known status codes or its most frequent values.
    pub(super) async fn choices(
        &self,
        caller: &Caller,
        group: Group,
        member: &str,
        reader: &Reader,
    ) -> Result<Vec<(String, String)>> {
        let own = reader.choices(group.collection, member);
        if own.is_empty() && (group.name, member.ends_with("_code")) == ("status", true) {
            return self.status_codes(caller).await;
        }
        let mut counted = group.collection.spec().counted.iter();
        let is_counted = counted.any(|it| it.name == member && it.characters.is_none());
        if !own.is_empty() || !is_counted {
            return Ok(own);
        }
        let counts = self.service(group)?.value_counts(caller, member, MOST_CHOICES).await?;
        Ok(counts.counts.into_iter().map(|it| (it.value.clone(), it.value)).collect())
    }
}

/// Filters that no control of the form has.
fn others(query: &str, fields: &[FilterField]) -> Vec<(String, String)> {
    let has = |field: &FilterField, operator: &str| match &field.control {
        _ if operator == "exists" => true,
        FilterControl::Choice(..) => operator == "eq",
        FilterControl::Range(..) => [IS_MORE, IS_LESS].contains(&operator),
        FilterControl::Contains(_) => operator == "contains",
    };
    let other = |filter: FilterParameter| {
        let operator = filter.operator.as_deref().unwrap_or("eq");
        let is_there =
            fields.iter().any(|field| field.member == filter.member && has(field, operator));
        let name = format!("filter[{}][{operator}]", escaped(&filter.member));
        (!is_there).then_some((name, filter.value))
    };
    filters(query).filter_map(other).collect()
}

#[cfg(test)]
mod tests {
    use super::without_refused;
    use crate::groups::named;

    #[test]
    fn what_can_be_read_stays() {
        for (query, kept, refused) in [
            (
                "q=a&filter[start_date]=2026-01-01&page=2",
                "q=a&filter[start_date]=2026-01-01&page=2",
                vec![],
            ),
            (
                "filter[start_date][gte]=2026&q=a&page=2&filter[colour]=red&sort=nothing",
                "q=a&sort=nothing",
                vec![("start_date", Some("gte"), "2026"), ("colour", None, "red")],
            ),
            ("filter[start_date=1", "filter[start_date=1", vec![]),
        ] {
            let (found, filters) = without_refused(named("proposals"), query);
            let filters = filters
                .iter()
                .map(|it| (&*it.filter.member, it.filter.operator.as_deref(), &*it.filter.value));
            assert_eq!((&*found, filters.collect::<Vec<_>>()), (kept, refused), "{query}");
        }
    }
}
