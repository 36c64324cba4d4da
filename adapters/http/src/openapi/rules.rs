//! The business rules in the document: `/rules`, and under `x-rules` those of each operation.

use application::PublishedRule;
use domain::{Collection, Severity, WriteOperation};
use poem_openapi::registry::{
    MetaOperation, MetaOperationParam, MetaParamIn, MetaPath, MetaSchema, Registry,
};
use serde_json::{Value, json};

use super::documented_path;
use super::operations::parameter;
use super::schemas::{array, described, inline, object, reference};
use super::service_paths::operation;
use crate::base_url::BaseUrl;
use crate::group::{Group, Operation};
use crate::groups::for_each_group;
use crate::media::MediaType;
use crate::pages::PAGE_TYPES;
use crate::rules;

const LIST: &str = "Every business rule that is in force, group by group: those written in Rust, then those of the operators' rule files. Rules may change while the service runs; the entity tag changes with them.";

const RULES: &str = "RuleList";
const RULE: &str = "Rule";

/// The two paths.
pub fn paths() -> [MetaPath; 2] {
    let types = [MediaType::HAL, MediaType::JSON];
    let listed = MetaOperation {
        description: Some(LIST),
        ..operation(
            "listRules",
            "List the business rules",
            &types,
            &reference(RULES),
            &[304, 400, 414],
        )
    };
    let one = MetaOperation {
        params: vec![rule_id()],
        ..operation(
            "getRule",
            "Read a business rule",
            &PAGE_TYPES,
            &reference(RULE),
            &[304, 400, 404, 414],
        )
    };
    let own = format!("{}/:{}", rules::PATH, rules::PARAMETER);
    let path = |path: String, operation| MetaPath { path, operations: vec![operation] };
    [path(rules::PATH.to_owned(), listed), path(documented_path(&own), one)]
}

fn rule_id() -> MetaOperationParam {
    let schema = MetaSchema { example: Some("dates_in_order".into()), ..MetaSchema::new("string") };
    parameter(
        rules::PARAMETER,
        MetaParamIn::Path,
        "The rule: the `code` of its violations.",
        schema,
    )
}

/// Registers their schemas.
pub fn register(registry: &mut Registry) {
    for (name, schema) in [(RULES, list()), (RULE, rule())] {
        registry.schemas.insert(name.to_owned(), schema);
    }
}

fn list() -> MetaSchema {
    let links = object(
        &["self", "up"],
        ["self", "up"].map(|relation| (relation, reference("Link"))).to_vec(),
    );
    let embedded = object(&["rules"], vec![("rules", inline(array(reference(RULE))))]);
    let count =
        MetaSchema { minimum: Some(0.0), ..MetaSchema::new_with_format("integer", "int64") };
    let properties = vec![
        ("_links", inline(links)),
        ("total_items", described(count, "How many there are.")),
        ("_embedded", inline(embedded)),
    ];
    MetaSchema {
        description: Some("The business rules."),
        ..object(&["_links", "total_items", "_embedded"], properties)
    }
}

fn rule() -> MetaSchema {
    let names = |names: Vec<Value>| MetaSchema { enum_items: names, ..MetaSchema::new("string") };
    let maybe = |description| {
        inline(MetaSchema {
            nullable: true,
            description: Some(description),
            ..MetaSchema::new("string")
        })
    };
    let operations = names(WriteOperation::ALL.map(|operation| operation.name().into()).to_vec());
    let day =
        || inline(MetaSchema { nullable: true, ..MetaSchema::new_with_format("string", "date") });
    let effective = object(&["from", "until"], vec![("from", day()), ("until", day())]);
    let links = object(
        &["self", "collection", "group"],
        ["self", "collection", "group"].map(|relation| (relation, reference("Link"))).to_vec(),
    );
    let properties = vec![
        ("id", described(MetaSchema::new("string"), "The `code` of its violations.")),
        (
            "group",
            described(
                names(Collection::all().map(|collection| collection.name().into()).collect()),
                "The items it is about; library items of proposals are in `lib`.",
            ),
        ),
        ("on", described(array(inline(operations)), "The writes it judges.")),
        (
            "severity",
            described(
                names(Severity::ALL.map(|severity| severity.name().into()).to_vec()),
                "`error` refuses the write, `warning` is reported in `_meta.warnings`.",
            ),
        ),
        (
            "message",
            maybe("What is said where it does not pass; `null` where that depends on the item."),
        ),
        (
            "message_expression",
            maybe("The expression (CEL) that makes the message where it depends on the item."),
        ),
        ("field", maybe("Where its fault is, as a JSON Pointer (RFC 6901).")),
        ("description", maybe("What it is for.")),
        ("source", maybe("Where it comes from: a guideline, a memo.")),
        (
            "effective",
            described(
                effective,
                "The first and the last day on which it holds, where it does not always.",
            ),
        ),
        ("home", described(names(vec!["rust".into(), "file".into()]), "Where it is written.")),
        ("_links", inline(links)),
    ];
    let required: Vec<_> = properties.iter().map(|(name, _)| *name).collect();
    MetaSchema { description: Some("A business rule."), ..object(&required, properties) }
}

/// Lists under `x-rules` what rules an operation may meet.
pub fn add(document: &mut Value, base_url: &BaseUrl, published: &[PublishedRule]) {
    macro_rules! add_to_groups {
        ($($group:path,)*) => { $(add_to_group::<$group>(document, base_url, published);)* };
    }
    for_each_group!(add_to_groups);
}

fn add_to_group<G: Group>(document: &mut Value, base_url: &BaseUrl, published: &[PublishedRule]) {
    for operation in G::operations() {
        let met = |rule: &&PublishedRule| {
            rule.collection == G::COLLECTION
                && rule.operations.iter().any(|written| writes(operation).contains(written))
        };
        let entries: Vec<_> =
            published.iter().filter(met).map(|rule| entry(base_url, rule)).collect();
        if !entries.is_empty() {
            let path = documented_path(&G::path_of(operation.form()));
            document["paths"][path][operation.method().as_str().to_lowercase()]["x-rules"] =
                entries.into();
        }
    }
}

fn entry(base_url: &BaseUrl, rule: &PublishedRule) -> Value {
    json!({
        "id": rule.id, "severity": rule.severity.name(), "field": rule.pointer,
        "message": rule.message, "description": rule.description, "home": rule.home.name(),
        "url": rules::url(base_url, &rule.id),
    })
}

/// What an operation does to items.
const fn writes(operation: Operation) -> &'static [WriteOperation] {
    use WriteOperation::{Create, Delete, Patch, Replace};
    match operation {
        Operation::Create | Operation::Continue => &[Create],
        Operation::Replace => &[Replace],
        Operation::Patch => &[Patch],
        Operation::Delete => &[Delete],
        Operation::Restore => &[Create, Replace],
        Operation::ReplaceAll => &[Create, Replace, Delete],
        Operation::List
        | Operation::Get
        | Operation::ListVersions
        | Operation::GetVersion
        | Operation::Compare => &[],
    }
}
