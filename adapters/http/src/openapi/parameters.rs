//! The parameters of operations, as tables: doc comments are descriptions. `query::known` defines
//! the query parameters of an operation.
//!
//! `sort`, `fields` and `embed` are strings rather than arrays: most generated clients repeat the
//! name of an array parameter.

use domain::Collection;
use poem_openapi::ParameterStyle;
use poem_openapi::registry::MetaParamIn::{self, Header, Path, Query};
use poem_openapi::registry::{MetaOperationParam, MetaSchema};

use super::examples;
use super::model::{
    about, documented, formatted, inline, integer_from, keep, matching, one_of, reference,
    with_example,
};
use crate::groups::{Group, GroupOperation, VERSION_PARAMETER};
use crate::links::ItemLink;
use crate::metrics::template;
use crate::query::{
    self, DEFAULT_PAGE_SIZE, DISPOSITIONS, MAX_PAGE_SIZE, MODES, MOST_FIELDS, MOST_IN_NAMES,
    MOST_KEYS, MOST_VALUE, SWITCH, TIMES, TOTALS, change_cursor,
};

const CURSOR: &str = "^[A-Za-z0-9_-]+$";
const TAGS: &str = r#"^(\*|(W/)?"[!#-~]*"(, ?(W/)?"[!#-~]*")*)$"#;
const KEY: &str = r#"^("([ !#-\[\]-~]|\\["\\]){1,255}"|[A-Za-z0-9!#$%&'*+.^_`|~:/=@-]{1,255})$"#;
const TOKEN: &str = "^[0-9a-f]{1,16}-[0-9a-z]*-[0-9a-f]{8}$";

const _: () = assert!(MOST_KEYS == 8 && MOST_FIELDS == 100, "`sort` and `fields` below");

fn of_query(group: Group) -> Vec<MetaOperationParam> {
    table(documented! {
        /// Page number, from 1. To read a whole collection, follow `_links.next` instead.
        (Query, "page", MetaSchema { default: Some(1.into()), ..integer_from(1) });
        /// Items per page, 1 to 250.
        (Query, "page_size", page_size());
        /// A position in the collection, from `_links.next` or `_links.prev`. Valid only for the
        /// same collection, filters, search and order. `page` then only sets the page number shown.
        (Query, "cursor", MetaSchema { max_length: Some(1500), ..matching(CURSOR) });
        /// Only items that match all filters: `filter[member]=value`, or
        /// `filter[member][operator]=value` with `eq`, `ne`, `lt`, `lte`, `gt`, `gte`, `in`,
        /// `contains` or `exists`.
        (Query, "filter", MetaSchema::ANY);
        /// Sort order: at most 8 names separated by commas, also `id`, `created_at` and
        /// `updated_at`. Prefix a name with `-` for descending order. Items without the member come
        /// last.
        (Query, "sort", sort(group));
        /// Only these members, at most 100, separated by commas. `id`, `_links` and `_meta` are
        /// always included.
        (Query, "fields", fields(group));
        /// Related items to include under `_embedded` of each item, separated by commas. Omitted if
        /// an item has none.
        (Query, "embed", embed(group));
        /// Full-text search: only items whose strings contain all words, `"phrases"` and prefixes
        /// (`ric*`), ignoring case and accents. Best matches first unless `sort` is given. Each
        /// item has `_meta.score` and `_meta.snippet`.
        (Query, "q", some_text(&examples::searched(group)));
        /// `none` skips the count, which is faster for large results: `total_items`, `page_count`
        /// and `last` are omitted.
        (Query, "total", MetaSchema { default: Some(TOTALS[0].into()), ..one_of(TOTALS) });
        /// Counts all selected items by value of this member, on all pages: `_embedded.counts`, and
        /// `_meta.counts` for items not covered there. Not with `as_of`.
        (Query, "count_by", count_by(group));
        /// The state at this time (RFC 3339), not in the future. For a collection, use it only with
        /// `page`, `page_size`, `cursor`, `fields` and `total`, for an item only with `fields`.
        (Query, "as_of", formatted("date-time"));
        /// `true` checks the business rules as if the item were replaced by itself now. All results
        /// are in `_meta.errors` and `_meta.warnings`. Can be combined with `embed`, not with
        /// `fields` or `as_of`.
        (Query, "check", switch());
        /// `true` adds the operations that you may perform on each item as `_meta.allowed`. Not with
        /// `as_of`.
        (Query, "access", switch());
        /// The state when the item got this version. Not with `as_of`.
        (Query, "version", integer_from(1));
        /// `attachment` asks browsers to save the file.
        (Query, "disposition", one_of(DISPOSITIONS));
        /// The version to compare with. Default: the previous version, or an empty object for the
        /// first.
        (Query, "from", integer_from(1));
        /// `true` validates the write without storing it. The response is that of the real write,
        /// with `_meta.dry_run`.
        (Query, "dry_run", switch());
    })
}

fn of_reads() -> Vec<MetaOperationParam> {
    table(documented! {
        /// Entity tags that the client has: 304 if one is current.
        (Header, "If-None-Match", matching(TAGS));
        /// The exact `Consistency-Token` of a write: the read sees that write, even on a standby.
        (Header, "Consistency-Token", matching(TOKEN));
        // No pattern: any other string is ignored.
        /// A date, preferably that of `Last-Modified`: 304 if the item was not written since.
        /// Entity tags also cover links and embedded items.
        (Header, "If-Modified-Since", text("Mon, 16 Feb 2026 00:00:00 GMT"));
        /// The bytes to send (RFC 9110 section 14.2). At most 8 ranges.
        (Header, "Range", text("bytes=0-99"));
        /// An entity tag or a date: if the content is another one, all of it is sent.
        (Header, "If-Range", text("Mon, 16 Feb 2026 00:00:00 GMT"));
    })
}

fn of_writes() -> Vec<MetaOperationParam> {
    table(documented! {
        /// The entity tag you read: 412 if it has changed since.
        (Header, "If-Match", matching(TAGS));
        /// Entity tags that must not be current: 412 if one is.
        (Header, "If-None-Match", matching(TAGS));
        /// A unique key for this request, preferably a new UUID in double quotes
        /// (draft-ietf-httpapi-idempotency-key-header-07). A retry with the same body returns the
        /// first response. With a different body the status is 422, and 409 while the first request
        /// is still in progress.
        (Header, "Idempotency-Key", matching(KEY));
        /// The name of the file (RFC 6266), also as `filename*`.
        (Header, "Content-Disposition", text("attachment; filename=\"letter.pdf\""));
        /// The SHA-256 digest of the bytes (RFC 9530): 400 if others arrive.
        (Header, "Repr-Digest", with_example(matching(DIGEST), "sha-512=:AAAA:"));
        // No pattern: unknown preferences are ignored.
        /// `return=minimal` requests a response without a body (RFC 7240): 204 instead of 200, or
        /// 201 with headers only. If business rules report warnings, the response has a body
        /// anyway.
        (Header, "Prefer", text("return=minimal"));
    })
}

fn of_own_operations() -> Vec<MetaOperationParam> {
    table(documented! {
        /// Rule id: the `code` of its violations.
        (Path, "rule_id", text("dates_in_order"));
        /// Policy id.
        (Path, "policy_id", text("reviewers_read_proposals"));
        /// The group, as in rules.
        (Path, "group", with_example(one_of(Collection::names()), "proposals"));
        /// Changes after this cursor. Default: from the first change.
        (Query, "after", with_example(matching(CURSOR), change_cursor::example(0)));
        /// Only changes of this group.
        (Query, "group", with_example(one_of(Collection::names()), "proposals"));
        /// Maximum number of changes per page.
        (Query, "page_size", with_example(page_size(), 100));
        /// Filters, as for the group's collection.
        (Query, "filter", MetaSchema::new("object"));
        /// Sort order, as for the group's collection.
        (Query, "sort", text("-created_at"));
        /// Members to export as columns, separated by commas.
        (Query, "fields", text("project_title"));
        /// Words to search for.
        (Query, "q", text("rice"));
        /// Adds a byte order mark so that Excel detects UTF-8.
        (Query, "bom", MetaSchema::new("boolean"));
        /// `all`: all rows in one transaction. `each`: each row separately, with its own result.
        (Query, "mode", one_of(MODES));
        /// Rows with an `id` update that item.
        (Query, "upsert", MetaSchema::new("boolean"));
        /// Validates all rows without storing them.
        (Query, "dry_run", MetaSchema::new("boolean"));
        /// The `id` of the last received event.
        (Header, "Last-Event-ID", with_example(matching(CURSOR), change_cursor::example(0)));
        /// Makes the import safe to retry: each row is processed once.
        (Header, "Idempotency-Key", MetaSchema::new("string"));
    })
}

pub fn of(group: Group, operation: GroupOperation) -> Vec<MetaOperationParam> {
    let path = template(&group.path_of(operation.form()));
    let mut taken: Vec<_> = in_path(&path).map(|name| in_path_of(group, name)).collect();
    let known = query::known(operation);
    let embeds = !ItemLink::of(group).is_empty();
    let is_taken = |name: &str| known.contains(&name) && (embeds || name != "embed");
    taken.extend(of_query(group).into_iter().filter(|parameter| is_taken(&parameter.name)));
    for parameter in taken.iter_mut().filter(|parameter| parameter.name == "filter") {
        parameter.schema = reference(about(group, "{stem}Filters"));
    }
    let of_headers = if operation.is_read() { of_reads() } else { of_writes() };
    taken.extend(of_headers.into_iter().filter(|header| takes_header(operation, &header.name)));
    taken
}

fn takes_header(operation: GroupOperation, name: &str) -> bool {
    match name {
        "If-Match" | "If-None-Match" => operation != GroupOperation::Create,
        "Consistency-Token" => operation.is_served_by_standbys(),
        "If-Modified-Since" => {
            matches!(operation, GroupOperation::Get | GroupOperation::GetVersion)
                || operation.is_of_content() && operation != GroupOperation::GetDossier
        }
        "Idempotency-Key" => operation.takes_key(),
        "Range" | "If-Range" => operation.is_of_content(),
        "Content-Disposition" | "Repr-Digest" => operation == GroupOperation::PutContent,
        _ => operation.takes_preference(),
    }
}

pub fn of_own(path: &str, query: &[&str], headers: &[&str]) -> Vec<MetaOperationParam> {
    let path: Vec<_> = in_path(path).collect();
    let taken = |parameter: &MetaOperationParam| match parameter.in_type {
        Path => path.contains(&&*parameter.name),
        Query => query.contains(&&*parameter.name),
        _ => headers.contains(&&*parameter.name),
    };
    of_own_operations().into_iter().filter(taken).collect()
}

fn in_path(path: &str) -> impl Iterator<Item = &str> {
    path.split('{').skip(1).filter_map(|rest| rest.split('}').next())
}

fn table<const N: usize>(
    rows: [(MetaParamIn, &str, MetaSchema, &str); N],
) -> Vec<MetaOperationParam> {
    rows.map(|(place, name, schema, text)| parameter(place, name, text, schema)).into()
}

fn parameter(
    in_type: MetaParamIn,
    name: &str,
    description: &str,
    schema: MetaSchema,
) -> MetaOperationParam {
    MetaOperationParam {
        name: name.to_owned(),
        schema: inline(schema),
        required: in_type == Path,
        in_type,
        description: Some(description.to_owned()),
        deprecated: false,
        explode: true,
        style: (name == "filter").then_some(ParameterStyle::DeepObject),
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
    parameter(Path, name, description, schema)
}

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

/// A byte sequence under the name of an algorithm (RFC 9530).
const DIGEST: &str = "^[a-z][a-z0-9-]*=:([A-Za-z0-9+/]{4})+:$";

fn text(example: &str) -> MetaSchema {
    with_example(MetaSchema::new("string"), example)
}

fn embed(group: Group) -> MetaSchema {
    let names: Vec<_> = ItemLink::of(group).iter().map(|link| link.relation.name).collect();
    let example = names.first().map(|name| (*name).into());
    MetaSchema { example, ..one_of(arrangements(&names)) }
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
    some_text(example)
}

fn some_text(example: &str) -> MetaSchema {
    MetaSchema { min_length: Some(1), max_length: Some(MOST_VALUE), ..text(example) }
}

fn names_schema(name: &str, most: usize, example: String) -> MetaSchema {
    let list = matching(format!("^{name}(,{name}){{0,{}}}$", most - 1));
    MetaSchema { max_length: Some(MOST_IN_NAMES), ..with_example(list, example) }
}

fn names(group: Group) -> String {
    group.members_by_name().map(|(name, ..)| name).collect::<Vec<_>>().join("|")
}

fn arrangements(names: &[&str]) -> Vec<String> {
    let beginning_with = |first: &&str| {
        let others: Vec<_> = names.iter().copied().filter(|name| name != first).collect();
        let longer = arrangements(&others).into_iter().map(|rest| format!("{first},{rest}"));
        std::iter::once((*first).to_owned()).chain(longer).collect::<Vec<_>>()
    };
    names.iter().flat_map(beginning_with).collect()
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
