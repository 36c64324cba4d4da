//! The statements over bodies, and over the progress of the work.

use application::{
    CompactionLease, CompactionProgress, Sequence, SupersededPage, SupersededVersion,
};
use domain::{Collection, ItemId};
use jiff::Timestamp;
use sea_orm::sea_query::Expr;
use sea_orm::{
    ColumnTrait, Condition, DbErr, EntityTrait, QueryFilter, QueryResult, QuerySelect, QueryTrait,
    Statement,
};

use crate::entities::compaction;
use crate::sql::dialect::Dialect;
use crate::sql::row_mapping;
use crate::sql::sql_text::literal;
use crate::sql::statements::listed;

/// Looks through changes for those with a body that were superseded before a time. What supersedes
/// them must be indexed, because the index task takes away what its items had before; and no key may
/// stand for a request that is answered with them. Keys have no index by item, so those of a step are
/// found from the side of the keys: a cross join has SQLite begin there.
pub(super) fn superseded(
    dialect: &Dialect,
    after: Sequence,
    before: Timestamp,
    limit: u64,
) -> Statement {
    let text = format!(
        "WITH looked AS MATERIALIZED (SELECT sequence, item_id, version, time, members IS NOT NULL AS has_body FROM changes \
         WHERE sequence > $1 ORDER BY sequence LIMIT $2), \
         t AS (SELECT MAX(sequence) AS read_to, COUNT(*) AS changes FROM looked) \
         SELECT t.read_to, t.changes, s.* FROM t LEFT JOIN (SELECT l.sequence, l.item_id, l.time AS written, n.time AS superseded, \
         CAST({bytes} AS BIGINT) AS bytes FROM looked l {joins} \
         WHERE l.has_body AND n.time < $3 \
         AND l.sequence NOT IN (SELECT o.sequence FROM idempotency_keys k CROSS JOIN looked o WHERE o.item_id = k.item_id AND o.version = k.version) \
         AND n.sequence <= (SELECT p.sequence FROM search_progress p)) s ON TRUE ORDER BY s.sequence",
        bytes = dialect.stored_bytes_of_members,
        joins = dialect.joins(&[
            ["JOIN", "changes", "n", "n.item_id = l.item_id AND n.version = l.version + 1"],
            ["JOIN", "changes", "c", "c.sequence = l.sequence"],
        ]),
    );
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    dialect.statement(&text, [after.0.into(), limit.into(), before.as_microsecond().into()])
}

/// The versions that [`superseded`] found.
pub(super) fn page(rows: &[QueryResult], limit: u64) -> Result<SupersededPage, DbErr> {
    let Some(first) = rows.first() else { return Ok(SupersededPage::default()) };
    let is_full = row_mapping::count(first, "changes")? >= limit;
    let read_to = row_mapping::get::<Option<i64>>(first, "read_to")?.filter(|_| is_full);
    let mut versions = Vec::with_capacity(rows.len());
    for row in rows {
        if let Some(change) = row_mapping::get::<Option<i64>>(row, "sequence")? {
            versions.push(SupersededVersion {
                change: Sequence(change),
                item: row_mapping::item_id(row, "item_id")?,
                written: row_mapping::timestamp(row, "written")?,
                superseded: row_mapping::timestamp(row, "superseded")?,
                bytes: row_mapping::count(row, "bytes")?,
            });
        }
    }
    Ok(SupersededPage { versions, read_to: read_to.map(Sequence) })
}

/// Removes bodies. That a later version is there makes sure that no item is at one of them.
pub(super) fn remove(dialect: &Dialect, changes: &[Sequence], time: Timestamp) -> Statement {
    let numbers: Vec<_> = changes.iter().map(|change| change.0.to_string()).collect();
    let text = format!(
        "UPDATE changes SET members = NULL, removed_at = $1 WHERE sequence {} AND members IS NOT NULL \
         AND EXISTS (SELECT 1 FROM changes n WHERE n.item_id = changes.item_id AND n.version = changes.version + 1)",
        dialect.is_listed_number,
    );
    let listed = format!("[{}]", numbers.join(","));
    dialect.statement(&text, [time.as_microsecond().into(), listed.into()])
}

/// Looks for the parents of items, and for what their bodies refer to. The changes are found by their
/// items: an expression keeps the planner from the index by collection.
pub(super) fn related(dialect: &Dialect, items: &[ItemId]) -> Statement {
    let mut cases: Vec<(&str, Vec<String>)> = Vec::new();
    for collection in Collection::all() {
        for reference in collection.spec().references {
            let names = literal(collection.name());
            match cases.iter_mut().find(|(member, _)| *member == reference.member) {
                Some((_, collections)) => collections.push(names),
                None => cases.push((reference.member, vec![names])),
            }
        }
    }
    let members = cases.iter().map(|(member, collections)| {
        let value = format!("c.members ->> {}", literal(member));
        format!(
            " UNION SELECT c.item_id, {none} AS parent, {value} AS target FROM changes c WHERE {among} AND c.collection || '' IN ({collections}) \
             AND length({value}) = 36",
            none = format_args!("CAST(NULL AS {})", dialect.uuid),
            among = (dialect.is_listed)("c.item_id"),
            collections = collections.join(", "),
        )
    });
    let text = format!(
        "SELECT c.item_id, c.parent, CAST(NULL AS TEXT) AS target FROM changes c WHERE {among} AND c.parent IS NOT NULL{members}",
        among = (dialect.is_listed)("c.item_id"),
        members = members.collect::<String>(),
    );
    dialect.statement(&text, [listed(items.iter().copied())])
}

/// The links that [`related`] found.
pub(super) fn links(rows: &[QueryResult]) -> Result<Vec<[ItemId; 2]>, DbErr> {
    let link = |row: &QueryResult| {
        let target: Option<String> = row_mapping::get(row, "target")?;
        let target = target.and_then(|target| ItemId::parse(&target));
        let target = row_mapping::id(row, "parent")?.or(target);
        let item = row_mapping::item_id(row, "item_id")?;
        Ok(target.map(|target| [item, target]))
    };
    rows.iter().filter_map(|row| link(row).transpose()).collect()
}

/// Looks for the items that were ever created.
pub(super) fn known(dialect: &Dialect, items: &[ItemId]) -> Statement {
    let among = (dialect.is_listed)("c.item_id");
    let text = format!("SELECT c.item_id FROM changes c WHERE {among} AND c.version = 1");
    dialect.statement(&text, [listed(items.iter().copied())])
}

/// The items that [`known`] found.
pub(super) fn ids(rows: &[QueryResult]) -> Result<Vec<ItemId>, DbErr> {
    rows.iter().map(|row| row_mapping::item_id(row, "item_id")).collect()
}

/// Takes the lease where it is free, or renews it.
pub(super) fn lease(dialect: &Dialect, lease: &CompactionLease) -> Statement {
    let CompactionLease { holder, now, until } = lease;
    let is_free = Condition::any()
        .add(compaction::Column::Holder.eq(&**holder))
        .add(compaction::Column::HeldUntil.lt(now.as_microsecond()));
    let update = compaction::Entity::update_many()
        .col_expr(compaction::Column::Holder, Expr::value(&**holder))
        .col_expr(compaction::Column::HeldUntil, Expr::value(until.as_microsecond()))
        .filter(is_free);
    update.build(dialect.backend)
}

/// Looks for how far the work has come.
pub(super) fn progress(dialect: &Dialect) -> Statement {
    compaction::Entity::find().limit(1).build(dialect.backend)
}

/// The progress that [`progress`] found.
pub(super) fn found(rows: &[QueryResult]) -> Result<Option<CompactionProgress>, DbErr> {
    let progress = |row: &QueryResult| {
        Ok(CompactionProgress {
            policy: row_mapping::get::<String>(row, "policy")?.into(),
            after: Sequence(row_mapping::get(row, "sequence")?),
            begins: row_mapping::timestamp(row, "begins_at")?,
        })
    };
    rows.first().map(progress).transpose()
}

/// Notes how far the work has come.
pub(super) fn advance(
    dialect: &Dialect,
    holder: &str,
    CompactionProgress { policy, after, begins }: &CompactionProgress,
    is_released: bool,
) -> Statement {
    let mut update = compaction::Entity::update_many()
        .col_expr(compaction::Column::Policy, Expr::value(&**policy))
        .col_expr(compaction::Column::Sequence, Expr::value(after.0))
        .col_expr(compaction::Column::BeginsAt, Expr::value(begins.as_microsecond()))
        .filter(compaction::Column::Holder.eq(holder));
    if is_released {
        update = update.col_expr(compaction::Column::HeldUntil, Expr::value(0_i64));
    }
    update.build(dialect.backend)
}
