//! The business rules in the document: `/rules`, and under `x-rules` those of each operation.

use application::PublishedRule;
use domain::WriteOperation;
use poem_openapi::registry::{
    MetaOperation, MetaOperationParam, MetaParamIn, MetaPath, MetaSchema,
};
use serde_json::{Value, json};

use super::documented_path;
use super::operations::parameter;
use super::schemas::reference;
use super::service_paths::operation;
use crate::base_url::BaseUrl;
use crate::groups::{GROUPS, Group, Operation};
use crate::headers::media_type::{MediaType, PAGE_TYPES};
use crate::links::{self, RULE_PARAMETER, RULES as RULES_PATH};

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
    let own = format!("{RULES_PATH}/:{RULE_PARAMETER}");
    let path = |path: String, operation| MetaPath { path, operations: vec![operation] };
    [path(RULES_PATH.to_owned(), listed), path(documented_path(&own), one)]
}

fn rule_id() -> MetaOperationParam {
    let schema = MetaSchema { example: Some("dates_in_order".into()), ..MetaSchema::new("string") };
    parameter(RULE_PARAMETER, MetaParamIn::Path, "The rule: the `code` of its violations.", schema)
}

/// Lists under `x-rules` what rules an operation may meet.
pub fn add(document: &mut Value, base_url: &BaseUrl, published: &[PublishedRule]) {
    for group in GROUPS {
        add_to_group(group, document, base_url, published);
    }
}

fn add_to_group(
    group: Group,
    document: &mut Value,
    base_url: &BaseUrl,
    published: &[PublishedRule],
) {
    for operation in group.operations() {
        let met = |rule: &&PublishedRule| {
            rule.collection == group.collection
                && rule.operations.iter().any(|written| writes(operation).contains(written))
        };
        let entries: Vec<_> =
            published.iter().filter(met).map(|rule| entry(base_url, rule)).collect();
        if !entries.is_empty() {
            let path = documented_path(&group.path_of(operation.form()));
            document["paths"][path][operation.method().as_str().to_lowercase()]["x-rules"] =
                entries.into();
        }
    }
}

fn entry(base_url: &BaseUrl, rule: &PublishedRule) -> Value {
    json!({
        "id": rule.id, "severity": rule.severity.name(), "field": rule.pointer,
        "message": rule.message, "description": rule.description, "home": rule.home.name(),
        "url": links::rule(base_url, &rule.id),
    })
}

/// The writes that an operation does.
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
