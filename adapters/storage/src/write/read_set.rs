//! Read sets: a write is executed only while its lookups find the same items and versions as when
//! it was decided. Each engine runs the lookups in the writing transaction, which excludes other
//! writes. One statement finds all keys of one shape, for any number of writes.

use std::collections::HashMap;
use std::sync::Arc;

use application::{ReadDependency, WriteMetadata};
use domain::{Collection, ItemId, LookupKey, Version};
use sea_orm::Statement;
use uuid::Uuid;

use crate::error::DbResult;
use crate::sql::dialect::Dialect;
use crate::sql::lookup::{LookupCondition, Shape};
use crate::sql::row_mapping::{Columns, FromRow};
use crate::sql::sql_text::SqlText;
use crate::sql::statements::with_members;
use crate::write::connection::WriteConnection;
use crate::write::row::{RowChange, RowKind};

pub(crate) struct Look<'a> {
    collection: Collection,
    shape: Shape<'a>,
    /// Each with the most rows that any dependency expects.
    keys: Vec<(&'a LookupKey, usize)>,
}

pub(crate) struct LookedUp {
    id: Uuid,
    version: i64,
    parent: Option<Uuid>,
    value: Option<String>,
}

impl FromRow for LookedUp {
    fn from_row(row: &impl Columns) -> DbResult<Self> {
        let (id, version) = (row.get("id")?, row.get("version")?);
        Ok(Self { id, version, parent: row.get("parent")?, value: row.get("value")? })
    }
}

#[derive(Default)]
pub(crate) struct CurrentReads {
    /// The history of the server that commits; `None` if only one is possible.
    history: Option<Arc<str>>,
    found: HashMap<Collection, HashMap<LookupKey, Vec<(ItemId, Version)>>>,
}

/// The lookups to run: every key once, even if lookups of it exclude different items.
pub(crate) fn looks<'a>(changes: impl Iterator<Item = &'a WriteMetadata>) -> Vec<Look<'a>> {
    let mut keys: HashMap<_, HashMap<&LookupKey, usize>> = HashMap::new();
    for ReadDependency { lookup, found } in changes.flat_map(|metadata| &metadata.read_set) {
        if let Some(shape) = Shape::of(lookup.collection, &lookup.key) {
            let most =
                keys.entry((lookup.collection, shape)).or_default().entry(&lookup.key).or_default();
            // With the item that the lookup leaves out.
            *most = (found.len() + 1).max(*most);
        }
    }
    let look = |((collection, shape), keys): (_, HashMap<_, _>)| {
        let keys = keys.into_iter().collect();
        Look { collection, shape, keys }
    };
    keys.into_iter().map(look).collect()
}

impl<'a> Look<'a> {
    /// Finds the rows, or enough of them to know that something changed.
    pub fn statement(&self, dialect: &'static Dialect) -> Statement {
        let mut text = SqlText::new(dialect);
        let keys: Vec<_> = self.keys.iter().map(|(key, _)| *key).collect();
        let sought = LookupCondition::new(&mut text, self.collection, self.shape, &keys);
        let limit = text.bind(i64::try_from(self.limit()).unwrap_or(i64::MAX));
        let LookupCondition { condition, value } = sought;
        let source = with_members("items", &[&condition, &value]);
        text.finish(&format!("SELECT w.id, w.version, w.parent, {value} AS value FROM {source} w WHERE {condition} LIMIT {limit}"))
    }

    fn limit(&self) -> usize {
        self.keys.iter().map(|(_, most)| most).sum::<usize>() + 1
    }

    /// The keys one by one, if more rows were found than expected: any of them may have changed.
    pub fn apart(&self, rows: usize) -> Option<Vec<Self>> {
        let one = |key: &(&'a LookupKey, usize)| Self {
            collection: self.collection,
            shape: self.shape,
            keys: vec![*key],
        };
        (rows >= self.limit() && self.keys.len() > 1).then(|| self.keys.iter().map(one).collect())
    }
}

impl CurrentReads {
    pub fn of(history: Arc<str>) -> Self {
        Self { history: Some(history), found: HashMap::new() }
    }

    pub async fn find(
        &mut self,
        connection: &impl WriteConnection,
        mut looks: Vec<Look<'_>>,
    ) -> DbResult<()> {
        while let Some(look) = looks.pop() {
            let found = connection.query(look.statement(connection.dialect())).await?;
            match look.apart(found.len()) {
                Some(apart) => looks.extend(apart),
                None => self.note(&look, found),
            }
        }
        Ok(())
    }

    pub fn note(&mut self, look: &Look<'_>, rows: Vec<LookedUp>) {
        let current_reads = self.found.entry(look.collection).or_default();
        for LookedUp { id, version, parent, value } in rows {
            let key = match (look.shape, parent, value) {
                (Shape::Id, ..) => LookupKey::Id(ItemId::from_uuid(id)),
                (Shape::Parent, Some(parent), _) => LookupKey::Parent(ItemId::from_uuid(parent)),
                (Shape::Member { name, .. }, _, Some(value)) => {
                    LookupKey::Member { name: name.into(), value: value.into() }
                }
                _ => continue,
            };
            let found = (ItemId::from_uuid(id), Version::from_number(version));
            current_reads.entry(key).or_default().push(found);
        }
    }

    /// Returns whether a write was decided in the same history, and each lookup finds the same
    /// items and versions. In another history equal versions are different ones.
    pub fn holds(&self, metadata: &WriteMetadata) -> bool {
        let decided_in = metadata.history.as_ref();
        if self.history.as_ref().zip(decided_in).is_some_and(|(own, other)| own != other) {
            return false;
        }
        metadata.read_set.iter().all(|ReadDependency { lookup, found }| {
            let current =
                self.found.get(&lookup.collection).and_then(|by_key| by_key.get(&lookup.key));
            let current = current.into_iter().flatten().filter(|(id, _)| *id != lookup.without);
            let mut current: Vec<_> = current.copied().collect();
            current.sort_unstable();
            current == *found
        })
    }
}

/// Returns whether a change may invalidate a read set, so that its lookups must follow the change.
pub(crate) fn touches(row: &RowChange, read_set: &[ReadDependency]) -> bool {
    let RowChange { kind, scope, id, keys, .. } = row;
    let deletes_in = |collection: Collection| {
        *kind == RowKind::Delete && collection.parent() == Some(scope.collection)
    };
    let would_be_found = |collection, key: &LookupKey| match (key, Shape::of(collection, key)) {
        (LookupKey::Id(sought), _) => sought == id,
        (LookupKey::Parent(parent), _) => scope.parent == Some(*parent),
        (
            LookupKey::Member { value, .. },
            Some(Shape::Member { column: Some((column, _)), .. }),
        ) => keys.begin_as(column, value),
        // Not looked into: that would take longer than doing one after the other.
        (LookupKey::Member { .. }, shape) => shape.is_some(),
        (LookupKey::Nothing, _) => false,
    };
    read_set.iter().any(|ReadDependency { lookup, found }| {
        deletes_in(lookup.collection)
            || lookup.collection == scope.collection
                && (found.iter().any(|(found, _)| found == id)
                    || would_be_found(lookup.collection, &lookup.key))
    })
}
