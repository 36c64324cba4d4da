//! The register of the bytes of contents: the tables `contents` and `content_store`.

use std::collections::HashSet;

use application::ports::{
    ContentDamage, ContentId, ContentRegister, ContentTotals, KeptContent, RepositoryError, Result,
};
use async_trait::async_trait;
use domain::{Content, ContentDigest};
use jiff::Timestamp;
use sea_orm::{DbErr, QueryResult, Value};
use uuid::Uuid;

use crate::engine::{Database, ReadMode};
use crate::error::DbResult;
use crate::sql::change_log::clamped;
use crate::sql::row_mapping::{count, get};
use crate::store::Store;

impl Database {
    /// Changes one row; a version conflict if there is none.
    async fn change_one<const N: usize>(
        &self,
        step: &'static str,
        text: &str,
        values: [Value; N],
    ) -> Result<()> {
        match self.execute(step, text, values).await? {
            0 => Err(RepositoryError::VersionConflict),
            _ => Ok(()),
        }
    }

    pub(crate) async fn look<T>(
        &self,
        step: &'static str,
        text: &str,
        values: impl IntoIterator<Item = Value>,
        read_row: impl Fn(&QueryResult) -> DbResult<T> + Send,
    ) -> Result<Vec<T>> {
        let statement = self.reader.dialect().statement(text, values);
        let rows = |rows: &[_]| rows.iter().map(read_row).collect();
        self.reader.query(step, ReadMode::QUICK, statement, rows).await
    }

    /// Calls `each` with the content of every version, and the version as text.
    pub(crate) async fn each_content(
        &self,
        mut each: impl FnMut(ContentDigest, String) + Send,
    ) -> Result<()> {
        let mut after = 0_i64;
        loop {
            let found = |row: &QueryResult| {
                let meta = get::<Option<String>>(row, "meta")?;
                let members = meta.map(|meta| format!("{{\"_meta\":{meta}}}"));
                let digest = members.and_then(|it| Content::of(&it)).map(|content| content.digest);
                let (id, version) = (get::<Uuid>(row, "item_id")?, get::<i64>(row, "version")?);
                let text = format!("{} {id}, version {version}", get::<String>(row, "collection")?);
                Ok((get::<i64>(row, "sequence")?, digest, text))
            };
            let text = sql_file!("both/contents/described");
            let page = self.look("described_contents", text, [after.into()], found).await?;
            let Some((last, ..)) = page.last() else { return Ok(()) };
            after = *last;
            for (_, digest, version) in page {
                if let Some(digest) = digest {
                    each(digest, version);
                }
            }
        }
    }
}

impl Store {
    /// Returns the id of the folder or bucket that has the bytes (`None` if none was set), and true
    /// if any bytes are known.
    pub async fn content_store(&self) -> Result<(Option<String>, bool)> {
        let known = |row: &QueryResult| Ok((get(row, "id")?, get::<i64>(row, "names")? > 0));
        let text = sql_file!("both/contents/store");
        let found = self.database.look("content_store", text, [], known).await?;
        Ok(found.into_iter().next().unwrap_or_default())
    }

    /// Returns the versions that have a content, as text. Reads the whole change log.
    pub async fn versions_with_content(&self, digest: ContentDigest) -> Result<Vec<String>> {
        let mut versions = Vec::new();
        let is_it = |found, version| {
            if found == digest {
                versions.push(version);
            }
        };
        self.database.each_content(is_it).await?;
        Ok(versions)
    }

    /// Returns the digests of all contents. Reads the whole change log.
    pub async fn content_digests(&self) -> Result<HashSet<ContentDigest>> {
        let mut digests = HashSet::new();
        let add = |found, _| {
            digests.insert(found);
        };
        self.database.each_content(add).await?;
        Ok(digests)
    }

    /// Sets the id unless one is set.
    pub async fn set_content_store(&self, id: &str) -> Result<()> {
        let text = sql_file!("both/contents/set_store");
        self.database.execute("content_store", text, [id.into()]).await.map(drop)
    }
}

#[async_trait]
impl ContentRegister for Database {
    async fn announce(&self, id: ContentId, lease: Timestamp) -> Result<()> {
        let values = [id.0.into(), lease.as_microsecond().into()];
        self.change_one("announce_content", sql_file!("both/contents/announce"), values).await
    }

    async fn extend(&self, id: ContentId, place: Option<String>, lease: Timestamp) -> Result<()> {
        let values = [id.0.into(), lease.as_microsecond().into(), place.into()];
        self.change_one("extend_content", sql_file!("both/contents/extend"), values).await
    }

    async fn keep(
        &self,
        KeptContent { id, digest, size, crc32, .. }: KeptContent,
        now: Timestamp,
        lease: Timestamp,
    ) -> Result<()> {
        let (digest, lease) = (Value::from(digest.to_string()), lease.as_microsecond());
        let (size, crc32) = (size.cast_signed(), i64::from(crc32));
        let now = now.as_microsecond();
        let extend = || {
            let values = [digest.clone(), lease.into()];
            self.change_one("extend_content", sql_file!("both/contents/extend_kept"), values)
        };
        if extend().await.is_ok() {
            return Ok(());
        }
        let text = sql_file!("both/contents/doom_damaged");
        // Items have the damaged bytes, so those that replace them are in use.
        let uses = self.execute("doom_content", text, [digest.clone()]).await?.cast_signed();
        let values = [
            id.0.into(),
            digest.clone(),
            size.into(),
            crc32.into(),
            lease.into(),
            now.into(),
            uses.into(),
        ];
        match self.change_one("keep_content", sql_file!("both/contents/keep"), values).await {
            Ok(()) => Ok(()),
            // The same bytes may have been kept meanwhile.
            Err(error) => extend().await.map_err(|_| error),
        }
    }

    async fn find(&self, digest: ContentDigest) -> Result<Option<KeptContent>> {
        let digest = [digest.to_string().into()];
        let found =
            self.look("find_content", sql_file!("both/contents/find"), digest, kept).await?;
        Ok(found.into_iter().next())
    }

    async fn doom(&self, id: ContentId) -> Result<bool> {
        let doomed = self.execute("doom_content", sql_file!("both/contents/doom"), [id.0.into()]);
        Ok(doomed.await? > 0)
    }

    async fn doom_expired(&self, now: Timestamp) -> Result<()> {
        let values = [now.as_microsecond().into()];
        self.execute("doom_contents", sql_file!("both/contents/doom_expired"), values)
            .await
            .map(drop)
    }

    async fn doomed(&self, limit: u64) -> Result<Vec<(ContentId, Option<String>)>> {
        let name = |row: &QueryResult| Ok((ContentId(get(row, "id")?), get(row, "place")?));
        let limit = [clamped(limit).into()];
        self.look("doomed_contents", sql_file!("both/contents/doomed"), limit, name).await
    }

    async fn forget(&self, id: ContentId) -> Result<()> {
        let values = [id.0.into()];
        self.execute("forget_content", sql_file!("both/contents/forget"), values).await.map(drop)
    }

    async fn adopt(
        &self,
        KeptContent { id, digest, size, crc32, .. }: KeptContent,
        now: Timestamp,
    ) -> Result<()> {
        let (size, crc32) = (size.cast_signed().into(), i64::from(crc32).into());
        let values =
            [id.0.into(), digest.to_string().into(), size, crc32, now.as_microsecond().into()];
        let text = sql_file!("both/contents/adopt");
        self.execute("adopt_content", text, values).await.map(drop)
    }

    async fn knows(&self, id: ContentId) -> Result<bool> {
        let text = sql_file!("both/contents/knows");
        let found = self.look("find_content", text, [id.0.into()], |row| get::<i32>(row, "known"));
        Ok(!found.await?.is_empty())
    }

    async fn kept_after(&self, id: ContentId, limit: u64) -> Result<Vec<KeptContent>> {
        let values = [id.0.into(), clamped(limit).into()];
        self.look("list_contents", sql_file!("both/contents/kept_after"), values, kept).await
    }

    async fn claim_verification(
        &self,
        before: Timestamp,
        damaged_before: Timestamp,
        now: Timestamp,
    ) -> Result<Option<KeptContent>> {
        let [before, damaged_before, now] =
            [before, damaged_before, now].map(|time| Value::from(time.as_microsecond()));
        loop {
            let text = sql_file!("both/contents/verified_first");
            let found = self
                .look("verify_content", text, [before.clone(), damaged_before.clone()], kept)
                .await?;
            let Some(content) = found.into_iter().next() else { return Ok(None) };
            let values = [content.id.0.into(), before.clone(), damaged_before.clone(), now.clone()];
            let text = sql_file!("both/contents/claim_verification");
            // Another instance may have claimed them meanwhile.
            if self.execute("verify_content", text, values).await? > 0 {
                return Ok(Some(content));
            }
        }
    }

    async fn record_damage(&self, id: ContentId, damage: Option<ContentDamage>) -> Result<()> {
        let values = [id.0.into(), damage.map(ContentDamage::name).into()];
        let text = sql_file!("both/contents/record_damage");
        self.execute("verify_content", text, values).await.map(drop)
    }

    async fn totals(&self) -> Result<ContentTotals> {
        let totals = |row: &QueryResult| {
            Ok(ContentTotals {
                arriving: count(row, "arriving")?,
                kept: count(row, "kept")?,
                bytes: count(row, "bytes")?,
                doomed: count(row, "doomed")?,
                damaged: count(row, "damaged")?,
            })
        };
        let found = self.look("count_contents", sql_file!("both/contents/totals"), [], totals);
        Ok(found.await?.into_iter().next().unwrap_or_default())
    }
}

pub(crate) fn digest(row: &QueryResult) -> DbResult<ContentDigest> {
    let digest: String = get(row, "sha256")?;
    ContentDigest::parse(&digest).ok_or_else(|| DbErr::Type("no digest".to_owned()))
}

fn kept(row: &QueryResult) -> DbResult<KeptContent> {
    Ok(KeptContent {
        id: ContentId(get(row, "id")?),
        digest: digest(row)?,
        size: count(row, "size")?,
        crc32: u32::try_from(count(row, "crc32")?).unwrap_or_default(),
        is_damaged: get::<Option<String>>(row, "damage")?.is_some(),
    })
}
