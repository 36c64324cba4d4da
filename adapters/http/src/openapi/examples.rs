//! Examples, made by the code that makes the responses.

use std::sync::Arc;

use application::query::{Total, tokenizer};
use application::{
    CallerNames, ChangeAuthor, Embedded, Links, ListedItem, ListedPage, Listing, LoggedChange,
    PageHash, PastVersion, Revision, Sequence, ShownItem, VersionPage,
};
use domain::{Collection, Item, ItemId, Members, Version, WriteOperation};
use jiff::Timestamp;
use poem::http::StatusCode;
use poem_openapi::types::ToJSON;
use serde_json::{Map, Value};

use super::model::about;
use super::schemas;
use crate::base_url::BaseUrl;
use crate::groups::{Group, GroupOperation};
use crate::hal::{self, ItemView, PageView, Snapshot, VersionHistory};
use crate::links;
use crate::problem::{Problem, ProblemKind, kinds};
use crate::query::{CollectionQuery, DEFAULT_PAGE_SIZE, VersionsQuery};

pub fn request(group: Group, operation: GroupOperation) -> (&'static str, Value) {
    let whole: Value = serde_json::from_str(&group.example()).unwrap_or_default();
    match operation {
        GroupOperation::ReplaceAll => {
            (schemas::body_name(group, operation), Value::Array(vec![whole]))
        }
        GroupOperation::Patch => (schemas::body_name(group, operation), first_text(&whole)),
        _ => (schemas::body_name(group, GroupOperation::Create), whole),
    }
}

/// Patches one member: the example shows that the others stay.
fn first_text(whole: &Value) -> Value {
    let is_text = |(name, value): &(&String, &Value)| {
        value.is_string() && !name.ends_with("_id") && !name.ends_with("_date")
    };
    let text = whole.as_object().into_iter().flatten().filter(is_text).nth(1);
    text.map(|(name, value)| Map::from_iter([(name.clone(), value.clone())])).into()
}

pub fn response(
    group: Group,
    operation: GroupOperation,
    base_url: &BaseUrl,
) -> (&'static str, Value) {
    let parent = group.parent().and_then(|parent| ItemId::parse(parent.example_id));
    let shown = shown(group, parent);
    let item = |snapshot| hal::item(base_url, group, parent, &ItemView::new(&shown, snapshot));
    let change = change(group, &shown);
    let (name, body) = match operation {
        GroupOperation::List | GroupOperation::ReplaceAll => {
            let query = CollectionQuery::plain(group, parent);
            let listing = Listing::new(&query.request, page_of(shown), Embedded::default());
            let targets = query.targets(&links::collection(base_url, group, parent), &listing);
            let view = PageView::new(&listing, parent, targets, Snapshot::Now);
            ("{stem}Collection", hal::collection(base_url, group, &view))
        }
        GroupOperation::GetVersion => {
            let latest = Version::FIRST.next();
            let version = PastVersion { change, item: None, latest, exists: true, is_cut: false };
            ("{stem}Version", item(Snapshot::Version(&version)))
        }
        GroupOperation::ListVersions => {
            let versions = vec![change];
            let page = VersionPage { versions, latest: shown.item.version, exists: true };
            let query = VersionsQuery { page: 1, page_size: DEFAULT_PAGE_SIZE };
            let url = links::item(base_url, group, parent, shown.item.id);
            let history = VersionHistory::of(&url, &query, (&page, &CallerNames::new()));
            ("{stem}Versions", history.to_json_string())
        }
        GroupOperation::Compare => {
            let operations = r#"[{"op":"replace","path":"/note","value":"corrected"},{"op":"remove","path":"/draft"}]"#;
            ("{stem}Difference", operations.to_owned())
        }
        _ => ("{stem}", item(Snapshot::Now)),
    };
    (about(group, name), serde_json::from_str(&body).unwrap_or_default())
}

fn change(group: Group, shown: &ShownItem) -> LoggedChange {
    LoggedChange {
        sequence: Sequence(1),
        collection: group.collection,
        item: shown.item.id,
        version: shown.item.version,
        kind: WriteOperation::Create,
        time: shown.item.updated_at,
        author: ChangeAuthor::default(),
        removed_at: None,
    }
}

fn page_of(shown: ShownItem) -> Arc<ListedPage> {
    let (total, revision) = (Total::Exact(1), Revision(1));
    let items = vec![ListedItem { shown, score: None, snippet: None, removed_at: None }];
    ListedPage {
        total,
        revision,
        items,
        first: None,
        last: None,
        has_more: false,
        counts: None,
        hash: PageHash::default(),
    }
    .into()
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
        created_by: None,
    };
    ShownItem { item, links: Links::default() }
}

/// Shows the first problem of the list with this status.
pub fn problem(status: u16, base_url: &BaseUrl) -> Value {
    let describes =
        |kind: &&ProblemKind| kind.status.as_u16() == status && kind.code != kinds::NO_ROUTE.code;
    let kind = kinds::ALL.iter().find(describes).unwrap_or(&kinds::INTERNAL);
    let problem = if kind.status == StatusCode::UNPROCESSABLE_ENTITY {
        let members = [("proposal_type", "Basic research"), ("end_date", "2026-02-30")];
        let proposals = Collection::known("proposals");
        Problem::invalid(proposals.validate(Members::from_iter(members)).1)
    } else {
        Problem::new(kind, kind.explanation)
    };
    problem.to_json(base_url, "/v1/proposals")
}

/// A member that a filter can select by, preferably a single word.
pub fn filtered(group: Group) -> (&'static str, String) {
    let strings = strings(group);
    let is_word = |(_, text): &&(_, String)| text.bytes().all(|byte| byte.is_ascii_alphabetic());
    strings.iter().find(is_word).or(strings.first()).cloned().unwrap_or(("id", String::new()))
}

pub fn searched(group: Group) -> String {
    let strings = strings(group);
    let mut words = strings.iter().flat_map(|(_, text)| tokenizer::words(text));
    let is_plain = |word: &String| {
        word.len() > 3 && *word != "example" && word.bytes().all(|byte| byte.is_ascii_alphabetic())
    };
    words.find(is_plain).unwrap_or_default()
}

fn strings(group: Group) -> Vec<(&'static str, String)> {
    let string = |example: &str| {
        serde_json::from_str::<String>(example).ok().filter(|text| ItemId::parse(text).is_none())
    };
    let members = group.members_by_name();
    members.filter_map(|(name, _, example)| Some((name, string(example)?))).collect()
}
