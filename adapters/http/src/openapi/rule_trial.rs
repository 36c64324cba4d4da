//! The schemas of a trial of a business rule, and its example.

use application::TrialVerdict;
use domain::Collection;
use poem_openapi::registry::{MetaSchema, Registry};
use serde_json::{Value, json};

use super::model::{
    NOTHING, any_of, array, described, formatted, inline, object, one_of, reference,
};
use crate::request::rule_trial::MEMBERS;

/// The name of the request's schema.
pub const REQUEST: &str = "RuleTrial";
/// The name of the response's schema.
pub const RESPONSE: &str = "RuleTrialReport";
const TRACED: &str = "TracedExpression";
const ERROR: &str = "RuleTrialError";

const _: () = assert!(MEMBERS.len() == 7, "the members of the request below");

/// Registers all of them.
pub fn register(registry: &mut Registry) {
    let schemas =
        [(REQUEST, request()), (RESPONSE, response()), (TRACED, traced()), (ERROR, error())];
    registry.schemas.extend(schemas.map(|(name, schema)| (name.to_owned(), schema)));
}

/// A rule, and an item that it does not let pass.
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

fn request() -> MetaSchema {
    let item = || MetaSchema {
        additional_properties: Some(Box::new(inline(MetaSchema::ANY))),
        ..MetaSchema::new("object")
    };
    let nullable = |schema| MetaSchema { nullable: true, ..schema };
    let rule = any_of([inline(item()), inline(MetaSchema::new("string"))]);
    let expression = MetaSchema::new("string");
    let properties = [
        (
            "rule",
            described(
                rule,
                "A rule as in a rule file: an object with the same keys, or a string of YAML. A trial has either this or `expression`.",
            ),
        ),
        (
            "expression",
            described(
                expression,
                "An expression (CEL) alone. What stands in `lookup` is known to it by its name.",
            ),
        ),
        (
            "group",
            described(one_of(Collection::names()), "The group of the item, as rules name it."),
        ),
        (
            "self",
            described(
                item(),
                "The item as it would be. It may be left out where nothing reads it.",
            ),
        ),
        (
            "old",
            described(nullable(item()), "The item as it was; without it, the write is a create."),
        ),
        ("today", described(formatted("date"), "The day; without it, today.")),
        (
            "lookup",
            described(
                item(),
                "What the rule's lookups find, by their names: an item or null by id, an array of items otherwise. Nothing is looked up in the store.",
            ),
        ),
    ];
    MetaSchema {
        description: Some("A rule or an expression, and what it is tried on."),
        additional_properties: Some(Box::new(inline(MetaSchema::new(NOTHING)))),
        ..object(&["group"], properties)
    }
}

fn response() -> MetaSchema {
    let verdict = one_of(TrialVerdict::ALL.map(TrialVerdict::name));
    let properties = [
        (
            "verdict",
            described(
                verdict,
                "`pass` also where the rule has nothing to check. `undecided` where there is an error, or the value of an expression is neither true nor false.",
            ),
        ),
        (
            "skipped",
            described(string_or_null(), "Why the rule has nothing to check; `null` where it has."),
        ),
        (
            "value",
            described(
                MetaSchema::ANY,
                "The value of `expression`, or of the rule's `check`; `null` where it has none.",
            ),
        ),
        (
            "truncated",
            described(
                MetaSchema::new("boolean"),
                "The end of the value is missing; it has more than 64 KiB.",
            ),
        ),
        ("message", described(string_or_null(), "The rule's message where it does not pass.")),
        (
            "trace",
            described(
                listed(TRACED, 200),
                "Every part of the expressions that was evaluated, in the order in which that ended: parts before the whole. Literals and the bare `self`, `old` and `caller` are left out.",
            ),
        ),
        (
            "trace_truncated",
            described(MetaSchema::new("boolean"), "There were more than 200 parts."),
        ),
        (
            "errors",
            described(
                listed(ERROR, 100),
                "The errors for which there is no verdict, or no message of the rule's own.",
            ),
        ),
    ];
    let required = properties.each_ref().map(|(name, _)| *name);
    MetaSchema { description: Some("The outcome of a trial."), ..object(&required, properties) }
}

fn traced() -> MetaSchema {
    let properties = [
        ("expression", described(MetaSchema::new("string"), "The part, as CEL.")),
        ("value", described(MetaSchema::ANY, "Its value; `null` where it has none.")),
        (
            "truncated",
            described(
                MetaSchema::new("boolean"),
                "The end of the value is missing; it has more than 1,000 bytes.",
            ),
        ),
        ("error", described(string_or_null(), "Why it has no value.")),
    ];
    let required = properties.each_ref().map(|(name, _)| *name);
    MetaSchema {
        description: Some("A part of an expression that was evaluated."),
        ..object(&required, properties)
    }
}

fn error() -> MetaSchema {
    let number =
        || MetaSchema { nullable: true, ..MetaSchema::new_with_format("integer", "int64") };
    let properties = [
        ("message", described(MetaSchema::new("string"), "The error and how to fix it.")),
        (
            "pointer",
            described(
                MetaSchema::new("string"),
                "Where in the request, as a JSON Pointer (RFC 6901).",
            ),
        ),
        (
            "line",
            described(
                number(),
                "The line in the string there, from 1; `null` where it is the value as a whole.",
            ),
        ),
        ("column", described(number(), "The character in the line, from 1.")),
    ];
    let required = properties.each_ref().map(|(name, _)| *name);
    MetaSchema { description: Some("An error of what is tried."), ..object(&required, properties) }
}

fn string_or_null() -> MetaSchema {
    MetaSchema { nullable: true, ..MetaSchema::new("string") }
}

fn listed(name: &str, most: usize) -> MetaSchema {
    MetaSchema { max_items: Some(most), ..array(reference(name)) }
}
