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
    self, DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, MODES, MOST_FIELDS, MOST_IN_NAMES, MOST_KEYS,
    MOST_VALUE, SWITCH, TIMES, TOTALS, change_cursor,
};

const CURSOR: &str = "^[A-Za-z0-9_-]+$";
const TAGS: &str = r#"^(\*|(W/)?"[!#-~]*"(, ?(W/)?"[!#-~]*")*)$"#;
const KEY: &str = r#"^("([ !#-\[\]-~]|\\["\\]){1,255}"|[A-Za-z0-9!#$%&'*+.^_`|~:/=@-]{1,255})$"#;
const TOKEN: &str = "^[0-9a-f]{1,16}-[0-9a-z]*-[0-9a-f]{8}$";

const _: () = assert!(MOST_KEYS == 8 && MOST_FIELDS == 100, "`sort` and `fields` below");

fn of_query(group: Group) -> Vec<MetaOperationParam> {
    table(documented! {
        /// The page, from 1. To walk through a collection follow `_links.next` instead.
        (Query, "page", MetaSchema { default: Some(1.into()), ..integer_from(1) });
        /// Items per page, 1 to 250.
        (Query, "page_size", page_size());
        /// A place in the collection, as `_links.next` and `_links.prev` have it; not to be made up.
        /// It goes with the collection, filters, search and order it was given for. `page` beside it
        /// is but the number shown.
        (Query, "cursor", MetaSchema { max_length: Some(1500), ..matching(CURSOR) });
        /// Only items with these members, all of them: `filter[member]=value`, or
        /// `filter[member][operator]=value` with `eq`, `ne`, `lt`, `lte`, `gt`, `gte`, `in`,
        /// `contains` or `exists`.
        (Query, "filter", MetaSchema::ANY);
        /// The order: at most 8 names parted by commas, the greatest first where `-` stands before
        /// one; `id`, `created_at` and `updated_at` too. Items without the member come last.
        (Query, "sort", sort(group));
        /// Only these members, at most 100, parted by commas; `id`, `_links` and `_meta` are always
        /// shown.
        (Query, "fields", fields(group));
        /// The related items to show with each item under `_embedded`, parted by commas; left out
        /// where an item has none.
        (Query, "embed", embed(group));
        /// Only items whose strings hold all these words, `"phrases"` and beginnings of words
        /// (`ric*`), whatever the case and accents of their letters; the best matches first unless
        /// `sort` says otherwise. Each has `_meta.score` and `_meta.snippet`.
        (Query, "q", some_text(&examples::searched(group)));
        /// `none` skips the count, which is faster for large results: no `total_items`, `page_count`
        /// and `last`.
        (Query, "total", MetaSchema { default: Some(TOTALS[0].into()), ..one_of(TOTALS) });
        /// Counts all selected items by their values of this member, whatever page is shown:
        /// `_embedded.counts`, and `_meta.counts` for the items that it does not tell of. Not with
        /// `as_of`.
        (Query, "count_by", count_by(group));
        /// The state at this time (RFC 3339), which is not in the future. Of a collection it goes
        /// with `page`, `page_size`, `cursor`, `fields` and `total`, of an item with `fields`.
        (Query, "as_of", formatted("date-time"));
        /// `true` asks the business rules what they would say if the item were replaced by itself
        /// now: `_meta.errors` and `_meta.warnings` have all of it. It goes with `embed`, not with
        /// `fields` or `as_of`.
        (Query, "check", switch());
        /// The version to compare with; the one before when it is left out, and nothing before the
        /// first.
        (Query, "from", integer_from(1));
        /// `true` tries the write: everything is checked, the answer is the one the write would have
        /// given, with `_meta.dry_run`, and nothing is stored.
        (Query, "dry_run", switch());
    })
}

fn of_reads() -> Vec<MetaOperationParam> {
    table(documented! {
        /// Entity tags the client has: 304 when one is current.
        (Header, "If-None-Match", matching(TAGS));
        /// The `Consistency-Token` of a write, to the letter: the read sees that write, also where a
        /// standby is read.
        (Header, "Consistency-Token", matching(TOKEN));
        // No pattern: any other string is ignored.
        /// A date, best that of `Last-Modified`: 304 when the item was not written since. Entity
        /// tags know more: links and embedded items.
        (Header, "If-Modified-Since", text("Mon, 16 Feb 2026 00:00:00 GMT"));
    })
}

fn of_writes() -> Vec<MetaOperationParam> {
    table(documented! {
        /// The entity tag that was read: 412 when it has changed since.
        (Header, "If-Match", matching(TAGS));
        /// Entity tags that must not be current: 412 when one is.
        (Header, "If-None-Match", matching(TAGS));
        /// A name for this request, best a new UUID in double quotes
        /// (draft-ietf-httpapi-idempotency-key-header-07). Sent again with the same body it is not
        /// done again: the answer is that of the first. With another body it is 422, while the first
        /// is at work 409.
        (Header, "Idempotency-Key", matching(KEY));
        // No pattern: unknown preferences are ignored.
        /// `return=minimal` asks for a response without a body (RFC 7240): 204 in place of 200, and
        /// 201 with its headers alone. Where business rules warn, the representation comes all the
        /// same.
        (Header, "Prefer", text("return=minimal"));
    })
}

fn of_own_operations() -> Vec<MetaOperationParam> {
    table(documented! {
        /// The rule: the `code` of its violations.
        (Path, "rule_id", text("dates_in_order"));
        /// The policy's id.
        (Path, "policy_id", text("reviewers_read_proposals"));
        /// The group, as rules name it.
        (Path, "group", with_example(one_of(Collection::names()), "proposals"));
        /// Changes after this cursor; without it, from the first on.
        (Query, "after", with_example(matching(CURSOR), change_cursor::example(0)));
        /// Changes of this group alone.
        (Query, "group", with_example(one_of(Collection::names()), "proposals"));
        /// Most changes on a page.
        (Query, "page_size", with_example(page_size(), 100));
        /// Filters, as of the group's collection.
        (Query, "filter", MetaSchema::new("object"));
        /// The order, as of the group's collection.
        (Query, "sort", text("-created_at"));
        /// The members that are columns, separated by commas.
        (Query, "fields", text("project_title"));
        /// Words to look for.
        (Query, "q", text("rice"));
        /// Begins the file with a byte order mark, by which Excel knows UTF-8.
        (Query, "bom", MetaSchema::new("boolean"));
        /// `all`: all rows in one transaction, or none. `each`: every row by itself, with a result
        /// for each.
        (Query, "mode", one_of(MODES));
        /// Rows with an `id` change its item.
        (Query, "upsert", MetaSchema::new("boolean"));
        /// Checks everything and stores nothing.
        (Query, "dry_run", MetaSchema::new("boolean"));
        /// The `id` of the last event that was received.
        (Header, "Last-Event-ID", with_example(matching(CURSOR), change_cursor::example(0)));
        /// Makes the import repeatable: each row is done once.
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
        }
        "Idempotency-Key" => operation.takes_key(),
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
