//! The schemas of a group's bodies and representations.

use application::ChangeKind;
use domain::proposal::{FIELDS, Field, FieldKind};
use domain::{Collection, KnownMember, Relation, RelationKind, Violations};
use poem_openapi::registry::{MetaSchema, MetaSchemaRef, MetaTag, Registry};
use serde_json::Value;

use super::keep;
use crate::group::{Group, ItemLink, Members, Operation};
use crate::groups::for_each_group;

/// The schema of every error.
pub const PROBLEM: &str = "Problem";
/// The schema of an item's versions.
pub const VERSIONS: &str = "VersionHistory";
/// The schema of the difference between two.
pub const JSON_PATCH: &str = "JsonPatch";
const VERSION: &str = "VersionEntry";
const PATCH_OPERATION: &str = "PatchOperation";
const FAULT: &str = "Fault";
const REMARK: &str = "Remark";
const LINK: &str = "Link";
const META: &str = "Meta";
const COLLECTION_LINKS: &str = "CollectionLinks";
const COLLECTION_META: &str = "CollectionMeta";

/// The name of the schema of an item's representation.
#[must_use]
pub fn item_name<G: Group>() -> String {
    G::STEM.to_owned()
}

/// The name of the schema of a page.
#[must_use]
pub fn collection_name<G: Group>() -> String {
    format!("{}Collection", G::STEM)
}

/// The name of the schema of an operation's request body.
#[must_use]
pub fn body_name<G: Group>(operation: Operation) -> String {
    let suffix = match operation {
        Operation::Create => "Body",
        Operation::Patch => "Patch",
        Operation::ReplaceAll => "Replacement",
        _ => "Change",
    };
    format!("{}{suffix}", G::STEM)
}

/// Registers a group's tag and schemas, and those that all groups share.
pub fn register<G: Group>(registry: &mut Registry) {
    registry.create_tag(MetaTag {
        name: G::NAME,
        description: Some(G::DESCRIPTION),
        external_docs: None,
    });
    let mut add = |name: String, schema: MetaSchema| {
        registry.schemas.insert(name, schema);
    };
    for operation in G::operations().filter(|operation| operation.takes_body()) {
        add(body_name::<G>(operation), body::<G>(operation));
    }
    if G::operations().any(|operation| operation == Operation::ReplaceAll) {
        for (name, schema) in replacement_parts::<G>() {
            add(name, schema);
        }
    }
    add(item_name::<G>(), item::<G>());
    add(collection_name::<G>(), collection::<G>());
    add(COLLECTION_LINKS.to_owned(), collection_links());
    add(COLLECTION_META.to_owned(), collection_meta());
    if !G::embeds().is_empty() {
        add(embedded_name::<G>(), embedded::<G>());
    }
    add(LINK.to_owned(), link());
    add(META.to_owned(), meta());
    add(VERSIONS.to_owned(), versions());
    add(VERSION.to_owned(), version());
    add(JSON_PATCH.to_owned(), json_patch());
    add(PATCH_OPERATION.to_owned(), patch_operation());
    add(PROBLEM.to_owned(), problem());
    add(FAULT.to_owned(), fault());
    add(REMARK.to_owned(), remark());
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

/// What a request body may say of a member.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// A body that becomes an item: required members are required.
    Body,
    /// A patch: nothing is required.
    Patch,
    /// A response: no `null`.
    Shown,
}

fn body<G: Group>(operation: Operation) -> MetaSchema {
    if operation == Operation::ReplaceAll {
        return replacement::<G>();
    }
    let usage = if operation == Operation::Patch { Use::Patch } else { Use::Body };
    let mut schema = members::<G>(usage);
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
    schema.description = Some(match G::MEMBERS {
        Members::Proposal => {
            "The 21 fields of a proposal. `null` means absent. Any other member is refused; `_links`, `_embedded` and `_meta` are ignored, so that a proposal that was read can be edited and sent back."
        }
        Members::Open(_) => {
            "Any JSON object. The members named here are usual; none is required, and none is checked."
        }
    });
    schema
}

/// The schemas of a collection's replacement. Each has a name: generators of clients make a class
/// of each.
fn replacement_parts<G: Group>() -> [(String, MetaSchema); 3] {
    let [element, embedded, whole] =
        ["Element", "Embedded", "Whole"].map(|part| format!("{}{part}", G::STEM));
    let name = G::COLLECTION.name();
    let description =
        Some("An item: with the `id` of an existing one it replaces it, without it is new.");
    let element_schema = MetaSchema { description, ..members::<G>(Use::Body) };
    let embedded_schema = object(&[name], vec![(name, inline(array(reference(&element))))]);
    let whole_schema = object(&["_embedded"], vec![("_embedded", reference(&embedded))]);
    [(element, element_schema), (embedded, embedded_schema), (whole, whole_schema)]
}

fn replacement<G: Group>() -> MetaSchema {
    let [(element, _), _, (whole, _)] = replacement_parts::<G>();
    MetaSchema {
        description: Some(
            "An array of items, or a HAL collection as GET returns it; at most 50,000 items.",
        ),
        any_of: vec![inline(array(reference(&element))), reference(&whole)],
        ..MetaSchema::ANY
    }
}

fn item<G: Group>() -> MetaSchema {
    let mut schema = members::<G>(Use::Shown);
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
    schema.properties.push(("_links", inline(item_links::<G>())));
    if !G::embeds().is_empty() {
        schema.properties.push(("_embedded", reference(&embedded_name::<G>())));
    }
    schema.properties.push(("_meta", reference(META)));
    // Any other member may have been left out with `fields`.
    schema.required = vec!["id", "_links", "_meta"];
    schema.description = Some(keep(format!("Representation of {}.", G::ITEM_NAME)));
    schema
}

fn embedded_name<G: Group>() -> String {
    format!("{}Embeds", G::STEM)
}

/// The name of the schema of an item in the group that shows the whole collection.
fn name_of_item(collection: Collection) -> String {
    macro_rules! name {
        ($($group:path,)*) => {
            $(if <$group>::COLLECTION == collection && <$group>::OWNER.is_none() {
                return item_name::<$group>();
            })*
        };
    }
    for_each_group!(name);
    String::new()
}

fn embedded<G: Group>() -> MetaSchema {
    let schema = |relation: &Relation| {
        let item = reference(&name_of_item(relation.to));
        match relation.kind {
            RelationKind::Children => inline(array(item)),
            RelationKind::Parent | RelationKind::Reference(_) => item,
        }
    };
    let properties = G::embeds().iter().map(|relation| (relation.name, schema(relation))).collect();
    MetaSchema {
        description: Some("What `embed` asked for, as far as there is any."),
        ..object(&[], properties)
    }
}

fn members<G: Group>(usage: Use) -> MetaSchema {
    match G::MEMBERS {
        Members::Proposal => {
            let required = FIELDS
                .iter()
                .filter(|field| field.is_required && usage != Use::Patch)
                .map(|field| field.name)
                .collect();
            let properties =
                FIELDS.iter().map(|field| (field.name, proposal_field(field, usage))).collect();
            MetaSchema { required, properties, ..MetaSchema::new("object") }
        }
        Members::Open(known) => {
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

fn proposal_field(field: &Field, usage: Use) -> MetaSchemaRef {
    let nullable = usage != Use::Shown && !field.is_required;
    let text = || MetaSchema {
        nullable,
        min_length: field.is_required.then_some(1),
        pattern: field.is_required.then(|| r"\S".to_owned()),
        ..MetaSchema::new("string")
    };
    let schema = match field.kind {
        FieldKind::Date => MetaSchema { nullable, ..MetaSchema::new_with_format("string", "date") },
        FieldKind::Text => text(),
        FieldKind::TextOrInteger => {
            either(text(), MetaSchema { nullable, ..MetaSchema::new("integer") })
        }
        FieldKind::TextOrTexts => {
            either(text(), MetaSchema { nullable, ..array(inline(MetaSchema::new("string"))) })
        }
    };
    let example = serde_json::from_str::<Value>(field.example).ok();
    inline(MetaSchema { description: Some(field.description), example, ..schema })
}

fn either(one: MetaSchema, other: MetaSchema) -> MetaSchema {
    MetaSchema { any_of: vec![inline(one), inline(other)], ..MetaSchema::ANY }
}

fn item_links<G: Group>() -> MetaSchema {
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
    for link in G::LINKS {
        match link {
            ItemLink::Library => properties.push(("lib", reference(LINK))),
            ItemLink::Program => properties.push(("program", reference(LINK))),
            ItemLink::Proposal => properties.push(("proposal", reference(LINK))),
            ItemLink::Continuations => {
                properties.push(("continues", reference(LINK)));
                properties.push(("continued-by", inline(array(reference(LINK)))));
            }
        }
    }
    MetaSchema {
        description: Some("Links; `/rels/<name>` explains those that IANA does not."),
        ..object(&["self", "collection", "version-history"], properties)
    }
}

fn collection<G: Group>() -> MetaSchema {
    let embedded = object(
        &[G::COLLECTION.name()],
        vec![(G::COLLECTION.name(), inline(array(reference(&item_name::<G>()))))],
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
        description: Some(keep(format!("A page of {}.", G::ITEMS_NAME))),
        ..object(&["_links", "_embedded", "page_size", "page"], properties)
    }
}

fn collection_links() -> MetaSchema {
    let relations = ["self", "first", "prev", "next", "last", "up"];
    let properties = relations.map(|relation| (relation, reference(LINK))).into();
    MetaSchema {
        description: Some("Links to the other pages, as far as there are any."),
        ..object(&["self"], properties)
    }
}

fn collection_meta() -> MetaSchema {
    let total = MetaSchema { enum_items: vec!["at_least".into()], ..MetaSchema::new("string") };
    let properties = vec![
        ("total", described(total, "`total_items` was not counted to the end: there are more.")),
        ("dry_run", dry_run()),
        ("warnings", remarks(WARNINGS)),
    ];
    MetaSchema {
        description: Some("What there is to say of the numbers; mostly nothing."),
        ..object(&[], properties)
    }
}

fn link() -> MetaSchema {
    object(
        &["href"],
        vec![("href", described(MetaSchema::new_with_format("string", "uri"), "Where it leads."))],
    )
}

const SNIPPET: &str =
    "A piece of its texts as HTML, what was found within `<mark>`. Only in the answer to a search.";

fn meta() -> MetaSchema {
    let time =
        |description| described(MetaSchema::new_with_format("string", "date-time"), description);
    let properties = vec![
        (
            "version",
            described(
                MetaSchema {
                    minimum: Some(1.0),
                    ..MetaSchema::new_with_format("integer", "int64")
                },
                "How often the item was written.",
            ),
        ),
        ("created_at", time("When it was created (RFC 3339, UTC).")),
        ("updated_at", time("When it was last written (RFC 3339, UTC).")),
        (
            "score",
            described(
                MetaSchema::new("number"),
                "How well it matches `q`: greater is better. Only in the answer to a search.",
            ),
        ),
        ("snippet", described(MetaSchema::new("string"), SNIPPET)),
        ("dry_run", dry_run()),
        ("warnings", remarks(WARNINGS)),
        (
            "errors",
            remarks("What refuses a replacement by the same members now. Only with `check=true`."),
        ),
        ("kind", inline(change_kind("What made the version. Only in a version of its own."))),
        ("caller", inline(caller("Who made the version. Only in a version of its own."))),
    ];
    object(&["version", "created_at", "updated_at"], properties)
}

fn dry_run() -> MetaSchemaRef {
    described(
        MetaSchema { enum_items: vec![true.into()], ..MetaSchema::new("boolean") },
        "Nothing was stored: the write was only tried.",
    )
}

const WARNINGS: &str = "What business rules have to say that does not refuse the write. Only where there is something, and with `check=true`.";

fn remarks(description: &'static str) -> MetaSchemaRef {
    described(
        MetaSchema { max_items: Some(Violations::LIMIT), ..array(reference(REMARK)) },
        description,
    )
}

fn remark() -> MetaSchema {
    let text = |description| described(MetaSchema::new("string"), description);
    let properties = vec![
        ("code", text("Which rule, by its id; or what else is wrong, as a stable word.")),
        ("pointer", text("Where, as a JSON Pointer (RFC 6901).")),
        ("message", text("What is wrong and how to mend it.")),
        ("rule", rule_page()),
    ];
    object(&["code", "pointer", "message"], properties)
}

fn rule_page() -> MetaSchemaRef {
    described(
        MetaSchema::new_with_format("string", "uri"),
        "The page of the business rule, where it is one.",
    )
}

/// What was done to make a version.
#[must_use]
pub fn change_kind(description: &'static str) -> MetaSchema {
    let kinds = ChangeKind::ALL.map(|kind| kind.name().into()).to_vec();
    MetaSchema { enum_items: kinds, description: Some(description), ..MetaSchema::new("string") }
}

/// Who did it.
#[must_use]
pub fn caller(description: &'static str) -> MetaSchema {
    MetaSchema { nullable: true, description: Some(description), ..MetaSchema::new("string") }
}

fn versions() -> MetaSchema {
    let embedded = object(&["versions"], vec![("versions", inline(array(reference(VERSION))))]);
    let count = |description| {
        described(
            MetaSchema { minimum: Some(1.0), ..MetaSchema::new_with_format("integer", "int64") },
            description,
        )
    };
    let properties = vec![
        ("_links", reference(COLLECTION_LINKS)),
        ("_embedded", inline(embedded)),
        ("page_count", count("How many pages there are.")),
        ("page_size", count("Versions per page.")),
        ("total_items", count("How many versions there are.")),
        ("page", count("This page, from 1.")),
    ];
    MetaSchema {
        description: Some("The versions of an item, the newest first."),
        ..object(
            &["_links", "_embedded", "page_count", "page_size", "total_items", "page"],
            properties,
        )
    }
}

fn version() -> MetaSchema {
    let number =
        MetaSchema { minimum: Some(1.0), ..MetaSchema::new_with_format("integer", "int64") };
    let links = ["self", "predecessor-version", "diff"]
        .map(|relation| (relation, reference(LINK)))
        .to_vec();
    let properties = vec![
        ("version", described(number, "Its number: 1, 2, 3….")),
        (
            "time",
            described(
                MetaSchema::new_with_format("string", "date-time"),
                "When it was made (RFC 3339, UTC).",
            ),
        ),
        ("kind", inline(change_kind("What was done."))),
        ("caller", inline(caller("Who did it; `null` for an anonymous caller."))),
        ("_links", inline(object(&["self"], links))),
    ];
    MetaSchema {
        description: Some("What made a version."),
        ..object(&["version", "time", "kind", "caller", "_links"], properties)
    }
}

fn json_patch() -> MetaSchema {
    MetaSchema {
        description: Some("A JSON Patch (RFC 6902)."),
        ..array(reference(PATCH_OPERATION))
    }
}

fn patch_operation() -> MetaSchema {
    let operations = ["add", "remove", "replace"].map(Into::into).to_vec();
    let properties = vec![
        (
            "op",
            described(
                MetaSchema { enum_items: operations, ..MetaSchema::new("string") },
                "What is done.",
            ),
        ),
        ("path", described(MetaSchema::new("string"), "Where, as a JSON Pointer (RFC 6901).")),
        ("value", described(MetaSchema::ANY, "What is there then; not with `remove`.")),
    ];
    object(&["op", "path"], properties)
}

fn problem() -> MetaSchema {
    let text = |description| described(MetaSchema::new("string"), description);
    let messages = MetaSchema {
        additional_properties: Some(Box::new(inline(MetaSchema::new("string")))),
        ..MetaSchema::new("object")
    };
    let by_field = MetaSchema {
        additional_properties: Some(Box::new(inline(messages))),
        ..MetaSchema::new("object")
    };
    let properties = vec![
        (
            "type",
            described(
                MetaSchema::new_with_format("string", "uri"),
                "A page that explains the problem and its mend.",
            ),
        ),
        ("title", text("What happened, in a phrase.")),
        ("status", described(MetaSchema::new_with_format("integer", "int32"), "The HTTP status.")),
        ("code", text("A stable word for programs.")),
        ("detail", text("What is wrong with this request.")),
        (
            "instance",
            described(MetaSchema::new_with_format("string", "uri"), "The path asked for."),
        ),
        (
            "errors",
            described(
                MetaSchema { max_items: Some(Violations::LIMIT), ..array(reference(FAULT)) },
                "Every fault of the body.",
            ),
        ),
        (
            "validation_messages",
            described(by_field, "The same by field and code, for Laminas clients."),
        ),
    ];
    MetaSchema {
        description: Some("Problem details (RFC 9457)."),
        ..object(&["type", "title", "status", "code", "detail", "instance"], properties)
    }
}

fn fault() -> MetaSchema {
    let text = |description| described(MetaSchema::new("string"), description);
    let properties = vec![
        ("pointer", text("Where, as a JSON Pointer into the body (RFC 6901).")),
        ("field", text("The member at fault; empty for the body as a whole.")),
        ("code", text("Which rule, as a stable word.")),
        ("detail", text("What is wrong and how to mend it.")),
        ("rule", rule_page()),
    ];
    object(&["pointer", "field", "code", "detail"], properties)
}
