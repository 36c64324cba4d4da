//! The number of selected items per value of a member, in the snapshot of the page.

use application::query::{COUNTED_VALUES, LONGEST_COUNTED_VALUE};
use application::{MemberCounts, ValueCount};
use sea_orm::{DbBackend, DbErr, QueryResult};

use crate::error::DbResult;
use crate::sql::dialect::Dialect;
use crate::sql::json_member::Member;
use crate::sql::row_mapping;
use crate::sql::statements::with_members;

/// The table `counted` and the column `counts`, each after a comma. A group of rows has the JSON as
/// written, the empty string if that is too long, or `NULL`, so its size is limited. The column is
/// a JSON array of the numbers of all items and of those without a value, and the values with their
/// numbers. It may be larger than the rows, so only the first row has it.
pub(crate) fn parts(
    dialect: &Dialect,
    member: &Member,
    source: &str,
    conditions: &str,
) -> (String, String) {
    let json = member.as_json();
    let value = format!(
        "CASE WHEN length({json}) <= {LONGEST_COUNTED_VALUE} THEN NULLIF({json}, 'null') WHEN {json} IS NOT NULL THEN '' END"
    );
    let source = with_members(source, &[&value, conditions]);
    let table = format!(
        ", counted AS MATERIALIZED (SELECT {value} AS value, COUNT(*) AS items \
         FROM {source} w WHERE {conditions} GROUP BY 1)"
    );
    let (array, list, as_json) = match dialect.backend {
        DbBackend::Sqlite => ("json_array", "json_group_array", "json"),
        _ => ("json_build_array", "json_agg", ""),
    };
    let column = format!(
        ", CASE ROW_NUMBER() OVER () WHEN 1 THEN CAST({array}((SELECT COALESCE(SUM(items), 0) FROM counted), \
         (SELECT COALESCE(SUM(items), 0) FROM counted WHERE value IS NULL), \
         {as_json}((SELECT {list}({array}(value, items)) FROM (SELECT value, items FROM counted WHERE value <> '' \
         ORDER BY items DESC, value{by_code_point} LIMIT {COUNTED_VALUES}) f))) AS TEXT) END AS counts",
        by_code_point = dialect.by_code_point,
    );
    (table, column)
}

pub(crate) fn understand(rows: &[QueryResult]) -> DbResult<MemberCounts> {
    for row in rows {
        if let Some(counts) = row_mapping::get::<Option<String>>(row, "counts")? {
            return counts_in(&counts)
                .ok_or_else(|| DbErr::Type(format!("invalid counts: {counts}")));
        }
    }
    Err(DbErr::RecordNotFound("a page without counts".to_owned()))
}

/// Neither engine promises that an aggregate keeps the order of its rows.
fn counts_in(text: &str) -> Option<MemberCounts> {
    // PostgreSQL has `null` for a list of nothing.
    type Counts = (u64, u64, Option<Vec<(Box<str>, u64)>>);
    let (all, absent, found): Counts = serde_json::from_str(text).ok()?;
    let count = |(value, items): (Box<str>, u64)| ValueCount { value: value.into(), items };
    let mut values: Vec<_> = found.unwrap_or_default().into_iter().map(count).collect();
    values.sort_by(|one, other| {
        other.items.cmp(&one.items).then_with(|| one.value.cmp(&other.value))
    });
    let listed = values.iter().map(|count| count.items).sum::<u64>();
    Some(MemberCounts { values, rest: all.checked_sub(absent)?.checked_sub(listed)?, absent })
}

#[cfg(test)]
mod tests {
    use super::{MemberCounts, counts_in};

    #[test]
    fn counts_are_put_in_order_and_the_rest_is_what_they_lack() {
        let counts = counts_in(r#"[12, 3, [["\"b\"", 2], ["\"a\"", 2], ["7", 4]]]"#).unwrap();
        let values = counts.values.iter().map(|count| format!("{} {}", count.value, count.items));
        assert_eq!(values.collect::<Vec<_>>(), ["7 4", "\"a\" 2", "\"b\" 2"]);
        assert_eq!((counts.rest, counts.absent), (1, 3));
        assert_eq!(counts_in("[0, 0, null]"), Some(MemberCounts::default()));
        for other in ["", "[]", "[1, 2, []]", "[1, 0, [[1]]]", "null"] {
            assert_eq!(counts_in(other), None, "{other}");
        }
    }
}
