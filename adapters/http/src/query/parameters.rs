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
use crate::problem::{Problem, Result};

pub const DEFAULT_PAGE_SIZE: u64 = 25;
pub const MAX_PAGE_SIZE: u64 = 250;
/// The default is `exact`.
pub const TOTALS: [&str; 2] = ["exact", "none"];
pub const SWITCH: [&str; 2] = ["true", "false"];
pub const DISPOSITIONS: [&str; 2] = ["attachment", "inline"];

/// Parameters of a page that do not carry over to another selection.
pub const OF_A_PAGE: [&str; 2] = ["page", "cursor"];

#[derive(Debug, PartialEq, Eq)]
pub enum Parameter {
    Plain { name: String, value: String },
    Filter(FilterParameter),
}

#[derive(Clone, Debug, PartialEq, Eq)]
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
    pub fn read(query: &str, known: &[&'static str]) -> Result<Self> {
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

    pub fn number(&self, name: &str, most: u64) -> Result<Option<u64>> {
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

    pub fn page(&self) -> Result<u64> {
        Ok(self.number("page", u64::MAX)?.unwrap_or(1))
    }

    pub fn page_size(&self) -> Result<u64> {
        Ok(self.number("page_size", MAX_PAGE_SIZE)?.unwrap_or(DEFAULT_PAGE_SIZE))
    }

    /// Returns true for the first value.
    pub fn choice(&self, name: &str, values: [&str; 2]) -> Result<Option<bool>> {
        match self.get(name) {
            Some(value) if !values.contains(&value) => {
                Err(invalid(format!("`{name}` must be {}.", listed(values))))
            }
            value => Ok(value.map(|value| value == values[0])),
        }
    }

    /// The default is off.
    pub fn is_on(&self, name: &str) -> Result<bool> {
        Ok(self.choice(name, SWITCH)?.unwrap_or(false))
    }

    fn add(&mut self, name: &str, value: String, known: &[&'static str]) -> Result<()> {
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
    pub fn read(piece: &str) -> Result<Self> {
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
    use super::{FilterParameter, Parameter, Parameters};

    #[test]
    fn a_refusal_lists_the_known_parameters() {
        for (query, known, expected) in [
            ("a=1", &[][..], "takes none"),
            ("filter[a]=1", &["fields"], "`fields`"),
            ("xyz", &["page", "filter"], "Use `page` or `filter`. Filter by a member"),
        ] {
            let refused = Parameters::read(query, known).err().unwrap().to_string();
            assert!(refused.contains(expected), "{query}: {refused}");
        }
    }

    #[test]
    fn brackets_are_found_before_anything_is_decoded() {
        let plain = |name: &str, value: &str| {
            Some(Parameter::Plain { name: name.into(), value: value.into() })
        };
        let filter = |member: &str, operator: Option<&str>| {
            let (member, operator) = (member.to_owned(), operator.map(str::to_owned));
            Some(Parameter::Filter(FilterParameter { member, operator, value: String::new() }))
        };
        for (raw, expected) in [
            ("page", plain("page", "")),
            ("p%61ge=b", plain("page", "b")),
            ("a+b==b=c", plain("a b", "=b=c")),
            ("a=b+c%2Bd", plain("a", "b c+d")),
            ("a=%E2%82%B1", plain("a", "₱")),
            ("a=50%", plain("a", "50%")),
            ("a=%E2%82", None),
            ("a=%00", None),
            ("filter", plain("filter", "")),
            ("page[size]", plain("page[size]", "")),
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
}
