//! The parameters of a request. Each must be known to its operation and occur once.
//!
//! A query is decoded as a form (`application/x-www-form-urlencoded`, URL standard). U+0000 is
//! refused, since no store keeps it.
//!
//! The brackets of `filter[member][operator]` are matched before decoding, so that percent-encoded
//! brackets belong to a member's name. Many clients encode every bracket: a name without a bare `[`
//! is decoded first.

use domain::nearest;
use percent_encoding::percent_decode_str;

use super::error::{fix, invalid, listed, quoted};
use crate::problem::Problem;

pub const DEFAULT_PAGE_SIZE: u64 = 25;
pub const MAX_PAGE_SIZE: u64 = 250;
/// The default is `exact`.
pub const TOTALS: [&str; 2] = ["exact", "none"];
pub const SWITCH: [&str; 2] = ["true", "false"];

/// Parameters of a page that do not carry over to another selection.
pub const OF_A_PAGE: [&str; 2] = ["page", "cursor"];

#[derive(Debug, PartialEq, Eq)]
pub enum Parameter {
    Plain { name: String, value: String },
    Filter(FilterParameter),
}

#[derive(Debug, PartialEq, Eq)]
pub struct FilterParameter {
    pub member: String,
    pub operator: Option<String>,
    pub value: String,
}

#[derive(Debug, Default)]
pub struct Parameters {
    values: Vec<(&'static str, String)>,
    pub filters: Vec<FilterParameter>,
}

pub fn pieces(query: &str) -> impl Iterator<Item = &str> {
    query.split('&').filter(|piece| !piece.is_empty())
}

pub fn is_named(piece: &str, name: &str) -> bool {
    decoded(piece.split('=').next().unwrap_or_default()).is_ok_and(|own| own == name)
}

pub fn without<'a>(query: &'a str, names: &[&str]) -> Vec<&'a str> {
    pieces(query).filter(|piece| !names.iter().any(|name| is_named(piece, name))).collect()
}

pub fn values<'a>(query: &'a str, name: &'a str) -> impl Iterator<Item = String> + 'a {
    pieces(query).filter_map(move |piece| match Parameter::read(piece) {
        Ok(Parameter::Plain { name: own, value }) if own == name => Some(value),
        _ => None,
    })
}

pub fn with_query(url: &str, query: &str) -> String {
    if query.is_empty() { url.to_owned() } else { format!("{url}?{query}") }
}

impl Parameters {
    /// Only filters may be repeated.
    pub fn read(query: &str, known: &[&'static str]) -> Result<Self, Problem> {
        let mut parameters = Self::default();
        for piece in pieces(query) {
            match Parameter::read(piece)? {
                Parameter::Filter(filter) if known.contains(&"filter") => {
                    parameters.filters.push(filter);
                }
                Parameter::Filter(_) => return Err(unknown("filter", known)),
                Parameter::Plain { name, value } => parameters.add(&name, value, known)?,
            }
        }
        Ok(parameters)
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.iter().find(|(own, _)| *own == name).map(|(_, value)| value.as_str())
    }

    pub fn number(&self, name: &str, most: u64) -> Result<Option<u64>, Problem> {
        let Some(written) = self.get(name) else { return Ok(None) };
        let is_plain = written.bytes().all(|byte| byte.is_ascii_digit());
        let number = written.parse().ok().filter(|number| is_plain && (1..=most).contains(number));
        number.map(Some).ok_or_else(|| {
            let limit = match most {
                u64::MAX => "of 1 or more".to_owned(),
                most => format!("from 1 to {most}"),
            };
            invalid(format!("`{name}` must be a whole number {limit}."))
        })
    }

    pub fn page(&self) -> Result<u64, Problem> {
        Ok(self.number("page", u64::MAX)?.unwrap_or(1))
    }

    pub fn page_size(&self) -> Result<u64, Problem> {
        Ok(self.number("page_size", MAX_PAGE_SIZE)?.unwrap_or(DEFAULT_PAGE_SIZE))
    }

    /// Returns true for the first value.
    pub fn choice(&self, name: &str, values: [&str; 2]) -> Result<Option<bool>, Problem> {
        match self.get(name) {
            Some(value) if !values.contains(&value) => {
                Err(invalid(format!("`{name}` must be {}.", listed(values))))
            }
            value => Ok(value.map(|value| value == values[0])),
        }
    }

    /// The default is off.
    pub fn is_on(&self, name: &str) -> Result<bool, Problem> {
        Ok(self.choice(name, SWITCH)?.unwrap_or(false))
    }

    fn add(&mut self, name: &str, value: String, known: &[&'static str]) -> Result<(), Problem> {
        let Some(name) = known.iter().copied().find(|known| *known == name) else {
            return Err(unknown(name, known));
        };
        if name == "filter" {
            return Err(invalid(
                "`filter` needs the name of a member in brackets: filter[member]=value or filter[member][gte]=value.",
            ));
        }
        if self.get(name).is_some() {
            return Err(invalid(format!("`{name}` is given more than once. Give it once.")));
        }
        self.values.push((name, value));
        Ok(())
    }
}

fn unknown(name: &str, known: &[&'static str]) -> Problem {
    let filters = if known.contains(&"filter") {
        " Filter by a member with filter[member]=value."
    } else {
        ""
    };
    let fix = fix(nearest(name, known.iter().copied()), || match known {
        [] => "This operation takes none.".to_owned(),
        known => format!("Use {}.{filters}", listed(known.iter().copied())),
    });
    invalid(format!("Unknown query parameter {}. {fix}", quoted(name)))
}

impl Parameter {
    pub fn read(piece: &str) -> Result<Self, Problem> {
        let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
        let refuse =
            |part: &str, reason: &str| invalid(format!("{part} {} {reason}.", quoted(name)));
        let value = decoded(value).map_err(|reason| refuse("The value of", reason))?;
        Self::named(name, value).map_err(|reason| refuse("The parameter", reason))
    }

    fn named(raw: &str, value: String) -> Result<Self, &'static str> {
        let name = decoded(raw)?;
        let filter = match raw.split_once('[') {
            Some((start, inside)) if decoded(start)? == "filter" => {
                Some(brackets(inside, decoded)?)
            }
            Some(_) => None,
            None => {
                let inside = name.strip_prefix("filter[");
                inside.map(|inside| brackets(inside, |part| Ok(part.to_owned()))).transpose()?
            }
        };
        Ok(match filter {
            Some((member, operator)) => Self::Filter(FilterParameter { member, operator, value }),
            None => Self::Plain { name, value },
        })
    }
}

fn brackets(
    inside: &str,
    decode: impl Fn(&str) -> Result<String, &'static str>,
) -> Result<(String, Option<String>), &'static str> {
    let mut parts = inside.strip_suffix(']').ok_or(
        "is not a valid filter. Write filter[member] or filter[member][operator], and %5B and %5D for brackets in a name",
    )?.split("][");
    let (member, operator) = (parts.next().unwrap_or_default(), parts.next());
    if parts.next().is_some() {
        return Err(
            "has more than a member and an operator. Only members at the top level can be filtered",
        );
    }
    Ok((decode(member)?, operator.map(decode).transpose()?))
}

fn decoded(text: &str) -> Result<String, &'static str> {
    let text = text.replace('+', " ");
    let text =
        percent_decode_str(&text).decode_utf8().map_err(|_| "is not UTF-8 after decoding")?;
    if text.contains('\0') { Err("contains the character U+0000") } else { Ok(text.into_owned()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{FilterParameter, Parameter, Parameters, TOTALS, is_named, pieces};

    fn error(query: &str, known: &[&'static str]) -> Option<String> {
        Parameters::read(query, known).err().map(|problem| problem.to_string())
    }

    #[test]
    fn what_is_unknown_or_twice_is_refused_with_the_name_that_was_meant() {
        for (query, expected) in [
            ("page=1&filter[a]=1&filter[a]=1", None),
            ("pages=1", Some("Did you mean `page`?")),
            ("Page=1", Some("Did you mean `page`?")),
            ("xyz", Some("Use `page` or `filter`. Filter by a member")),
            ("filters[a]=1", Some("Did you mean `filter`?")),
            ("page=1&p%61ge=1", Some("more than once")),
            ("filter=1", Some("in brackets")),
        ] {
            let found = error(query, &["page", "filter"]);
            assert_eq!(found.is_some(), expected.is_some(), "{query}: {found:?}");
            assert!(found.unwrap_or_default().contains(expected.unwrap_or_default()), "{query}");
        }
        assert!(error("a=1", &[]).unwrap().contains("takes none"));
        assert!(error("filter[a]=1", &["fields"]).unwrap().contains("`fields`"));
    }

    const KNOWN: [&str; 3] = ["page", "page_size", "total"];

    #[test]
    fn pages_are_whole_numbers_within_limits() {
        for (query, expected) in [
            ("", Some((1, 25))),
            ("page=3", Some((3, 25))),
            ("%70age=%33", Some((3, 25))),
            ("page=3&page_size=250", Some((3, 250))),
            ("page=18446744073709551615", Some((u64::MAX, 25))),
            ("page=18446744073709551616", None),
            ("page=0", None),
            ("page=-1", None),
            ("page=+1", None),
            ("page=%2B1", None),
            ("page=", None),
            ("page", None),
            ("page=1&page=2", None),
            ("page=1.5", None),
            ("page_size=251", None),
            ("page_size=0", None),
        ] {
            let found = Parameters::read(query, &KNOWN)
                .and_then(|found| Ok((found.page()?, found.page_size()?)))
                .ok();
            assert_eq!(found, expected, "{query}");
        }
    }

    #[test]
    fn a_choice_is_between_two_words() {
        for (query, expected) in [
            ("", Some(None)),
            ("total=exact", Some(Some(true))),
            ("total=none", Some(Some(false))),
            ("total=", None),
            ("total=None", None),
        ] {
            let found = Parameters::read(query, &KNOWN)
                .and_then(|found| found.choice("total", TOTALS))
                .ok();
            assert_eq!(found, expected, "{query}");
        }
    }

    fn of_filter(member: &str, operator: Option<&str>, value: &str) -> Parameter {
        let operator = operator.map(str::to_owned);
        Parameter::Filter(FilterParameter { member: member.into(), operator, value: value.into() })
    }

    #[test]
    fn brackets_are_found_before_anything_is_decoded() {
        let plain = |name: &str| Some(Parameter::Plain { name: name.into(), value: String::new() });
        let filter = |member: &str, operator: Option<&str>| Some(of_filter(member, operator, ""));
        for (raw, expected) in [
            ("page", plain("page")),
            ("p%61ge", plain("page")),
            ("a+b", plain("a b")),
            ("filter", plain("filter")),
            ("page[size]", plain("page[size]")),
            ("filter[a]", filter("a", None)),
            ("f%69lter[a]", filter("a", None)),
            ("filter[a][gte]", filter("a", Some("gte"))),
            ("filter[a][]", filter("a", Some(""))),
            ("filter[]", filter("", None)),
            ("filter[a%5D%5Bgte]", filter("a][gte", None)),
            ("filter[%5Ba%5D][gte]", filter("[a]", Some("gte"))),
            ("filter[a%20b+c]", filter("a b c", None)),
            ("filter%5Ba%5D", filter("a", None)),
            ("filter%5ba%5d%5Bgte%5D", filter("a", Some("gte"))),
            ("filter%5Ba%5Bb%5D%5D", filter("a[b]", None)),
            ("filter%5Ba%255D%5D", filter("a%5D", None)),
            ("filter[100%]", filter("100%", None)),
            ("filter[a", None),
            ("filter[a]x", None),
            ("filter[a][b][eq]", None),
            ("filter%5Ba%5D%5Bb%5D%5Beq%5D", None),
            ("filter[%ff]", None),
            ("filter[%00]", None),
            ("%ff", None),
        ] {
            assert_eq!(Parameter::read(raw).ok(), expected, "{raw}");
        }
    }

    #[test]
    fn values_are_decoded_as_forms_are() {
        for (piece, expected) in [
            ("a=b", Some("b")),
            ("a", Some("")),
            ("a==b=c", Some("=b=c")),
            ("a=b+c%2Bd", Some("b c+d")),
            ("a=%E2%82%B1", Some("₱")),
            ("a=50%", Some("50%")),
            ("a=%E2%82", None),
            ("a=%00", None),
        ] {
            let expected = expected
                .map(|value| Parameter::Plain { name: "a".to_owned(), value: value.to_owned() });
            assert_eq!(Parameter::read(piece).ok(), expected, "{piece}");
        }
    }

    #[test]
    fn pieces_are_compared_decoded() {
        assert_eq!(pieces("&a=1&&b").collect::<Vec<_>>(), ["a=1", "b"]);
        assert!(is_named("%70age=1", "page") && !is_named("page_size=1", "page"));
    }

    proptest! {
        #[test]
        fn any_name_can_be_written(member in "[^\0]{1,20}", operator in prop::option::of("[a-z]{1,4}")) {
            let encode = |text: &str| percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string();
            let suffix = operator.as_deref().map(|operator| format!("[{operator}]")).unwrap_or_default();
            let piece = format!("filter[{}]{suffix}=x", encode(&member));
            prop_assert_eq!(Parameter::read(&piece).ok(), Some(of_filter(&member, operator.as_deref(), "x")));
        }
    }
}
