//! The number of items per value, and sums of amounts, for charts and facets. A step of the index
//! subtracts the values of its items before it and adds those after it.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use application::{Reach, Sequence, ValueCount, ValueCounts};
use domain::{Collection, CountedMember, Value};
use sea_orm::{QueryResult, Statement};

use crate::error::DbResult;
use crate::search_index::amounts::amounts;
use crate::sql::change_log::clamped;
use crate::sql::dialect::Dialect;
use crate::sql::indexed_columns::key_of_text;
use crate::sql::sql_text::SqlText;
use crate::sql::statements::with_members;
use crate::sql::{mask, page, row_mapping};

/// The changes that a step makes to the counts, by collection, member and value, in their order.
#[derive(Debug, Default)]
pub(crate) struct CountChanges(BTreeMap<(&'static str, &'static str, String), i64>);

impl CountChanges {
    pub fn note(&mut self, collection: Collection, before: Option<&str>, after: Option<&str>) {
        if before != after {
            for (members, items) in [(before, -1), (after, 1)] {
                for (member, value, weight) in
                    members.into_iter().flat_map(|it| counted(collection, it))
                {
                    let sum = self.0.entry((collection.name(), member, value)).or_default();
                    *sum = sum.saturating_add(items * weight);
                }
            }
        }
    }

    pub fn into_changed(self) -> impl Iterator<Item = ((&'static str, &'static str, String), i64)> {
        self.0.into_iter().filter(|(_, items)| *items != 0)
    }
}

/// The first 200 characters of the counted members, and the amounts of months.
fn counted(collection: Collection, members: &str) -> Vec<(&'static str, String, i64)> {
    let (spec, members) = (collection.spec(), Value::from_encoded(members));
    let value = |CountedMember { name, characters }: &CountedMember| {
        let value = key_of_text(members.member(name)?.as_written()?);
        let value = characters.map_or(value.clone(), |most| value.chars().take(most).collect());
        Some((*name, value, 1))
    };
    let mut counted: Vec<_> = spec.counted.iter().filter_map(value).collect();
    if let Some(summed) = &spec.summed {
        let amounts = amounts(members, summed).into_iter();
        counted.extend(amounts.map(|(month, amount)| (summed.name, month, amount)));
    }
    counted
}

pub(crate) const fn is_counted(collection: Collection) -> bool {
    !collection.spec().counted.is_empty() || collection.spec().summed.is_some()
}

/// Finds the most frequent values of a member.
pub(crate) fn statement(
    dialect: &Dialect,
    collection: Collection,
    member: &str,
    limit: u64,
) -> Statement {
    let values = [collection.name().into(), member.into(), clamped(limit).into()];
    dialect.statement(sql_file!("both/index/value_counts"), values)
}

/// Finds the values of a member among the items in reach, or the members of sums, as `field_0`, …,
/// with the number of their items. Reads the items, unlike [`statement`].
pub(crate) fn reached_statement(
    dialect: &'static Dialect,
    reach: &Reach,
    fields: &[Arc<str>],
) -> Statement {
    let mut text = SqlText::new(dialect);
    let field = |(number, name): (usize, &Arc<str>)| {
        let member = mask::member(&mut text, reach, name, None);
        format!("{} AS field_{number}, ", member.as_json())
    };
    let columns: String = fields.iter().enumerate().map(field).collect();
    let groups: Vec<_> = (1..=fields.len()).map(|number| number.to_string()).collect();
    let reached = page::in_reach(&mut text, reach);
    text.finish(&format!(
        "WITH p AS (SELECT COALESCE(MAX(sequence), 0) AS sequence FROM changes) \
         SELECT p.sequence, (SELECT c.time FROM changes c WHERE c.sequence = p.sequence) AS time, v.* FROM p \
         LEFT JOIN (SELECT {columns}COUNT(*) AS items FROM {source} w WHERE {reached} GROUP BY {groups}) v ON TRUE",
        source = with_members("items", &["w.members"]),
        groups = groups.join(", "),
    ))
}

/// The members that decide on the counts of a member or of sums.
pub(crate) fn fields(collection: Collection, member: &str) -> Vec<Arc<str>> {
    let summed = collection.spec().summed.as_ref().filter(|summed| summed.name == member);
    let months = summed.map_or(&[][..], |summed| &summed.months);
    let first = summed.map_or(member, |summed| summed.year);
    std::iter::once(&first).chain(months).map(|name| Arc::from(*name)).collect()
}

pub(crate) fn reached_counts(
    rows: &[QueryResult],
    collection: Collection,
    member: &str,
    limit: u64,
) -> DbResult<ValueCounts> {
    let first = row_mapping::first(rows)?;
    let time = row_mapping::optional_timestamp(first, "time")?;
    let fields = fields(collection, member);
    let mut sums = BTreeMap::<_, i64>::new();
    for row in rows {
        if let Some(items) = row_mapping::get::<Option<i64>>(row, "items")? {
            let members = row_mapping::members_of_fields(row, &fields)?;
            for (name, value, weight) in counted(collection, &members) {
                if name == member {
                    let sum = sums.entry(value).or_default();
                    *sum = sum.saturating_add(weight.saturating_mul(items));
                }
            }
        }
    }
    let count = |(value, items)| Some(ValueCount { value, items: u64::try_from(items).ok()? });
    let mut counts: Vec<_> = sums.into_iter().filter_map(count).collect();
    counts.retain(|count| count.items > 0);
    counts.sort_by_key(|count| Reverse(count.items));
    counts.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(ValueCounts { counts, up_to: Sequence(row_mapping::get(first, "sequence")?), time })
}

pub(crate) fn counts(rows: &[QueryResult]) -> DbResult<ValueCounts> {
    let first = row_mapping::first(rows)?;
    let time = row_mapping::optional_timestamp(first, "time")?;
    let mut counts = Vec::with_capacity(rows.len());
    for row in rows {
        if let Some(value) = row_mapping::get(row, "value")? {
            counts.push(ValueCount { value, items: row_mapping::count(row, "items")? });
        }
    }
    Ok(ValueCounts { counts, up_to: Sequence(row_mapping::get(first, "sequence")?), time })
}

#[cfg(test)]
mod tests {
    use domain::Collection;

    use super::CountChanges;

    #[test]
    fn an_item_goes_from_the_values_it_had_to_those_it_has() {
        let proposals = Collection::known("proposals");
        let mut changes = CountChanges::default();
        changes.note(
            proposals,
            None,
            Some(r#"{"research_type":"Basic","start_date":"2026-03-01"}"#),
        );
        changes.note(
            proposals,
            Some(r#"{"research_type":"Basic","proposal_type":7}"#),
            Some(r#"{"research_type":"Applied","proposal_type":7,"start_date":["x"]}"#),
        );
        let counts: Vec<_> = changes
            .into_changed()
            .map(|((_, member, value), items)| format!("{member} {value} {items}"))
            .collect();
        assert_eq!(counts, ["research_type Applied 1", "start_date 2026 1"]);
    }

    #[test]
    fn a_collection_without_counted_members_has_no_counts() {
        let mut changes = CountChanges::default();
        changes.note(Collection::known("status"), None, Some(r#"{"rating":"x"}"#));
        assert_eq!(changes.into_changed().count(), 0);
    }
}
