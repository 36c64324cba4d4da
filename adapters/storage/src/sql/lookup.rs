//! The lookups of rules: the items of an id, of a parent, or with a value of a member. A write
//! repeats them with the same condition on the row `w` (`write/read_set.rs`).

use application::{DeletableItems, ShownItem};
use domain::{Collection, Found, ItemId, Lookup, LookupKey};
use sea_orm::{QueryResult, Statement};
use uuid::Uuid;

use crate::error::DbResult;
use crate::sql::dialect::Dialect;
use crate::sql::json_member::Member;
use crate::sql::predicate::{self, Row};
use crate::sql::sql_text::SqlText;
use crate::sql::statements::{shown_columns, with_members};
use crate::sql::{indexed_columns, row_mapping};

/// A kind of key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Shape<'a> {
    Id,
    Parent,
    Member {
        name: &'a str,
        /// The column with the beginning of the value, and whether that is all of it.
        column: Option<(&'static str, bool)>,
    },
}

impl<'a> Shape<'a> {
    /// `None` if nothing can be found: no stored text has the character NUL.
    pub fn of(collection: Collection, key: &'a LookupKey) -> Option<Self> {
        match key {
            LookupKey::Id(_) => Some(Self::Id),
            LookupKey::Parent(_) => Some(Self::Parent),
            LookupKey::Member { name, value } if name.contains('\0') || value.contains('\0') => {
                None
            }
            LookupKey::Member { name, value } => {
                let column = indexed_columns::column(collection, name);
                Some(Self::Member {
                    name,
                    column: column.map(|column| (column, indexed_columns::compares_to_keys(value))),
                })
            }
            LookupKey::Nothing => None,
        }
    }
}

/// Finds rows of one collection by keys of one shape.
pub(crate) struct LookupCondition {
    pub condition: String,
    /// The member's value as a string, if the shape is a member.
    pub value: String,
}

impl LookupCondition {
    /// All keys must be of the shape.
    pub fn new(
        text: &mut SqlText,
        collection: Collection,
        shape: Shape<'_>,
        keys: &[&LookupKey],
    ) -> Self {
        let no_value = || "CAST(NULL AS TEXT)".to_owned();
        let (condition, value, is_indexed) = match shape {
            Shape::Id => (format!("w.id {}", text.among_ids(ids(keys))), no_value(), true),
            Shape::Parent => (format!("w.parent {}", text.among_ids(ids(keys))), no_value(), true),
            Shape::Member { column: Some((column, true)), .. } => {
                let wanted = text.among_texts(values(keys));
                (format!("w.{column} {wanted}"), format!("w.{column}"), true)
            }
            Shape::Member { name, column } => {
                let member = Member::of(text, name, None);
                let written = member.as_written();
                let wanted = text.among_texts(values(keys));
                let is_written = format!("{written} {wanted} AND {}", member.is_written());
                match column {
                    Some((column, _)) => {
                        let keys = values(keys).map(indexed_columns::key_of_text);
                        let keys = text.among_texts(keys);
                        (format!("w.{column} {keys} AND {is_written}"), written, true)
                    }
                    None => (is_written, written, false),
                }
            }
        };
        let is_of_collection = text.is_of("w", collection, is_indexed);
        Self { condition: format!("{is_of_collection} AND {condition}"), value }
    }
}

fn values<'a>(keys: &'a [&LookupKey]) -> impl Iterator<Item = String> + 'a {
    keys.iter().filter_map(|key| match key {
        LookupKey::Member { value, .. } => Some(value.to_string()),
        _ => None,
    })
}

fn ids(keys: &[&LookupKey]) -> impl Iterator<Item = ItemId> {
    keys.iter().filter_map(|key| match key {
        LookupKey::Id(id) | LookupKey::Parent(id) => Some(*id),
        _ => None,
    })
}

/// Finds an item that is not deletable and belongs to `parent`.
pub(crate) fn undeletable_statement(
    dialect: &'static Dialect,
    parent: ItemId,
    deletable: &[DeletableItems],
) -> Statement {
    let mut text = SqlText::new(dialect);
    let parent = text.bind(parent.uuid());
    let row = Row::of("w", "w.members");
    let kept = deletable.iter().map(|DeletableItems { collection, deletable }| {
        let is_deletable = predicate::condition(&mut text, deletable, &row);
        format!("{} AND NOT {is_deletable}", text.is_of("w", *collection, true))
    });
    let kept = kept.chain(["FALSE".to_owned()]).collect::<Vec<_>>().join(" OR ");
    text.finish(&format!(
        "SELECT w.id FROM {source} w WHERE w.parent = {parent} AND ({kept}) LIMIT 1",
        source = with_members("items", &[&kept]),
    ))
}

/// Returns counts alone if the items are too many or too large; `None` if nothing can be found.
pub(crate) fn statement(dialect: &'static Dialect, lookup: &Lookup) -> Option<Statement> {
    let shape = Shape::of(lookup.collection, &lookup.key)?;
    let mut text = SqlText::new(dialect);
    let sought = LookupCondition::new(&mut text, lookup.collection, shape, &[&lookup.key]);
    let without = text.bind(lookup.without.uuid());
    // A single item is cached as it is shown. The links of several are not needed.
    let columns = if shape == Shape::Id {
        shown_columns(dialect, lookup.collection)
    } else {
        columns_alone(dialect)
    };
    Some(text.finish(&format!(
        "WITH f AS MATERIALIZED (SELECT w.id FROM {source} w WHERE {condition} AND w.id <> {without} LIMIT {one_more}), \
         s AS MATERIALIZED (SELECT COUNT(*) AS items, CAST(COALESCE(SUM({length}), 0) AS BIGINT) AS bytes \
         FROM f JOIN items i ON i.id = f.id JOIN changes c ON c.sequence = i.sequence) \
         SELECT s.items, s.bytes, {columns}, CAST(c.members AS TEXT) AS members FROM s \
         LEFT JOIN f ON s.items <= {most} AND s.bytes <= {most_bytes} LEFT JOIN items i ON i.id = f.id \
         LEFT JOIN changes c ON c.sequence = i.sequence ORDER BY i.id",
        source = with_members("items", &[&sought.condition]),
        condition = sought.condition,
        one_more = Lookup::MOST_ITEMS + 1,
        length = dialect.bytes_of_members,
        most = Lookup::MOST_ITEMS,
        most_bytes = Lookup::MOST_BYTES,
    )))
}

fn columns_alone(Dialect { uuid, .. }: &Dialect) -> String {
    format!(
        "i.id, i.version, i.created_at, i.created_by, i.updated_at, i.parent, i.continues, \
         CAST(NULL AS {uuid}) AS continues_link, CAST(NULL AS {uuid}) AS reference_0, CAST(NULL AS TEXT) AS continued_by"
    )
}

pub(crate) fn understand(rows: &[QueryResult]) -> DbResult<Result<Vec<ShownItem>, Found>> {
    let first = row_mapping::first(rows)?;
    if row_mapping::count(first, "items")? > Lookup::MOST_ITEMS as u64 {
        return Ok(Err(Found::TooMany));
    }
    if row_mapping::count(first, "bytes")? > Lookup::MOST_BYTES as u64 {
        return Ok(Err(Found::TooLarge));
    }
    if row_mapping::get::<Option<Uuid>>(first, "id")?.is_none() {
        return Ok(Ok(Vec::new()));
    }
    row_mapping::shown_items(rows, None).map(Ok)
}

pub(crate) fn known(lookup: &Lookup, ShownItem { item, .. }: ShownItem) -> Found {
    Found::of(if item.id == lookup.without { Vec::new() } else { vec![item] })
}

#[cfg(test)]
mod tests {
    use application::{Caller, ReadDependency, Warrant, WriteMetadata};
    use domain::{Collection, ItemId, Lookup, LookupKey};
    use jiff::Timestamp;
    use sea_orm::{ConnectOptions, ConnectionTrait, Database, DatabaseConnection, Statement};
    use uuid::Uuid;

    use crate::migration::schema;
    use crate::sql::dialect::SQLITE;
    use crate::sql::indexed_columns;
    use crate::write::read_set::looks;

    async fn migrated() -> DatabaseConnection {
        let mut options = ConnectOptions::new("sqlite::memory:");
        options.max_connections(1);
        let database = Database::connect(options).await.expect("a database in memory");
        database.execute_unprepared(schema(&SQLITE)).await.expect("the schema");
        database
    }

    /// The query plan of `SQLite` for a statement.
    async fn plan(database: &DatabaseConnection, statement: Statement) -> String {
        let explained =
            Statement { sql: format!("EXPLAIN QUERY PLAN {}", statement.sql), ..statement };
        let rows = database.query_all_raw(explained).await.expect("a plan");
        rows.iter()
            .map(|row| row.try_get::<String>("", "detail").expect("a detail"))
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[tokio::test]
    async fn what_is_looked_for_by_an_indexed_member_is_found_in_its_index_both_times() {
        let database = migrated().await;
        let members = Collection::all().flat_map(|collection| {
            collection.spec().indexed.iter().map(move |indexed| (collection, indexed.name))
        });
        for (collection, name) in members {
            let index = format!(
                "USING INDEX items_by_{} (",
                indexed_columns::column(collection, name).expect("a column")
            );
            for value in ["x".to_owned(), "x".repeat(300)] {
                let key = LookupKey::Member { name: name.into(), value: value.into() };
                let lookup = Lookup { collection, key, without: ItemId::from_uuid(Uuid::nil()) };
                let first = plan(
                    &database,
                    super::statement(&SQLITE, &lookup).expect("something to look for"),
                )
                .await;
                assert!(
                    first.contains(&index) && !first.contains("items_by_collection"),
                    "{name}: {first}"
                );
                let read_set = vec![ReadDependency { lookup, found: Vec::new() }];
                let metadata = WriteMetadata {
                    read_set,
                    ..WriteMetadata::under(
                        Warrant::of_the_service(&Caller::Anonymous, None),
                        Timestamp::UNIX_EPOCH,
                    )
                };
                for look in looks(std::iter::once(&metadata)) {
                    let second = plan(&database, look.statement(&SQLITE)).await;
                    assert!(
                        second.contains(&index) && !second.contains("items_by_collection"),
                        "{name}: {second}"
                    );
                }
            }
        }
    }
}
