//! The schemas of a group's bodies and representations.

use domain::proposal::{Field, FieldKind};
use domain::{Fields, KnownMember, RelationKind};
use poem_openapi::registry::{MetaSchema, MetaSchemaRef, Registry};
use serde_json::Value;

use super::fixed::PageNumbers;
use super::model::{
    about, any_of, array, described, formatted, inline, keep, matching, no_other, object, reference,
};
use crate::groups::{Group, GroupOperation};
use crate::links::ItemLink;

pub fn collection_name(group: Group) -> &'static str {
    about(group, "{stem}Collection")
}

pub fn body_name(group: Group, operation: GroupOperation) -> &'static str {
    let name = match operation {
        GroupOperation::Create => "{stem}Body",
        GroupOperation::Patch => "{stem}Patch",
        GroupOperation::ReplaceAll => "{stem}Replacement",
        _ => "{stem}Change",
    };
    about(group, name)
}

/// poem-openapi omits schemas without a reference.
pub fn of(group: Group) -> Vec<(String, MetaSchema)> {
    let with_bodies = group
        .operations()
        .filter(|operation| operation.takes_body() && *operation != GroupOperation::ReplaceAll);
    let bodies = with_bodies.map(|operation| (body_name(group, operation), body(group, operation)));
    let shown = [
        (group.stem, item(group)),
        (embedded_name(group), embedded(group)),
        (collection_name(group), collection(group)),
    ];
    let all = bodies.chain(shown).chain(replacement(group));
    all.map(|(name, schema)| (name.to_owned(), schema)).collect()
}

fn body(group: Group, operation: GroupOperation) -> MetaSchema {
    let mut schema = members(group, true);
    if operation == GroupOperation::Patch {
        schema.required.clear();
    }
    if operation != GroupOperation::Create {
        let id = described(
            formatted("uuid"),
            "Optional. If sent, it must equal the identifier in the path.",
        );
        schema.properties.push(("id", id));
    }
    for name in ["_links", "_embedded", "_meta"] {
        schema.properties.push((name, described(MetaSchema::ANY, "Ignored.")));
    }
    schema.description = Some(match group.collection.spec().fields {
        Fields::Typed(fields) => {
            schema.additional_properties = Some(Box::new(no_other()));
            let fields = fields.len().to_string();
            keep(about(group, "The {fields} fields of {item}. `null` means absent. Other members are rejected. `_links`, `_embedded` and `_meta` are ignored, so you can edit and send back {item} that you read.").replace("{fields}", &fields))
        }
        Fields::Open(_) => {
            "Any JSON object. The members listed here are typical. They are optional and not checked."
        }
    });
    schema
}

/// Every schema has a name, because client generators make a class of each.
fn replacement(group: Group) -> [(&'static str, MetaSchema); 4] {
    let [element, embedded, whole] =
        ["{stem}Element", "{stem}Embedded", "{stem}Whole"].map(|name| about(group, name));
    let name = group.collection.name();
    let elements = || inline(array(reference(element)));
    let mut either = any_of([elements(), reference(whole)]);
    either.description =
        Some("An array of items, or a HAL collection as returned by GET. At most 50,000 items.");
    let mut one = members(group, true);
    one.description = Some(
        "An item. With the `id` of an existing item, it replaces that item. Without `id`, it is new.",
    );
    [
        (body_name(group, GroupOperation::ReplaceAll), either),
        (element, one),
        (embedded, object(&[name], [(name, elements())])),
        (whole, object(&["_embedded"], [("_embedded", reference(embedded))])),
    ]
}

fn item(group: Group) -> MetaSchema {
    let mut schema = members(group, false);
    let id = described(formatted("uuid"), "Identifier, assigned by the service (UUID version 7).");
    schema.properties.insert(0, ("id", id));
    schema.properties.push(("_links", inline(item_links(group))));
    if !ItemLink::of(group).is_empty() {
        schema.properties.push(("_embedded", reference(embedded_name(group))));
    }
    schema.properties.push(("_meta", reference("Meta")));
    // `fields` may omit any other member.
    schema.required = vec!["id", "_links", "_meta"];
    schema.description = Some(about(group, "Representation of {item}."));
    schema
}

fn embedded_name(group: Group) -> &'static str {
    about(group, "{stem}Embeds")
}

fn embedded(group: Group) -> MetaSchema {
    let schema = |link: &ItemLink| {
        let item = reference(link.group.stem);
        match link.relation.kind {
            RelationKind::Children => inline(array(item)),
            RelationKind::Parent | RelationKind::Reference(_) => item,
        }
    };
    let links = ItemLink::of(group).iter();
    MetaSchema {
        description: Some("The related items requested with `embed`, if they exist."),
        ..object(&[], links.map(|link| (link.relation.name, schema(link))))
    }
}

fn members(group: Group, is_nullable: bool) -> MetaSchema {
    match group.collection.spec().fields {
        Fields::Typed(fields) => {
            let required = fields.iter().filter(|field| field.is_required);
            let required: Vec<_> = required.map(|field| field.name).collect();
            let property = |field: &Field| (field.name, typed(field, is_nullable));
            object(&required, fields.iter().map(property))
        }
        Fields::Open(known) => MetaSchema {
            additional_properties: Some(Box::new(inline(MetaSchema::ANY))),
            ..object(&[], known.iter().map(|member| (member.name, well_known(member))))
        },
    }
}

fn well_known(member: &KnownMember) -> MetaSchemaRef {
    // No `type`: it is documented but not enforced, so a response may hold any value.
    let example = serde_json::from_str(member.example).ok();
    let title = Some(member.label.to_owned());
    described(MetaSchema { title, example, ..MetaSchema::ANY }, member.description)
}

fn typed(field: &Field, is_nullable: bool) -> MetaSchemaRef {
    let nullable = is_nullable && !field.is_required;
    let or_null = |schema| MetaSchema { nullable, ..schema };
    let string = or_null(if field.is_required {
        MetaSchema { min_length: Some(1), ..matching(r"\S") }
    } else {
        MetaSchema::new("string")
    });
    let or_other = |other| any_of([inline(string.clone()), inline(or_null(other))]);
    let schema = match field.kind {
        FieldKind::Date => or_null(formatted("date")),
        FieldKind::String => string,
        FieldKind::StringOrInteger => or_other(MetaSchema::new("integer")),
        FieldKind::StringOrList => or_other(array(inline(MetaSchema::new("string")))),
    };
    let example = serde_json::from_str::<Value>(field.example).ok();
    let title = Some(field.label.to_owned());
    described(MetaSchema { title, example, ..schema }, field.description)
}

fn item_links(group: Group) -> MetaSchema {
    let always = ["self", "collection", "version-history"];
    let of_versions = ["latest-version", "predecessor-version", "memento", "diff"];
    let related = ItemLink::of(group).iter().map(|link| link.relation.name);
    let link = || reference("Link");
    let names = always.into_iter().chain(of_versions).chain(related);
    let mut properties: Vec<_> = names.map(|name| (name, link())).collect();
    if group.collection.spec().can_continue {
        properties.push(("continues", link()));
        properties.push(("continued-by", inline(array(link()))));
    }
    if group.collection.spec().holds_content {
        properties.extend(["edit-media", "enclosure"].map(|name| (name, link())));
    }
    MetaSchema {
        description: Some(
            "Links. `/rels/<name>` explains relations that are not registered with IANA.",
        ),
        ..object(&always, properties)
    }
}

fn collection(group: Group) -> MetaSchema {
    let name = group.collection.name();
    let counts = "Number of selected items per value of the `count_by` member, most frequent first, at most 100 values. Only with `count_by`.";
    let counts = described(array(reference("ValueCount")), counts);
    let items = inline(array(reference(group.stem)));
    let embedded = object(&[name], [(name, items), ("counts", counts)]);
    let numbers = Registry::new().create_fake_schema::<PageNumbers>().properties;
    let others = [
        ("_links", reference("CollectionLinks")),
        ("_embedded", inline(embedded)),
        ("_meta", reference("CollectionMeta")),
    ];
    MetaSchema {
        description: Some(about(group, "A page of {items}.")),
        ..object(&["_links", "_embedded", "page_size", "page"], others.into_iter().chain(numbers))
    }
}
