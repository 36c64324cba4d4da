//! The statuses of each operation in the `OpenAPI` document of the binary under test.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use serde_json::Value;

use crate::tool::done;

struct Operation {
    method: String,
    path: String,
    statuses: BTreeSet<u16>,
}

/// The documented statuses of an operation; `None` for pages and unknown paths.
pub fn statuses(method: &str, target: &str) -> Option<&'static BTreeSet<u16>> {
    static OPERATIONS: OnceLock<Vec<Operation>> = OnceLock::new();
    let method = if method == "HEAD" { "GET" } else { method };
    let path = target.split('?').next().unwrap_or_default();
    let operations = OPERATIONS.get_or_init(documented);
    let path = &operations.iter().find(|operation| is_at(&operation.path, path))?.path;
    let mut of_path = operations.iter().filter(|operation| operation.path == *path);
    of_path.find(|operation| operation.method == method).map(|operation| &operation.statuses)
}

fn documented() -> Vec<Operation> {
    let document: Value = serde_json::from_slice(&done(&["openapi"])).expect("JSON");
    let paths = document["paths"].as_object().expect("paths");
    let mut operations = Vec::new();
    for (path, of_path) in paths {
        for (method, operation) in of_path.as_object().expect("operations") {
            let responses = operation["responses"].as_object().expect("responses");
            let statuses = responses.keys().map(|status| status.parse().expect("a status"));
            let (method, path) = (method.to_uppercase(), path.clone());
            operations.push(Operation { method, path, statuses: statuses.collect() });
        }
    }
    // A path without parameters comes before one that has them.
    operations.sort_by_key(|operation| operation.path.matches('{').count());
    operations
}

fn is_at(template: &str, path: &str) -> bool {
    let (templates, segments) = (template.split('/'), path.split('/'));
    templates.clone().count() == segments.clone().count()
        && templates.zip(segments).all(|(template, segment)| is_segment(template, segment))
}

fn is_segment(template: &str, segment: &str) -> bool {
    match template.split_once('{').zip(template.split_once('}')) {
        None => template == segment,
        Some(((start, _), (_, end))) => {
            segment.len() > start.len() + end.len()
                && segment.starts_with(start)
                && segment.ends_with(end)
        }
    }
}
