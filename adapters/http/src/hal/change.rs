//! The representations of changes, typed as documented.

use application::{CallerNames, ChangeAuthor, LoggedChange, SeenChange};
use poem_openapi::Object;

use crate::base_url::BaseUrl;
use crate::groups::GroupSpec;
use crate::headers::link::Targets;
use crate::links;
use crate::openapi::values::{
    DateTime, GroupName, Link, Number, SeenKind, StringOrNull, Uuid, WITHDRAWN,
};
use crate::query::ChangesQuery;
use crate::query::change_cursor::{self, ChangeCursor, HistoryHash};
use crate::time::TIME;

/// A page of changes, oldest first.
#[derive(Object)]
pub struct ChangePage {
    #[oai(rename = "_links")]
    links: ChangePageLinks,
    #[oai(rename = "_embedded")]
    embedded: EmbeddedChanges,
    /// Maximum number of changes per page.
    page_size: i64,
}

/// Links to this page, the next page and the entry point.
#[derive(Object)]
pub struct ChangePageLinks {
    #[oai(rename = "self")]
    own: Link,
    next: Link,
    up: Link,
}

/// The changes of a page.
#[derive(Object)]
#[oai(rename = "Changes")]
pub struct EmbeddedChanges {
    changes: Vec<Change>,
}

/// A write of an item.
#[derive(Object)]
pub struct Change {
    /// Group of the item. Library items of proposals are in `lib`.
    group: GroupName,
    /// The item that was written.
    item_id: Uuid,
    /// The created version. Absent if `withdrawn`.
    #[oai(skip_serializing_if_is_none)]
    version: Option<Number>,
    /// The kind of write. `withdrawn`: you could see the item before the write, but not after it.
    kind: SeenKind,
    /// Time of the write (RFC 3339, UTC). Absent if `withdrawn`.
    #[oai(skip_serializing_if_is_none)]
    time: Option<DateTime>,
    #[oai(flatten)]
    author: Author,
    /// Cursor of this change. Send it as `after` to continue from here.
    cursor: String,
    #[oai(rename = "_links")]
    links: ChangeLinks,
}

/// The author of a write.
#[derive(Object)]
pub struct Author {
    /// The caller. `null` if anonymous or hidden.
    caller: StringOrNull,
    /// Name of the caller, if known.
    #[oai(skip_serializing_if_is_none)]
    caller_name: Option<String>,
    /// Who acted on behalf of the caller. `null` if not applicable.
    acting: StringOrNull,
    /// Client program. `null` if unknown.
    client: StringOrNull,
    /// The `X-Request-Id` of the request. `null` if unknown.
    request_id: StringOrNull,
}

/// Links to the item and to the created version.
#[derive(Object)]
pub struct ChangeLinks {
    item: Link,
    /// Absent if `withdrawn`.
    #[oai(skip_serializing_if_is_none)]
    version: Option<Link>,
}

impl ChangePage {
    pub fn of(
        query: &ChangesQuery,
        (page, names): (&application::ChangePage, &CallerNames),
        history: HistoryHash,
        base_url: &BaseUrl,
    ) -> Self {
        let changes = page.changes.iter().map(|seen| Change::of((seen, names), history, base_url));
        let next = ChangeCursor { history, sequence: page.read_to };
        Self {
            links: ChangePageLinks {
                own: page_link(query, query.after, base_url),
                next: page_link(query, Some(next), base_url),
                up: Link::to(format!("{base_url}/")),
            },
            embedded: EmbeddedChanges { changes: changes.collect() },
            page_size: query.page_size.cast_signed(),
        }
    }

    pub fn targets(&self) -> Targets {
        vec![("next", self.links.next.url())]
    }
}

fn page_link(query: &ChangesQuery, after: Option<ChangeCursor>, base_url: &BaseUrl) -> Link {
    let after = after.map(|after| format!("after={}&", change_cursor::write(after)));
    let group = query.collection.map(|collection| format!("group={}&", collection.name()));
    let (after, group) = (after.unwrap_or_default(), group.unwrap_or_default());
    Link::to(format!("{base_url}{}?{after}{group}page_size={}", links::CHANGES, query.page_size))
}

impl Author {
    pub fn of(author: &ChangeAuthor, names: &CallerNames) -> Self {
        let ChangeAuthor { caller, acting, client, request_id } = author.clone();
        let name = caller.as_deref().and_then(|caller| names.get(caller));
        Self {
            caller_name: name.map(ToString::to_string),
            caller: StringOrNull(caller.into()),
            acting: StringOrNull(acting.into()),
            client: StringOrNull(client.into()),
            request_id: StringOrNull(request_id.into()),
        }
    }
}

impl Change {
    pub fn of(
        (seen, names): (&SeenChange, &CallerNames),
        history: HistoryHash,
        base_url: &BaseUrl,
    ) -> Self {
        let change = &seen.change;
        let written = seen.shown();
        let author = written.map(|change| change.author.clone()).unwrap_or_default();
        let item = links::item(base_url, GroupSpec::of(change.collection), None, change.item);
        let version = |change: &LoggedChange| format!("{item}/versions/{}", change.version);
        Self {
            group: GroupName(change.collection.name().into()),
            item_id: Uuid(change.item.to_string().into()),
            version: written.map(|change| Number(change.version.number().into())),
            kind: SeenKind(kind_of(seen).into()),
            time: written.map(|change| DateTime(TIME.timestamp_to_string(&change.time).into())),
            author: Author::of(&author, names),
            cursor: change_cursor::write(ChangeCursor { history, sequence: change.sequence }),
            links: ChangeLinks {
                version: written.map(|change| Link::to(version(change))),
                item: Link::to(item.clone()),
            },
        }
    }
}

pub fn kind_of(seen: &SeenChange) -> &'static str {
    if seen.is_withdrawn { WITHDRAWN } else { seen.change.kind.change_name() }
}
