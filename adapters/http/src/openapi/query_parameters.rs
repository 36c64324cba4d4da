//! The parameters of queries. They stand once, under `components`, and operations refer to them.
//!
//! `sort`, `fields` and `embed` are texts with commas in them rather than arrays: most generated
//! clients repeat the name of an array's parameter, whatever the document says.

use application::query::tokenizer;
use domain::proposal::Field;
use domain::{Fields, ItemId};
use serde_json::{Value, json};

use super::{documented_path, filters};
use crate::groups::{Group, Operation};
use crate::links::ItemLink;
use crate::query::{
    DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, MOST_FIELDS, MOST_IN_NAMES, MOST_KEYS, MOST_VALUE, SWITCH,
    TIMES, TOTALS,
};

/// Adds the parameters of a group's operations to the document.
pub fn add(group: Group, document: &mut Value) {
    filters::add(group, document);
    for operation in group.operations() {
        refer(group, document, operation, parameters(group, operation));
    }
}

fn parameters(group: Group, operation: Operation) -> Vec<Named> {
    let shown = [Some(fields(group)), embed(group)].into_iter().flatten();
    match operation {
        Operation::List => {
            let selected = [filter(group), sort(group), search(group)];
            paging().into_iter().chain(selected).chain(shown).chain([total(), as_of()]).collect()
        }
        Operation::Get => shown.chain([as_of(), check()]).collect(),
        Operation::ListVersions => paging().into_iter().take(2).collect(),
        Operation::GetVersion => Vec::new(),
        Operation::Compare => vec![from()],
        _ => vec![dry_run()],
    }
}

/// A parameter and the name it has among the components.
type Named = (String, Value);

/// Puts references where the query stands in a request: after the path, before the headers.
fn refer(group: Group, document: &mut Value, operation: Operation, parameters: Vec<Named>) {
    let mut references = Vec::new();
    for (name, parameter) in parameters {
        references.push(json!({ "$ref": format!("#/components/parameters/{name}") }));
        document["components"]["parameters"][name] = parameter;
    }
    let path = documented_path(&group.path_of(operation.form()));
    let entry =
        &mut document["paths"][path][operation.method().as_str().to_lowercase()]["parameters"];
    if let Some(own) = entry.as_array_mut() {
        let place =
            own.iter().position(|parameter| parameter["in"] == "header").unwrap_or(own.len());
        own.splice(place..place, references);
    }
}

fn parameter(name: &str, description: &str, schema: &Value) -> Value {
    json!({ "name": name, "in": "query", "required": false, "description": description, "schema": schema })
}

fn with_example(name: &str, description: &str, schema: &Value, example: impl Into<Value>) -> Value {
    let mut parameter = parameter(name, description, schema);
    parameter["example"] = example.into();
    parameter
}

fn paging() -> [Named; 3] {
    let page = json!({ "type": "integer", "format": "int64", "minimum": 1, "default": 1 });
    let size = json!({ "type": "integer", "format": "int64", "minimum": 1, "maximum": MAX_PAGE_SIZE, "default": DEFAULT_PAGE_SIZE });
    let cursor = json!({ "type": "string", "pattern": "^[A-Za-z0-9_-]+$", "maxLength": 1500 });
    let of_cursor = "A place in the collection, as `_links.next` and `_links.prev` have it; not to be made up. It goes with the collection, filters, search and order it was given for. `page` beside it is but the number shown.";
    [
        (
            "Page".to_owned(),
            parameter(
                "page",
                "Which page, from 1. To walk through a collection follow `_links.next` instead.",
                &page,
            ),
        ),
        ("PageSize".to_owned(), parameter("page_size", "Items per page, 1 to 250.", &size)),
        ("Cursor".to_owned(), parameter("cursor", of_cursor, &cursor)),
    ]
}

fn total() -> Named {
    let description = "`none` leaves the items uncounted, which a page of many matches is sooner there for: no `total_items`, `page_count` and `last`.";
    (
        "Total".to_owned(),
        parameter(
            "total",
            description,
            &json!({ "type": "string", "enum": TOTALS, "default": TOTALS[0] }),
        ),
    )
}

fn as_of() -> Named {
    let description = "What there was at this time (RFC 3339), which is not in the future. Of a collection it goes with `page`, `page_size`, `cursor`, `fields` and `total`, of an item with `fields`.";
    (
        "AsOf".to_owned(),
        parameter("as_of", description, &json!({ "type": "string", "format": "date-time" })),
    )
}

fn from() -> Named {
    let description = "The version to compare with; the one before when it is left out, and nothing before the first.";
    (
        "From".to_owned(),
        parameter(
            "from",
            description,
            &json!({ "type": "integer", "format": "int64", "minimum": 1 }),
        ),
    )
}

fn dry_run() -> Named {
    let description = "`true` tries the write: everything is checked, the answer is the one the write would have given, with `_meta.dry_run`, and nothing is stored.";
    (
        "DryRun".to_owned(),
        parameter(
            "dry_run",
            description,
            &json!({ "type": "string", "enum": SWITCH, "default": "false" }),
        ),
    )
}

fn check() -> Named {
    let description = "`true` asks the business rules what they would say if the item were replaced by itself now: `_meta.errors` and `_meta.warnings` have all of it. It goes with `embed`, not with `fields` or `as_of`.";
    (
        "Check".to_owned(),
        parameter(
            "check",
            description,
            &json!({ "type": "string", "enum": SWITCH, "default": "false" }),
        ),
    )
}

fn filter(group: Group) -> Named {
    let name = filters::name(group);
    let description = "Only items with these members, all of them: `filter[member]=value`, or `filter[member][operator]=value` with `eq`, `ne`, `lt`, `lte`, `gt`, `gte`, `in`, `contains` or `exists`.";
    let schema = json!({ "$ref": format!("#/components/schemas/{name}") });
    let (member, value) = filtered(group);
    let mut parameter = with_example("filter", description, &schema, json!({ member: value }));
    parameter["style"] = "deepObject".into();
    parameter["explode"] = true.into();
    (name, parameter)
}

fn sort(group: Group) -> Named {
    let description = format!(
        "The order: at most {MOST_KEYS} names parted by commas, the greatest first where `-` stands before one; `id`, `created_at` and `updated_at` too. Items without the member come last."
    );
    let key = match group.collection.spec().fields {
        Fields::Typed(fields) => format!("-?({})", names(fields, &TIMES.map(|(name, _)| name))),
        Fields::Open(_) => "([^,-][^,]*|-[^,]+)".to_owned(),
    };
    let schema = json!({ "type": "string", "pattern": list_pattern(&key, MOST_KEYS), "maxLength": MOST_IN_NAMES });
    let example = match group.collection.spec().fields {
        Fields::Typed(_) => "-start_date,project_title".to_owned(),
        Fields::Open(_) => format!("-created_at,{}", filtered(group).0),
    };
    (format!("{}Sort", group.stem), with_example("sort", &description, &schema, example))
}

fn fields(group: Group) -> Named {
    let description = format!(
        "Only these members, at most {MOST_FIELDS}, parted by commas; `id`, `_links` and `_meta` are always shown."
    );
    let (name, example) = match group.collection.spec().fields {
        Fields::Typed(fields) => {
            (format!("({})", names(fields, &[])), "project_title,start_date".to_owned())
        }
        Fields::Open(known) => {
            let names: Vec<_> = known.iter().take(2).map(|member| member.name).collect();
            ("[^,]+".to_owned(), names.join(","))
        }
    };
    let schema = json!({ "type": "string", "pattern": list_pattern(&name, MOST_FIELDS), "maxLength": MOST_IN_NAMES });
    (format!("{}Fields", group.stem), with_example("fields", &description, &schema, example))
}

fn embed(group: Group) -> Option<Named> {
    let names: Vec<_> = ItemLink::of(group).iter().map(|link| link.relation.name).collect();
    let first = *names.first()?;
    let description = "What to show with each item under `_embedded`, parted by commas; left out where an item has none.";
    let schema = json!({ "type": "string", "enum": arrangements(&names) });
    Some((format!("{}Embed", group.stem), with_example("embed", description, &schema, first)))
}

fn search(group: Group) -> Named {
    let description = "Only items whose texts hold all these words and `\"phrases\"`, whatever the case and accents of their letters; the best matches first unless `sort` says otherwise. Each has `_meta.score` and `_meta.snippet`.";
    let schema = json!({ "type": "string", "minLength": 1, "maxLength": MOST_VALUE });
    (format!("{}Search", group.stem), with_example("q", description, &schema, looked_for(group)))
}

/// A list of at most `most` names, of which `name` is the pattern.
fn list_pattern(name: &str, most: usize) -> String {
    format!("^{name}(,{name}){{0,{}}}$", most - 1)
}

/// The names of fields, `id`, and others, as alternatives of a pattern.
fn names(fields: &[Field], others: &[&'static str]) -> String {
    let names: Vec<_> =
        fields.iter().map(|field| field.name).chain(["id"]).chain(others.iter().copied()).collect();
    names.join("|")
}

/// Every list of some of the names, each once.
fn arrangements(names: &[&str]) -> Vec<String> {
    let mut all: Vec<Vec<&str>> = vec![Vec::new()];
    let mut from = 0;
    while from < all.len() {
        let longer: Vec<_> = names
            .iter()
            .filter(|name| !all[from].contains(name))
            .map(|name| [&all[from][..], &[*name]].concat())
            .collect();
        all.extend(longer);
        from += 1;
    }
    all.into_iter().skip(1).map(|list| list.join(",")).collect()
}

/// A member of the group's example and its value, by which a filter finds it: best a single word.
fn filtered(group: Group) -> (&'static str, String) {
    let strings = strings(group);
    let is_word = |(_, text): &&(_, String)| text.bytes().all(|byte| byte.is_ascii_alphabetic());
    strings.iter().find(is_word).or(strings.first()).cloned().unwrap_or(("id", String::new()))
}

/// A word of the group's example, by which a search finds it.
fn looked_for(group: Group) -> String {
    let strings = strings(group);
    let mut words = strings.iter().flat_map(|(_, text)| tokenizer::words(text));
    let is_plain = |word: &String| {
        word.len() > 3 && *word != "example" && word.bytes().all(|byte| byte.is_ascii_alphabetic())
    };
    words.find(is_plain).unwrap_or_default()
}

/// The members of the example that are strings for people to read, no identifiers.
fn strings(group: Group) -> Vec<(&'static str, String)> {
    let string = |example: &str| {
        serde_json::from_str::<String>(example).ok().filter(|text| ItemId::parse(text).is_none())
    };
    group
        .members_by_name()
        .filter_map(|(name, _, example)| Some((name, string(example)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{add, arrangements};
    use crate::groups::{GROUPS, Group, Operation};
    use crate::openapi::documented_path;
    use crate::query::{CollectionQuery, ItemQuery};

    /// The examples of an operation's parameters, as a query.
    fn examples(group: Group, operation: Operation) -> Vec<String> {
        let path = documented_path(&group.path_of(operation.form()));
        let mut document =
            serde_json::json!({ "paths": { path.clone(): { "get": { "parameters": [] } } } });
        add(group, &mut document);
        let references = document["paths"][path]["get"]["parameters"].as_array().unwrap().clone();
        let parameter = |reference: &Value| {
            document
                .pointer(reference["$ref"].as_str().unwrap().trim_start_matches('#'))
                .cloned()
                .unwrap()
        };
        let written = |parameter: Value| match (&parameter["name"], &parameter["example"]) {
            (Value::String(name), Value::String(example)) => {
                Some(format!("{name}={}", example.replace('&', "%26")))
            }
            (_, Value::Object(members)) => members
                .iter()
                .next()
                .map(|(name, value)| format!("filter[{name}]={}", value.as_str().unwrap())),
            _ => None,
        };
        references.iter().map(parameter).filter_map(written).collect()
    }

    #[test]
    fn every_example_is_understood() {
        for group in GROUPS {
            let listed = examples(group, Operation::List);
            assert!(listed.len() >= 4, "{listed:?}");
            let query = listed.join("&");
            assert!(CollectionQuery::read(group, &query, None).is_ok(), "{query}");
            let query = examples(group, Operation::Get).join("&");
            assert!(ItemQuery::read(group, &query).is_ok(), "{query}");
        }
    }

    #[test]
    fn every_list_of_what_can_be_embedded_is_offered() {
        assert_eq!(arrangements(&["a"]), ["a"]);
        assert_eq!(arrangements(&["a", "b"]), ["a", "b", "a,b", "b,a"]);
    }
}
