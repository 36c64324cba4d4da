//! `/imports/{group}`: writes the rows of a file as items.

use std::sync::Arc;
use std::time::Duration;

use application::table::{FORMATS, Format, FormatKind};
use application::traces::{is_traced, scope};
use application::{
    IdempotencyKey, Import, ImportMode, ImportRow, Imported, ResourceService, RowOutcome,
    WriteOptions,
};
use bytes::Bytes;
use poem::http::header::CONTENT_TYPE;
use poem::{Request, Response};
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tracing::Instrument as _;

use crate::endpoints::in_time;
use crate::endpoints::transfers::Transfers;
use crate::groups::Group;
use crate::hal;
use crate::headers::idempotency_key;
use crate::headers::media_type::{MediaType, has_content_type};
use crate::links::IMPORTS;
use crate::middleware::method_router::Negotiated;
use crate::problem::{Problem, Result, RowError};
use crate::query::ImportQuery;
use crate::request::body::{aside_if_large, is_encoded, unsupported};
use crate::request::caller::caller_of;
use crate::request::details::request_id_of;
use crate::request::import_memory;
use crate::request::memory_budget::{MemoryReservation, sent};
use crate::tables::place::{SheetCells, cell_of};
use crate::tables::{csv, malformed_file, ndjson, xlsx};

const TIME_FACTOR: u32 = 10;

const QUEUE_TIMEOUT: Duration = Duration::from_secs(15);

pub struct Imports {
    pub group: Group,
    pub service: Arc<ResourceService>,
    pub transfers: Arc<Transfers>,
}

impl Imports {
    pub async fn answer(self: Arc<Self>, mut request: Request) -> Result<Response> {
        let answer = self.import_file(&mut request).await;
        self.transfers.context.acknowledge(answer).await
    }

    async fn import_file(&self, request: &mut Request) -> Result<Response> {
        let format = format_of(request)?;
        let query = ImportQuery::read(request.uri().query().unwrap_or_default())?;
        let key = idempotency_key::read(request.headers())?;
        let (body, memory) = self.transfers.bodies.read(request).await?;
        let key = key.filter(|_| !query.is_dry_run).map(|key| IdempotencyKey {
            path: format!("{IMPORTS}/{}", self.group.collection.name()),
            key,
            fingerprint: fingerprint(&body, query),
        });
        let (rows, held) = self.rows(format.kind, (body, memory), query.mode).await?;
        let is_sheet = format.kind == FormatKind::Xlsx;
        let cells = SheetCells::of(self.group.collection, &rows).filter(|_| is_sheet);
        let import = Import {
            mode: query.mode,
            is_upsert: query.is_upsert,
            requires_version: self.transfers.context.requires_condition,
            rows,
            most_bytes: self.transfers.bodies.limit,
        };
        let caller = caller_of(request).clone();
        let request_id = request_id_of(request).map(Into::into);
        let options =
            WriteOptions { caller, is_dry_run: query.is_dry_run, key, request_id, history: None };
        let (imported, held) = self.import(options, import, held).await?;
        if !imported.is_done {
            return Err(refused(&imported, cells.as_ref()));
        }
        let media = Negotiated::of(request).header();
        let base_url = Arc::clone(&self.transfers.context.base_url);
        let collection = self.group.collection;
        let body = aside_if_large(held.size, move || {
            Ok(hal::imported(&imported, collection, cells.as_ref(), &base_url))
        })
        .await?;
        Ok(Response::builder()
            .header(CONTENT_TYPE, media)
            .body(sent(body, Some(held.rows.unwrap_or(held.file)))))
    }

    /// A single write continues after the client disconnects, because it has its own task. Its memory
    /// stays reserved until it is done.
    async fn import(
        &self,
        options: WriteOptions,
        import: Import,
        held: Held,
    ) -> Result<(Imported, Held)> {
        let service = Arc::clone(&self.service);
        let limit = self.transfers.context.time_limit.saturating_mul(TIME_FACTOR);
        let is_one_write = import.mode == ImportMode::All && !options.is_dry_run;
        let work =
            async move { Ok((in_time(limit, service.import(&options, &import)).await?, held)) };
        if !is_one_write {
            return work.await;
        }
        let work = scope(is_traced(), Box::pin(work.in_current_span()));
        tokio::spawn(work).await.unwrap_or_else(|error| {
            tracing::error!(%error, "an import failed");
            Err(Problem::internal())
        })
    }

    /// Reserves memory for the rows before it reads them. Keeps the reservation until the read has
    /// ended, even if the client disconnects.
    async fn rows(
        &self,
        kind: FormatKind,
        (body, file): (Bytes, MemoryReservation),
        mode: ImportMode,
    ) -> Result<(Vec<ImportRow>, Held)> {
        let (collection, most_bytes) = (self.group.collection, self.transfers.bodies.limit);
        let Some(bytes) = import_memory::most_of_rows(kind, &body, mode) else {
            return self.rows_of_workbook(body, file, mode).await;
        };
        let rows = self.transfers.context.memory.reserve_more(&file, bytes).await?;
        let size = bytes.max(body.len());
        let held = Held { size, rows, file };
        let read = move || {
            let rows = match kind {
                FormatKind::Csv => csv::read(collection, &body, most_bytes),
                FormatKind::Xlsx => xlsx::read(collection, &body, most_bytes),
                FormatKind::Ndjson => ndjson::read_lines(collection, &body),
                FormatKind::Json => ndjson::read_array(collection, &body),
            };
            Ok((rows?, held))
        };
        aside_if_large(size, read).await
    }

    /// The size of the rows is known only after the read. One workbook at a time, until the memory
    /// for its rows is reserved.
    async fn rows_of_workbook(
        &self,
        body: Bytes,
        file: MemoryReservation,
        mode: ImportMode,
    ) -> Result<(Vec<ImportRow>, Held)> {
        let permit = Arc::clone(&self.transfers.workbooks).acquire_owned();
        let Ok(Ok(permit)) = timeout(QUEUE_TIMEOUT, permit).await else {
            return Err(Problem::unavailable("Another workbook is being read. Try again."));
        };
        let (collection, most_bytes) = (self.group.collection, self.transfers.bodies.limit);
        let read = move || Ok((xlsx::read(collection, &body, most_bytes)?, file, permit));
        // A panic in the workbook library counts as an error in the file.
        let stumbled = |_| malformed_file("The workbook cannot be read.");
        let (read, file, _permit) =
            spawn_blocking(read).await.map_err(stumbled).and_then(|read| read)?;
        let size = import_memory::of_workbook(&read, mode);
        let rows = self.transfers.context.memory.reserve_more(&file, size).await?;
        Ok((read, Held { size, rows, file }))
    }
}

struct Held {
    size: usize,
    rows: Option<MemoryReservation>,
    file: MemoryReservation,
}

fn format_of(request: &Request) -> Result<&'static Format> {
    let is_sent =
        |format: &&Format| has_content_type(request.headers(), &[MediaType::of_file(format)]);
    let format = FORMATS.iter().find(is_sent).filter(|_| !is_encoded(request.headers()));
    format.ok_or_else(|| {
        let types: Vec<MediaType> = FORMATS.iter().map(MediaType::of_file).collect();
        unsupported(&types)
    })
}

/// Includes the mode: another mode makes another request.
fn fingerprint(body: &Bytes, query: ImportQuery) -> String {
    let ImportQuery { mode, is_upsert, .. } = query;
    let is_of_all = mode == ImportMode::All;
    format!("{}-{is_of_all}-{is_upsert}", idempotency_key::fingerprint(body))
}

fn refused(imported: &Imported, cells: Option<&SheetCells>) -> Problem {
    let (mut listed, mut refused) = (Vec::new(), 0);
    for row in &imported.rows {
        let RowOutcome::Refused(errors) = &row.outcome else { continue };
        refused += 1;
        listed.extend(errors.iter().map(|violation| RowError {
            row: row.number,
            line: row.line,
            cell: cell_of(cells, row.line, violation),
            violation: violation.clone(),
        }));
    }
    Problem::rows_refused(listed, refused)
}
