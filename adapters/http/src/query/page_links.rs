//! The links from a page of a collection to the others.

use application::query::PageStart;

use super::cursor;
use super::fingerprint::Fingerprint;
use super::parameters::{is_named, pieces};

/// The links of a page: its own query with another page. A link to an adjacent page has a cursor
/// as well as the number, so that it costs the same however deep the page lies, and skips and
/// repeats nothing when items come and go.
#[derive(Clone, Copy, Debug)]
pub struct PageLinks<'a> {
    query: &'a str,
    fingerprint: Fingerprint,
}

impl<'a> PageLinks<'a> {
    /// The links from the page that was read with `query`.
    pub(super) const fn new(query: &'a str, fingerprint: Fingerprint) -> Self {
        Self { query, fingerprint }
    }

    /// The URL of the page itself.
    pub fn own(&self, collection_url: &str) -> String {
        if self.query.is_empty() {
            collection_url.to_owned()
        } else {
            format!("{collection_url}?{}", self.query)
        }
    }

    /// The URL of another page.
    pub fn to(&self, collection_url: &str, page: u64, position: Option<&PageStart>) -> String {
        let cursor = position.and_then(|position| cursor::write(position, self.fingerprint));
        format!("{collection_url}?{}", self.with_page(page, cursor.as_deref()))
    }

    fn with_page(&self, page: u64, cursor: Option<&str>) -> String {
        let is_kept = |piece: &&str| !is_named(piece, "page") && !is_named(piece, "cursor");
        let mut query: Vec<_> = pieces(self.query).filter(is_kept).map(str::to_owned).collect();
        query.push(format!("page={page}"));
        query.extend(cursor.map(|cursor| format!("cursor={cursor}")));
        query.join("&")
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
