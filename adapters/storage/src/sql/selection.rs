//! The selection of items as a list of the changes that they are at.
//!
//! One statement finds them all, so they are of one moment; their content is read afterwards, some
//! at a time, as the log keeps it. Nothing is open in the database meanwhile.

use application::ports::CONTENT_BYTES;
use application::query::PageQuery;
use application::{ItemContent, Scope, Sequence};
use domain::Version;
use sea_orm::{DbErr, QueryResult, Statement};

use crate::sql::dialect::Dialect;
use crate::sql::page::Selected;
use crate::sql::row_mapping;
use crate::sql::sort::Order;
use crate::sql::sql_text::{SqlText, literal};
use crate::sql::statements::with_members;

/// Numbers in a row of the answer: a row for each would take many times the memory.
const NUMBERS_A_ROW: u32 = 8_192;

/// Looks for the changes that the selected items are at, in the order asked for.
pub(crate) fn statement(dialect: &'static Dialect, scope: Scope, query: &PageQuery) -> Statement {
    let mut text = SqlText::new(dialect);
    let order = Order::new(&mut text, scope.collection, &query.order);
    let Selected { tables, source, conditions } = Selected::new(&mut text, scope, query);
    let sorted = order.clause(false);
    let source = with_members(&source, &[&conditions, &sorted]);
    text.finish(&format!(
        "WITH one AS (SELECT 1 AS number){tables} \
         SELECT string_agg(CAST(s.sequence AS TEXT), ',' ORDER BY s.place) AS sequences \
         FROM (SELECT w.sequence, row_number() OVER (ORDER BY {sorted}) - 1 AS place FROM {source} w WHERE {conditions}) s \
         GROUP BY s.place / {NUMBERS_A_ROW} ORDER BY s.place / {NUMBERS_A_ROW}"
    ))
}

/// The changes that were found.
pub(crate) fn sequences(rows: &[QueryResult]) -> Result<Vec<Sequence>, DbErr> {
    let mut sequences = Vec::with_capacity(rows.len() * NUMBERS_A_ROW as usize);
    for row in rows {
        let listed: String = row_mapping::get(row, "sequences")?;
        for number in listed.split(',') {
            let number =
                number.parse().map_err(|error| row_mapping::not_understood("sequence", error))?;
            sequences.push(Sequence(number));
        }
    }
    Ok(sequences)
}

/// Looks for the contents that changes left, in their order, up to a number of bytes.
pub(crate) fn contents_statement(
    dialect: &'static Dialect,
    scope: Scope,
    changes: &[Sequence],
) -> Statement {
    let mut text = SqlText::new(dialect);
    let rows = changes
        .iter()
        .enumerate()
        .map(|(place, change)| format!("({place}, CAST({} AS BIGINT))", text.bind(change.0)));
    let rows = rows.collect::<Vec<_>>().join(", ");
    // What is asked for comes first in both joins, which a `LEFT JOIN` sees to.
    let in_collection =
        format!("c.sequence = s.sequence AND c.collection = {}", literal(scope.collection.name()));
    text.finish(&format!(
        "WITH asked (place, sequence) AS (VALUES {rows}), \
         sized AS (SELECT a.place, a.sequence, COALESCE({bytes}, 0) AS bytes FROM asked a {own}), \
         measured AS (SELECT place, sequence, SUM(bytes) OVER (ORDER BY place) - bytes AS before FROM sized) \
         SELECT c.sequence, c.item_id, c.version, c.parent, CAST(c.members AS TEXT) AS members \
         FROM (SELECT * FROM measured WHERE before < {CONTENT_BYTES}) s {content} ORDER BY s.place",
        bytes = dialect.bytes_of_members,
        own = dialect.joins(&[["LEFT JOIN", "changes", "c", "c.sequence = a.sequence"]]),
        content = dialect.joins(&[["LEFT JOIN", "changes", "c", &in_collection]]),
    ))
}

/// The contents that were found.
pub(crate) fn contents(rows: &[QueryResult]) -> Result<Vec<ItemContent>, DbErr> {
    let content = |row: &QueryResult| {
        let Some(members) = row_mapping::get::<Option<String>>(row, "members")? else {
            return Ok(None);
        };
        Ok(Some(ItemContent {
            change: Sequence(row_mapping::get(row, "sequence")?),
            id: row_mapping::item_id(row, "item_id")?,
            version: Version::from_number(row_mapping::get(row, "version")?),
            parent: row_mapping::id(row, "parent")?,
            members: members.into(),
        }))
    };
    rows.iter().filter_map(|row| content(row).transpose()).collect()
}

#[cfg(test)]
mod tests {
    use application::{Scope, Sequence};
    use domain::Collection;
    use rusqlite::Connection;

    use super::contents_statement;
    use crate::sql::dialect::SQLITE;

    /// On `PostgreSQL` [joins](crate::sql::dialect::Dialect::joins) see to it.
    #[test]
    fn contents_are_found_by_their_numbers_and_not_by_a_scan() {
        let database = Connection::open_in_memory().unwrap();
        let columns = "sequence INTEGER PRIMARY KEY, collection, item_id, version, parent, members";
        database.execute_batch(&format!("CREATE TABLE changes ({columns})")).unwrap();
        let scope = Scope::of(Collection::known("lib"));
        let statement = contents_statement(&SQLITE, scope, &[Sequence(1), Sequence(2)]);
        let plan = format!("EXPLAIN QUERY PLAN {}", statement.sql);
        let mut plan = database.prepare(&plan).unwrap();
        let steps = plan.query_map([1, 2], |row| row.get::<_, String>("detail")).unwrap();
        let steps: Vec<_> = steps.map(Result::unwrap).collect();
        let by_number =
            steps.iter().filter(|step| step.starts_with("SEARCH c USING INTEGER PRIMARY KEY"));
        assert_eq!(by_number.count(), 2, "{steps:?}");
        assert!(!steps.iter().any(|step| step.starts_with("SCAN c")), "{steps:?}");
    }
}
