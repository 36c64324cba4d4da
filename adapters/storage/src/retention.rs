//! Removes the bodies of superseded versions: `changes` keeps its rows, without members. Each
//! statement can be repeated, so the work needs no transaction and can stop after any of them.

use std::collections::HashMap;

use application::ports::{
    CompactionLease, CompactionProgress, Result, Sequence, SupersededPage, SupersededVersion,
    VersionBodies,
};
use async_trait::async_trait;
use domain::{Collection, ItemId};
use jiff::Timestamp;
use sea_orm::{QueryResult, Statement};
use uuid::Uuid;

use crate::contents::digest;
use crate::engine::{Database, ReadMode};
use crate::error::DbResult;
use crate::sql::change_log::clamped;
use crate::sql::dialect::Dialect;
use crate::sql::row_mapping::{self, get, item_id, timestamp};
use crate::sql::sql_text::{SqlText, json, literal};

#[async_trait]
impl VersionBodies for Database {
    async fn superseded(
        &self,
        after: Sequence,
        before: Timestamp,
        limit: u64,
    ) -> Result<SupersededPage> {
        let dialect = self.reader.dialect();
        let values = [after.0.into(), clamped(limit).into(), before.as_microsecond().into()];
        let statement = dialect.statement(sql_file!("both/retention/superseded"), values);
        let page = |rows: &[_]| page(rows, limit);
        self.reader.query("superseded", ReadMode::SLOW, statement, page).await
    }

    async fn remove(&self, changes: &[Sequence], time: Timestamp) -> Result<u64> {
        let dialect = self.reader.dialect();
        let changes: Vec<_> = changes.iter().map(|change| change.0).collect();
        let values = [time.as_microsecond().into(), json(&changes)];
        self.execute("remove_bodies", sql_file!(dialect, "retention/bodies_remove"), values).await
    }

    async fn release_contents(&self, now: Timestamp) -> Result<u64> {
        let used = |row: &QueryResult| {
            Ok((digest(row)?, (get::<Uuid>(row, "id")?, get::<i64>(row, "uses")?)))
        };
        let text = sql_file!("both/retention/contents_used");
        let used = self.look("used_contents", text, [], used).await?;
        let mut unknown: HashMap<_, _> = used.into_iter().collect();
        if unknown.is_empty() {
            return Ok(0);
        }
        let known = |found, _| {
            unknown.remove(&found);
        };
        self.each_content(known).await?;
        let mut released = 0;
        for (id, uses) in unknown.into_values() {
            let values = [id.into(), uses.into(), now.as_microsecond().into()];
            let text = sql_file!("both/retention/contents_release");
            released += self.execute("release_content", text, values).await?;
        }
        Ok(released)
    }

    async fn related(&self, items: &[ItemId]) -> Result<Vec<[ItemId; 2]>> {
        let statement = related(self.reader.dialect(), items);
        self.reader.query("related", ReadMode::SLOW, statement, links).await
    }

    async fn known(&self, items: &[ItemId]) -> Result<Vec<ItemId>> {
        let mut text = SqlText::new(self.reader.dialect());
        let items = text.among_ids(items.iter().copied());
        let statement = text.finish(&format!(
            "SELECT c.item_id FROM changes c WHERE c.item_id {items} AND c.version = 1"
        ));
        let ids = |rows: &[_]| rows.iter().map(|row| item_id(row, "item_id")).collect();
        self.reader.query("known", ReadMode::SLOW, statement, ids).await
    }

    async fn lease(
        &self,
        CompactionLease { holder, now, until }: &CompactionLease,
    ) -> Result<Option<CompactionProgress>> {
        let values =
            [(&**holder).into(), until.as_microsecond().into(), now.as_microsecond().into()];
        if self.execute("lease", sql_file!("both/retention/lease"), values).await? == 0 {
            return Ok(None);
        }
        let found = self.look("progress", sql_file!("both/retention/progress"), [], found).await?;
        Ok(found.into_iter().next())
    }

    async fn advance(
        &self,
        holder: &str,
        CompactionProgress { policy, after, begins }: &CompactionProgress,
        is_released: bool,
    ) -> Result<()> {
        let values = [
            (&**policy).into(),
            after.0.into(),
            begins.as_microsecond().into(),
            i64::from(is_released).into(),
            holder.into(),
        ];
        self.execute("advance", sql_file!("both/retention/advance"), values).await.map(drop)
    }
}

fn page(rows: &[QueryResult], limit: u64) -> DbResult<SupersededPage> {
    let Some(first) = rows.first() else { return Ok(SupersededPage::default()) };
    let is_full = row_mapping::count(first, "changes")? >= limit;
    let read_to = get::<Option<i64>>(first, "read_to")?.filter(|_| is_full);
    let mut versions = Vec::with_capacity(rows.len());
    for row in rows {
        if let Some(change) = get(row, "sequence")? {
            versions.push(SupersededVersion {
                change: Sequence(change),
                item: item_id(row, "item_id")?,
                written: timestamp(row, "written")?,
                superseded: timestamp(row, "superseded")?,
                bytes: row_mapping::count(row, "bytes")?,
            });
        }
    }
    Ok(SupersededPage { versions, read_to: read_to.map(Sequence) })
}

/// Finds the parents of items, and the identifiers that their bodies contain.
fn related(dialect: &'static Dialect, items: &[ItemId]) -> Statement {
    let mut text = SqlText::new(dialect);
    let items = text.among_ids(items.iter().copied());
    let references = Collection::all().flat_map(|collection| {
        let references = collection.spec().references.iter();
        references.map(move |to| {
            let [collection, member] = [collection.name(), to.member].map(literal);
            format!("WHEN {collection} THEN c.members ->> {member} ")
        })
    });
    let target = format!("CASE c.collection {}END", references.collect::<String>());
    text.finish(&format!(
        "SELECT DISTINCT f.item_id, f.parent, CASE length(f.target) WHEN 36 THEN f.target END AS target \
         FROM (SELECT c.item_id, c.parent, {target} AS target FROM changes c WHERE c.item_id {items}) f"
    ))
}

fn links(rows: &[QueryResult]) -> DbResult<Vec<[ItemId; 2]>> {
    let mut links = Vec::new();
    for row in rows {
        let item = item_id(row, "item_id")?;
        let target: Option<String> = get(row, "target")?;
        let target = target.and_then(|target| ItemId::parse(&target));
        let targets = [row_mapping::id(row, "parent")?, target];
        links.extend(targets.into_iter().flatten().map(|target| [item, target]));
    }
    Ok(links)
}

fn found(row: &QueryResult) -> DbResult<CompactionProgress> {
    Ok(CompactionProgress {
        policy: get::<String>(row, "policy")?.into(),
        after: Sequence(get(row, "sequence")?),
        begins: timestamp(row, "begins_at")?,
    })
}
