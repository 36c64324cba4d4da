//! An S3 bucket, or a prefix in it: `XX/NAME` and `store-id` as in a folder, so that a copy of either is
//! the other.
//!
//! An upload of more than one part is a multipart upload, which the register knows before its first
//! part. Nothing depends on conditional requests, copies or listings, which servers implement
//! differently. The parts wait in temporary files, because S3 takes a part only as a whole.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use application::{
    ContentError, ContentId, ContentReader, ContentResult, ContentStore, ContentWriter,
};
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::TryStreamExt as _;
use futures_util::stream::BoxStream;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::multipart::{MultipartStore as _, PartId};
use object_store::path::Path;
use object_store::{
    ClientOptions, Error, GetOptions, MultipartId, ObjectMeta, ObjectStore as _,
    ObjectStoreExt as _, RetryConfig,
};
use percent_encoding::percent_decode_str;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::layout::{LocationError, STORE_ID, shard, without_settings};
use crate::spool::Spool;

/// The bytes of a part. Some servers require equal parts; S3 permits 10,000.
const PART: usize = 8 << 20;

/// The parts that are in memory at a time.
const PARTS_IN_MEMORY: usize = 2;

/// The retries of a request, and the time after which none begins.
const RETRIES: usize = 5;
const RETRY_TIMEOUT: Duration = Duration::from_secs(15);

/// The time without a byte of a response after which a request has failed.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// The attempts to continue a download without a new byte.
const CONTINUATIONS: u32 = 5;

/// Clones share the connections.
#[derive(Clone, Debug)]
pub struct Bucket {
    store: Arc<AmazonS3>,
    prefix: Path,
    /// The folder for parts that are not complete.
    temp_dir: Arc<std::path::Path>,
    memory: Arc<Semaphore>,
}

impl Bucket {
    /// Reads the endpoint, region and credentials from the variables `AWS_*`. The query of the address
    /// comes first: `s3://BUCKET/PREFIX?endpoint=URL&region=NAME`.
    ///
    /// # Errors
    /// If the address or a variable is wrong.
    pub fn open(url: &str, temp_dir: &std::path::Path) -> Result<Self, LocationError> {
        let name = without_settings(url);
        let unusable = |error: Error| LocationError::Unusable(name.to_owned(), error.into());
        // Another part of the process may have chosen the provider already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (address, query) = url.split_once('?').unwrap_or((url, ""));
        let prefix = address.splitn(4, '/').nth(3).unwrap_or_default();
        let prefix = Path::parse(prefix.trim_end_matches('/'));
        let prefix = prefix.map_err(|error| unusable(error.into()))?;
        // A transfer may take hours, but not a pause in it.
        let client = ClientOptions::new()
            .with_timeout_disabled()
            .with_read_timeout(READ_TIMEOUT)
            .with_connect_timeout(Duration::from_secs(5))
            .with_allow_http(true);
        let retry = RetryConfig {
            max_retries: RETRIES,
            retry_timeout: RETRY_TIMEOUT,
            ..RetryConfig::default()
        };
        let mut builder = AmazonS3Builder::from_env()
            .with_url(address)
            .with_client_options(client)
            .with_retry(retry);
        for setting in query.split('&').filter(|setting| !setting.is_empty()) {
            let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
            let value = percent_decode_str(value).decode_utf8_lossy();
            builder = builder.with_config(key.parse().map_err(unusable)?, value);
        }
        let store = builder.build().map_err(unusable)?;
        let memory = Arc::new(Semaphore::new(PARTS_IN_MEMORY));
        Ok(Self { store: Arc::new(store), prefix, temp_dir: temp_dir.into(), memory })
    }

    pub async fn id(&self) -> Result<Option<String>, Error> {
        let found = match self.store.get(&self.prefix.clone().join(STORE_ID)).await {
            Ok(found) => found.bytes().await?,
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(Some(String::from_utf8_lossy(&found).trim().to_owned()))
    }

    pub async fn set_id(&self, id: &str) -> Result<(), Error> {
        let path = self.prefix.clone().join(STORE_ID);
        self.store.put(&path, format!("{id}\n").into()).await.map(drop)
    }

    fn path(&self, id: ContentId) -> Path {
        let name = id.0.to_string();
        self.prefix.clone().join(shard(&name)).join(name.as_str())
    }
}

fn failed(step: &'static str, path: &Path) -> impl Fn(Error) -> ContentError {
    move |error| {
        let meaning = match error {
            Error::NotFound { .. } if step == "open" => ContentError::Missing,
            _ => ContentError::Unavailable,
        };
        tracing::error!(%error, step, %path, "the content store failed");
        meaning
    }
}

#[async_trait]
impl ContentStore for Bucket {
    async fn begin(
        &self,
        id: ContentId,
        expected: Option<u64>,
    ) -> ContentResult<Box<dyn ContentWriter>> {
        let path = self.path(id);
        let spool = Spool::temporary(id, Arc::clone(&self.temp_dir)).await?;
        let upload = if expected.is_none_or(|expected| expected > PART as u64) {
            let begun = self.store.create_multipart(&path).await;
            Some(begun.map_err(failed("begin", &path))?)
        } else {
            None
        };
        let (bucket, parts, sending) = (self.clone(), Vec::new(), JoinSet::new());
        Ok(Box::new(BucketWriter { bucket, path, upload, parts, sending, spool, sent: 0 }))
    }

    async fn open(&self, id: ContentId, part: Range<u64>) -> ContentResult<Box<dyn ContentReader>> {
        let path = self.path(id);
        let mut reader = BucketReader { store: Arc::clone(&self.store), path, part, open: None };
        if reader.part.is_empty() {
            let found = self.store.head(&reader.path).await;
            found.map_err(failed("open", &reader.path))?;
        } else {
            reader.open = Some(reader.request().await?);
        }
        Ok(Box::new(reader))
    }

    async fn remove(&self, id: ContentId, place: Option<&str>) -> ContentResult<()> {
        let path = self.path(id);
        let aborted = match place.map(MultipartId::from) {
            Some(upload) => self.store.abort_multipart(&path, &upload).await,
            None => Ok(()),
        };
        for done in [aborted, self.store.delete(&path).await] {
            match done {
                Ok(()) | Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(failed("remove", &path)(error)),
            }
        }
        Ok(())
    }

    async fn names(&self, last_byte: u8) -> ContentResult<Vec<(ContentId, u64)>> {
        let folder = self.prefix.clone().join(format!("{last_byte:02x}"));
        let name = |object: ObjectMeta| {
            Some((ContentId(object.location.filename()?.parse().ok()?), object.size))
        };
        let listed = self.store.list(Some(&folder));
        let names = listed.try_filter_map(async |object| Ok(name(object))).try_collect().await;
        names.map_err(failed("list", &folder))
    }
}

struct BucketWriter {
    bucket: Bucket,
    path: Path,
    upload: Option<MultipartId>,
    parts: Vec<PartId>,
    /// At most one part, which is sent while the next one arrives.
    sending: JoinSet<Result<PartId, Error>>,
    /// The bytes after the last part.
    spool: Spool,
    /// The bytes of the parts.
    sent: u64,
}

impl BucketWriter {
    async fn send_part(&mut self, upload: &MultipartId) -> ContentResult<()> {
        self.part_sent().await?;
        let memory = Arc::clone(&self.bucket.memory).acquire_owned().await;
        let bytes = self.spool.take().await?;
        self.sent += bytes.len() as u64;
        let (store, path) = (Arc::clone(&self.bucket.store), self.path.clone());
        let (upload, number) = (upload.clone(), self.parts.len());
        self.sending.spawn(async move {
            let _memory = memory;
            store.put_part(&path, &upload, number, bytes.into()).await
        });
        Ok(())
    }

    async fn part_sent(&mut self) -> ContentResult<()> {
        if let Some(sent) = self.sending.join_next().await {
            let sent = sent.map_err(|_| ContentError::Unavailable)?;
            self.parts.push(sent.map_err(failed("append", &self.path))?);
        }
        Ok(())
    }

    /// A server may report an error for a request that succeeded, so the size decides.
    async fn check_size(&self, done: Result<(), Error>) -> ContentResult<()> {
        let found = self.bucket.store.head(&self.path).await;
        match (done, found) {
            (_, Ok(found)) if found.size == self.sent => Ok(()),
            (Err(error), _) | (Ok(()), Err(error)) => Err(failed("finish", &self.path)(error)),
            (Ok(()), Ok(found)) => {
                let (path, size, sent) = (&self.path, found.size, self.sent);
                tracing::error!(%path, size, sent, "the content store lost bytes");
                Err(ContentError::Unavailable)
            }
        }
    }
}

#[async_trait]
impl ContentWriter for BucketWriter {
    fn place(&self) -> Option<&str> {
        self.upload.as_deref()
    }

    async fn append(&mut self, mut piece: Bytes) -> ContentResult<()> {
        while let Some(upload) = self.upload.clone()
            && self.spool.size() + piece.len() > PART
        {
            let first = piece.split_to(PART - self.spool.size());
            self.spool.append(first).await?;
            self.send_part(&upload).await?;
        }
        self.spool.append(piece).await
    }

    async fn finish(mut self: Box<Self>) -> ContentResult<()> {
        let upload = self.upload.clone();
        if let Some(upload) = upload.as_ref().filter(|_| self.sent > 0) {
            self.send_part(upload).await?;
            self.part_sent().await?;
            let parts = std::mem::take(&mut self.parts);
            let done = self.bucket.store.complete_multipart(&self.path, upload, parts).await;
            return self.check_size(done.map(drop)).await;
        }
        let memory = Arc::clone(&self.bucket.memory);
        let _memory = memory.acquire().await;
        let bytes = self.spool.take().await?;
        self.sent = bytes.len() as u64;
        let done = self.bucket.store.put(&self.path, bytes.into()).await;
        self.check_size(done.map(drop)).await?;
        if let Some(upload) = &upload {
            match self.bucket.store.abort_multipart(&self.path, upload).await {
                // Garage ends the uploads of an object when it stores another one under its key.
                Ok(()) | Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(failed("finish", &self.path)(error)),
            }
        }
        Ok(())
    }
}

struct BucketReader {
    store: Arc<AmazonS3>,
    path: Path,
    /// The rest of the part.
    part: Range<u64>,
    /// `None` after a failure.
    open: Option<BoxStream<'static, Result<Bytes, Error>>>,
}

impl BucketReader {
    async fn request(&mut self) -> ContentResult<BoxStream<'static, Result<Bytes, Error>>> {
        // Some servers answer a range that is the whole object as if there was none, which is an error
        // to `object_store`.
        let part = (self.part.start > 0).then(|| self.part.clone());
        let options = GetOptions::new().with_range(part);
        let found = self.store.get_opts(&self.path, options).await;
        match found {
            Ok(found) if found.meta.size >= self.part.end => Ok(found.into_stream()),
            Ok(found) => Err(self.truncated(found.meta.size)),
            // Perhaps the object ends before the part begins.
            Err(error) => match self.store.head(&self.path).await {
                Ok(found) if found.size < self.part.end => Err(self.truncated(found.size)),
                _ => Err(failed("open", &self.path)(error)),
            },
        }
    }

    fn truncated(&self, size: u64) -> ContentError {
        tracing::error!(path = %self.path, size, "the content store has fewer bytes than it stored");
        ContentError::Corrupted
    }

    /// The next piece of the response. `None` if it ended early.
    async fn piece(&mut self) -> ContentResult<Option<Bytes>> {
        if self.open.is_none() {
            self.open = Some(self.request().await?);
        }
        let Some(open) = &mut self.open else { return Ok(None) };
        open.try_next().await.map_err(failed("read", &self.path))
    }
}

#[async_trait]
impl ContentReader for BucketReader {
    /// Bytes under a name never change, so a download that breaks off continues where it was.
    async fn next(&mut self) -> ContentResult<Option<Bytes>> {
        let mut failures = 0;
        while !self.part.is_empty() {
            match self.piece().await {
                Ok(Some(piece)) if piece.is_empty() => {}
                Ok(Some(mut piece)) => {
                    let left = usize::try_from(self.part.end - self.part.start);
                    piece.truncate(left.unwrap_or(usize::MAX));
                    self.part.start += piece.len() as u64;
                    return Ok(Some(piece));
                }
                Ok(None) => return Err(ContentError::Corrupted),
                Err(ContentError::Unavailable) if failures < CONTINUATIONS => {
                    self.open = None;
                    failures += 1;
                    sleep(Duration::from_millis(100 << failures)).await;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}
