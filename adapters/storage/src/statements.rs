//! The reads, which are the same text on both engines, and the pieces of text that reads and writes share.

use application::{Scope, Window};
use domain::{Collection, ItemId};
use sea_orm::{Statement, Value};
use uuid::Uuid;

use crate::dialect::Dialect;

/// The columns of `changes` that every write fills, in the order every write fills them.
pub(crate) const CHANGE_COLUMNS: &str = "collection, item_id, version, kind, time, caller, parent, predecessor, superseded";

/// The columns of `items`, in the order every insert fills them.
pub(crate) const ITEM_COLUMNS: &str = "id, collection, parent, version, created_at, updated_at, predecessor, program, members";

/// What is shown of a row, all but its members.
pub(crate) fn shown_columns(dialect: &Dialect, row: &str) -> String {
    format!(
        "{row}.id, {row}.version, {row}.created_at, {row}.updated_at, {row}.parent, {row}.predecessor, \
         (SELECT n.id FROM items n WHERE n.id = {row}.predecessor) AS continues, \
         (SELECT n.id FROM items n WHERE n.id = {row}.program AND n.collection = '{programs}') AS program, \
         (SELECT string_agg({id_text}, ',' ORDER BY n.id) FROM items n WHERE n.predecessor = {row}.id) AS continued_by",
        programs = Collection::PROPOSED_PROGRAMS.name(),
        id_text = dialect.id_text,
    )
}

/// How often a collection, `$1`, was written: its revision, where nothing is linked. `$2` is the nil UUID.
pub(crate) const REVISION: &str = "SELECT CAST(COALESCE(SUM(writes), 0) AS BIGINT) AS revision FROM collection_totals \
                                   WHERE collection = $1 AND parent = $2";

/// The texts of the reads, made once.
#[derive(Debug)]
pub(crate) struct Statements {
    dialect: &'static Dialect,
    find: String,
    find_many: String,
    page_of_collection: String,
    page_of_parent: String,
}

impl Statements {
    pub fn new(dialect: &'static Dialect) -> Self {
        let columns = format!("{}, CAST(i.members AS TEXT) AS members", shown_columns(dialect, "i"));
        let in_scope = "i.collection = $2 AND (i.parent = $3 OR $3 IS NULL)";
        Self {
            dialect,
            find: format!("SELECT {columns} FROM items i WHERE i.id = $1 AND {in_scope}"),
            find_many: format!("SELECT {columns} FROM items i WHERE i.id IN ({}) AND {in_scope}", dialect.listed_ids),
            page_of_collection: page(&columns, "w.collection = $1"),
            page_of_parent: page(&columns, "w.collection = $1 AND w.parent = $2"),
        }
    }

    pub fn find(&self, scope: Scope, id: ItemId) -> Statement {
        self.dialect.statement(&self.find, [id.uuid().into(), scope.collection.name().into(), parent(scope).into()])
    }

    pub fn find_many(&self, scope: Scope, ids: &[ItemId]) -> Statement {
        let ids = json_array(ids.iter().map(|id| format!("\"{id}\"")));
        self.dialect.statement(&self.find_many, [ids.into(), scope.collection.name().into(), parent(scope).into()])
    }

    /// A page: one row per item, or one without an item, each with the totals of the scope.
    pub fn page(&self, scope: Scope, window: Window) -> Statement {
        let text = if scope.parent.is_some() { &self.page_of_parent } else { &self.page_of_collection };
        let values: [Value; 6] = [
            scope.collection.name().into(),
            parent(scope).unwrap_or_default().into(),
            owner_name(scope.collection).into(),
            clamped(window.limit).into(),
            clamped(window.offset).into(),
            scope.collection.linked().map(|linked| linked.name().to_owned()).into(),
        ];
        self.dialect.statement(text, values)
    }

    /// Something trivial that only a store in working order answers.
    pub fn ready(&self) -> Statement {
        self.dialect.statement("SELECT version FROM items LIMIT 1", [])
    }
}

/// A page shows links that a linked collection's writes make and break, so those count in its revision too.
///
/// The window is cut out of an index alone before any full row is read: deep pages cost no more than their index entries.
fn page(columns: &str, members_of_scope: &str) -> String {
    format!(
        "SELECT t.total_items, t.revision, t.has_owner, s.* FROM \
         (SELECT CAST(COALESCE(SUM(CASE WHEN c.collection = $1 THEN c.items ELSE 0 END), 0) AS BIGINT) AS total_items, \
         CAST(COALESCE(SUM(c.writes), 0) AS BIGINT) AS revision, \
         EXISTS (SELECT 1 FROM items o WHERE o.id = $2 AND o.collection = $3) AS has_owner \
         FROM collection_totals c WHERE c.collection IN ($1, $6) AND c.parent = $2) t \
         LEFT JOIN (SELECT {columns} FROM items i WHERE i.id IN \
         (SELECT w.id FROM items w WHERE {members_of_scope} ORDER BY w.id LIMIT $4 OFFSET $5)) s ON TRUE ORDER BY s.id"
    )
}

/// The parent a scope is limited to.
pub(crate) fn parent(scope: Scope) -> Option<Uuid> {
    scope.parent.map(ItemId::uuid)
}

/// The name of the collection that owns the items of this one.
pub(crate) fn owner_name(collection: Collection) -> Option<String> {
    collection.owner().map(|owner| owner.name().to_owned())
}

/// A JSON array of elements that are JSON texts already.
pub(crate) fn json_array(elements: impl Iterator<Item = String>) -> String {
    format!("[{}]", elements.collect::<Vec<_>>().join(","))
}

/// No store has more rows than an `i64` counts.
fn clamped(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
