//! The few items that may meet a predicate, found by indexes. Pages and counts then judge these
//! alone, and not every item of the scope.

use application::Reach;
use domain::predicate::{Comparison, Literal, Operand, RelatedKey, RelatedValue, Subject, Test};
use domain::{Collection, ItemId, Predicate};
use sea_orm::DbBackend;

use crate::sql::dialect::Dialect;
use crate::sql::indexed_columns::{self, key_of_text};
use crate::sql::sql_text::SqlText;

/// The most conditions: SQLite has a limit of 500 for a `UNION`.
const MOST: usize = 50;

/// A column of `items` with an index, and whether it has ids.
type Indexed = (&'static str, bool);

enum Found {
    /// By a condition on the row.
    Row(String),
    /// By a subquery of ids.
    Ids(String),
}

impl Found {
    fn condition(self, dialect: &Dialect, row: &str) -> String {
        match self {
            Self::Row(condition) => condition,
            Self::Ids(ids) => is_among(dialect, row, &ids),
        }
    }

    fn ids(self) -> String {
        match self {
            Self::Row(condition) => format!("SELECT s.id FROM items s WHERE {condition}"),
            Self::Ids(ids) => ids,
        }
    }
}

/// The condition that the row `w` of `items` is a candidate, with a leading `AND`; empty if every
/// item of the scope is.
pub(crate) fn and_is_candidate(sql: &mut SqlText, reach: &Reach) -> String {
    let collection = reach.scope().collection;
    let found = reach.condition().and_then(|it| is_found(sql, "w", collection, it));
    found.map_or_else(String::new, |condition| format!(" AND {condition}"))
}

pub(crate) fn are_few(sql: &mut SqlText, reach: &Reach) -> bool {
    !and_is_candidate(sql, reach).is_empty()
}

fn is_found(
    sql: &mut SqlText,
    row: &str,
    collection: Collection,
    predicate: &Predicate,
) -> Option<String> {
    let bound = sql.bound();
    let mut found = parts(sql, row, collection, predicate)?;
    if found.len() < 2 {
        return found.pop().map(|found| found.condition(sql.dialect, row));
    }
    sql.unbind(bound);
    let found = parts(sql, "s", collection, predicate)?.into_iter().map(Found::ids);
    Some(is_among(sql.dialect, row, &found.collect::<Vec<_>>().join(" UNION ")))
}

/// `PostgreSQL` finds the ids of an array in the order of the index, so it stops at the end of a page.
fn is_among(dialect: &Dialect, row: &str, ids: &str) -> String {
    match dialect.backend {
        DbBackend::Sqlite => format!("{row}.id IN ({ids})"),
        _ => format!("{row}.id = ANY (ARRAY({ids}))"),
    }
}

/// Items found by an index each. No other item meets the predicate. `None` if there are no such
/// indexes, or too many parts.
fn parts(
    sql: &mut SqlText,
    row: &str,
    collection: Collection,
    predicate: &Predicate,
) -> Option<Vec<Found>> {
    let bound = sql.bound();
    let of = |part: &Predicate| parts(sql, row, collection, part);
    let found = match predicate {
        Predicate::Constant(false) => Some(Vec::new()),
        Predicate::Any(parts) if parts.len() <= MOST => {
            let found = parts.iter().map(of).collect::<Option<Vec<_>>>();
            found.map(|found| found.into_iter().flatten().collect())
        }
        Predicate::All(parts) => parts.iter().find_map(of),
        _ => part(sql, row, collection, predicate).map(|found| vec![found]),
    };
    let found = found.filter(|found| found.len() <= MOST);
    if found.is_none() {
        sql.unbind(bound);
    }
    found
}

fn part(
    sql: &mut SqlText,
    row: &str,
    collection: Collection,
    predicate: &Predicate,
) -> Option<Found> {
    match predicate {
        Predicate::Test(operand, Test::Compare(Comparison::Equal, Literal::String(text)))
            if !text.contains('\0') =>
        {
            if *operand == Operand::current(Subject::CreatedBy) {
                let is_of_collection = sql.is_of(row, collection, false);
                let creator = sql.bind(&**text);
                let condition = format!("{is_of_collection} AND {row}.created_by = {creator}");
                return Some(Found::Row(condition));
            }
            let (column, has_ids) = of_operand(collection, operand)?;
            let value = if has_ids {
                sql.bind(ItemId::parse(text)?.uuid())
            } else {
                sql.bind(key_of_text(text))
            };
            Some(Found::Row(format!("{row}.{column} = {value}")))
        }
        Predicate::Related(related) => {
            let RelatedValue::Operand(operand) = &related.value else { return None };
            let (own, has_ids) = of_operand(collection, operand)?;
            let (other, names_ids) = of_key(related.collection, &related.key)?;
            let is_found = is_found(sql, "r", related.collection, &related.holds)?;
            let other = format!("r.{other}");
            let value = match (has_ids, names_ids) {
                (true, false) => (sql.dialect.id_of_text)(&other),
                (false, true) => sql.dialect.text_of_id(&other),
                _ => other,
            };
            let found = format!("SELECT {value} FROM items r WHERE {is_found}");
            Some(match own {
                "id" => Found::Ids(found),
                _ => Found::Row(format!("{row}.{own} IN ({found})")),
            })
        }
        _ => None,
    }
}

fn of_operand(collection: Collection, operand: &Operand) -> Option<Indexed> {
    match &operand.subject {
        Subject::Id => of_key(collection, &RelatedKey::Id),
        Subject::Parent => of_key(collection, &RelatedKey::Parent),
        Subject::Member(path) => match &**path {
            [name] => of_key(collection, &RelatedKey::Member(name.clone())),
            _ => None,
        },
        Subject::CreatedBy | Subject::CreatedAt => None,
    }
}

fn of_key(collection: Collection, key: &RelatedKey) -> Option<Indexed> {
    match key {
        RelatedKey::Id => Some(("id", true)),
        RelatedKey::Parent => Some(("parent", true)),
        RelatedKey::Member(name) => Some((indexed_columns::column(collection, name)?, false)),
    }
}
