//! The schemas of `filter`: values and operators.

use domain::Fields;
use domain::proposal::FieldKind;
use poem_openapi::registry::{MetaSchema, MetaSchemaRef, Registry};
use serde_json::Map;

use super::examples;
use super::model::{any_of, described, formatted, inline, no_other, object, reference};
use crate::groups::{GROUPS, Group};
use crate::query::{MOST_VALUE, OPERATORS, TIMES};

pub fn register(registry: &mut Registry) {
    registry.schemas.extend(comparisons());
    registry
        .schemas
        .extend(GROUPS.iter().map(|group| (format!("{}Filters", group.stem), of(group))));
}

fn comparisons() -> impl Iterator<Item = (String, MetaSchema)> {
    let string =
        || inline(MetaSchema { max_length: Some(MOST_VALUE), ..MetaSchema::new("string") });
    let day = || inline(formatted("date"));
    let other = |name| inline(MetaSchema::new(name));
    let values = [
        ("Text", vec![string()]),
        ("TextOrInteger", vec![string(), other("integer")]),
        ("Day", vec![day()]),
        ("Time", vec![inline(formatted("date-time")), day()]),
        ("Any", vec![string(), other("number"), other("boolean")]),
    ];
    values.into_iter().flat_map(|(stem, values)| {
        let value = match &values[..] {
            [MetaSchemaRef::Inline(value)] => (**value).clone(),
            _ => any_of(values),
        };
        let name = format!("{stem}Conditions");
        let conditions = conditions(stem, &value);
        let either = MetaSchema {
            description: Some(
                "A value that the member must equal, or conditions that it must meet. For a list, at least one element must match.",
            ),
            ..any_of([inline(value), reference(&name)])
        };
        [(name, conditions), (format!("{stem}Filter"), either)]
    })
}

fn conditions(stem: &str, value: &MetaSchema) -> MetaSchema {
    let offered = OPERATORS.iter().filter(|(name, ..)| (stem, *name) != ("Time", "contains"));
    let properties = offered.map(|(name, _, description)| {
        let schema = match *name {
            "in" | "contains" => MetaSchema {
                min_length: Some(1),
                max_length: Some(MOST_VALUE),
                ..MetaSchema::new("string")
            },
            "exists" => MetaSchema::new("boolean"),
            _ => value.clone(),
        };
        (*name, described(schema, description))
    });
    MetaSchema {
        description: Some("All conditions must be met."),
        min_properties: Some(1),
        additional_properties: Some(Box::new(no_other())),
        ..object(&[], properties)
    }
}

pub fn of(group: Group) -> MetaSchema {
    let (member, value) = examples::filtered(group);
    let times = TIMES.map(|(name, _)| (name, reference("TimeFilter")));
    let (members, others): (Vec<_>, _) = match group.collection.spec().fields {
        Fields::Typed(fields) => (
            fields.iter().map(|field| (field.name, reference(of_kind(field.kind)))).collect(),
            Some(Box::new(no_other())),
        ),
        Fields::Open(known) => (
            known.iter().map(|member| (member.name, reference("AnyFilter"))).collect(),
            Some(Box::new(reference("AnyFilter"))),
        ),
    };
    MetaSchema {
        additional_properties: others,
        example: Some(Map::from_iter([(member.to_owned(), value.into())]).into()),
        ..object(&[], members.into_iter().chain(times))
    }
}

const fn of_kind(kind: FieldKind) -> &'static str {
    match kind {
        FieldKind::Date => "DayFilter",
        FieldKind::String | FieldKind::StringOrList => "TextFilter",
        FieldKind::StringOrInteger => "TextOrIntegerFilter",
    }
}
