//! The register of the bytes of contents: the tables `contents` and `content_store`.

use application::{ContentId, ContentRegister, KeptContent, RepositoryError};
use async_trait::async_trait;
use domain::ContentDigest;
use jiff::Timestamp;
use sea_orm::{DbErr, QueryResult, Value};

use crate::engine::{Database, ReadMode, query};
use crate::sql::change_log::clamped;
use crate::sql::row_mapping::{count, get};

impl Database {
    /// Changes one row; a version conflict if there is none.
    async fn change_one<const N: usize>(
        &self,
        step: &'static str,
        text: &str,
        values: [Value; N],
    ) -> Result<(), RepositoryError> {
        match self.execute(step, text, values).await? {
            0 => Err(RepositoryError::VersionConflict),
            _ => Ok(()),
        }
    }

    async fn look<T>(
        &self,
        step: &'static str,
        text: &str,
        values: impl IntoIterator<Item = Value>,
        read_row: impl Fn(&QueryResult) -> Result<T, DbErr> + Send,
    ) -> Result<Vec<T>, RepositoryError> {
        let statement = self.reader.dialect().statement(text, values);
        let rows = |rows: Vec<QueryResult>| rows.iter().map(read_row).collect();
        query(&*self.reader, step, ReadMode::QUICK, statement, rows).await
    }

    /// Returns the id of the folder or bucket that has the bytes (`None` if none was set), and true
    /// if any bytes are known.
    pub async fn content_store(&self) -> Result<(Option<String>, bool), RepositoryError> {
        let known = |row: &QueryResult| Ok((get(row, "id")?, get::<i64>(row, "names")? > 0));
        let found = self.look("content_store", sql_file!("both/contents/store"), [], known).await?;
        Ok(found.into_iter().next().unwrap_or_default())
    }

    /// Sets the id unless one is set.
    pub async fn set_content_store(&self, id: &str) -> Result<(), RepositoryError> {
        let text = sql_file!("both/contents/set_store");
        self.execute("content_store", text, [id.into()]).await.map(drop)
    }
}

#[async_trait]
impl ContentRegister for Database {
    async fn announce(&self, id: ContentId, lease: Timestamp) -> Result<(), RepositoryError> {
        let values = [id.0.into(), lease.as_microsecond().into()];
        self.change_one("announce_content", sql_file!("both/contents/announce"), values).await
    }

    async fn extend(&self, id: ContentId, lease: Timestamp) -> Result<(), RepositoryError> {
        let values = [id.0.into(), lease.as_microsecond().into()];
        self.change_one("extend_content", sql_file!("both/contents/extend"), values).await
    }

    async fn keep(
        &self,
        KeptContent { id, digest, size, crc32 }: KeptContent,
        lease: Timestamp,
    ) -> Result<(), RepositoryError> {
        let (digest, lease) = (digest.to_string(), lease.as_microsecond());
        let extend = || {
            let values = [digest.as_str().into(), lease.into()];
            self.change_one("extend_content", sql_file!("both/contents/extend_kept"), values)
        };
        if extend().await.is_ok() {
            return Ok(());
        }
        let size = size.cast_signed().into();
        let values =
            [id.0.into(), digest.as_str().into(), size, i64::from(crc32).into(), lease.into()];
        match self.change_one("keep_content", sql_file!("both/contents/keep"), values).await {
            Ok(()) => Ok(()),
            // The same bytes may have been kept meanwhile.
            Err(error) => extend().await.map_err(|_| error),
        }
    }

    async fn find(&self, digest: ContentDigest) -> Result<Option<KeptContent>, RepositoryError> {
        let kept = |row: &QueryResult| {
            let crc32 = u32::try_from(count(row, "crc32")?).unwrap_or_default();
            Ok(KeptContent {
                id: ContentId(get(row, "id")?),
                digest,
                size: count(row, "size")?,
                crc32,
            })
        };
        let digest = [digest.to_string().into()];
        let found =
            self.look("find_content", sql_file!("both/contents/find"), digest, kept).await?;
        Ok(found.into_iter().next())
    }

    async fn doom(&self, id: ContentId) -> Result<(), RepositoryError> {
        self.execute("doom_content", sql_file!("both/contents/doom"), [id.0.into()]).await.map(drop)
    }

    async fn doom_expired(&self, now: Timestamp) -> Result<(), RepositoryError> {
        let values = [now.as_microsecond().into()];
        self.execute("doom_contents", sql_file!("both/contents/doom_expired"), values)
            .await
            .map(drop)
    }

    async fn doomed(&self, limit: u64) -> Result<Vec<ContentId>, RepositoryError> {
        let name = |row: &QueryResult| get(row, "id").map(ContentId);
        let limit = [clamped(limit).into()];
        self.look("doomed_contents", sql_file!("both/contents/doomed"), limit, name).await
    }

    async fn forget(&self, id: ContentId) -> Result<(), RepositoryError> {
        let values = [id.0.into()];
        self.execute("forget_content", sql_file!("both/contents/forget"), values).await.map(drop)
    }
}
