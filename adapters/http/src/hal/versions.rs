//! The versions of an item as HAL, typed as documented.

use application::{CallerNames, LoggedChange, VersionPage};
use poem_openapi::Object;

use super::change::Author;
use crate::headers::link::Targets;
use crate::openapi::values::{CollectionLinks, DateTime, Kind, Link, Number};
use crate::query::VersionsQuery;
use crate::time::TIME;

/// The versions of an item, newest first.
#[derive(Object)]
pub struct VersionHistory {
    #[oai(rename = "_links")]
    links: CollectionLinks,
    #[oai(rename = "_embedded")]
    embedded: Versions,
    /// Number of pages.
    page_count: Number,
    /// Versions per page.
    page_size: Number,
    /// Number of versions.
    total_items: Number,
    /// Number of this page, from 1.
    page: Number,
}

/// The versions of a page.
#[derive(Object)]
pub struct Versions {
    versions: Vec<VersionEntry>,
}

/// The write that created a version.
#[derive(Object)]
pub struct VersionEntry {
    /// Version number: 1, 2, 3….
    version: Number,
    /// Time of the write (RFC 3339, UTC).
    time: DateTime,
    /// The kind of write.
    kind: Kind,
    #[oai(flatten)]
    author: Author,
    /// When the body of the version was removed. Only if it was: the version can then not be shown,
    /// compared or restored.
    #[oai(skip_serializing_if_is_none)]
    removed_at: Option<DateTime>,
    #[oai(rename = "_links")]
    links: VersionLinks,
}

/// Links to the version, the previous one and the difference between them.
#[derive(Object)]
#[oai(skip_serializing_if_is_none)]
pub struct VersionLinks {
    #[oai(rename = "self")]
    own: Link,
    #[oai(rename = "predecessor-version")]
    previous: Option<Link>,
    diff: Option<Link>,
}

impl VersionHistory {
    pub fn of(
        item_url: &str,
        query: &VersionsQuery,
        (page, names): (&VersionPage, &CallerNames),
    ) -> Self {
        let url = format!("{item_url}/versions");
        let VersionsQuery { page: number, page_size } = *query;
        let page_count = page.latest.number().unsigned_abs().div_ceil(page_size);
        let link = |number: u64| Link::to(format!("{url}?page={number}&page_size={page_size}"));
        let versions = page.versions.iter().map(|version| VersionEntry::of(&url, version, names));
        Self {
            links: CollectionLinks {
                own: link(number),
                first: Some(link(1)),
                prev: (number > 1).then(|| link(number - 1)),
                next: (number < page_count).then(|| link(number + 1)),
                last: Some(link(page_count)),
                up: page.exists.then(|| Link::to(item_url.to_owned())),
            },
            embedded: Versions { versions: versions.collect() },
            page_count: Number(page_count.into()),
            page_size: Number(page_size.into()),
            total_items: Number(page.latest.number().into()),
            page: Number(number.into()),
        }
    }

    pub fn targets(&self) -> Targets {
        let CollectionLinks { first, prev, next, last, .. } = &self.links;
        let links = [("first", first), ("prev", prev), ("next", next), ("last", last)];
        let target = |(relation, link): (_, &Option<Link>)| Some((relation, link.as_ref()?.url()));
        links.into_iter().filter_map(target).collect()
    }
}

impl VersionEntry {
    fn of(url: &str, version: &LoggedChange, names: &CallerNames) -> Self {
        let own = format!("{url}/{}", version.version);
        let previous = version.previous_version();
        let diff = previous.filter(|_| version.has_body());
        let time = |time| DateTime(TIME.timestamp_to_string(time).into());
        Self {
            version: Number(version.version.number().into()),
            time: time(&version.time),
            removed_at: version.removed_at.as_ref().map(time),
            kind: Kind(version.kind.change_name().into()),
            author: Author::of(&version.author, names),
            links: VersionLinks {
                previous: previous.map(|number| Link::to(format!("{url}/{number}"))),
                diff: diff.map(|from| Link::to(format!("{own}/diff?from={from}"))),
                own: Link::to(own),
            },
        }
    }
}
