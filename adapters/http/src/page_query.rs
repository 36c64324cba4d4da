//! The query of a collection: which page is asked for, and the links to the others.

use std::borrow::Cow;

use application::{Listing, PageRequest};
use percent_encoding::percent_decode_str;

use crate::problem::{Problem, kinds};
use crate::representation::push_escaped_link;

/// Items per page when the client does not say.
pub const DEFAULT_PAGE_SIZE: u64 = 25;
/// Most items per page.
pub const MAX_PAGE_SIZE: u64 = 250;

/// Reads `page` and `page_size`; other parameters are left alone.
///
/// # Errors
/// 400 naming the parameter and the values it takes.
pub fn page_request(query: &str) -> Result<PageRequest, Problem> {
    let page = parameter(query, "page", u64::MAX)?.unwrap_or(1);
    let page_size = parameter(query, "page_size", MAX_PAGE_SIZE)?.unwrap_or(DEFAULT_PAGE_SIZE);
    Ok(PageRequest { page, page_size })
}

fn parameter(query: &str, name: &str, most: u64) -> Result<Option<u64>, Problem> {
    let mut values =
        pairs(query).filter(|pair| name_of(pair) == name).map(|pair| decoded(pair.split_once('=').map_or("", |(_, value)| value)));
    let Some(value) = values.next() else { return Ok(None) };
    let refuse = |fault: &str| {
        let limit = if most == u64::MAX { "of 1 or more".to_owned() } else { format!("from 1 to {most}") };
        Err(Problem::new(&kinds::INVALID_QUERY, format!("`{name}` {fault}; it takes one whole number {limit}.")))
    };
    if values.next().is_some() {
        return refuse("stands twice in the query");
    }
    match value.parse::<u64>() {
        Ok(number) if (1..=most).contains(&number) && value.bytes().all(|byte| byte.is_ascii_digit()) => Ok(Some(number)),
        _ => refuse("is wrong"),
    }
}

fn pairs(query: &str) -> impl Iterator<Item = &str> {
    query.split('&').filter(|pair| !pair.is_empty())
}

fn name_of(pair: &str) -> Cow<'_, str> {
    decoded(pair.split('=').next().unwrap_or_default())
}

fn decoded(text: &str) -> Cow<'_, str> {
    percent_decode_str(text).decode_utf8_lossy()
}

/// The links of a page: its own query with another page number.
pub struct PageLinks<'a> {
    query: &'a str,
}

impl<'a> PageLinks<'a> {
    /// The links from the page that was asked for with `query`.
    #[must_use]
    pub const fn new(query: &'a str) -> Self {
        Self { query }
    }

    /// Appends self, first, prev, next and last, as far as they apply, each followed by a comma.
    pub fn push(&self, out: &mut String, collection_url: &str, listing: &Listing) {
        let own = if self.query.is_empty() { collection_url.to_owned() } else { format!("{collection_url}?{}", self.query) };
        push_escaped_link(out, "self", &own);
        let Listing { page, page_count, .. } = *listing;
        let linked = [
            ("first", 1, page_count > 0),
            ("prev", page.saturating_sub(1), page > 1 && page_count > 0),
            ("next", page.saturating_add(1), page < page_count),
            ("last", page_count, page_count > 0),
        ];
        for (relation, number, applies) in linked {
            if applies {
                push_escaped_link(out, relation, &format!("{collection_url}?{}", self.with_page(number)));
            }
        }
    }

    fn with_page(&self, number: u64) -> String {
        let others: Vec<_> = pairs(self.query).filter(|pair| name_of(pair) != "page").collect();
        let separator = if others.is_empty() { "" } else { "&" };
        format!("{}{separator}page={number}", others.join("&"))
    }
}

#[cfg(test)]
mod tests {
    use super::{PageLinks, page_request};

    #[test]
    fn pages_are_whole_numbers_within_limits() {
        for (query, expected) in [
            ("", Some((1, 25))),
            ("page=3", Some((3, 25))),
            ("%70age=%33", Some((3, 25))),
            ("page=3&page_size=250", Some((3, 250))),
            ("x=1&page=18446744073709551615", Some((u64::MAX, 25))),
            ("page=18446744073709551616", None),
            ("page=0", None),
            ("page=-1", None),
            ("page=+1", None),
            ("page=", None),
            ("page", None),
            ("page=1&page=2", None),
            ("page=1.5", None),
            ("page_size=251", None),
            ("page_size=0", None),
        ] {
            let request = page_request(query).ok().map(|request| (request.page, request.page_size));
            assert_eq!(request, expected, "{query}");
        }
    }

    #[test]
    fn links_keep_the_other_parameters() {
        for (query, expected) in [("", "page=7"), ("page=2", "page=7"), ("a=%20b&page=2&page_size=5", "a=%20b&page_size=5&page=7")] {
            assert_eq!(PageLinks::new(query).with_page(7), expected);
        }
    }
}
