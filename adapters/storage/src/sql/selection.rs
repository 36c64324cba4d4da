//! A selection: the changes that the items are at, found by one statement at one moment. Their
//! contents are read from the log afterwards, so nothing stays open in the database.

use application::query::PageQuery;
use application::{ItemContent, Reach, Sequence};
use domain::Version;
use sea_orm::{QueryResult, Statement};

use crate::error::DbResult;
use crate::sql::dialect::Dialect;
use crate::sql::page::Selected;
use crate::sql::row_mapping;
use crate::sql::sort::Order;
use crate::sql::sql_text::SqlText;
use crate::sql::statements::with_members;

/// A row for each number would take many times the memory.
const NUMBERS_A_ROW: u32 = 8_192;

pub(crate) fn statement(dialect: &'static Dialect, reach: &Reach, query: &PageQuery) -> Statement {
    let mut text = SqlText::new(dialect);
    let order = Order::new(&mut text, reach, &query.order);
    let Selected { tables, source, conditions } = Selected::new(&mut text, reach, query);
    let sorted = order.clause(false);
    let source = with_members(&source, &[&conditions, &sorted]);
    text.finish(&format!(
        "WITH one AS (SELECT 1 AS number){tables} \
         SELECT string_agg(CAST(s.sequence AS TEXT), ',' ORDER BY s.place) AS sequences \
         FROM (SELECT w.sequence, row_number() OVER (ORDER BY {sorted}) - 1 AS place FROM {source} w WHERE {conditions}) s \
         GROUP BY s.place / {NUMBERS_A_ROW} ORDER BY s.place / {NUMBERS_A_ROW}"
    ))
}

pub(crate) fn sequences(rows: &[QueryResult]) -> DbResult<Vec<Sequence>> {
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

pub(crate) fn contents(rows: &[QueryResult]) -> DbResult<Vec<ItemContent>> {
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
