//! The search over all groups: the best matches of each.

use application::query::Total;
use askama::Template;
use poem::Request;

use super::Explorer;
use super::cells;
use super::links::escaped;
use super::page::{Layout, render};
use crate::groups::GroupSpec;
use crate::problem::Result;
use crate::query::{CollectionQuery, Parameters, query_of, with_query};
use crate::request::caller::caller_of;

/// The matches of a group.
const MOST: u64 = 5;

#[derive(Template)]
#[template(path = "explorer/search.html")]
struct SearchPage<'a> {
    layout: Layout<'a>,
    q: String,
    groups: Vec<Matches>,
}

struct Matches {
    label: String,
    total: String,
    all: String,
    /// Addresses, titles and marked snippets.
    items: Vec<(String, String, Option<String>)>,
}

impl Explorer {
    pub(super) async fn show_search(&self, request: &Request) -> Result<String> {
        let parameters = Parameters::read(query_of(request), &["q"])?;
        let q = parameters.get("q").unwrap_or_default().trim().to_owned();
        let layout = self.layout(request, "Search", "search", None);
        let caller = caller_of(request);
        let mut groups = Vec::new();
        let searched = if q.is_empty() { Vec::new() } else { self.in_menu(caller) };
        for collection in searched {
            let group = GroupSpec::of(collection);
            let raw = format!("q={}&page_size={MOST}", escaped(&q));
            let query = CollectionQuery::read(group, &raw, None)?;
            let listing = self.service(group)?.list(caller, None, &query.request).await?;
            if listing.items().is_empty() {
                continue;
            }
            let items = listing.items().iter().map(|listed| {
                let item = &listed.shown.item;
                let title = cells::title(item, group.columns);
                (self.links.item(collection, item.id), title, listed.snippet.clone())
            });
            groups.push(Matches {
                label: layout.reader.group(collection).to_owned(),
                total: match listing.content.total {
                    Total::Exact(count) => layout.reader.count(&count),
                    Total::AtLeast(count) => format!("more than {}", layout.reader.count(&count)),
                    Total::NotCounted => String::new(),
                },
                all: with_query(&self.links.collection(collection), &format!("q={}", escaped(&q))),
                items: items.collect(),
            });
        }
        render(&SearchPage { layout, q, groups })
    }
}
