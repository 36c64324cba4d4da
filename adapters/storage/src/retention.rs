//! Removing the bodies of superseded versions: `changes` keeps its rows, without members.
//!
//! Each statement can be repeated, so the work needs no transaction and can stop after any of them.

use application::{
    CompactionLease, CompactionProgress, RepositoryError, Sequence, SupersededPage,
    SupersededVersion, VersionBodies,
};
use async_trait::async_trait;
use domain::{Collection, ItemId};
use jiff::Timestamp;
use sea_orm::{DbErr, QueryResult};
use serde_json::json;

use crate::engine::{Database, ReadMode, query};
use crate::sql::change_log::clamped;
use crate::sql::row_mapping::{self, get, item_id, timestamp};
use crate::sql::sql_text::json as parameter;
use crate::sql::statements::listed;

#[async_trait]
impl VersionBodies for Database {
    async fn superseded(
        &self,
        after: Sequence,
        before: Timestamp,
        limit: u64,
    ) -> Result<SupersededPage, RepositoryError> {
        let dialect = self.reader.dialect();
        let values = [after.0.into(), clamped(limit).into(), before.as_microsecond().into()];
        let statement = dialect.statement(sql_file!(dialect, "superseded"), values);
        query(&*self.reader, "superseded", ReadMode::SLOW, statement, |rows| page(&rows, limit))
            .await
    }

    async fn remove(&self, changes: &[Sequence], time: Timestamp) -> Result<u64, RepositoryError> {
        let dialect = self.reader.dialect();
        let numbers: Vec<_> = changes.iter().map(|change| change.0).collect();
        let values = [time.as_microsecond().into(), parameter(&numbers)];
        self.execute("remove_bodies", sql_file!(dialect, "bodies_remove"), values).await
    }

    async fn related(&self, items: &[ItemId]) -> Result<Vec<[ItemId; 2]>, RepositoryError> {
        let dialect = self.reader.dialect();
        let values = [listed(items.iter().copied()), parameter(&references())];
        let statement = dialect.statement(sql_file!(dialect, "related"), values);
        query(&*self.reader, "related", ReadMode::SLOW, statement, |rows| links(&rows)).await
    }

    async fn known(&self, items: &[ItemId]) -> Result<Vec<ItemId>, RepositoryError> {
        let dialect = self.reader.dialect();
        let among = [listed(items.iter().copied())];
        let statement = dialect.statement(sql_file!(dialect, "known"), among);
        let ids = |rows: Vec<QueryResult>| rows.iter().map(|row| item_id(row, "item_id")).collect();
        query(&*self.reader, "known", ReadMode::SLOW, statement, ids).await
    }

    async fn lease(
        &self,
        CompactionLease { holder, now, until }: &CompactionLease,
    ) -> Result<Option<CompactionProgress>, RepositoryError> {
        let values =
            [(&**holder).into(), until.as_microsecond().into(), now.as_microsecond().into()];
        if self.execute("lease", sql_file!("both/compaction_lease"), values).await? == 0 {
            return Ok(None);
        }
        let progress = sql_file!("both/compaction_progress");
        let progress = self.reader.dialect().statement(progress, []);
        let found = |rows: Vec<QueryResult>| rows.first().map(found).transpose();
        query(&*self.reader, "progress", ReadMode::QUICK, progress, found).await
    }

    async fn advance(
        &self,
        holder: &str,
        CompactionProgress { policy, after, begins }: &CompactionProgress,
        is_released: bool,
    ) -> Result<(), RepositoryError> {
        let values = [
            (&**policy).into(),
            after.0.into(),
            begins.as_microsecond().into(),
            i64::from(is_released).into(),
            holder.into(),
        ];
        self.execute("advance", sql_file!("both/compaction_advance"), values).await.map(drop)
    }
}

/// The versions that `superseded.sql` found.
fn page(rows: &[QueryResult], limit: u64) -> Result<SupersededPage, DbErr> {
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

/// All members that are references, for `related.sql`.
fn references() -> Vec<serde_json::Value> {
    let references = |collection: Collection| {
        let members = collection.spec().references.iter().map(|reference| reference.member);
        members.map(move |member| json!({ "collection": collection.name(), "member": member }))
    };
    Collection::all().flat_map(references).collect()
}

/// The links that `related.sql` found.
fn links(rows: &[QueryResult]) -> Result<Vec<[ItemId; 2]>, DbErr> {
    let link = |row: &QueryResult| {
        let target: Option<String> = get(row, "target")?;
        let target = target.and_then(|target| ItemId::parse(&target));
        let target = row_mapping::id(row, "parent")?.or(target);
        let item = item_id(row, "item_id")?;
        Ok(target.map(|target| [item, target]))
    };
    rows.iter().filter_map(|row| link(row).transpose()).collect()
}

fn found(row: &QueryResult) -> Result<CompactionProgress, DbErr> {
    Ok(CompactionProgress {
        policy: get::<String>(row, "policy")?.into(),
        after: Sequence(get(row, "sequence")?),
        begins: timestamp(row, "begins_at")?,
    })
}
