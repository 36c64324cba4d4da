//! Versions of items, and pages of the past. A change in the log is the version that it made.

use application::query::{COUNTED_MATCHES, PageStart, SortPosition};
use application::{Links, ListedItem, ListedPage, PastPageQuery, PastVersion, Scope, ShownItem};
use domain::{Item, Version};
use jiff::Timestamp;
use sea_orm::{DbErr, QueryResult, Statement};

use crate::sql::change_log::{self, clamped};
use crate::sql::dialect::Dialect;
use crate::sql::page::listed;
use crate::sql::row_mapping;
use crate::sql::sql_text::{SqlText, literal};
use crate::sql::statements::parent;

/// The columns of the version of the change `c`, with [`JOINS`]; the same as in `version.sql`.
const COLUMNS: &str = "c.sequence, c.collection, c.item_id, c.version, c.kind, c.time, c.caller, c.acting, \
                                  c.client, c.request_id, c.removed_at, c.parent, c.continues, \
                                  f.time AS created_at, i.version AS present, \
                                  (SELECT MAX(l.version) FROM changes l WHERE l.item_id = c.item_id) AS latest, \
                                  CAST(c.members AS TEXT) AS members";

const JOINS: [[&str; 4]; 3] = [
    ["JOIN", "changes", "c", "c.item_id = w.id AND c.version = w.version"],
    ["JOIN", "changes", "f", "f.item_id = c.item_id AND f.version = 1"],
    ["LEFT JOIN", "items", "i", "i.id = c.item_id"],
];

const NO_MEMBERS: &str = "{}";

pub(crate) fn version(row: &QueryResult) -> Result<PastVersion, DbErr> {
    let change = change_log::change(row)?;
    let members: Option<String> = row_mapping::get(row, "members")?;
    let members = members.or_else(|| change.removed_at.map(|_| NO_MEMBERS.to_owned()));
    let item = members.map(|members| {
        Ok::<_, DbErr>(Item {
            id: change.item,
            version: change.version,
            created_at: row_mapping::timestamp(row, "created_at")?,
            updated_at: change.time,
            members: members.into(),
            parent: row_mapping::id(row, "parent")?,
            continues: row_mapping::id(row, "continues")?,
        })
    });
    Ok(PastVersion {
        item: item.transpose()?,
        latest: Version::from_number(row_mapping::get(row, "latest")?),
        exists: row_mapping::get::<Option<i64>>(row, "present")?.is_some(),
        change,
    })
}

/// Finds one item more than requested, by id. Candidates exist, or their last change is a removal.
pub(crate) fn page_statement(
    dialect: &'static Dialect,
    scope: Scope,
    time: Timestamp,
    query: &PastPageQuery,
) -> Statement {
    let mut text = SqlText::new(dialect);
    let time = text.bind(time.as_microsecond());
    let parent = parent(scope).map(|parent| format!(" AND parent = {}", text.bind(parent)));
    let collection = literal(scope.collection.name());
    let within = format!("collection = {collection}{}", parent.unwrap_or_default());
    let counted = if query.is_counted {
        let most = format!(" LIMIT {}", COUNTED_MATCHES + 1);
        let all = held_at(&time, &within, None, &most, true);
        format!("(SELECT COUNT(*) FROM (SELECT * FROM ({all}) a{most}) m)")
    } else {
        "CAST(NULL AS BIGINT)".to_owned()
    };
    let (beyond, offset, order) = match &query.position {
        PageStart::Offset(offset) => (None, clamped(*offset), "ASC"),
        PageStart::After(place) => (Some((">", place)), 0, "ASC"),
        PageStart::Before(place) => (Some(("<", place)), 0, "DESC"),
    };
    let beyond = beyond.map(|(sign, place)| format!("{sign} {}", text.bind(place.id.uuid())));
    let limit = clamped(query.limit.saturating_add(1));
    let most = text.bind(limit.saturating_add(offset));
    let end = format!(" ORDER BY e.id {order} LIMIT {most}");
    let walk = held_at(&time, &within, beyond.as_deref(), &end, false);
    let (limit, offset) = (text.bind(limit), text.bind(offset));
    text.finish(&format!(
        "WITH walked AS MATERIALIZED (SELECT u.id, u.version FROM ({walk}) u ORDER BY u.id {order} LIMIT {limit} OFFSET {offset}), \
         t AS (SELECT {counted} AS matches) \
         SELECT t.matches, s.* FROM t LEFT JOIN (SELECT {COLUMNS} FROM walked w \
         {joins}) s ON TRUE ORDER BY s.item_id {order}",
        joins = dialect.joins(&JOINS),
    ))
}

/// Walks each kind of candidates by its index with its limit: else PostgreSQL would sort all rows.
fn held_at(time: &str, within: &str, beyond: Option<&str>, end: &str, is_count: bool) -> String {
    let within = |id| {
        let beyond = beyond.map(|beyond| format!(" AND {id} {beyond}"));
        format!("{within}{}", beyond.unwrap_or_default())
    };
    let version = format!(
        "(SELECT CASE WHEN v.kind <> 'deleted' THEN v.version END FROM changes v \
         WHERE v.item_id = k.id AND v.time <= {time} ORDER BY v.version DESC LIMIT 1)"
    );
    // A count needs no version of an item that was never deleted. The limit keeps PostgreSQL from
    // reading the deletions of all items first.
    let of_item = if is_count {
        let deletions = within("d.item_id");
        format!(
            "CASE WHEN EXISTS (SELECT 1 FROM changes d WHERE d.kind = 'deleted' AND {deletions} AND d.item_id = k.id \
             LIMIT 1 OFFSET 0) THEN {version} ELSE 1 END"
        )
    } else {
        version.clone()
    };
    let items = within("i.id");
    let items = format!("SELECT i.id FROM items i WHERE {items} AND i.created_at <= {time}");
    let removals = within("d.item_id");
    let removals = format!(
        "SELECT d.item_id AS id FROM changes d WHERE d.kind = 'deleted' AND {removals} \
         AND NOT EXISTS (SELECT 1 FROM changes n WHERE n.item_id = d.item_id AND n.version = d.version + 1)"
    );
    let held = [(items, of_item), (removals, version)].map(|(candidates, version)| {
        format!(
            "SELECT * FROM (SELECT e.id, e.version FROM (SELECT k.id, {version} AS version FROM ({candidates}) k) e \
             WHERE e.version IS NOT NULL{end}) h"
        )
    });
    held.join(" UNION ALL ")
}

pub(crate) fn page(rows: &[QueryResult], query: &PastPageQuery) -> Result<ListedPage, DbErr> {
    let total = row_mapping::total(row_mapping::first(rows)?, false)?;
    let mut found = Vec::with_capacity(rows.len());
    for row in rows {
        if row_mapping::get::<Option<i64>>(row, "sequence")?.is_some() {
            let PastVersion { change, item, .. } = version(row)?;
            found.extend(item.map(|item| {
                let place = SortPosition { keys: Vec::new(), id: item.id };
                let shown = ShownItem { item, links: Links::default() };
                let removed_at = change.removed_at;
                (place, ListedItem { shown, score: None, snippet: None, removed_at })
            }));
        }
    }
    let is_backward = matches!(query.position, PageStart::Before(_));
    Ok(ListedPage { total, ..listed(found, query.limit, is_backward) })
}
