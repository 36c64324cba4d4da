//! The schemas of a group's bodies and representations.

use domain::proposal::{Field, FieldKind};
use domain::{Fields, KnownMember, RelationKind};
use poem_openapi::registry::{MetaSchema, MetaSchemaRef, Registry};
use serde_json::Value;

use super::keep;
use crate::groups::{Group, Operation};
use crate::links::ItemLink;

/// The schema of every error.
pub const PROBLEM: &str = "Problem";
/// The schema of an item's versions.
pub const VERSIONS: &str = "VersionHistory";
/// The schema of the difference between two.
pub const JSON_PATCH: &str = "JsonPatch";
const PATCH_OPERATION: &str = "PatchOperation";
const LINK: &str = "Link";
const META: &str = "Meta";
const COLLECTION_LINKS: &str = "CollectionLinks";
const COLLECTION_META: &str = "CollectionMeta";

/// The name of the schema of an item's representation.
#[must_use]
pub fn item_name(group: Group) -> String {
    group.stem.to_owned()
}

/// The name of the schema of a page.
#[must_use]
pub fn collection_name(group: Group) -> String {
    format!("{}Collection", group.stem)
}

/// The name of the schema of an operation's request body.
#[must_use]
pub fn body_name(group: Group, operation: Operation) -> String {
    let suffix = match operation {
        Operation::Create => "Body",
        Operation::Patch => "Patch",
        Operation::ReplaceAll => "Replacement",
        _ => "Change",
    };
    format!("{}{suffix}", group.stem)
}

/// Registers the schemas of a group.
pub fn register(group: Group, registry: &mut Registry) {
    let mut add = |name: String, schema: MetaSchema| {
        registry.schemas.insert(name, schema);
    };
    for operation in group.operations().filter(|operation| operation.takes_body()) {
        add(body_name(group, operation), body(group, operation));
    }
    if group.operations().any(|operation| operation == Operation::ReplaceAll) {
        for (name, schema) in replacement_parts(group) {
            add(name, schema);
        }
    }
    add(item_name(group), item(group));
    add(collection_name(group), collection(group));
    if !ItemLink::of(group).is_empty() {
        add(embedded_name(group), embedded(group));
    }
    add(JSON_PATCH.to_owned(), json_patch());
}

/// A schema in its place.
#[must_use]
pub fn inline(schema: MetaSchema) -> MetaSchemaRef {
    MetaSchemaRef::Inline(Box::new(schema))
}

/// A schema by its name.
#[must_use]
pub fn reference(name: &str) -> MetaSchemaRef {
    MetaSchemaRef::Reference(name.to_owned())
}

/// A schema in its place, with what it is.
#[must_use]
pub fn described(schema: MetaSchema, description: &'static str) -> MetaSchemaRef {
    inline(MetaSchema { description: Some(description), ..schema })
}

/// An object with these members.
#[must_use]
pub fn object(
    required: &[&'static str],
    properties: Vec<(&'static str, MetaSchemaRef)>,
) -> MetaSchema {
    MetaSchema { required: required.to_vec(), properties, ..MetaSchema::new("object") }
}

/// A list.
#[must_use]
pub fn array(items: MetaSchemaRef) -> MetaSchema {
    MetaSchema { items: Some(Box::new(items)), ..MetaSchema::new("array") }
}

/// The kinds of body, by what they may say of a member.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// A body that becomes an item: required members are required.
    Body,
    /// A patch: nothing is required.
    Patch,
    /// A response: no `null`.
    ItemView,
}

fn body(group: Group, operation: Operation) -> MetaSchema {
    if operation == Operation::ReplaceAll {
        return replacement(group);
    }
    let usage = if operation == Operation::Patch { Use::Patch } else { Use::Body };
    let mut schema = members(group, usage);
    if operation != Operation::Create {
        let id = described(
            MetaSchema::new_with_format("string", "uuid"),
            "If sent, the identifier in the path.",
        );
        schema.properties.push(("id", id));
    }
    for (name, description) in
        [("_links", "Ignored."), ("_embedded", "Ignored."), ("_meta", "Ignored.")]
    {
        schema.properties.push((name, described(MetaSchema::ANY, description)));
    }
    schema.description = Some(match group.collection.spec().fields {
        Fields::Typed(fields) => keep(format!(
            "The {} fields of {item}. `null` means absent. Any other member is refused; `_links`, `_embedded` and `_meta` are ignored, so that {item} that was read can be edited and sent back.",
            fields.len(),
            item = group.item_name,
        )),
        Fields::Open(_) => {
            "Any JSON object. The members named here are usual; none is required, and none is checked."
        }
    });
    schema
}

/// The schemas of a collection's replacement. Each has a name: generators of clients make a class
/// of each.
fn replacement_parts(group: Group) -> [(String, MetaSchema); 3] {
    let [element, embedded, whole] =
        ["Element", "Embedded", "Whole"].map(|part| format!("{}{part}", group.stem));
    let name = group.collection.name();
    let description =
        Some("An item: with the `id` of an existing one it replaces it, without it is new.");
    let element_schema = MetaSchema { description, ..members(group, Use::Body) };
    let embedded_schema = object(&[name], vec![(name, inline(array(reference(&element))))]);
    let whole_schema = object(&["_embedded"], vec![("_embedded", reference(&embedded))]);
    [(element, element_schema), (embedded, embedded_schema), (whole, whole_schema)]
}

fn replacement(group: Group) -> MetaSchema {
    let [(element, _), _, (whole, _)] = replacement_parts(group);
    MetaSchema {
        description: Some(
            "An array of items, or a HAL collection as GET returns it; at most 50,000 items.",
        ),
        any_of: vec![inline(array(reference(&element))), reference(&whole)],
        ..MetaSchema::ANY
    }
}

fn item(group: Group) -> MetaSchema {
    let mut schema = members(group, Use::ItemView);
    schema.properties.insert(
        0,
        (
            "id",
            described(
                MetaSchema::new_with_format("string", "uuid"),
                "Identifier, made by the service (UUID version 7).",
            ),
        ),
    );
    schema.properties.push(("_links", inline(item_links(group))));
    if !ItemLink::of(group).is_empty() {
        schema.properties.push(("_embedded", reference(&embedded_name(group))));
    }
    schema.properties.push(("_meta", reference(META)));
    // Any other member may have been left out with `fields`.
    schema.required = vec!["id", "_links", "_meta"];
    schema.description = Some(keep(format!("Representation of {}.", group.item_name)));
    schema
}

fn embedded_name(group: Group) -> String {
    format!("{}Embeds", group.stem)
}

fn embedded(group: Group) -> MetaSchema {
    let schema = |link: &ItemLink| {
        let item = reference(&item_name(link.group));
        match link.relation.kind {
            RelationKind::Children => inline(array(item)),
            RelationKind::Parent | RelationKind::Reference(_) => item,
        }
    };
    let links = ItemLink::of(group).iter();
    MetaSchema {
        description: Some("What `embed` asked for, as far as there is any."),
        ..object(&[], links.map(|link| (link.relation.name, schema(link))).collect())
    }
}

fn members(group: Group, usage: Use) -> MetaSchema {
    match group.collection.spec().fields {
        Fields::Typed(fields) => {
            let required = fields
                .iter()
                .filter(|field| field.is_required && usage != Use::Patch)
                .map(|field| field.name)
                .collect();
            let properties = fields.iter().map(|field| (field.name, typed(field, usage))).collect();
            MetaSchema { required, properties, ..MetaSchema::new("object") }
        }
        Fields::Open(known) => {
            let properties = known.iter().map(|member| (member.name, well_known(member))).collect();
            MetaSchema {
                properties,
                additional_properties: Some(Box::new(inline(MetaSchema::ANY))),
                ..MetaSchema::new("object")
            }
        }
    }
}

fn well_known(member: &KnownMember) -> MetaSchemaRef {
    // No `type`: what is usual is documented and never enforced, so a response may hold anything
    // here.
    inline(MetaSchema {
        description: Some(member.description),
        example: serde_json::from_str(member.example).ok(),
        ..MetaSchema::ANY
    })
}

fn typed(field: &Field, usage: Use) -> MetaSchemaRef {
    let nullable = usage != Use::ItemView && !field.is_required;
    let text = || MetaSchema {
        nullable,
        min_length: field.is_required.then_some(1),
        pattern: field.is_required.then(|| r"\S".to_owned()),
        ..MetaSchema::new("string")
    };
    let schema = match field.kind {
        FieldKind::Date => MetaSchema { nullable, ..MetaSchema::new_with_format("string", "date") },
        FieldKind::String => text(),
        FieldKind::StringOrInteger => {
            either(text(), MetaSchema { nullable, ..MetaSchema::new("integer") })
        }
        FieldKind::StringOrList => {
            either(text(), MetaSchema { nullable, ..array(inline(MetaSchema::new("string"))) })
        }
    };
    let example = serde_json::from_str::<Value>(field.example).ok();
    inline(MetaSchema { description: Some(field.description), example, ..schema })
}

fn either(one: MetaSchema, other: MetaSchema) -> MetaSchema {
    MetaSchema { any_of: vec![inline(one), inline(other)], ..MetaSchema::ANY }
}

fn item_links(group: Group) -> MetaSchema {
    let own = [
        "self",
        "collection",
        "version-history",
        "latest-version",
        "predecessor-version",
        "memento",
        "diff",
    ];
    let mut properties = own.map(|relation| (relation, reference(LINK))).to_vec();
    properties.extend(ItemLink::of(group).iter().map(|link| (link.relation.name, reference(LINK))));
    if group.collection.spec().can_continue {
        properties.push(("continues", reference(LINK)));
        properties.push(("continued-by", inline(array(reference(LINK)))));
    }
    MetaSchema {
        description: Some("Links; `/rels/<name>` explains those that IANA does not."),
        ..object(&["self", "collection", "version-history"], properties)
    }
}

fn collection(group: Group) -> MetaSchema {
    let embedded = object(
        &[group.collection.name()],
        vec![(group.collection.name(), inline(array(reference(&item_name(group)))))],
    );
    let count = |description| {
        described(
            MetaSchema { minimum: Some(0.0), ..MetaSchema::new_with_format("integer", "int64") },
            description,
        )
    };
    let properties = vec![
        ("_links", reference(COLLECTION_LINKS)),
        ("_embedded", inline(embedded)),
        (
            "page_count",
            count("How many pages there are; left out where nobody counted, or not to the end."),
        ),
        ("page_size", count("Items per page.")),
        ("total_items", count("How many items there are; left out with `total=none`.")),
        ("page", count("This page, from 1.")),
        ("_meta", reference(COLLECTION_META)),
    ];
    MetaSchema {
        description: Some(keep(format!("A page of {}.", group.items_name))),
        ..object(&["_links", "_embedded", "page_size", "page"], properties)
    }
}

fn json_patch() -> MetaSchema {
    MetaSchema {
        description: Some("A JSON Patch (RFC 6902)."),
        ..array(reference(PATCH_OPERATION))
    }
}
