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

const _: () = assert!(MEMBERS.len() == 9, "the members of the request below");

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

/// A rule or an expression, and the item to test it on.
#[derive(Object)]
#[oai(rename = "RuleTrial")]
struct Trial {
    /// A rule as in a rule file: an object with the same keys, or a YAML string. Send either this
    /// or `expression`.
    rule: Option<RuleSource>,
    /// A single expression (CEL). It can use the names in `lookup`.
    expression: Option<String>,
    /// Group of the item, as in rules.
    group: GroupName,
    /// The item after the write. Optional if the rule or expression does not use it.
    #[oai(rename = "self")]
    item: Option<AnyMembers>,
    /// The item before the write. Without it, the write is a create.
    #[oai(nullable)]
    old: Option<AnyMembers>,
    /// Date of the write. Default: today.
    today: Option<Date>,
    /// Results of the rule's lookups, by name: an item or null for a lookup by id, otherwise an
    /// array of items.
    lookup: Option<AnyMembers>,
    /// True to make the other lookups in the store, over the items and members that the caller may
    /// read. Default: false.
    lookup_stored: Option<bool>,
    /// True for the trial as a `case` in the response. Default: false.
    make_case: Option<bool>,
}

/// Result of a trial.
#[derive(Object)]
struct RuleTrialReport {
    /// `pass` also if the rule does not apply. `undecided` if an error occurred, or the value of an
    /// expression is neither true nor false.
    verdict: VerdictName,
    /// Why the rule does not apply. `null` if it applies.
    skipped: StringOrNull,
    /// The value of `expression`, or of the rule's `check`. `null` if it has no value.
    value: Any<Value>,
    /// True if the value was truncated because it exceeds 64 KiB.
    truncated: bool,
    /// The rule's message if it does not pass.
    message: StringOrNull,
    /// Every evaluated part of the expressions, in order of completion: parts before the whole.
    /// Literals and bare `self`, `old` and `caller` are omitted.
    #[oai(validator(max_items = 200))]
    trace: Vec<EvaluatedPart>,
    /// True if there were more than 200 parts.
    trace_truncated: bool,
    /// Errors that prevented a verdict, or the rule's own message.
    #[oai(validator(max_items = 100))]
    errors: Vec<RuleTrialError>,
    /// The trial as a case in YAML, for the list `cases` of a rule file. `null` if it was not
    /// requested, a result of a lookup is missing, or it has more than 256 KiB.
    case: StringOrNull,
}

/// An evaluated part of an expression.
#[derive(Object)]
#[oai(rename = "TracedExpression")]
struct EvaluatedPart {
    /// The part, as CEL.
    expression: String,
    /// Its value. `null` if it has no value.
    value: Any<Value>,
    /// True if the value was truncated because it exceeds 1,000 bytes.
    truncated: bool,
    /// Why it has no value.
    error: StringOrNull,
}

/// An error in the rule or expression.
#[derive(Object)]
struct RuleTrialError {
    /// The error and how to fix it.
    message: String,
    /// Location in the request, as a JSON Pointer (RFC 6901).
    pointer: String,
    /// The line in that string, from 1. `null` if the error concerns the whole value.
    #[oai(nullable)]
    line: i64,
    /// The character in the line, from 1.
    #[oai(nullable)]
    column: i64,
}
