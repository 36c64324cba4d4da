//! `/imports/{group}`: the rows of a file as items.

use std::sync::Arc;
use std::time::Duration;

use application::table::{FORMATS, Format, FormatKind};
use application::{
    IdempotencyKey, Import, ImportMode, ImportRow, Imported, ResourceUseCases, RowOutcome,
    WriteOptions,
};
use bytes::Bytes;
use domain::Collection;
use poem::http::header::CONTENT_TYPE;
use poem::{Endpoint, Request, Response, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;

use crate::endpoints::resources::HttpContext;
use crate::groups::Group;
use crate::hal;
use crate::headers::idempotency_key;
use crate::headers::media_type::{MediaType, has_content_type};
use crate::links::IMPORTS;
use crate::middleware::method_router::Negotiated;
use crate::problem::{Problem, kinds};
use crate::query::ImportQuery;
use crate::request::body::{BodyReader, aside_if_large, is_encoded, unsupported};
use crate::request::caller::caller_of;
use crate::request::details::request_id_of;
use crate::tables::{FileError, csv, ndjson, xlsx};

/// How many times as long as another request an import may take.
const TIME_FACTOR: u32 = 10;

/// How long an import waits until another one has done its workbook.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(15);

/// The parts that all imports share.
pub struct ImportResources {
    pub context: Arc<HttpContext>,
    /// Bodies larger than others may be.
    pub bodies: BodyReader,
    /// A workbook unpacks to many times the size of its body, so there is one at a time.
    pub workbooks: Arc<Semaphore>,
    /// Most bytes of a body, and of what it unpacks to.
    pub most_bytes: usize,
}

/// The imports into a group.
pub struct Imports {
    pub group: Group,
    pub service: Arc<dyn ResourceUseCases>,
    pub resources: Arc<ImportResources>,
}

impl Endpoint for Imports {
    type Output = Response;

    async fn call(&self, mut request: Request) -> Result<Response> {
        let answer = self.answer(&mut request).await;
        Ok(self.resources.context.acknowledge(answer).await?)
    }
}

impl Imports {
    async fn answer(&self, request: &mut Request) -> Result<Response, Problem> {
        let format = format_of(request)?;
        let query = ImportQuery::read(request.uri().query().unwrap_or_default())?;
        let key = idempotency_key::read(request.headers())?;
        let (body, memory) = self.resources.bodies.read(request).await?;
        let key = key.filter(|_| !query.is_dry_run).map(|key| IdempotencyKey {
            path: format!("{IMPORTS}/{}", self.group.collection.name()),
            key,
            fingerprint: fingerprint(&body, query),
        });
        let (collection, most_bytes) = (self.group.collection, self.resources.most_bytes);
        let is_workbook = format.kind == FormatKind::Xlsx;
        let workbook = if is_workbook { Some(self.turn_of_workbook().await?) } else { None };
        let size = body.len();
        // What the reading of the file may take is kept until it has ended, also when the client has
        // gone and nobody waits for it, and then for what was read.
        let read = move || {
            let rows = read(format, collection, &body, most_bytes)?;
            Ok((rows, memory, workbook))
        };
        let (rows, _memory, _workbook) = if is_workbook {
            // The reader of workbooks is not ours: what it stumbles over is an error of the file.
            let stumbled = |_| FileError::Malformed("The workbook cannot be read.".to_owned());
            spawn_blocking(read).await.map_err(stumbled).and_then(|rows| rows)?
        } else {
            aside_if_large(size, move || read().map_err(Problem::from)).await?
        };
        let import = Import {
            mode: query.mode,
            is_upsert: query.is_upsert,
            requires_version: self.resources.context.requires_condition,
            rows,
            most_bytes,
        };
        let caller = caller_of(request).clone();
        let request_id = request_id_of(request).map(Into::into);
        let options =
            WriteOptions { caller, is_dry_run: query.is_dry_run, key, request_id, history: None };
        let work = self.service.import(&options, &import);
        let limit = self.resources.context.time_limit.saturating_mul(TIME_FACTOR);
        let imported = tokio::time::timeout(limit, work)
            .await
            .map_err(|_| Problem::unavailable("The service took too long."))??;
        if !imported.is_done {
            return Err(refused(&imported));
        }
        let media = Negotiated::of(request).header();
        let body = hal::imported(&imported, &self.resources.context.base_url);
        Ok(Response::builder().header(CONTENT_TYPE, media).body(body))
    }
}

impl Imports {
    async fn turn_of_workbook(&self) -> Result<OwnedSemaphorePermit, Problem> {
        let permit = Arc::clone(&self.resources.workbooks).acquire_owned();
        match tokio::time::timeout(QUEUE_TIMEOUT, permit).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(Problem::unavailable("Another workbook is being imported.")),
        }
    }
}

/// The format of a request's body.
fn format_of(request: &Request) -> Result<&'static Format, Problem> {
    let is_sent =
        |format: &&Format| has_content_type(request.headers(), &[MediaType::of_file(format)]);
    let format = FORMATS.iter().find(is_sent).filter(|_| !is_encoded(request.headers()));
    format.ok_or_else(|| {
        let types: Vec<MediaType> = FORMATS.iter().map(MediaType::of_file).collect();
        unsupported(&types)
    })
}

/// Tells a request from any other: with another mode it is another one.
fn fingerprint(body: &Bytes, query: ImportQuery) -> String {
    let ImportQuery { mode, is_upsert, .. } = query;
    let is_of_all = mode == ImportMode::All;
    format!("{}-{is_of_all}-{is_upsert}", idempotency_key::fingerprint(body))
}

fn read(
    format: &Format,
    collection: Collection,
    body: &Bytes,
    most_bytes: usize,
) -> Result<Vec<ImportRow>, FileError> {
    match format.kind {
        FormatKind::Csv => csv::read(collection, body, most_bytes),
        FormatKind::Xlsx => xlsx::read(collection, body, most_bytes),
        FormatKind::Ndjson => ndjson::read_lines(collection, body),
        FormatKind::Json => ndjson::read_array(collection, body),
    }
}

impl From<FileError> for Problem {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Malformed(detail) => Self::new(&kinds::MALFORMED_FILE, detail),
            FileError::TooMuch(detail) => Self::new(&kinds::BODY_TOO_LARGE, detail),
        }
    }
}

/// 422 with the errors of all rows.
fn refused(imported: &Imported) -> Problem {
    let errors = imported.rows.iter().filter_map(|row| match &row.outcome {
        RowOutcome::Refused(errors) => Some((row.number, errors)),
        _ => None,
    });
    let refused = errors.clone().count();
    let listed =
        errors.flat_map(|(row, errors)| errors.iter().map(move |error| (row, error.clone())));
    Problem::rows_refused(listed.collect(), refused)
}
