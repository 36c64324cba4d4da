//! Reads of items, and text that reads and writes share.

use std::fmt::Write;

use application::query::MemberNames;
use application::{Reach, Scope};
use domain::{Collection, ItemId};
use sea_orm::{Statement, Value};
use uuid::Uuid;

use crate::sql::change_log::clamped;
use crate::sql::dialect::Dialect;
use crate::sql::mask::{self, Masked};
use crate::sql::predicate::{Only, Row, and_in_reach};
use crate::sql::sql_text::{SqlText, literal};

/// The columns of the item `i` without its members. For an order within `string_agg`, SQLite would
/// build a table per item.
pub(crate) fn shown_columns(dialect: &Dialect, collection: Collection) -> String {
    let target = collection.referenced().next();
    let target = target.map_or_else(|| "NULL".to_owned(), |target| literal(target.name()));
    format!(
        "i.id, i.version, i.created_at, i.created_by, i.updated_at, i.parent, i.continues, \
         (SELECT n.id FROM items n WHERE n.id = i.continues) AS continues_link, \
         (SELECT n.id FROM items n WHERE n.id = i.reference_0 AND n.collection = {target}) AS reference_0, \
         (SELECT string_agg({id_text}, ',') FROM (SELECT e.id FROM items e WHERE e.continues = i.id ORDER BY e.id) n) AS continued_by",
        id_text = dialect.id_text,
    )
}

pub(crate) const ITEMS: &str = "items i JOIN changes c ON c.sequence = i.sequence";

/// The members in [`ITEMS`].
const MEMBERS: &str = "c.members";

/// A source of the rows `w` of conditions and orders: items, with members if those are used.
pub(crate) fn with_members(items: &str, used: &[&str]) -> String {
    if used.iter().any(|sql| sql.contains("w.members")) {
        format!("(SELECT i.*, c.members FROM {items} i JOIN changes c ON c.sequence = i.sequence)")
    } else {
        items.to_owned()
    }
}

pub(crate) fn find(
    dialect: &'static Dialect,
    (scope, reach): (Scope, Option<&Reach>),
    ids: &[ItemId],
    fields: Option<&MemberNames>,
) -> Statement {
    let mut text = SqlText::new(dialect);
    let mask = reach.and_then(Reach::mask);
    let columns = item_columns(&mut text, (scope.collection, mask), fields);
    let wanted = in_reach(&mut text, (scope, reach.and_then(Reach::condition)), ids);
    text.finish(&format!("SELECT {columns} FROM {ITEMS} WHERE {wanted}"))
}

/// Finds those of these items that are in reach.
pub(crate) fn ids(dialect: &'static Dialect, reach: &Reach, ids: &[ItemId]) -> Statement {
    let mut text = SqlText::new(dialect);
    let wanted = in_reach(&mut text, (reach.scope(), reach.condition()), ids);
    let items = if wanted.contains(MEMBERS) { ITEMS } else { "items i" };
    text.finish(&format!("SELECT i.id FROM {items} WHERE {wanted}"))
}

fn in_reach(text: &mut SqlText, (scope, only): (Scope, Only<'_>), ids: &[ItemId]) -> String {
    in_scope(text, scope, ids) + &and_in_reach(text, only, &Row::of("i", MEMBERS))
}

fn in_scope(text: &mut SqlText, scope: Scope, ids: &[ItemId]) -> String {
    let wanted = match ids {
        [id] => format!("= {}", text.bind(id.uuid())),
        ids => text.among_ids(ids.iter().copied()),
    };
    let collection = text.bind(scope.collection.name());
    let parent = parent(scope).map(|parent| format!(" AND i.parent = {}", text.bind(parent)));
    format!("i.id {wanted} AND i.collection = {collection}{}", parent.unwrap_or_default())
}

pub(crate) fn belonging_to(
    dialect: &'static Dialect,
    reach: &Reach,
    parents: &[ItemId],
    limit: u64,
) -> Statement {
    let (mut text, collection) = (SqlText::new(dialect), reach.scope().collection);
    let columns = item_columns(&mut text, (collection, reach.mask()), None);
    let parents = text.among_ids(parents.iter().copied());
    let (collection, limit) = (text.bind(collection.name()), text.bind(clamped(limit)));
    let reached = and_in_reach(&mut text, reach.condition(), &Row::of("i", MEMBERS));
    text.finish(&format!(
        "SELECT {columns} FROM {ITEMS} WHERE i.parent {parents} AND i.collection = {collection}{reached} \
         ORDER BY i.id LIMIT {limit}"
    ))
}

/// The columns of the row `i` at the change `c`. Requested members are `field_0`, `field_1`, ….
pub(crate) fn item_columns(
    text: &mut SqlText,
    (collection, mask): (Collection, Masked<'_>),
    fields: Option<&MemberNames>,
) -> String {
    let mut columns = shown_columns(text.dialect, collection);
    columns.push_str(&mask::columns(text, mask, &Row::of("i", MEMBERS)));
    let Some(fields) = fields else { return columns + ", CAST(c.members AS TEXT) AS members" };
    for (number, name) in fields.iter().enumerate() {
        let name = text.member(name, false);
        // Writing to a String cannot fail.
        let _ = write!(columns, ", CAST(c.members -> {name} AS TEXT) AS field_{number}");
    }
    columns
}

/// The parameters of an item: its id, collection, and the parent of the scope.
pub(crate) fn scope_values(scope: Scope, id: ItemId) -> [Value; 3] {
    [id.uuid().into(), scope.collection.name().into(), parent(scope).into()]
}

pub(crate) fn parent(scope: Scope) -> Option<Uuid> {
    scope.parent.map(ItemId::uuid)
}
