//! The schemas of a rule trial, and its example. They never hold values: a request is read with
//! all its errors, and a report keeps every digit.

use poem_openapi::Object;
use poem_openapi::registry::Registry;
use poem_openapi::types::{Any, Type};
use serde_json::{Value, json};

use super::model::no_other;
use super::values::{AnyMembers, Date, GroupName, RuleSource, StringOrNull, VerdictName};
use crate::request::rule_trial::MEMBERS;

pub const REQUEST: &str = "RuleTrial";
pub const RESPONSE: &str = "RuleTrialReport";

const _: () = assert!(MEMBERS.len() == 7, "the members of the request below");

pub fn register(registry: &mut Registry) {
    Trial::register(registry);
    RuleTrialReport::register(registry);
    if let Some(request) = registry.schemas.get_mut(REQUEST) {
        request.additional_properties = Some(Box::new(no_other()));
    }
}

pub fn example() -> Value {
    json!({
        "rule": {
            "id": "title_words",
            "group": "proposals",
            "when": "has(self.project_title)",
            "check": "words(self.project_title) <= 3",
            "message": "Shorten the title to three words.",
            "field": "/project_title",
        },
        "group": "proposals",
        "self": { "project_title": "Solar dryers for seaweed" },
        "today": "2026-06-30",
    })
}

/// A rule or an expression, and what it is tried on.
#[derive(Object)]
#[oai(rename = "RuleTrial")]
struct Trial {
    /// A rule as in a rule file: an object with the same keys, or a string of YAML. A trial has
    /// either this or `expression`.
    rule: Option<RuleSource>,
    /// An expression (CEL) alone. What stands in `lookup` is known to it by its name.
    expression: Option<String>,
    /// The group of the item, as rules name it.
    group: GroupName,
    /// The item as it would be. It may be left out where nothing reads it.
    #[oai(rename = "self")]
    item: Option<AnyMembers>,
    /// The item as it was; without it, the write is a create.
    #[oai(nullable)]
    old: Option<AnyMembers>,
    /// The day; without it, today.
    today: Option<Date>,
    /// The items that the rule's lookups find, by their names: an item or null by id, an array of
    /// items otherwise. Nothing is looked up in the store.
    lookup: Option<AnyMembers>,
}

/// The outcome of a trial.
#[derive(Object)]
struct RuleTrialReport {
    /// `pass` also where the rule has nothing to check. `undecided` where there is an error, or the
    /// value of an expression is neither true nor false.
    verdict: VerdictName,
    /// Why the rule has nothing to check; `null` where it has.
    skipped: StringOrNull,
    /// The value of `expression`, or of the rule's `check`; `null` where it has none.
    value: Any<Value>,
    /// The end of the value is missing; it has more than 64 KiB.
    truncated: bool,
    /// The rule's message where it does not pass.
    message: StringOrNull,
    /// Every part of the expressions that was evaluated, in the order in which that ended: parts
    /// before the whole. Literals and the bare `self`, `old` and `caller` are left out.
    #[oai(validator(max_items = 200))]
    trace: Vec<EvaluatedPart>,
    /// There were more than 200 parts.
    trace_truncated: bool,
    /// The errors for which there is no verdict, or no message of the rule's own.
    #[oai(validator(max_items = 100))]
    errors: Vec<RuleTrialError>,
}

/// A part of an expression that was evaluated.
#[derive(Object)]
#[oai(rename = "TracedExpression")]
struct EvaluatedPart {
    /// The part, as CEL.
    expression: String,
    /// Its value; `null` where it has none.
    value: Any<Value>,
    /// The end of the value is missing; it has more than 1,000 bytes.
    truncated: bool,
    /// Why it has no value.
    error: StringOrNull,
}

/// An error of what is tried.
#[derive(Object)]
struct RuleTrialError {
    /// The error and how to fix it.
    message: String,
    /// Where in the request, as a JSON Pointer (RFC 6901).
    pointer: String,
    /// The line in the string there, from 1; `null` where it is the value as a whole.
    #[oai(nullable)]
    line: i64,
    /// The character in the line, from 1.
    #[oai(nullable)]
    column: i64,
}
