//! The schemas of `filter`: what a value may be, and which operators there are.

use domain::Fields;
use domain::proposal::FieldKind;
use serde_json::{Map, Value, json};

use crate::groups::Group;
use crate::query::{MOST_VALUE, OPERATORS, TIMES};

/// The values a filter compares with, which have a schema each.
#[derive(Clone, Copy)]
enum Compared {
    String,
    StringOrInteger,
    Day,
    Time,
    Anything,
}

impl Compared {
    const fn name(self) -> &'static str {
        match self {
            Self::String => "TextFilter",
            Self::StringOrInteger => "TextOrIntegerFilter",
            Self::Day => "DayFilter",
            Self::Time => "TimeFilter",
            Self::Anything => "AnyFilter",
        }
    }

    const fn of(kind: FieldKind) -> Self {
        match kind {
            FieldKind::Date => Self::Day,
            FieldKind::String | FieldKind::StringOrList => Self::String,
            FieldKind::StringOrInteger => Self::StringOrInteger,
        }
    }

    fn value(self) -> Value {
        let text = json!({ "type": "string", "maxLength": MOST_VALUE });
        match self {
            Self::String => text,
            Self::StringOrInteger => json!({ "anyOf": [text, { "type": "integer" }] }),
            Self::Day => json!({ "type": "string", "format": "date" }),
            Self::Time => {
                json!({ "anyOf": [{ "type": "string", "format": "date-time" }, { "type": "string", "format": "date" }] })
            }
            Self::Anything => {
                json!({ "anyOf": [text, { "type": "number" }, { "type": "boolean" }] })
            }
        }
    }

    /// The operators, each with what it takes.
    fn conditions(self) -> Value {
        let offered = OPERATORS
            .iter()
            .filter(|(name, ..)| !matches!((self, *name), (Self::Time, "contains")));
        let properties = offered.map(|(name, _, description)| {
            let mut schema = match *name {
                "in" | "contains" => {
                    json!({ "type": "string", "minLength": 1, "maxLength": MOST_VALUE })
                }
                "exists" => json!({ "type": "boolean" }),
                _ => self.value(),
            };
            schema["description"] = (*description).into();
            ((*name).to_owned(), schema)
        });
        json!({
            "type": "object",
            "description": "All must hold.",
            "properties": properties.collect::<Map<_, _>>(),
            "minProperties": 1,
            "additionalProperties": false,
        })
    }
}

/// The name of the schema of a group's filters.
pub fn name(group: Group) -> String {
    format!("{}Filters", group.stem)
}

/// Adds the schemas to the document.
pub fn add(group: Group, document: &mut Value) {
    let schemas = &mut document["components"]["schemas"];
    for compared in [
        Compared::String,
        Compared::StringOrInteger,
        Compared::Day,
        Compared::Time,
        Compared::Anything,
    ] {
        let conditions = format!("{}Conditions", compared.name().trim_end_matches("Filter"));
        schemas[&conditions] = compared.conditions();
        let reference = json!({ "$ref": format!("#/components/schemas/{conditions}") });
        schemas[compared.name()] = json!({
            "description": "A value that the member equals, or conditions that hold of it. Of a list, one element must hold them.",
            "anyOf": [compared.value(), reference],
        });
    }
    schemas[name(group)] = filters(group);
}

fn filters(group: Group) -> Value {
    let times = TIMES.map(|(name, _)| (name.to_owned(), reference(Compared::Time)));
    let (members, others): (Vec<_>, Value) = match group.collection.spec().fields {
        Fields::Typed(fields) => (
            fields.iter().map(|field| (field.name, Compared::of(field.kind))).collect(),
            false.into(),
        ),
        Fields::Open(known) => (
            known.iter().map(|member| (member.name, Compared::Anything)).collect(),
            reference(Compared::Anything),
        ),
    };
    let members =
        members.into_iter().map(|(name, compared)| (name.to_owned(), reference(compared)));
    json!({
        "type": "object",
        "properties": members.chain(times).collect::<Map<_, _>>(),
        "additionalProperties": others,
    })
}

fn reference(compared: Compared) -> Value {
    json!({ "$ref": format!("#/components/schemas/{}", compared.name()) })
}
