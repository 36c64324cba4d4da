//! The links from a page of a collection to the others.

use application::Listing;

use super::cursor;
use super::fingerprint::Fingerprint;
use super::pairs::{is_named, pieces};
use crate::representation::push_escaped_link;

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

    /// Appends self, first, prev, next and last, as far as they apply, each followed by a comma.
    pub fn push(&self, out: &mut String, collection_url: &str, listing: &Listing) {
        let own = if self.query.is_empty() {
            collection_url.to_owned()
        } else {
            format!("{collection_url}?{}", self.query)
        };
        push_escaped_link(out, "self", &own);
        let Listing { page_count, previous, next, .. } = listing;
        let neighbour = |neighbour: &application::AdjacentPage| {
            (neighbour.page, cursor::write(&neighbour.position, self.fingerprint))
        };
        let linked = [
            ("first", page_count.is_none_or(|count| count > 0).then_some((1, None))),
            ("prev", previous.as_ref().map(neighbour)),
            ("next", next.as_ref().map(neighbour)),
            ("last", page_count.filter(|count| *count > 0).map(|count| (count, None))),
        ];
        for (relation, target) in linked {
            if let Some((page, cursor)) = target {
                push_escaped_link(
                    out,
                    relation,
                    &format!("{collection_url}?{}", self.with_page(page, cursor.as_deref())),
                );
            }
        }
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
