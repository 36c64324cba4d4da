//! The links from a page of a collection to the others.

use application::query::PageStart;

use super::cursor;
use super::fingerprint::Fingerprint;
use super::pairs::{is_named, pieces};

/// The links of a page: its own query with another page. What leads to a neighbour has the place
/// beside the number, so that it costs the same however deep the page lies, and skips and repeats
/// nothing when items come and go.
#[derive(Clone, Copy, Debug)]
pub struct PageLinks<'a> {
    query: &'a str,
    fingerprint: Fingerprint,
}

impl<'a> PageLinks<'a> {
    /// The links from the page that was asked for with `query`.
    pub(super) const fn new(query: &'a str, fingerprint: Fingerprint) -> Self {
        Self { query, fingerprint }
    }

    /// The URL of the page itself.
    #[must_use]
    pub fn own(&self, collection_url: &str) -> String {
        if self.query.is_empty() {
            collection_url.to_owned()
        } else {
            format!("{collection_url}?{}", self.query)
        }
    }

    /// The URL of another page.
    #[must_use]
    pub fn to(&self, collection_url: &str, page: u64, position: Option<&PageStart>) -> String {
        let cursor = position.and_then(|position| cursor::write(position, self.fingerprint));
        format!("{collection_url}?{}", self.with_page(page, cursor.as_deref()))
    }

    fn with_page(&self, page: u64, cursor: Option<&str>) -> String {
        let mut query = String::new();
        for piece in pieces(self.query)
            .filter(|piece| !is_named(piece, "page") && !is_named(piece, "cursor"))
        {
            query.push_str(piece);
            query.push('&');
        }
        query.push_str("page=");
        query.push_str(&page.to_string());
        if let Some(cursor) = cursor {
            query.push_str("&cursor=");
            query.push_str(cursor);
        }
        query
    }
}

#[cfg(test)]
mod tests {
    use super::{Fingerprint, PageLinks};

    #[test]
    fn links_keep_the_other_parameters() {
        for (query, expected) in [
            ("", "page=7"),
            ("page=2", "page=7"),
            ("cursor=old&q=%20b&p%61ge=2&page_size=5", "q=%20b&page_size=5&page=7"),
            ("filter[a%5D][gte]=1&&filter%5Bb%5D=2", "filter[a%5D][gte]=1&filter%5Bb%5D=2&page=7"),
        ] {
            let links = PageLinks::new(query, Fingerprint(0));
            assert_eq!(links.with_page(7, None), expected);
            assert_eq!(links.with_page(7, Some("x")), format!("{expected}&cursor=x"));
        }
    }
}
