//! Pages: an index is walked first, and the items found are joined in its order.

use std::sync::Arc;

use application::query::{COUNTED_MATCHES, PageQuery, PageStart, SortPosition, Subject, Total};
use application::{ListedItem, ListedPage, PageHash, Reach, Revision, Scope, Totals};
use domain::{Collection, ItemId, Mask};
use sea_orm::{DbBackend, QueryResult, Statement};
use uuid::Uuid;

use crate::error::DbResult;
use crate::sql::change_log::{self, clamped};
use crate::sql::dialect::Dialect;
use crate::sql::filter::condition;
use crate::sql::indexed_columns::COLUMNS;
use crate::sql::predicate::candidates::and_is_candidate;
use crate::sql::predicate::{Row, and_in_reach};
use crate::sql::sort::{Order, Run};
use crate::sql::sql_text::{SqlText, literal};
use crate::sql::statements::{item_columns, parent, with_members};
use crate::sql::{full_text, mask, member_counts, row_mapping};

/// The items of the places `s` of a page.
const ITEMS_OF_PAGE: [[&str; 4]; 2] = [
    ["LEFT JOIN", "items", "i", "i.id = s.place"],
    ["LEFT JOIN", "changes", "c", "c.sequence = i.sequence"],
];

pub(crate) struct PageStatement {
    pub statement: Statement,
    order: Order,
    is_backward: bool,
    /// True if the totals of the scope are those of the page.
    is_everything: bool,
    mask: Option<Arc<Mask>>,
}

/// An id from which a page is walked to, as of a change of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageMark {
    pub id: Uuid,
    /// The items before it; from it on if the order is descending.
    pub passed: i64,
    pub items: i64,
    pub sequence: i64,
}

impl PageStatement {
    /// `known` only chooses the end to walk from. With a mark, the rows show if it led to the page.
    pub fn new(
        dialect: &'static Dialect,
        reach: &Reach,
        query: &PageQuery,
        known: Option<Totals>,
        mark: Option<&PageMark>,
    ) -> Self {
        let (mut text, scope) = (SqlText::new(dialect), reach.scope());
        let totals = totals(&mut text, scope, &query.related);
        let is_of_items = query.selection.search.is_none() && !concerns_updates(query);
        let order = if is_of_items { Order::by_index } else { Order::new };
        let order = order(&mut text, reach, &query.order);
        let selected = Selected::new(&mut text, reach, query);
        let is_everything = is_everything(reach, query);
        let matches = match (query.is_counted, is_everything) {
            (false, _) => "CAST(NULL AS BIGINT)".to_owned(),
            (true, true) => "t.total_items".to_owned(),
            (true, false) => selected.matches(),
        };
        let known = known.filter(|_| is_everything);
        let window = Window::of(&mut text, &order, query, known, mark);
        let (walk, was_led) = match mark {
            Some(mark) => (walk(&mut text, scope.collection, &order, query, mark), WAS_LED),
            None => (String::new(), "TRUE"),
        };
        let is_search = query.selection.search.is_some();
        let how_well = if is_search { "w.score" } else { "CAST(NULL AS DOUBLE PRECISION)" };
        let columns = format!("w.id AS place, {how_well} AS score{}", order.columns());
        let (first, rows) = window.rows(dialect.backend, &order, &selected, &columns);
        let member = query.count_by.as_ref();
        let member = member.and_then(|it| mask::member_of(&mut text, reach, it));
        let Selected { tables, source, conditions } = &selected;
        let counts = member.map(|it| member_counts::parts(dialect, &it, source, conditions));
        let (counted, counts) = counts.unwrap_or_default();
        let page = format!(
            "WITH t AS ({totals}){tables}{counted}{walk}{first} SELECT t.*, {matches} AS matches, {was_led} AS was_led, s.*, {items}{counts} FROM t \
             LEFT JOIN ({rows}) s ON TRUE {joined}",
            items =
                item_columns(&mut text, (scope.collection, reach.mask()), query.fields.as_ref()),
            joined = dialect.joins(&ITEMS_OF_PAGE),
        );
        let (statement, is_backward) = (text.finish(&page), window.is_backward);
        Self { statement, order, is_backward, is_everything, mask: reach.mask().cloned() }
    }

    /// Reads the page, and if the scope's parent exists; `None` if the mark did not lead to it.
    pub fn read(
        &self,
        query: &PageQuery,
        rows: &[QueryResult],
    ) -> DbResult<Option<(ListedPage, bool)>> {
        let totals = row_mapping::first(rows)?;
        if !row_mapping::get::<bool>(totals, "was_led")? {
            return Ok(None);
        }
        let total = row_mapping::total(totals, self.is_everything)?;
        let items = row_mapping::count(totals, "total_items")?;
        let revision = Revision(row_mapping::get(totals, "revision")?);
        let has_parent = row_mapping::get(totals, "has_parent")?;
        let is_empty = row_mapping::get::<Option<Uuid>>(totals, "place")?.is_none();
        let is_counted = query.count_by.is_some();
        let counts = is_counted.then(|| member_counts::understand(rows)).transpose()?;
        // Joins keep the order. A row may be large, so it is dropped when its item is made.
        let rows = rows.iter().filter(|_| !is_empty);
        let found = rows.map(|row| self.found(query, row)).collect::<Result<Vec<_>, _>>()?;
        let mut page = listed(found, query.limit, self.is_backward);
        if let (PageStart::Offset(offset), true) = (&query.position, self.is_backward) {
            // The page ends at the offset, so its rows do not show it.
            page.has_more = offset.saturating_add(query.limit) < items;
        }
        Ok(Some((ListedPage { total, revision, counts, ..page }, has_parent)))
    }

    fn found(&self, query: &PageQuery, row: &QueryResult) -> DbResult<(SortPosition, ListedItem)> {
        let shown = row_mapping::shown_item(row, query.fields.as_ref(), self.mask.as_ref())?;
        let score = row_mapping::get(row, "score")?;
        Ok((self.order.place(row)?, ListedItem { shown, score, snippet: None, removed_at: None }))
    }
}

/// A page of rows that are one more than requested if more follow.
pub(crate) fn listed(
    mut found: Vec<(SortPosition, ListedItem)>,
    limit: u64,
    is_backward: bool,
) -> ListedPage {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let has_more = found.len() > limit;
    found.truncate(limit);
    if is_backward {
        found.reverse();
    }
    let place = |(place, _): &(SortPosition, ListedItem)| place.clone();
    let (first, last) = (found.first().map(place), found.last().map(place));
    let items = found.into_iter().map(|(_, listed)| listed).collect();
    let (total, revision) = (Total::NotCounted, Revision(0));
    ListedPage {
        total,
        revision,
        items,
        first,
        last,
        has_more,
        counts: None,
        hash: PageHash::default(),
    }
}

pub(crate) struct Selected {
    pub tables: String,
    pub source: String,
    pub conditions: String,
}

impl Selected {
    pub fn new(text: &mut SqlText, reach: &Reach, query: &PageQuery) -> Self {
        let mut conditions = candidates(text, reach);
        for filter in &query.selection.filters {
            conditions.push_str(" AND ");
            conditions.push_str(&condition(text, reach, filter));
        }
        // After the filters of the query, which are cheap.
        conditions.push_str(&and_in_reach(text, reach.condition(), &Row::of("w", "w.members")));
        match &query.selection.search {
            None => {
                let source = if concerns_updates(query) { by_update() } else { "items".to_owned() };
                Self { tables: String::new(), source, conditions }
            }
            Some(search) => Self {
                tables: format!(", {}", full_text::tables(text, reach, search, &conditions)),
                source: full_text::SOURCE.to_owned(),
                conditions: "TRUE".to_owned(),
            },
        }
    }

    fn matches(&self) -> String {
        let Self { tables, source, conditions } = self;
        if tables.is_empty() { count(source, conditions) } else { full_text::MATCHES.to_owned() }
    }
}

fn count(source: &str, conditions: &str) -> String {
    format!(
        "(SELECT COUNT(*) FROM (SELECT 1 AS one FROM {source} w WHERE {conditions} LIMIT {limit}) m)",
        source = with_members(source, &[conditions]),
        limit = COUNTED_MATCHES + 1
    )
}

/// The condition that the row `w` is in the scope, and found by an index if few are in reach.
fn candidates(text: &mut SqlText, reach: &Reach) -> String {
    let (scope, candidates) = (reach.scope(), and_is_candidate(text, reach));
    let parent = parent(scope).map(|parent| format!(" AND w.parent = {}", text.bind(parent)));
    let is_of_collection = text.is_of("w", scope.collection, !candidates.is_empty());
    format!("{is_of_collection}{}{candidates}", parent.unwrap_or_default())
}

/// The condition that the row `w` is in reach.
pub(crate) fn in_reach(text: &mut SqlText, reach: &Reach) -> String {
    candidates(text, reach) + &and_in_reach(text, reach.condition(), &Row::of("w", "w.members"))
}

pub(crate) fn is_everything(reach: &Reach, query: &PageQuery) -> bool {
    query.selection.is_everything() && reach.condition().is_none()
}

pub(crate) fn concerns_updates(query: &PageQuery) -> bool {
    let mut subjects = query.selection.filters.iter().map(|filter| &filter.subject);
    subjects.any(|subject| *subject == Subject::UpdatedAt)
        || query.order.first().is_some_and(|key| key.subject == Subject::UpdatedAt)
}

/// Items in the order of the log's index. An item has no change after its current one, so `<=`
/// finds the same rows as `=`, for which PostgreSQL expects almost no rows and plans badly.
fn by_update() -> String {
    format!(
        "(SELECT c.item_id AS id, c.collection, c.time AS updated_at, i.version, i.sequence, i.parent, i.created_at, i.created_by{} \
         FROM changes c JOIN items i ON i.id = c.item_id AND i.sequence <= c.sequence)",
        COLUMNS.map(|name| format!(", i.{name}")).concat()
    )
}

struct Window {
    runs: Vec<Run>,
    limit: String,
    offset: String,
    /// The rows up to the end of the page, if there are two runs.
    most: Option<String>,
    is_backward: bool,
}

impl Window {
    fn of(
        text: &mut SqlText,
        order: &Order,
        query: &PageQuery,
        known: Option<Totals>,
        mark: Option<&PageMark>,
    ) -> Self {
        let one_more = clamped(query.limit.saturating_add(1));
        if let Some(mark) = mark {
            let [sign, _] = order.signs_at_mark();
            let condition = format!(" AND w.id {sign} {}", text.bind(mark.id));
            let sorted = order.clause(false);
            let runs = vec![Run { condition, sorted, is_by_index: false }];
            let offset = "(SELECT CASE WHEN walked < 0 THEN 0 ELSE walked END FROM m)".to_owned();
            let limit = text.bind(one_more);
            return Self { runs, limit, offset, most: None, is_backward: false };
        }
        let (place, offset, is_backward) = match &query.position {
            PageStart::Offset(offset) => {
                let is_nearer_to_the_end = known.is_some_and(|totals| *offset > totals.items / 2);
                if is_nearer_to_the_end && order.is_by_id() {
                    return Self::from_the_end(text, order, query.limit, *offset);
                }
                (None, *offset, false)
            }
            PageStart::After(place) => (Some(place), 0, false),
            PageStart::Before(place) => (Some(place), 0, true),
        };
        let runs = order.runs(text, place, is_backward);
        let offset = clamped(offset);
        let most = (runs.len() > 1).then(|| text.bind(one_more.saturating_add(offset)));
        let (limit, offset) = (text.bind(one_more), text.bind(offset));
        Self { runs, limit, offset, most, is_backward }
    }

    /// Returns a table for the first of two runs, and the rows. The second run fills up the page.
    fn rows(
        &self,
        backend: DbBackend,
        order: &Order,
        selected: &Selected,
        columns: &str,
    ) -> (String, String) {
        let Self { limit, offset, .. } = self;
        let Selected { source, conditions, .. } = selected;
        let select = |columns: &str, Run { condition, sorted, is_by_index }: &Run| {
            let source = with_members(source, &[columns, conditions, condition, sorted]);
            // SQLite has no statistics. `+` hides the column from the index that it must not use.
            let hidden =
                is_by_index.then(|| conditions.replacen("w.collection", "+w.collection", 1));
            let is_sqlite = backend == DbBackend::Sqlite;
            let conditions = hidden.as_ref().filter(|_| is_sqlite).unwrap_or(conditions);
            format!(
                "SELECT {columns} FROM {source} w WHERE {conditions}{condition} ORDER BY {sorted}"
            )
        };
        let (Some(most), [first, second]) = (&self.most, self.runs.as_slice()) else {
            let rows = self.runs.first().map(|run| select(columns, run)).unwrap_or_default();
            return (String::new(), format!("{rows} LIMIT {limit} OFFSET {offset}"));
        };
        let (ordered, sorted) = order.output(self.is_backward);
        let columns = columns.to_owned() + &ordered;
        let [first, second] = [first, second].map(|run| select(&columns, run));
        (
            format!(", first AS MATERIALIZED ({first} LIMIT {most})"),
            format!(
                "SELECT * FROM (SELECT 0 AS part, first.* FROM first UNION ALL SELECT 1 AS part, l.* FROM \
                 ({second} LIMIT CAST({most} AS BIGINT) - (SELECT COUNT(*) FROM first)) l) u \
                 ORDER BY part, {sorted} LIMIT {limit} OFFSET {offset}"
            ),
        )
    }

    /// The statement itself counts the items, in the snapshot of the page.
    fn from_the_end(text: &mut SqlText, order: &Order, limit: u64, offset: u64) -> Self {
        let (limit, offset) = (text.bind(clamped(limit)), text.bind(clamped(offset)));
        let rest = format!("(total_items - CAST({offset} AS BIGINT))");
        Self {
            runs: order.runs(text, None, true),
            most: None,
            limit: format!(
                "(SELECT CASE WHEN {rest} < 0 THEN 0 WHEN {rest} < {limit} THEN {rest} ELSE {limit} END FROM t)"
            ),
            offset: format!(
                "(SELECT CASE WHEN {rest} > {limit} THEN {rest} - {limit} ELSE 0 END FROM t)"
            ),
            is_backward: true,
        }
    }
}

/// The mark led to the page if the items before it were passed, and all are accounted for.
const WAS_LED: &str = "(SELECT walked >= 0 AND is_complete FROM m)";

/// The table `m`: the number of items between a mark and a page, and if the number of all is right.
/// The log has the items added and removed since the mark.
fn walk(
    text: &mut SqlText,
    collection: Collection,
    order: &Order,
    query: &PageQuery,
    mark: &PageMark,
) -> String {
    let PageStart::Offset(offset) = query.position else { return String::new() };
    let [_, passed] = order.signs_at_mark();
    format!(
        ", m AS (SELECT CAST({between} - COALESCE(SUM(CASE WHEN c.item_id {passed} {id} THEN {added} ELSE 0 END), 0) AS BIGINT) AS walked, \
         {items} + COALESCE(SUM({added}), 0) = (SELECT total_items FROM t) AS is_complete FROM changes c \
         WHERE c.collection = {collection} AND c.sequence > {sequence})",
        between = clamped(offset) - mark.passed,
        id = text.bind(mark.id),
        added = change_log::ADDED,
        items = mark.items,
        collection = literal(collection.name()),
        sequence = text.bind(mark.sequence),
    )
}

pub(crate) fn totals_statement(
    dialect: &'static Dialect,
    scope: Scope,
    related: &[Collection],
) -> Statement {
    let mut text = SqlText::new(dialect);
    let totals = totals(&mut text, scope, related);
    text.finish(&totals)
}

/// The items in reach, counted as the matches of a query are, and the revision of the scope.
pub(crate) fn reached_totals_statement(
    dialect: &'static Dialect,
    reach: &Reach,
    related: &[Collection],
) -> Statement {
    let mut text = SqlText::new(dialect);
    let totals = totals(&mut text, reach.scope(), related);
    let reached = in_reach(&mut text, reach);
    text.finish(&format!(
        "SELECT {items} AS total_items, t.revision, t.has_parent FROM ({totals}) t",
        items = count("items", &reached),
    ))
}

/// A page shows effects of writes to related collections, so those count in the revision.
fn totals(text: &mut SqlText, scope: Scope, related: &[Collection]) -> String {
    let own = literal(scope.collection.name());
    let parent = text.bind(scope.parent.map_or_else(Uuid::nil, ItemId::uuid));
    let parent_name = text.bind(scope.collection.parent().map(Collection::name));
    let mut names: Vec<_> = related.iter().map(|collection| literal(collection.name())).collect();
    let counted = if scope.parent.is_none() {
        // In this form the engine looks into the primary key once for each.
        names.push(own.clone());
        format!("c.parent = {parent} AND c.collection IN ({})", names.join(", "))
    } else if names.is_empty() {
        format!("c.parent = {parent} AND c.collection = {own}")
    } else {
        let whole = text.bind(Uuid::nil());
        format!(
            "(c.parent = {parent} AND c.collection = {own}) OR (c.parent = {whole} AND c.collection IN ({}))",
            names.join(", ")
        )
    };
    format!(
        "SELECT CAST(COALESCE(SUM(CASE WHEN c.collection = {own} THEN c.items ELSE 0 END), 0) AS BIGINT) AS total_items, \
         CAST(COALESCE(SUM(c.writes), 0) AS BIGINT) AS revision, \
         EXISTS (SELECT 1 FROM items o WHERE o.id = {parent} AND o.collection = {parent_name}) AS has_parent \
         FROM totals c WHERE {counted}"
    )
}
