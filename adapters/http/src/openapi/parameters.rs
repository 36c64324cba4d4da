//! The parameters of operations: where they stand, what they are, and what they take. Which query
//! parameters an operation takes is the parser's to say (`query::known`).
//!
//! `sort`, `fields` and `embed` are strings with commas in them rather than arrays: most generated
//! clients repeat the name of an array's parameter, whatever the document says.

use domain::Collection;
use poem_openapi::ParameterStyle;
use poem_openapi::registry::{MetaOperationParam, MetaParamIn, MetaSchema, MetaSchemaRef};

use super::examples;
use super::model::{
    about, formatted, inline, integer_from, keep, matching, one_of, reference, with_example,
};
use crate::groups::{Group, GroupOperation, VERSION_PARAMETER};
use crate::headers::idempotency_key::IDEMPOTENCY_KEY;
use crate::links::{ItemLink, POLICY_PARAMETER, RULE_PARAMETER};
use crate::query::{
    self, DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, MOST_FIELDS, MOST_IN_NAMES, MOST_KEYS, MOST_VALUE,
    SWITCH, TIMES, TOTALS, change_cursor,
};

/// The parameters of a group's operation: in the path, the query, the headers.
pub fn of(group: Group, operation: GroupOperation) -> Vec<MetaOperationParam> {
    let path = group.path_of(operation.form());
    let in_path = path.split('/').filter_map(|segment| segment.strip_prefix(':'));
    let in_path = in_path.map(|name| in_path_of(group, name));
    let in_query = query::known(operation).iter().filter_map(|name| {
        let (description, schema) = in_query_of(group, name)?;
        let style = (*name == "filter").then_some(ParameterStyle::DeepObject);
        let query = parameter(name, MetaParamIn::Query, description, schema);
        Some(MetaOperationParam { style, ..query })
    });
    in_path.chain(in_query).chain(in_headers_of(operation)).collect()
}

pub fn parameter(
    name: &str,
    in_type: MetaParamIn,
    description: &str,
    schema: MetaSchemaRef,
) -> MetaOperationParam {
    MetaOperationParam {
        name: name.to_owned(),
        schema,
        required: in_type == MetaParamIn::Path,
        in_type,
        description: Some(description.to_owned()),
        deprecated: false,
        explode: true,
        style: None,
    }
}

fn in_path_of(group: Group, name: &str) -> MetaOperationParam {
    let uuid = |example: &str| with_example(formatted("uuid"), example);
    let (description, schema) = match (name, group.parent()) {
        (VERSION_PARAMETER, _) => ("The number of the version.", with_example(integer_from(1), 1)),
        (_, Some(parent)) if name == parent.item_parameter => {
            (keep(format!("The {}.", parent.noun())), uuid(parent.example_id))
        }
        _ => ("The item.", uuid(group.example_id)),
    };
    parameter(name, MetaParamIn::Path, description, inline(schema))
}

fn in_headers_of(operation: GroupOperation) -> Vec<MetaOperationParam> {
    const TAGS: &str = r#"^(\*|(W/)?"[!#-~]*"(, ?(W/)?"[!#-~]*")*)$"#;
    const KEY: &str =
        r#"^("([ !#-\[\]-~]|\\["\\]){1,255}"|[A-Za-z0-9!#$%&'*+.^_`|~:/=@-]{1,255})$"#;
    const TOKEN: &str = "^[0-9a-f]{1,16}-[0-9a-z]*-[0-9a-f]{8}$";
    let mut rows = match operation {
        GroupOperation::Create => vec![],
        _ if operation.is_read() => {
            vec![("If-None-Match", "Entity tags the client has: 304 when one is current.", TAGS)]
        }
        _ => vec![
            ("If-Match", "The entity tag that was read: 412 when it has changed since.", TAGS),
            ("If-None-Match", "Entity tags that must not be current: 412 when one is.", TAGS),
        ],
    };
    if operation.takes_key() {
        let description = "A name for this request, best a new UUID in double quotes (draft-ietf-httpapi-idempotency-key-header-07). Sent again with the same body it is not done again: the answer is that of the first. With another body it is 422, while the first is at work 409.";
        rows.push((IDEMPOTENCY_KEY, description, KEY));
    }
    if operation.is_served_by_standbys() {
        let description = "The `Consistency-Token` of a write, to the letter: the read sees that write, also where a standby is read.";
        rows.push(("Consistency-Token", description, TOKEN));
    }
    let header = |(name, description, pattern): (&str, &str, &str)| {
        parameter(name, MetaParamIn::Header, description, inline(matching(pattern)))
    };
    // Any other string is ignored, so it has no pattern either.
    let date = matches!(operation, GroupOperation::Get | GroupOperation::GetVersion).then(|| {
        let description = "A date, best that of `Last-Modified`: 304 when the item was not written since. Entity tags know more: links and embedded items.";
        let schema = with_example(MetaSchema::new("string"), "Mon, 16 Feb 2026 00:00:00 GMT");
        parameter("If-Modified-Since", MetaParamIn::Header, description, inline(schema))
    });
    // What is no preference that the service knows is ignored, so it has no pattern.
    let preference = operation.takes_preference().then(|| {
        let description = "`return=minimal` asks for a response without a body (RFC 7240): 204 in place of 200, and 201 with its headers alone. Where business rules warn, the representation comes all the same.";
        let schema = with_example(MetaSchema::new("string"), "return=minimal");
        parameter("Prefer", MetaParamIn::Header, description, inline(schema))
    });
    rows.into_iter().map(header).chain(date).chain(preference).collect()
}

/// The description and the schema of a query parameter. `None` for `embed` where a group has nothing
/// to embed.
fn in_query_of(group: Group, name: &str) -> Option<(&'static str, MetaSchemaRef)> {
    let (description, schema) = match name {
        "filter" => {
            let description = "Only items with these members, all of them: `filter[member]=value`, or `filter[member][operator]=value` with `eq`, `ne`, `lt`, `lte`, `gt`, `gte`, `in`, `contains` or `exists`.";
            return Some((description, reference(about(group, "{stem}Filters"))));
        }
        "sort" => (
            keep(format!(
                "The order: at most {MOST_KEYS} names parted by commas, the greatest first where `-` stands before one; `id`, `created_at` and `updated_at` too. Items without the member come last."
            )),
            sort(group),
        ),
        "q" => (
            "Only items whose strings hold all these words, `\"phrases\"` and beginnings of words (`ric*`), whatever the case and accents of their letters; the best matches first unless `sort` says otherwise. Each has `_meta.score` and `_meta.snippet`.",
            MetaSchema {
                min_length: Some(1),
                max_length: Some(MOST_VALUE),
                ..with_example(MetaSchema::new("string"), examples::searched(group))
            },
        ),
        "count_by" => (
            "Counts all selected items by their values of this member, whatever page is shown: `_embedded.counts`, and `_meta.counts` for the items that it does not tell of. Not with `as_of`.",
            count_by(group),
        ),
        "fields" => (
            keep(format!(
                "Only these members, at most {MOST_FIELDS}, parted by commas; `id`, `_links` and `_meta` are always shown."
            )),
            fields(group),
        ),
        "embed" => {
            let names: Vec<_> = ItemLink::of(group).iter().map(|link| link.relation.name).collect();
            (
                "What to show with each item under `_embedded`, parted by commas; left out where an item has none.",
                with_example(one_of(arrangements(&names)), *names.first()?),
            )
        }
        _ => alike_in_all(name)?,
    };
    Some((description, inline(schema)))
}

fn alike_in_all(name: &str) -> Option<(&'static str, MetaSchema)> {
    Some(match name {
        "page" => (
            "Which page, from 1. To walk through a collection follow `_links.next` instead.",
            MetaSchema { default: Some(1.into()), ..integer_from(1) },
        ),
        "page_size" => ("Items per page, 1 to 250.", page_size()),
        "cursor" => (
            "A place in the collection, as `_links.next` and `_links.prev` have it; not to be made up. It goes with the collection, filters, search and order it was given for. `page` beside it is but the number shown.",
            MetaSchema { max_length: Some(1500), ..matching(CURSOR) },
        ),
        "total" => (
            "`none` skips the count, which is faster for large results: no `total_items`, `page_count` and `last`.",
            MetaSchema { default: Some(TOTALS[0].into()), ..one_of(TOTALS) },
        ),
        "as_of" => (
            "What there was at this time (RFC 3339), which is not in the future. Of a collection it goes with `page`, `page_size`, `cursor`, `fields` and `total`, of an item with `fields`.",
            formatted("date-time"),
        ),
        "from" => (
            "The version to compare with; the one before when it is left out, and nothing before the first.",
            integer_from(1),
        ),
        "dry_run" => (
            "`true` tries the write: everything is checked, the answer is the one the write would have given, with `_meta.dry_run`, and nothing is stored.",
            switch(),
        ),
        "check" => (
            "`true` asks the business rules what they would say if the item were replaced by itself now: `_meta.errors` and `_meta.warnings` have all of it. It goes with `embed`, not with `fields` or `as_of`.",
            switch(),
        ),
        _ => return None,
    })
}

const CURSOR: &str = "^[A-Za-z0-9_-]+$";

fn page_size() -> MetaSchema {
    MetaSchema {
        #[expect(clippy::cast_precision_loss, reason = "a small constant")]
        maximum: Some(MAX_PAGE_SIZE as f64),
        default: Some(DEFAULT_PAGE_SIZE.into()),
        ..integer_from(1)
    }
}

fn switch() -> MetaSchema {
    MetaSchema { default: Some("false".into()), ..one_of(SWITCH) }
}

fn sort(group: Group) -> MetaSchema {
    let [created, updated] = TIMES.map(|(name, _)| name);
    if group.is_typed() {
        let key = format!("-?({}|id|{created}|{updated})", names(group));
        return names_schema(&key, MOST_KEYS, "-start_date,project_title".to_owned());
    }
    let example = format!("-{created},{}", examples::filtered(group).0);
    names_schema("([^,-][^,]*|-[^,]+)", MOST_KEYS, example)
}

fn fields(group: Group) -> MetaSchema {
    if group.is_typed() {
        let name = format!("({}|id)", names(group));
        return names_schema(&name, MOST_FIELDS, "project_title,start_date".to_owned());
    }
    let first: Vec<_> = group.members_by_name().take(2).map(|(name, ..)| name).collect();
    names_schema("[^,]+", MOST_FIELDS, first.join(","))
}

fn count_by(group: Group) -> MetaSchema {
    let example = examples::filtered(group).0;
    if group.is_typed() {
        return with_example(one_of(group.members_by_name().map(|(name, ..)| name)), example);
    }
    let name = with_example(MetaSchema::new("string"), example);
    MetaSchema { min_length: Some(1), max_length: Some(MOST_VALUE), ..name }
}

/// The schema of a list of at most `most` names, of which `name` is the pattern.
fn names_schema(name: &str, most: usize, example: String) -> MetaSchema {
    let list = matching(format!("^{name}(,{name}){{0,{}}}$", most - 1));
    MetaSchema { max_length: Some(MOST_IN_NAMES), ..with_example(list, example) }
}

/// The names of a group's members as alternatives of a pattern.
fn names(group: Group) -> String {
    group.members_by_name().map(|(name, ..)| name).collect::<Vec<_>>().join("|")
}

/// Every list of some of the names, each once.
fn arrangements(names: &[&str]) -> Vec<String> {
    let beginning_with = |first: &&str| {
        let others: Vec<_> = names.iter().copied().filter(|name| name != first).collect();
        let longer = arrangements(&others).into_iter().map(|rest| format!("{first},{rest}"));
        std::iter::once((*first).to_owned()).chain(longer).collect::<Vec<_>>()
    };
    names.iter().flat_map(beginning_with).collect()
}

/// A parameter of the service's own operations.
pub fn of_service(name: &str) -> MetaOperationParam {
    use MetaParamIn::{Header, Path, Query};
    let rule = with_example(MetaSchema::new("string"), "dates_in_order");
    let policy = with_example(MetaSchema::new("string"), "reviewers_read_proposals");
    let cursor = with_example(matching(CURSOR), change_cursor::example(0));
    let groups = one_of(Collection::names());
    let (place, description, schema) = match name {
        "after" => (Query, "Changes after this cursor; without it, from the first on.", cursor),
        "group" => (Query, "Changes of this group alone.", with_example(groups, "proposals")),
        "page_size" => (Query, "Most changes on a page.", with_example(page_size(), 100)),
        POLICY_PARAMETER => (Path, "The policy's id.", policy),
        RULE_PARAMETER => (Path, "The rule: the `code` of its violations.", rule),
        _ => (Header, "The `id` of the last event that was received.", cursor),
    };
    parameter(name, place, description, inline(schema))
}

#[cfg(test)]
mod tests {
    use poem_openapi::registry::{MetaParamIn, MetaSchemaRef};
    use serde_json::Value;

    use super::{arrangements, of};
    use crate::groups::{GROUPS, Group, GroupOperation};
    use crate::openapi::filters;
    use crate::query::{CollectionQuery, ItemQuery, known};

    /// The examples of an operation's parameters, as a query.
    fn examples(group: Group, operation: GroupOperation) -> Vec<String> {
        let written = |name: &str, schema: MetaSchemaRef| match schema {
            MetaSchemaRef::Inline(schema) => match schema.example? {
                Value::String(example) => Some(format!("{name}={}", example.replace('&', "%26"))),
                other => panic!("{name}: {other}"),
            },
            MetaSchemaRef::Reference(_) => {
                let example = filters::of(group).example?;
                let (name, value) = example.as_object()?.iter().next()?;
                Some(format!("filter[{name}]={}", value.as_str()?))
            }
        };
        of(group, operation)
            .into_iter()
            .filter(|parameter| parameter.in_type == MetaParamIn::Query)
            .filter_map(|parameter| written(&parameter.name, parameter.schema))
            .collect()
    }

    #[test]
    fn every_example_is_understood() {
        for group in GROUPS {
            let listed = examples(group, GroupOperation::List);
            assert!(listed.len() >= 4, "{listed:?}");
            let query = listed.join("&");
            assert!(CollectionQuery::read(group, &query, None).is_ok(), "{query}");
            let query = examples(group, GroupOperation::Get).join("&");
            assert!(ItemQuery::read(group, &query).is_ok(), "{query}");
        }
    }

    #[test]
    fn every_parameter_the_parser_knows_is_documented() {
        for group in GROUPS {
            for operation in group.operations() {
                let documented = of(group, operation);
                for name in known(operation) {
                    let is_documented = documented.iter().any(|own| own.name == *name);
                    let embeds_nothing =
                        *name == "embed" && group.collection.relations().next().is_none();
                    assert!(is_documented != embeds_nothing, "{name} of {operation:?}");
                }
            }
        }
    }

    #[test]
    fn every_list_of_what_can_be_embedded_is_offered() {
        assert_eq!(arrangements(&["a"]), ["a"]);
        assert_eq!(arrangements(&["a", "b"]), ["a", "a,b", "b", "b,a"]);
    }
}
