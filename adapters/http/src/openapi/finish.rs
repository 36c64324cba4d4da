//! Finishes the document: what poem-openapi's model cannot say.

use serde_json::{Map, Value, json};

use super::operations::{operation_id, statuses};
use super::{documented_path, examples};
use crate::base_url::BaseUrl;
use crate::group::{Group, Members, Operation, PathForm};
use crate::groups::for_each_group;

/// Adds examples, links between operations and schema keywords to the document that poem-openapi wrote.
#[must_use]
pub fn finish(document: &str, base_url: &BaseUrl) -> String {
    let mut document: Value = serde_json::from_str(document).unwrap_or_default();
    document["openapi"] = "3.0.3".into();
    // Relative to where the document was read, so that a browser's requests stay on the host it came from.
    let prefix = base_url.as_str().splitn(4, '/').nth(3).map_or_else(|| "/".to_owned(), |path| format!("/{path}"));
    document["servers"] = json!([{ "url": prefix, "description": "This service" }]);
    document["security"] = json!([]);
    macro_rules! finish_groups {
        ($($group:path,)*) => { $(finish_group::<$group>(&mut document, base_url);)* };
    }
    for_each_group!(finish_groups);
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

fn finish_group<G: Group>(document: &mut Value, base_url: &BaseUrl) {
    for operation in G::operations() {
        let path = match operation.form() {
            PathForm::Collection => documented_path(G::PATH),
            PathForm::Item => documented_path(&G::item_path()),
        };
        let method = operation.method().as_str().to_lowercase();
        let entry = &mut document["paths"][&path][&method];
        add_request_example::<G>(entry, operation);
        for status in statuses::<G>(operation) {
            let response = &mut entry["responses"][status.to_string()];
            add_response_example::<G>(response, base_url, operation, status);
            if status == 201 {
                response["links"] = links::<G>();
            }
        }
    }
    if matches!(G::MEMBERS, Members::Proposal) {
        for suffix in ["Body", "Change", "Patch"] {
            document["components"]["schemas"][format!("{}{suffix}", G::STEM)]["additionalProperties"] = false.into();
        }
    } else if let Some(body) = document["components"]["schemas"].get_mut(format!("{}Body", G::STEM)) {
        // The service makes ids: a body that names one is refused.
        body["not"] = json!({ "required": ["id"] });
    }
}

fn add_request_example<G: Group>(entry: &mut Value, operation: Operation) {
    if operation.takes_body() {
        let example = examples::request::<G>(operation);
        for media in media_types(&mut entry["requestBody"]) {
            media["example"] = example.clone();
        }
    }
}

fn add_response_example<G: Group>(response: &mut Value, base_url: &BaseUrl, operation: Operation, status: u16) {
    let shows_page = matches!(operation, Operation::List | Operation::ReplaceAll);
    let example = match status {
        200 | 201 => Some(examples::response::<G>(base_url, shows_page)),
        _ => examples::problem::<G>(
            base_url,
            &G::collection_path(None).replace(":proposals_id", super::super::groups::Proposals::EXAMPLE_ID),
            status,
        ),
    };
    let Some(example) = example else { return };
    for media in media_types(response) {
        media["example"] = example.clone();
    }
}

fn media_types(holder: &mut Value) -> impl Iterator<Item = &mut Value> {
    holder.get_mut("content").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut)
}

/// From a new item to what can be done with it.
fn links<G: Group>() -> Value {
    let next = [Operation::Get, Operation::Patch, Operation::Replace, Operation::Delete];
    let links = next.map(|operation| {
        let mut parameters = Map::from_iter([(G::ITEM_PARAMETER.to_owned(), Value::from("$response.body#/id"))]);
        if let Some(owner) = G::OWNER {
            parameters.insert(owner.parameter.to_owned(), format!("$request.path.{}", owner.parameter).into());
        }
        let id = operation_id::<G>(operation);
        (id.clone(), json!({ "operationId": id, "parameters": parameters }))
    });
    Value::Object(links.into_iter().collect())
}
