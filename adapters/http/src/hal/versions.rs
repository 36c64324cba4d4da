//! The versions of an item as HAL.

use std::fmt::Write;

use application::{ChangeKind, LoggedChange, VersionPage};

use super::item::push_change;
use super::writer::{close_object, push_link, push_time};
use crate::query::VersionsQuery;

/// The versions of an item, as a collection.
#[must_use]
pub fn versions(item_url: &str, query: &VersionsQuery, page: &VersionPage) -> String {
    let url = format!("{item_url}/versions");
    let page_count = page.latest.number().unsigned_abs().div_ceil(query.page_size);
    let other = |number: u64| format!("{url}?page={number}&page_size={}", query.page_size);
    let mut out = String::from("{\"_links\":{");
    push_link(&mut out, "self", &other(query.page));
    push_link(&mut out, "first", &other(1));
    if query.page > 1 {
        push_link(&mut out, "prev", &other(query.page - 1));
    }
    if query.page < page_count {
        push_link(&mut out, "next", &other(query.page + 1));
    }
    push_link(&mut out, "last", &other(page_count));
    if page.exists {
        push_link(&mut out, "up", &item_url);
    }
    close_object(&mut out);
    out.push_str(",\"_embedded\":{\"versions\":[");
    for (index, version) in page.versions.iter().enumerate() {
        out.push_str(if index > 0 { "," } else { "" });
        push_version(&mut out, &url, version);
    }
    let VersionsQuery { page: number, page_size } = query;
    let _ = write!(
        out,
        "]}},\"page_count\":{page_count},\"page_size\":{page_size},\"total_items\":{},\"page\":{number}}}",
        page.latest
    );
    out
}

fn push_version(out: &mut String, url: &str, version: &LoggedChange) {
    let number = version.version.number();
    let _ = write!(out, "{{\"version\":{number},\"time\":");
    push_time(out, &version.time);
    push_change(out, version);
    out.push_str(",\"_links\":{");
    let at = |number: i64| format!("{url}/{number}");
    push_link(out, "self", &at(number));
    if let Some(predecessor) = version.predecessor() {
        push_link(out, "predecessor-version", &at(predecessor.number()));
        if version.kind != ChangeKind::Deleted {
            push_link(out, "diff", &format_args!("{}/diff?from={predecessor}", at(number)));
        }
    }
    close_object(out);
    out.push('}');
}
