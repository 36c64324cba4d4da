//! The parameters of a request, each known to its operation and given once.

use std::borrow::Cow;

use domain::nearest;

use super::fault::{fix, invalid, listed, quoted};
use super::pairs::{Name, Pair, pieces};
use crate::problem::Problem;

/// The parameters that were given.
#[derive(Debug, Default)]
pub struct Parameters<'a> {
    values: Vec<(&'static str, Cow<'a, str>)>,
    /// The filters, in the order they were written.
    pub filters: Vec<FilterParameter<'a>>,
}

/// `filter[member][operator]=value`.
#[derive(Debug)]
pub struct FilterParameter<'a> {
    pub member: String,
    pub operator: Option<String>,
    pub value: Cow<'a, str>,
}

impl<'a> Parameters<'a> {
    /// Reads the query of an operation that knows these parameters.
    ///
    /// # Errors
    /// 400 for an unknown parameter and for one that is given twice; filters may be many.
    pub fn read(query: &'a str, known: &[&'static str]) -> Result<Self, Problem> {
        let mut parameters = Self::default();
        for piece in pieces(query) {
            let Pair { name, value } = Pair::read(piece)?;
            match name {
                Name::Filter { member, operator } if known.contains(&"filter") => {
                    parameters.filters.push(FilterParameter { member, operator, value });
                }
                Name::Filter { .. } => return Err(unknown("filter", known)),
                Name::Plain(name) => parameters.add(&name, value, known)?,
            }
        }
        Ok(parameters)
    }

    /// The value of a parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.iter().find(|(own, _)| *own == name).map(|(_, value)| value.as_ref())
    }

    fn add(
        &mut self,
        name: &str,
        value: Cow<'a, str>,
        known: &[&'static str],
    ) -> Result<(), Problem> {
        let Some(name) = known.iter().copied().find(|known| *known == name) else {
            return Err(unknown(name, known));
        };
        if name == "filter" {
            return Err(invalid(
                "`filter` needs the name of a member in brackets: filter[member]=value or filter[member][gte]=value.",
            ));
        }
        if self.get(name).is_some() {
            return Err(invalid(format!("`{name}` stands twice in the query; give it once.")));
        }
        self.values.push((name, value));
        Ok(())
    }
}

fn unknown(name: &str, known: &[&'static str]) -> Problem {
    let filters = if known.contains(&"filter") {
        "; a member is filtered by with filter[member]=value"
    } else {
        ""
    };
    let fix = fix(nearest(name, known.iter().copied()), || match known {
        [] => "it takes none.".to_owned(),
        known => format!("it takes {}{filters}.", listed(known.iter().copied())),
    });
    invalid(format!("{} is no query parameter of this operation; {fix}", quoted(name)))
}

#[cfg(test)]
mod tests {
    use super::Parameters;

    fn fault(query: &str, known: &[&'static str]) -> Option<String> {
        Parameters::read(query, known).err().map(|problem| problem.to_string())
    }

    #[test]
    fn what_is_unknown_or_twice_is_refused_with_the_name_that_was_meant() {
        for (query, expected) in [
            ("page=1&filter[a]=1&filter[a]=1", None),
            ("pages=1", Some("did you mean `page`?")),
            ("Page=1", Some("did you mean `page`?")),
            ("xyz", Some("it takes `page` or `filter`; a member")),
            ("filters[a]=1", Some("did you mean `filter`?")),
            ("page=1&p%61ge=1", Some("stands twice")),
            ("filter=1", Some("in brackets")),
        ] {
            let found = fault(query, &["page", "filter"]);
            assert_eq!(found.is_some(), expected.is_some(), "{query}: {found:?}");
            assert!(found.unwrap_or_default().contains(expected.unwrap_or_default()), "{query}");
        }
        assert!(fault("a=1", &[]).unwrap().contains("it takes none"));
        assert!(fault("filter[a]=1", &["fields"]).unwrap().contains("`fields`"));
    }
}
