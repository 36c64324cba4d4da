//! The reads, which are the same text on both engines, and the pieces of text that reads and writes
//! share.

use std::fmt::Write;

use application::Scope;
use application::query::MemberNames;
use domain::{Collection, ItemId};
use sea_orm::{Statement, Value};
use uuid::Uuid;

use crate::sql::change_log::clamped;
use crate::sql::dialect::Dialect;
use crate::sql::sql_text::{SqlText, literal};

/// The columns that are shown of a row of a collection, all but its members.
pub(crate) fn shown_columns(dialect: &Dialect, collection: Collection, row: &str) -> String {
    let target = referenced(collection).map_or_else(|| "NULL".to_owned(), literal);
    format!(
        "{row}.id, {row}.version, {row}.created_at, {row}.updated_at, {row}.parent, {row}.continues, \
         (SELECT n.id FROM items n WHERE n.id = {row}.continues) AS continues_link, \
         (SELECT n.id FROM items n WHERE n.id = {row}.reference_0 AND n.collection = {target}) AS reference_0, \
         (SELECT string_agg({id_text}, ',' ORDER BY n.id) FROM items n WHERE n.continues = {row}.id) AS continued_by",
        id_text = dialect.id_text,
    )
}

/// The collection that a collection's reference leads to.
pub(crate) fn referenced(collection: Collection) -> Option<&'static str> {
    collection.referenced().next().map(Collection::name)
}

/// The row of `items` and the change it is at, which has its members.
pub(crate) const ITEMS: &str = "items i JOIN changes c ON c.sequence = i.sequence";

/// A source of the rows `w` of conditions and orders: items, with their members where those are
/// used.
pub(crate) fn with_members(items: &str, used: &[&str]) -> String {
    if used.iter().any(|sql| sql.contains("w.members")) {
        format!("(SELECT i.*, c.members FROM {items} i JOIN changes c ON c.sequence = i.sequence)")
    } else {
        items.to_owned()
    }
}

/// All members that the change `c` has, after other columns.
const MEMBERS: &str = ", CAST(c.members AS TEXT) AS members";

/// The reads that look for items by their ids.
#[derive(Debug)]
pub(crate) struct Statements {
    pub dialect: &'static Dialect,
}

impl Statements {
    pub const fn new(dialect: &'static Dialect) -> Self {
        Self { dialect }
    }

    pub fn find(&self, scope: Scope, id: ItemId) -> Statement {
        self.of_scope(sql_file!(self.dialect, "find"), scope, id.uuid())
    }

    pub fn find_many(&self, scope: Scope, ids: &[ItemId]) -> Statement {
        self.of_scope(sql_file!(self.dialect, "find_many"), scope, listed(ids.iter().copied()))
    }

    fn of_scope(&self, text: &str, scope: Scope, items: impl Into<Value>) -> Statement {
        let [collection, to] = [Some(scope.collection.name()), referenced(scope.collection)];
        let values = [items.into(), collection.into(), parent(scope).into(), to.into()];
        self.dialect.statement(text, values)
    }

    /// Looks for who created an item.
    pub fn creator(&self, scope: Scope, id: ItemId) -> Statement {
        self.dialect.statement(sql_file!("both/creator"), scope_values(scope, id))
    }

    /// An item with the members that are wanted alone.
    pub fn find_fields(&self, scope: Scope, id: ItemId, fields: &MemberNames) -> Statement {
        let mut text = SqlText::new(self.dialect);
        let [item, collection, parent] = scope_values(scope, id).map(|value| text.bind(value));
        let columns = item_columns(&mut text, scope.collection, Some(fields));
        text.finish(&format!(
            "SELECT {columns} FROM {ITEMS} WHERE i.id = {item} AND i.collection = {collection} \
             AND (i.parent = {parent} OR {parent} IS NULL)"
        ))
    }

    pub fn belonging_to(
        &self,
        collection: Collection,
        parents: &[ItemId],
        limit: u64,
    ) -> Statement {
        let [name, to] = [Some(collection.name()), referenced(collection)];
        let values =
            [listed(parents.iter().copied()), name.into(), to.into(), clamped(limit).into()];
        self.dialect.statement(sql_file!(self.dialect, "belonging_to"), values)
    }

    /// Something trivial that only a store in working order answers.
    pub fn ready(&self) -> Statement {
        self.dialect.statement(sql_file!("both/ready"), [])
    }
}

/// The columns of the row `i` of `items` at the change `c`, with a column `field_0`, `field_1`, … per member that
/// is wanted, as JSON text, in the place of them all.
pub(crate) fn item_columns(
    text: &mut SqlText,
    collection: Collection,
    fields: Option<&MemberNames>,
) -> String {
    let mut columns = shown_columns(text.dialect, collection, "i");
    let Some(fields) = fields else { return columns + MEMBERS };
    for (number, name) in fields.iter().enumerate() {
        let value = text.member_as_json(name);
        // Writing to a String cannot fail.
        let _ = write!(columns, ", {value} AS field_{number}");
    }
    columns
}

/// Ids as a parameter: a JSON array.
pub(crate) fn listed(ids: impl Iterator<Item = ItemId>) -> Value {
    format!("[{}]", ids.map(|id| format!("\"{id}\"")).collect::<Vec<_>>().join(",")).into()
}

/// The parameters that name an item: its id, its collection, and the parent that the scope is limited
/// to.
pub(crate) fn scope_values(scope: Scope, id: ItemId) -> [Value; 3] {
    [id.uuid().into(), scope.collection.name().into(), parent(scope).into()]
}

/// The parent a scope is limited to.
pub(crate) fn parent(scope: Scope) -> Option<Uuid> {
    scope.parent.map(ItemId::uuid)
}

/// The name of the collection that owns the items of this one.
pub(crate) fn parent_collection(collection: Collection) -> Option<String> {
    collection.parent().map(|parent| parent.name().to_owned())
}
