mod conformance;
mod functions;
mod hostile;
mod language;
mod money;
mod refusals;
mod trace;

use crate::expression::{CostLimit, Meter};
use domain::{Found, Item, ItemId, Members, Version, WriteContext, WriteOperation};
use jiff::Timestamp;

use super::{BOOLEAN, EvaluationError, Expression, ExpressionError, Scope, Shape};

const ITEM: &str = r#"{
    "title": "Rice straw as a feed", "empty": "", "nothing": null, "yes": true, "count": 3, "budget": 1250.5, "large": 12345678901234567890.12,
    "start_date": "2026-01-31", "end_date": "2026-12-01", "status": "DRAFT", "quoted": "a \"b\" \u00e9\n",
    "lead": {"name": "Ana", "mail": "ana@example.org", "roles": ["author", "editor"]},
    "tags": ["rice", "feed", "rice"], "rows": [{"amount": "10.10", "kind": "a"}, {"amount": "20.20", "kind": "b"}, {"kind": "c"}],
    "amounts": [1, 2.5, "3.25"]
}"#;

pub(super) const ID: &str = "019a9a9a-0000-7000-8000-000000000001";
const OTHER_ID: &str = "019a9a9a-0000-7000-8000-000000000002";

pub(super) fn members(json: &str) -> Members {
    Members::read(json.as_bytes()).unwrap().unwrap()
}

pub(super) fn context() -> WriteContext {
    WriteContext {
        id: ItemId::parse(ID).unwrap(),
        caller: Some(std::sync::Arc::new(domain::Principal::named("ana"))),
        now: "2026-02-01T12:30:00Z".parse().unwrap(),
        today: jiff::civil::date(2026, 2, 1),
        ..WriteContext::any(WriteOperation::Create)
    }
}

/// An item that was not there before, with nothing looked up.
pub(super) fn scope<'a>(after: &'a Members, context: &'a WriteContext) -> Scope<'a> {
    Scope { after, before: None, context, lookups: &[], found: &[], meta: None, trace: None }
}

pub(super) fn found() -> [Found; 2] {
    [
        Found::Items(vec![item(r#"{"name": "P", "ceiling": 1000}"#)]),
        Found::Items(vec![item(r#"{"size": 1}"#), item(r#"{"size": 2}"#)]),
    ]
}

pub(super) fn item(json: &str) -> Item {
    Item {
        id: ItemId::parse(OTHER_ID).unwrap(),
        version: Version::FIRST,
        created_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
        members: members(json).into_encoded(),
        parent: ItemId::parse(ID),
        continues: None,
        created_by: None,
    }
}

pub(super) fn lookups() -> Vec<(String, Shape)> {
    vec![("program".to_owned(), Shape::One), ("lib".to_owned(), Shape::Many)]
}

pub(super) fn compile(source: &str) -> Result<Expression, ExpressionError> {
    Expression::compile(source, BOOLEAN, &lookups())
}

/// Returns the result of a condition for an item that has no previous state.
pub(super) fn judge(source: &str, item_json: &str) -> Result<bool, EvaluationError> {
    let found = found();
    let (after, context, lookups) = (members(item_json), context(), lookups());
    let scope = Scope { lookups: &lookups, found: &found, ..scope(&after, &context) };
    compile(source).unwrap_or_else(|error| panic!("{source}: {error:?}")).boolean(&scope, &meter())
}

pub(super) fn meter() -> Meter {
    Meter::of(CostLimit::Verdict)
}

pub(super) fn all_hold(sources: &[&str]) {
    for source in sources {
        assert_eq!(judge(source, ITEM), Ok(true), "{source}");
    }
}

/// Each of these fails with a string that has the words after `=>`.
pub(super) fn all_fail(sources: &str) {
    for line in sources.trim().lines() {
        let (source, words) = line.trim().split_once(" => ").expect(line);
        match judge(source, ITEM) {
            Err(EvaluationError::Failed(reason)) => {
                assert!(reason.contains(words), "{source}: {reason}");
                assert!(reason.chars().count() <= 200, "{source}: {reason}");
            }
            other => panic!("{source}: {other:?}"),
        }
    }
}
