//! The reads, which are the same text on both engines, and the pieces of text that reads and writes
//! share.

use std::fmt::Write;

use application::Scope;
use application::query::MemberNames;
use domain::{Collection, ItemId};
use sea_orm::{Statement, Value};
use uuid::Uuid;

use crate::sql::dialect::Dialect;
use crate::sql::references;
use crate::sql::sql_text::SqlText;

/// The columns that are shown of a row, all but its members.
pub(crate) fn shown_columns(dialect: &Dialect, row: &str) -> String {
    format!(
        "{row}.id, {row}.version, {row}.created_at, {row}.updated_at, {row}.parent, {row}.continues, \
         (SELECT n.id FROM items n WHERE n.id = {row}.continues) AS continues_link{links}, \
         (SELECT string_agg({id_text}, ',' ORDER BY n.id) FROM items n WHERE n.continues = {row}.id) AS continued_by",
        links = references::links(row),
        id_text = dialect.id_text,
    )
}

/// The number of writes to a collection, `$1`: its revision, where nothing is linked. `$2` is the
/// nil UUID.
pub(crate) const REVISION: &str = "SELECT CAST(COALESCE(SUM(writes), 0) AS BIGINT) AS revision FROM totals \
                                   WHERE collection = $1 AND parent = $2";

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

/// The texts of the reads that look for items by their ids, made once.
#[derive(Debug)]
pub(crate) struct Statements {
    dialect: &'static Dialect,
    shown: String,
    find: String,
    find_many: String,
    creator: String,
    belonging_to: String,
}

/// All members that the change `c` has, after other columns.
const MEMBERS: &str = ", CAST(c.members AS TEXT) AS members";

/// That an item is in a scope.
const IN_SCOPE: &str = "i.collection = $2 AND (i.parent = $3 OR $3 IS NULL)";

impl Statements {
    pub fn new(dialect: &'static Dialect) -> Self {
        let shown = shown_columns(dialect, "i");
        let columns = format!("{shown}{MEMBERS}");
        let [is_listed, has_listed_parent] = ["i.id", "i.parent"].map(dialect.is_listed);
        Self {
            dialect,
            find: format!("SELECT {columns} FROM {ITEMS} WHERE i.id = $1 AND {IN_SCOPE}"),
            creator: format!("SELECT i.created_by FROM items i WHERE i.id = $1 AND {IN_SCOPE}"),
            find_many: format!("SELECT {columns} FROM {ITEMS} WHERE {is_listed} AND {IN_SCOPE}"),
            belonging_to: format!(
                "SELECT {columns} FROM {ITEMS} WHERE {has_listed_parent} AND i.collection = $2 ORDER BY i.id LIMIT $3"
            ),
            shown,
        }
    }

    /// The engine's spellings.
    pub const fn dialect(&self) -> &'static Dialect {
        self.dialect
    }

    pub fn find(&self, scope: Scope, id: ItemId) -> Statement {
        self.of_one(&self.find, scope, id)
    }

    /// Looks for who created an item.
    pub fn creator(&self, scope: Scope, id: ItemId) -> Statement {
        self.of_one(&self.creator, scope, id)
    }

    fn of_one(&self, text: &str, scope: Scope, id: ItemId) -> Statement {
        let values = [id.uuid().into(), scope.collection.name().into(), parent(scope).into()];
        self.dialect.statement(text, values)
    }

    pub fn find_many(&self, scope: Scope, ids: &[ItemId]) -> Statement {
        self.dialect.statement(
            &self.find_many,
            [listed(ids.iter().copied()), scope.collection.name().into(), parent(scope).into()],
        )
    }

    /// The items with the members that are wanted alone.
    pub fn find_fields(&self, scope: Scope, ids: &[ItemId], fields: &MemberNames) -> Statement {
        let mut text = SqlText::new(self.dialect);
        for value in
            [listed(ids.iter().copied()), scope.collection.name().into(), parent(scope).into()]
        {
            text.bind(value);
        }
        let columns = self.columns(&mut text, Some(fields));
        let is_listed = (self.dialect.is_listed)("i.id");
        text.finish(&format!("SELECT {columns} FROM {ITEMS} WHERE {is_listed} AND {IN_SCOPE}"))
    }

    /// The columns of the row `i` of `items` at the change `c`, with a column `field_0`, `field_1`, … per member that
    /// is wanted, as JSON text, in the place of them all.
    pub fn columns(&self, text: &mut SqlText, fields: Option<&MemberNames>) -> String {
        let mut columns = self.shown.clone();
        let Some(fields) = fields else { return columns + MEMBERS };
        for (number, name) in fields.iter().enumerate() {
            let value = text.member_as_json(name);
            // Writing to a String cannot fail.
            let _ = write!(columns, ", {value} AS field_{number}");
        }
        columns
    }

    pub fn belonging_to(
        &self,
        collection: Collection,
        parents: &[ItemId],
        limit: u64,
    ) -> Statement {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.dialect.statement(
            &self.belonging_to,
            [listed(parents.iter().copied()), collection.name().into(), limit.into()],
        )
    }

    /// Something trivial that only a store in working order answers.
    pub fn ready(&self) -> Statement {
        self.dialect.statement("SELECT version FROM items LIMIT 1", [])
    }
}

/// Ids as a parameter: a JSON array.
pub(crate) fn listed(ids: impl Iterator<Item = ItemId>) -> Value {
    format!("[{}]", ids.map(|id| format!("\"{id}\"")).collect::<Vec<_>>().join(",")).into()
}

/// The parent a scope is limited to.
pub(crate) fn parent(scope: Scope) -> Option<Uuid> {
    scope.parent.map(ItemId::uuid)
}

/// The name of the collection that owns the items of this one.
pub(crate) fn parent_collection(collection: Collection) -> Option<String> {
    collection.parent().map(|parent| parent.name().to_owned())
}
