//! Adds to the document what poem-openapi's model lacks. Each step gives its reason.

use std::collections::BTreeMap;

use application::{LabelSet, PublishedRule};
use serde_json::{Map, Value, json};

use super::model::NOTHING;
use super::responses::{COMMON, EARLY, meaning};
use super::{examples, operations, schemas, service};
use crate::base_url::BaseUrl;
use crate::groups::{GROUPS, Group, GroupOperation};
use crate::headers::media_type::MediaType;
use crate::links as urls;
use crate::metrics::template;

const FIRST: &str = "/v1/proposals";

pub fn finish(document: &str, base_url: &BaseUrl) -> Value {
    let mut document: Value = serde_json::from_str(document).unwrap_or_default();
    // poem-openapi writes 3.0.0, without `security` of the whole document.
    document["openapi"] = "3.0.3".into();
    document["security"] = json!([]);
    // poem-openapi sorts tags by name. The order here: proposals and their parts, the other groups
    // in the order of the specification, the service's own.
    let is_first = |group: &Group| group.path.starts_with(FIRST);
    let (first, others): (Vec<_>, Vec<_>) = GROUPS.iter().partition(is_first);
    let groups = first.iter().chain(&others).map(|group| (group.name, group.description));
    let tags = groups.chain([(service::TAG, "The service itself.")]);
    document["tags"] =
        tags.map(|(name, text)| json!({ "name": name, "description": text })).collect();
    let mut paths = document["paths"].take();
    let mut components = Components { written: document["components"].take(), base_url };
    for (_, operation) in members(Some(&mut paths)).flat_map(|(_, path)| members(Some(path))) {
        let responses = &mut operation["responses"];
        for (_, response) in members(Some(responses)) {
            for (name, header) in members(response.get_mut("headers")) {
                components.share("headers", name, header);
            }
        }
        add_common(responses);
    }
    components.add_common();
    for group in GROUPS {
        for operation in group.operations() {
            components.finish(group, operation, described(&mut paths, group, operation));
        }
        if !group.is_typed() {
            // The service makes ids and refuses a create with one. poem-openapi has no `not`.
            let name = schemas::body_name(group, GroupOperation::Create);
            components.written["schemas"][name]["not"] =
                json!({ "properties": { "id": {} }, "required": ["id"] });
        }
    }
    for (path, name, example) in service::request_examples() {
        // Only JSON can be shown as an example.
        let body = &mut paths[path]["post"]["requestBody"]["content"][MediaType::JSON.name()];
        let example = components.example(name, example);
        body["examples"] = json!({ name: example });
    }
    for (_, schema) in members(components.written.get_mut("schemas")) {
        // poem-openapi has no `false` schema.
        if schema.pointer("/additionalProperties/type").is_some_and(|of| of == NOTHING) {
            schema["additionalProperties"] = false.into();
        }
    }
    document["components"] = components.written;
    document["paths"] = paths;
    document
}

/// Replaces titles and descriptions of members by the agency's labels and help texts, in its first
/// language.
pub fn add_labels(document: &mut Value, labels: &LabelSet) {
    for group in GROUPS {
        let Some(own) = labels.groups.get(&group.collection) else { continue };
        for (name, _) in schemas::of(group) {
            let schema = &mut document["components"]["schemas"][name];
            for (member, property) in members(schema.get_mut("properties")) {
                let Some(field) = own.fields.get(member.as_str()) else { continue };
                for (key, text) in [("title", &field.label), ("description", &field.help)] {
                    if let Some(text) = text {
                        property[key] = text.in_language(0).into();
                    }
                }
            }
        }
    }
}

pub fn described(paths: &mut Value, group: Group, operation: GroupOperation) -> &mut Value {
    let path = template(&group.path_of(operation.form()));
    &mut paths[path][operation.method().as_str().to_lowercase()]
}

fn members(value: Option<&mut Value>) -> impl Iterator<Item = (&String, &mut Value)> {
    value.and_then(Value::as_object_mut).into_iter().flatten()
}

/// The components of the document: poem-openapi shares only schemas. Inlined, the document would
/// be several times as large.
struct Components<'a> {
    written: Value,
    base_url: &'a BaseUrl,
}

impl Components<'_> {
    fn add_common(&mut self) {
        for status in COMMON {
            let mut response = json!({ "description": meaning(status) });
            if !EARLY.contains(&status) {
                let problem = json!({ "$ref": "#/components/schemas/Problem" });
                response["content"] = json!({ "application/json": { "schema": problem } });
                let example = examples::problem(status, self.base_url);
                self.add_example(&mut response, &format!("Problem{status}"), example);
            }
            self.written["responses"][format!("Common{status}")] = response;
        }
    }

    fn share(&mut self, kind: &str, name: &str, value: &mut Value) {
        let reference = json!({ "$ref": format!("#/components/{kind}/{name}") });
        self.written[kind][name] = std::mem::replace(value, reference);
    }

    /// Adds examples and links, which poem-openapi lacks, and shares a group's errors.
    fn finish(&mut self, group: Group, operation: GroupOperation, described: &mut Value) {
        // Bytes of any type have no example.
        let is_bytes =
            |is_response: bool| operation.is_of_content() && is_response == operation.is_read();
        if let Some(body) = described.get_mut("requestBody").filter(|_| !is_bytes(false)) {
            let (name, example) = examples::request(group, operation);
            self.add_example(body, name, example);
        }
        for (status, response) in members(described.get_mut("responses")) {
            let code = status.parse().unwrap_or_default();
            let has_content = response.get("content").is_some();
            if has_content && code < 400 && !is_bytes(true) {
                let (name, example) = examples::response(group, operation, self.base_url);
                self.add_example(response, name, example);
            } else if has_content && code >= 400 {
                let example = examples::problem(code, self.base_url);
                self.add_example(response, &format!("Problem{status}"), example);
            }
            if code == 201 {
                response["links"] = links(group);
            }
            // A reference to a reference is valid, but client generators do not follow it.
            if code >= 400 && response.get("$ref").is_none() {
                self.share("responses", &format!("{}{status}", group.stem), response);
            }
        }
    }

    fn example(&mut self, name: &str, value: Value) -> Value {
        let mut example = Value::Object(Map::from_iter([("value".to_owned(), value)]));
        self.share("examples", name, &mut example);
        example
    }

    fn add_example(&mut self, holder: &mut Value, name: &str, value: Value) {
        let example = self.example(name, value);
        for (_, media) in members(holder.get_mut("content")) {
            media["examples"] = json!({ name: example });
        }
    }
}

fn add_common(responses: &mut Value) {
    let mut all: BTreeMap<_, _> =
        members(Some(responses)).map(|(status, own)| (status.clone(), own.take())).collect();
    for status in COMMON {
        let reference = || json!({ "$ref": format!("#/components/responses/Common{status}") });
        all.entry(status.to_string()).or_insert_with(reference);
    }
    *responses = Value::Object(all.into_iter().collect());
}

fn links(group: Group) -> Value {
    use GroupOperation::{Delete, Get, Patch, Replace};
    let links = [Get, Patch, Replace, Delete].map(|operation| {
        let mut parameters = json!({ group.item_parameter: "$response.body#/id" });
        if let Some(parent) = group.parent() {
            let name = parent.item_parameter;
            parameters[name] = format!("$request.path.{name}").into();
        }
        let id = operations::operation_id(group, operation);
        (id.to_owned(), json!({ "operationId": id, "parameters": parameters }))
    });
    Value::Object(Map::from_iter(links))
}

/// Lists the rules of an operation under `x-rules`. They change while the service runs.
pub fn add_rules(document: &mut Value, base_url: &BaseUrl, published: &[PublishedRule]) {
    let entry = |rule: &PublishedRule| {
        json!({
            "id": rule.id, "severity": rule.severity.name(), "field": rule.pointer,
            "message": rule.message, "description": rule.description, "home": rule.home.name(),
            "url": urls::rule(base_url, &rule.id),
        })
    };
    for group in GROUPS {
        for operation in group.operations() {
            let is_met = |rule: &&PublishedRule| {
                rule.collection == group.collection
                    && rule.operations.iter().any(|write| operation.writes().contains(write))
            };
            let rules: Vec<_> = published.iter().filter(is_met).map(entry).collect();
            if !rules.is_empty() {
                described(&mut document["paths"], group, operation)["x-rules"] = rules.into();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use poem_openapi::OpenApiService;
    use serde_json::Value;

    use super::{NOTHING, finish};
    use crate::openapi::Documented;

    fn walk(value: &Value, visit: &mut impl FnMut(&str, &Value)) {
        match value {
            Value::Object(members) => members.iter().for_each(|(name, member)| {
                visit(name, member);
                walk(member, visit);
            }),
            Value::Array(elements) => elements.iter().for_each(|element| walk(element, visit)),
            _ => {}
        }
    }

    #[test]
    fn references_lead_somewhere_and_no_stand_in_is_left() {
        let written = OpenApiService::new(Documented, "", "").spec();
        let base_url = "http://127.0.0.1:8080".parse().unwrap();
        let document = finish(&written, &base_url);
        let mut references = 0;
        walk(&document, &mut |name, member| {
            assert!(name != "type" || member != NOTHING, "a schema that no value satisfies");
            if let (true, Some(target)) = (name == "$ref", member.as_str()) {
                assert!(document.pointer(target.trim_start_matches('#')).is_some(), "{target}");
                references += 1;
            }
        });
        assert!(references > 1000, "{references}");
    }
}
