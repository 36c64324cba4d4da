//! Realistic examples, made by the code that makes the responses.

use application::query::Total;
use application::{
    ChangeKind, Embedded, ListedItem, ListedPage, Listing, LoggedChange, PastVersion, Relations,
    Revision, Sequence, ShownItem, VersionPage,
};
use domain::proposal::FIELDS;
use domain::{Item, ItemId, Version, Violation, Violations};
use jiff::Timestamp;
use poem::http::StatusCode;
use serde_json::{Map, Value};

use crate::base_url::BaseUrl;
use crate::group::{Group, Members, Operation};
use crate::groups::Proposals;
use crate::problem::{Problem, kinds};
use crate::query::{CollectionQuery, DEFAULT_PAGE_SIZE, VersionsQuery};
use crate::representation::{self, Moment, Shown};

/// The members of a group's example item, as JSON text. The demonstration set is made of them.
#[must_use]
pub fn members<G: Group>() -> String {
    let pairs: Vec<_> = match G::MEMBERS {
        Members::Proposal => {
            FIELDS.iter().map(|field| format!("\"{}\":{}", field.name, field.example)).collect()
        }
        Members::Open(known) => {
            known.iter().map(|member| format!("\"{}\":{}", member.name, member.example)).collect()
        }
    };
    format!("{{{}}}", pairs.join(","))
}

/// The example of an operation's request body.
#[must_use]
pub fn request<G: Group>(operation: Operation) -> Value {
    let whole: Value = serde_json::from_str(&members::<G>()).unwrap_or_default();
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
pub fn response<G: Group>(base_url: &BaseUrl, operation: Operation) -> Value {
    let owner = G::OWNER.and_then(|owner| ItemId::parse(owner.example_id));
    let shown = shown::<G>(owner);
    let item_url = representation::item_url::<G>(base_url, owner, shown.item.id);
    let text = match operation {
        Operation::List => {
            let links = CollectionQuery::plain::<G>(owner).links();
            representation::collection::<G>(base_url, owner, &links, &page_of(shown), Moment::Now, &Violations::default())
        }
        Operation::GetVersion => {
            let past = PastVersion { change: change::<G>(&shown), item: None, latest: Version::FIRST.next(), exists: true };
            representation::item::<G>(base_url, owner, &Shown::written(&shown, Moment::Version(&past)))
        }
        Operation::ListVersions => {
            let page = VersionPage { versions: vec![change::<G>(&shown)], latest: shown.item.version, exists: true };
            representation::versions(&item_url, &VersionsQuery { page: 1, page_size: DEFAULT_PAGE_SIZE }, &page)
        }
        Operation::Compare => r#"[{"op":"replace","path":"/note","value":"corrected"},{"op":"remove","path":"/draft"}]"#.to_owned(),
        _ => representation::item::<G>(base_url, owner, &Shown::written(&shown, Moment::Now)),
    };
    serde_json::from_str(&text).unwrap_or_default()
}

/// What made the example.
fn change<G: Group>(shown: &ShownItem) -> LoggedChange {
    LoggedChange {
        sequence: Sequence(1),
        collection: G::COLLECTION,
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
        ListedPage { total, revision, items, first: None, last: None, goes_on: false }.into();
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

fn shown<G: Group>(owner: Option<ItemId>) -> ShownItem {
    let time = Timestamp::constant(1_771_200_000, 0);
    let item = Item {
        id: ItemId::parse(G::EXAMPLE_ID).unwrap_or(ItemId::from_uuid(uuid::Uuid::nil())),
        version: Version::FIRST,
        created_at: time,
        updated_at: time,
        members: members::<G>().into(),
        parent: owner,
        continues: None,
    };
    ShownItem { item, relations: Relations::default() }
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
            examples.push((status, problem.to_json(base_url, Proposals::PATH)));
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
        "`project_title` is required; send a text",
    ));
    violations.push(Violation::of_member(
        "end_date",
        "invalid_date",
        "there is no such day in the calendar; send a day as \"YYYY-MM-DD\"",
    ));
    Problem::invalid(violations)
}
