//! Versions of items, and pages of the past. A change in the log is the version that it made.

use application::query::{COUNTED_MATCHES, PageStart, SortPosition};
use application::{
    ChangeAuthor, Links, ListedItem, ListedPage, LoggedChange, PastPageQuery, PastVersion, Reach,
    Sequence, ShownItem,
};
use domain::predicate::{Literal, Operand};
use domain::{Item, ItemId, Predicate, Version, VisibleMembers};
use jiff::Timestamp;
use sea_orm::{DbBackend, DbErr, QueryResult, Statement};

use crate::error::DbResult;
use crate::sql::change_log::{self, clamped};
use crate::sql::dialect::Dialect;
use crate::sql::mask::{self, Masked};
use crate::sql::page::listed;
use crate::sql::predicate::{Row, condition};
use crate::sql::sql_text::{SqlText, json, literal};
use crate::sql::statements::parent;
use crate::sql::{indexed_columns, row_mapping};

/// The columns of the version of the change `c`, with [`JOINS`]; the same as in `version.sql`.
const COLUMNS: &str = "c.sequence, c.collection, c.item_id, c.version, c.kind, c.time, c.caller, c.acting, \
                                  c.client, c.request_id, c.removed_at, c.parent, c.continues, \
                                  f.time AS created_at, f.caller AS created_by, i.version AS present, \
                                  (SELECT MAX(l.version) FROM changes l WHERE l.item_id = c.item_id) AS latest, \
                                  CAST(c.members AS TEXT) AS members";

const JOINS: [[&str; 4]; 3] = [
    ["JOIN", "changes", "c", "c.item_id = w.id AND c.version = w.version"],
    ["JOIN", "changes", "f", "f.item_id = c.item_id AND f.version = 1"],
    ["LEFT JOIN", "items", "i", "i.id = c.item_id"],
];

const NO_MEMBERS: &str = "{}";

pub(crate) fn version(row: &QueryResult) -> DbResult<PastVersion> {
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
            created_by: row_mapping::created_by(row)?,
        })
    });
    Ok(PastVersion {
        item: item.transpose()?,
        latest: Version::from_number(row_mapping::get(row, "latest")?),
        exists: row_mapping::get::<Option<i64>>(row, "present")?.is_some(),
        is_cut: false,
        change,
    })
}

pub(crate) fn versions_statement(
    dialect: &'static Dialect,
    reach: &Reach,
    id: ItemId,
    newest: Version,
    limit: u64,
) -> Statement {
    let mut text = SqlText::new(dialect);
    let item = text.bind(id.uuid());
    let visible = visible_columns(&mut text, reach);
    let wanted = within(&mut text, reach) + &and_was_in_reach(&mut text, reach, "c");
    let (newest, limit) = (text.bind(newest.number()), text.bind(clamped(limit)));
    text.finish(&change_log::select_with(&visible, &format!(
        "c.item_id = {item} AND {wanted} AND c.version <= {newest} ORDER BY c.version DESC LIMIT {limit}"
    )))
}

/// The changes, and the members of their items that are visible.
pub(crate) fn versions(
    rows: &[QueryResult],
    mask: Masked<'_>,
) -> DbResult<Vec<(LoggedChange, Option<VisibleMembers>)>> {
    let version = |row: &QueryResult| {
        let (mut change, visible) =
            (change_log::change(row)?, row_mapping::visible_members(row, mask)?);
        if visible.as_ref().is_some_and(|visible| !visible.shows_callers()) {
            change.author = ChangeAuthor::default();
        }
        Ok((change, visible))
    };
    rows.iter().map(version).collect()
}

/// Finds those of these changes, or of these versions, whose content was in reach.
pub(crate) fn reached_statement(
    dialect: &'static Dialect,
    reach: &Reach,
    changes: &[Sequence],
    versions: &[(ItemId, Version)],
) -> Statement {
    let mut text = SqlText::new(dialect);
    let (asked, is_asked) = if changes.is_empty() {
        let version = |(id, version): &(ItemId, Version)| (id.to_string(), version.number());
        let id = (dialect.id_of_text)("(a.value ->> 0)");
        let is_asked = format!("c.item_id = {id} AND c.version = CAST(a.value ->> 1 AS BIGINT)");
        (json(&versions.iter().map(version).collect::<Vec<_>>()), is_asked)
    } else {
        let asked = changes.iter().map(|change| [change.0]).collect::<Vec<_>>();
        (json(&asked), "c.sequence = CAST(a.value ->> 0 AS BIGINT)".to_owned())
    };
    let asked = text.bind(asked);
    let asked = match dialect.backend {
        DbBackend::Sqlite => format!("json_each({asked}) a"),
        _ => format!("json_array_elements({asked}::json) a (value)"),
    };
    let visible = visible_columns(&mut text, reach);
    let wanted = within(&mut text, reach) + &and_was_in_reach(&mut text, reach, "c");
    text.finish(&format!(
        "SELECT c.sequence, c.item_id AS id, c.version{visible} FROM {asked} {joined} WHERE c.members IS NOT NULL AND {wanted}",
        joined = dialect.joins(&[["JOIN", "changes", "c", &is_asked]]),
    ))
}

pub(crate) struct Reached {
    pub change: i64,
    pub item: ItemId,
    pub version: Version,
    pub visible: Option<VisibleMembers>,
}

pub(crate) fn reached(rows: &[QueryResult], mask: Masked<'_>) -> DbResult<Vec<Reached>> {
    let reached = |row: &QueryResult| {
        Ok(Reached {
            change: row_mapping::get(row, "sequence")?,
            item: row_mapping::item_id(row, "id")?,
            version: Version::from_number(row_mapping::get(row, "version")?),
            visible: row_mapping::visible_members(row, mask)?,
        })
    };
    rows.iter().map(reached).collect()
}

/// The condition that the scope holds or held the item of the change `c`.
fn within(text: &mut SqlText, reach: &Reach) -> String {
    let scope = reach.scope();
    let parent = parent(scope).map(|parent| format!(" AND c.parent = {}", text.bind(parent)));
    format!("c.collection = {}{}", literal(scope.collection.name()), parent.unwrap_or_default())
}

/// The condition that the content of a change was in reach, with a leading `AND`. A removal is in
/// reach if the content before it was. Without a body it is not known, so that it is not in reach.
fn and_was_in_reach(text: &mut SqlText, reach: &Reach, change: &str) -> String {
    let was = reach.condition().map(|condition| was(text, condition, change));
    was.map_or_else(String::new, |was| format!(" AND {was}"))
}

/// The condition that a predicate held of the content of a change.
fn was(text: &mut SqlText, predicate: &Predicate, change: &str) -> String {
    let held = condition(text, predicate, &Row::of_change("p", "f"));
    let joined = ["JOIN", "changes", "f", "f.item_id = p.item_id AND f.version = 1"];
    format!(
        "COALESCE((SELECT {held} FROM changes p {joined} WHERE p.item_id = {change}.item_id \
         AND p.version = {change}.version - CASE {change}.kind WHEN 'deleted' THEN 1 ELSE 0 END \
         AND p.members IS NOT NULL), FALSE)",
        joined = text.dialect.joins(&[joined]),
    )
}

fn visible_columns(text: &mut SqlText, reach: &Reach) -> String {
    mask::columns_of(text, reach.mask(), |text, predicate| was(text, predicate, "c"))
}

/// The conditions of a page of the past, each with a leading `AND`: the version must have been in
/// reach, and so must the item as it is now, or the last version of a removed one.
struct PastReach {
    version: String,
    item: String,
    removal: String,
}

impl PastReach {
    fn new(text: &mut SqlText, reach: &Reach, time: &str, query: &PastPageQuery) -> Self {
        let [mut version, mut item, mut removal] =
            ["v", "z", "d"].map(|change| and_was_in_reach(text, reach, change));
        if !item.is_empty() {
            item = format!(
                " AND COALESCE((SELECT TRUE{item} FROM changes z WHERE z.sequence = i.sequence), FALSE)"
            );
        }
        if let Some((member, named)) = query.naming {
            let by = Naming::new(text, reach, member, named);
            version.push_str(&by.version);
            item.push_str(&by.item(time));
            // A removed item existed at the time.
            removal = format!("{removal} AND d.time > {time}");
        }
        Self { version, item, removal }
    }
}

/// The condition that items named another by a member.
struct Naming {
    version: String,
    /// The condition that an item `n` names it now.
    is_current: Option<String>,
    collection: String,
}

impl Naming {
    fn new(text: &mut SqlText, reach: &Reach, member: &'static str, named: ItemId) -> Self {
        let collection = reach.scope().collection;
        let is_named =
            Predicate::equals(Operand::member(member), Literal::String(named.to_string().into()));
        let is_named = was(text, &is_named.and(reach.shows(member)), "v");
        let column = indexed_columns::column(collection, member);
        let is_current =
            column.map(|column| format!("n.{column} = {}", text.bind(named.to_string())));
        // The reference of a version without its body is not known.
        let removed = is_current.as_ref().filter(|_| reach.is_whole()).map(|is_current| {
            format!(
                " OR (v.removed_at IS NOT NULL AND EXISTS (SELECT 1 FROM items n WHERE n.id = v.item_id AND {is_current}))"
            )
        });
        let version = format!(" AND ({is_named}{})", removed.unwrap_or_default());
        Self { version, is_current, collection: literal(collection.name()) }
    }

    /// The candidates: an item that names another one now, or was changed since.
    fn item(&self, time: &str) -> String {
        let Self { is_current, collection, .. } = self;
        is_current.as_ref().map_or_else(String::new, |is_current| {
            format!(
                " AND i.id IN (SELECT n.id FROM items n WHERE {is_current} \
                 UNION SELECT n.item_id FROM changes n WHERE n.collection = {collection} AND n.time > {time})"
            )
        })
    }
}

/// Finds one item more than requested, by id. Candidates exist, or their last change is a removal.
pub(crate) fn page_statement(
    dialect: &'static Dialect,
    reach: &Reach,
    time: Timestamp,
    query: &PastPageQuery,
) -> Statement {
    let (mut text, scope) = (SqlText::new(dialect), reach.scope());
    let time = text.bind(time.as_microsecond());
    let parent = parent(scope).map(|parent| format!(" AND parent = {}", text.bind(parent)));
    let collection = literal(scope.collection.name());
    let within = format!("collection = {collection}{}", parent.unwrap_or_default());
    let reached = PastReach::new(&mut text, reach, &time, query);
    let counted = if query.is_counted {
        let most = format!(" LIMIT {}", COUNTED_MATCHES + 1);
        let all = held_at([&time, &within], &reached, None, &most, true);
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
    let walk = held_at([&time, &within], &reached, beyond.as_deref(), &end, false);
    let (limit, offset) = (text.bind(limit), text.bind(offset));
    let visible = mask::columns(&mut text, reach.mask(), &Row::of_change("c", "f"));
    text.finish(&format!(
        "WITH walked AS MATERIALIZED (SELECT u.id, u.version FROM ({walk}) u ORDER BY u.id {order} LIMIT {limit} OFFSET {offset}), \
         t AS (SELECT {counted} AS matches) \
         SELECT t.matches, s.* FROM t LEFT JOIN (SELECT {COLUMNS}{visible} FROM walked w \
         {joins}) s ON TRUE ORDER BY s.item_id {order}",
        joins = dialect.joins(&JOINS),
    ))
}

/// Walks each kind of candidates by its index with its limit: else PostgreSQL would sort all rows.
fn held_at(
    [time, within]: [&str; 2],
    reached: &PastReach,
    beyond: Option<&str>,
    end: &str,
    is_count: bool,
) -> String {
    let within = |id| {
        let beyond = beyond.map(|beyond| format!(" AND {id} {beyond}"));
        format!("{within}{}", beyond.unwrap_or_default())
    };
    let version = format!(
        "(SELECT CASE WHEN v.kind <> 'deleted'{version} THEN v.version END FROM changes v \
         WHERE v.item_id = k.id AND v.time <= {time} ORDER BY v.version DESC LIMIT 1)",
        version = reached.version
    );
    // A count of all needs no version of an item that was never deleted. The limit keeps PostgreSQL from
    // reading the deletions of all items first.
    let of_item = if is_count && reached.version.is_empty() {
        let deletions = within("d.item_id");
        format!(
            "CASE WHEN EXISTS (SELECT 1 FROM changes d WHERE d.kind = 'deleted' AND {deletions} AND d.item_id = k.id \
             LIMIT 1 OFFSET 0) THEN {version} ELSE 1 END"
        )
    } else {
        version.clone()
    };
    let items = within("i.id");
    let items = format!(
        "SELECT i.id FROM items i WHERE {items} AND i.created_at <= {time}{is_reached}",
        is_reached = reached.item
    );
    let removals = within("d.item_id");
    let removals = format!(
        "SELECT d.item_id AS id FROM changes d WHERE d.kind = 'deleted' AND {removals} \
         AND NOT EXISTS (SELECT 1 FROM changes n WHERE n.item_id = d.item_id AND n.version = d.version + 1){was_reached}",
        was_reached = reached.removal
    );
    let held = [(items, of_item), (removals, version)].map(|(candidates, version)| {
        format!(
            "SELECT * FROM (SELECT e.id, e.version FROM (SELECT k.id, {version} AS version FROM ({candidates}) k) e \
             WHERE e.version IS NOT NULL{end}) h"
        )
    });
    held.join(" UNION ALL ")
}

pub(crate) fn page(
    rows: &[QueryResult],
    query: &PastPageQuery,
    mask: Masked<'_>,
) -> DbResult<ListedPage> {
    let total = row_mapping::total(row_mapping::first(rows)?, false)?;
    let mut found = Vec::with_capacity(rows.len());
    for row in rows {
        if row_mapping::get::<Option<i64>>(row, "sequence")?.is_some() {
            let PastVersion { change, item, .. } = version(row)?;
            if let Some(item) = item {
                let place = SortPosition { keys: Vec::new(), id: item.id };
                let shown = ShownItem { item, links: Links::default() };
                let shown = row_mapping::visible_part(row, mask, shown)?;
                let removed_at = change.removed_at;
                found.push((place, ListedItem { shown, score: None, snippet: None, removed_at }));
            }
        }
    }
    let is_backward = matches!(query.position, PageStart::Before(_));
    Ok(ListedPage { total, ..listed(found, query.limit, is_backward) })
}
