//! Realistic examples, made by the code that makes the responses.

use application::query::Total;
use application::{
    ChangeKind, Embedded, Links, ListedItem, ListedPage, Listing, LoggedChange, PastVersion,
    Revision, Sequence, ShownItem, VersionPage,
};
use domain::{Item, ItemId, Version, Violation, Violations};
use jiff::Timestamp;
use poem::http::StatusCode;
use serde_json::{Map, Value};

use crate::base_url::BaseUrl;
use crate::groups::{Group, Operation};
use crate::hal::{self, ItemView, PageView, Snapshot};
use crate::links;
use crate::problem::{Problem, kinds};
use crate::query::{CollectionQuery, DEFAULT_PAGE_SIZE, VersionsQuery};

/// The example of an operation's request body.
#[must_use]
pub fn request(group: Group, operation: Operation) -> Value {
    let whole: Value = serde_json::from_str(&group.example()).unwrap_or_default();
    match operation {
        Operation::ReplaceAll => Value::Array(vec![whole]),
        Operation::Patch => first_text(&whole),
        _ => whole,
    }
}

/// A patch of one member, so that the example shows that the others stay.
fn first_text(whole: &Value) -> Value {
    let members = whole.as_object().into_iter().flatten();
    let text = members
        .filter(|(name, value)| {
            value.is_string() && !name.ends_with("_id") && !name.ends_with("_date")
        })
        .nth(1);
    text.map_or(Value::Null, |(name, value)| {
        Value::Object(Map::from_iter([(name.clone(), value.clone())]))
    })
}

/// The example of a successful response.
#[must_use]
pub fn response(group: Group, base_url: &BaseUrl, operation: Operation) -> Value {
    let parent = group.parent().and_then(|parent| ItemId::parse(parent.example_id));
    let shown = shown(group, parent);
    let item = |snapshot| hal::item(base_url, group, parent, &ItemView::new(&shown, snapshot));
    let text = match operation {
        Operation::List => hal::collection(
            base_url,
            group,
            &PageView {
                listing: &page_of(shown),
                parent,
                links: CollectionQuery::plain(group, parent).links(),
                snapshot: Snapshot::Now,
                warnings: &Violations::default(),
            },
        ),
        Operation::GetVersion => item(Snapshot::Version(&PastVersion {
            change: change(group, &shown),
            item: None,
            latest: Version::FIRST.next(),
            exists: true,
        })),
        Operation::ListVersions => {
            let versions = vec![change(group, &shown)];
            let page = VersionPage { versions, latest: shown.item.version, exists: true };
            let query = VersionsQuery { page: 1, page_size: DEFAULT_PAGE_SIZE };
            let url = links::item(base_url, group, parent, shown.item.id);
            hal::versions(&url, &query, &page)
        }
        Operation::Compare => r#"[{"op":"replace","path":"/note","value":"corrected"},{"op":"remove","path":"/draft"}]"#.to_owned(),
        _ => item(Snapshot::Now),
    };
    serde_json::from_str(&text).unwrap_or_default()
}

/// The write that made the example.
fn change(group: Group, shown: &ShownItem) -> LoggedChange {
    LoggedChange {
        sequence: Sequence(1),
        collection: group.collection,
        item: shown.item.id,
        version: shown.item.version,
        kind: ChangeKind::Created,
        time: shown.item.updated_at,
        caller: None,
    }
}

/// The one page of a collection with one item.
fn page_of(shown: ShownItem) -> Listing {
    let (total, revision) = (Total::Exact(1), Revision(1));
    let items = vec![ListedItem { shown, score: None, snippet: None }];
    let content =
        ListedPage { total, revision, items, first: None, last: None, has_more: false }.into();
    let (page, page_size, page_count) = (1, DEFAULT_PAGE_SIZE, Some(1));
    Listing {
        page,
        page_size,
        page_count,
        total,
        revision,
        content,
        previous: None,
        next: None,
        embedded: Embedded::default(),
    }
}

fn shown(group: Group, parent: Option<ItemId>) -> ShownItem {
    let time = Timestamp::constant(1_771_200_000, 0);
    let item = Item {
        id: ItemId::parse(group.example_id).unwrap_or(ItemId::from_uuid(uuid::Uuid::nil())),
        version: Version::FIRST,
        created_at: time,
        updated_at: time,
        members: group.example().into(),
        parent,
        continues: None,
    };
    ShownItem { item, links: Links::default() }
}

/// An example of every error, by status. Where several problems share a status, the first of the
/// list stands for them.
#[must_use]
pub fn problems(base_url: &BaseUrl) -> Vec<(u16, Value)> {
    let mut examples: Vec<(u16, Value)> = Vec::new();
    for kind in kinds::ALL.iter().filter(|kind| kind.code != kinds::NO_ROUTE.code) {
        let status = kind.status.as_u16();
        if examples.iter().all(|(known, _)| *known != status) {
            let problem = if kind.status == StatusCode::UNPROCESSABLE_ENTITY {
                refusal()
            } else {
                Problem::new(kind, kind.explanation)
            };
            examples.push((status, problem.to_json(base_url, "/v1/proposals")));
        }
    }
    examples.retain(|(status, _)| ![405, 500].contains(status));
    examples
}

fn refusal() -> Problem {
    let mut violations = Violations::default();
    violations.push(Violation::of_member(
        "project_title",
        "required",
        "`project_title` is required; send a string",
    ));
    violations.push(Violation::of_member(
        "end_date",
        "invalid_date",
        "there is no such day in the calendar; send a day as \"YYYY-MM-DD\"",
    ));
    Problem::invalid(violations)
}
