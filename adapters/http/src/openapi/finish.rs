//! Finishes the document with what poem-openapi's model cannot say.
//!
//! - It writes OpenAPI 3.0.0 and no `servers` of its own.
//! - A media type has no named examples, and a response no links.
//! - Headers, parameters and responses stand in every operation; here they stand once, under
//!   `components`. Without that the document would be several times as large.
//! - A parameter has no example beside its schema, which a reference needs ([`query_parameters`]).
//! - An object cannot be closed (`additionalProperties: false`, [`filters`](super::filters)), and no
//!   schema excludes another (`not`).
//! - An operation has no extensions ([`add_rules`](super::rules::add)).

use domain::Fields;
use serde_json::{Map, Value, json};

use super::operations::{operation_id, statuses};
use super::{documented_path, examples, query_parameters, schemas};
use crate::base_url::BaseUrl;
use crate::groups::{GROUPS, Group, Operation};

/// Adds examples, query parameters, links between operations and schema keywords to the document
/// that poem-openapi wrote.
#[must_use]
pub fn finish(document: &str, base_url: &BaseUrl) -> Value {
    let mut document: Value = serde_json::from_str(document).unwrap_or_default();
    document["openapi"] = "3.0.3".into();
    // Absolute: tools that take the document from a file have no other host to send requests to.
    document["servers"] = json!([{ "url": base_url.as_str(), "description": "This service" }]);
    document["security"] = json!([]);
    for group in GROUPS {
        finish_group(group, &mut document, base_url);
    }
    for (status, example) in examples::problems(base_url) {
        document["components"]["examples"][problem_example_name(status)] =
            json!({ "value": example });
    }
    share_headers(&mut document);
    document["tags"] = in_order_of_groups(document["tags"].take());
    document
}

/// The groups as the specification lists them, then what is beside them; poem-openapi sorts by
/// name.
fn in_order_of_groups(mut tags: Value) -> Value {
    let place = |tag: &Value| {
        GROUPS.iter().position(|group| tag["name"] == group.name).unwrap_or(GROUPS.len())
    };
    if let Some(tags) = tags.as_array_mut() {
        tags.sort_by_key(place);
    }
    tags
}

fn finish_group(group: Group, document: &mut Value, base_url: &BaseUrl) {
    add_examples(group, document, base_url);
    for operation in group.operations() {
        let path = documented_path(&group.path_of(operation.form()));
        let method = operation.method().as_str().to_lowercase();
        let mut entry = document["paths"][&path][&method].take();
        if operation.takes_body() {
            refer_to_example(&mut entry["requestBody"], &request_example_name(group, operation));
        }
        for status in statuses(group, operation) {
            finish_response(
                group,
                document,
                &mut entry["responses"][status.to_string()],
                operation,
                status,
            );
        }
        document["paths"][&path][&method] = entry;
    }
    close_bodies(group, document);
    query_parameters::add(group, document);
}

fn add_examples(group: Group, document: &mut Value, base_url: &BaseUrl) {
    let examples = &mut document["components"]["examples"];
    for operation in [
        Operation::Get,
        Operation::List,
        Operation::GetVersion,
        Operation::ListVersions,
        Operation::Compare,
    ] {
        examples[response_example_name(group, operation)] =
            json!({ "value": examples::response(group, base_url, operation) });
    }
    for operation in group.operations().filter(|operation| operation.takes_body()) {
        examples[request_example_name(group, operation)] =
            json!({ "value": examples::request(group, operation) });
    }
}

fn response_example_name(group: Group, operation: Operation) -> String {
    match operation {
        Operation::List | Operation::ReplaceAll => schemas::collection_name(group),
        Operation::GetVersion => format!("{}Version", group.stem),
        Operation::ListVersions => format!("{}Versions", group.stem),
        Operation::Compare => format!("{}Difference", group.stem),
        _ => group.stem.to_owned(),
    }
}

fn request_example_name(group: Group, operation: Operation) -> String {
    // What is sent to replace or continue an item is what is sent to create one.
    let operation = if matches!(operation, Operation::Patch | Operation::ReplaceAll) {
        operation
    } else {
        Operation::Create
    };
    schemas::body_name(group, operation)
}

/// Gives a response its example and links. Errors are the same for all operations of a group, so
/// they stand once.
fn finish_response(
    group: Group,
    document: &mut Value,
    response: &mut Value,
    operation: Operation,
    status: u16,
) {
    match status {
        200 | 201 => refer_to_example(response, &response_example_name(group, operation)),
        204 | 304 | 414 => {}
        _ => refer_to_example(response, &problem_example_name(status)),
    }
    if status == 201 {
        response["links"] = links(group);
    }
    if status >= 400 {
        let name = format!("{}{status}", group.stem);
        let reference = json!({ "$ref": format!("#/components/responses/{name}") });
        document["components"]["responses"][&name] = std::mem::replace(response, reference);
    }
}

fn problem_example_name(status: u16) -> String {
    format!("Problem{status}")
}

fn refer_to_example(holder: &mut Value, name: &str) {
    for media in holder
        .get_mut("content")
        .and_then(Value::as_object_mut)
        .into_iter()
        .flat_map(Map::values_mut)
    {
        media["examples"] = json!({ name: { "$ref": format!("#/components/examples/{name}") } });
    }
}

/// Says which members a body must not have.
fn close_bodies(group: Group, document: &mut Value) {
    let schemas = &mut document["components"]["schemas"];
    if matches!(group.collection.spec().fields, Fields::Typed(_)) {
        for operation in [Operation::Create, Operation::Replace, Operation::Patch] {
            schemas[schemas::body_name(group, operation)]["additionalProperties"] = false.into();
        }
    } else {
        // The service makes ids: a create that names one is refused.
        schemas[schemas::body_name(group, Operation::Create)]["not"] =
            json!({ "properties": { "id": {} }, "required": ["id"] });
    }
}

/// Lets every response header of the document stand once.
fn share_headers(document: &mut Value) {
    let mut shared = Map::new();
    share_headers_within(document, &mut shared);
    document["components"]["headers"] = Value::Object(shared);
}

fn share_headers_within(value: &mut Value, shared: &mut Map<String, Value>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::Object(headers) if name == "headers" => {
                        for (header, definition) in headers {
                            let reference =
                                json!({ "$ref": format!("#/components/headers/{header}") });
                            shared.insert(header.clone(), std::mem::replace(definition, reference));
                        }
                    }
                    _ => share_headers_within(member, shared),
                }
            }
        }
        Value::Array(elements) => {
            for element in elements {
                share_headers_within(element, shared);
            }
        }
        _ => {}
    }
}

/// From a new item to what can be done with it.
fn links(group: Group) -> Value {
    let next = [Operation::Get, Operation::Patch, Operation::Replace, Operation::Delete];
    let links = next.map(|operation| {
        let mut parameters =
            Map::from_iter([(group.item_parameter.to_owned(), Value::from("$response.body#/id"))]);
        if let Some(parent) = group.parent() {
            let parameter = parent.item_parameter;
            parameters.insert(parameter.to_owned(), format!("$request.path.{parameter}").into());
        }
        let id = operation_id(group, operation);
        (id.clone(), json!({ "operationId": id, "parameters": parameters }))
    });
    Value::Object(links.into_iter().collect())
}
