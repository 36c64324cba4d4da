//! `/exports/{group}.{format}`: a snapshot of the selected items as a file.
//!
//! The selection is read first, its items in batches as the client reads. So a slow client holds
//! neither memory nor database resources.

use std::collections::HashSet;
use std::io::{self, Seek as _};
use std::sync::Arc;

use application::query::MemberNames;
use application::table::{Format, FormatKind};
use application::{
    ApplicationError, Caller, ItemContent, RepositoryError, ResourceService, Sequence,
};
use bytes::Bytes;
use domain::content::META;
use domain::{Collection, Fields};
use futures_util::{StreamExt as _, stream};
use poem::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use poem::http::{HeaderValue, Method, StatusCode};
use poem::{Body, Request, Response};
use tokio::io::AsyncReadExt as _;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::endpoints::in_time;
use crate::endpoints::pacing::{ExportPlace, Exporter, PacedWriter, paced};
use crate::endpoints::transfers::Transfers;
use crate::groups::Group;
use crate::headers::media_type::MediaType;
use crate::headers::set;
use crate::problem::{Problem, Result, kinds};
use crate::query::ExportQuery;
use crate::request::caller::caller_of;
use crate::server::LeastRate;
use crate::tables::xlsx::{WorkbookWriter, WriteError};
use crate::tables::{HeaderRow, MOST_COLUMNS, csv, members_of, ndjson};

const READ_AT_A_TIME: usize = 128;

/// In bytes.
const SENT_AT_A_TIME: usize = 64 * 1024;

pub struct Exports {
    pub group: Group,
    pub service: Arc<ResourceService>,
    pub format: &'static Format,
    pub transfers: Arc<Transfers>,
}

impl Exports {
    pub async fn answer(self: Arc<Self>, request: Request) -> Result<Response> {
        let request = &request;
        let query = ExportQuery::read(self.group, request.uri().query().unwrap_or_default())?;
        let context = &self.transfers.context;
        let place = context.dossiers.places.take(Exporter::of(request, &context.gate))?;
        let history = self.service.exported_history();
        let select = self.service.select(caller_of(request), &query.request);
        let changes = in_time(context.time_limit, select).await?;
        let (service, work) = (Arc::clone(&self.service), Arc::clone(&self.transfers.work));
        let caller = caller_of(request).clone();
        let collection = self.group.collection;
        let items = SelectedItems {
            collection,
            history,
            service,
            caller,
            changes,
            read: 0,
            work,
            _place: place,
        };
        let body = if request.method() == Method::HEAD {
            // A stream, because the file's length is not known before its end.
            Body::from_bytes_stream(stream::empty::<io::Result<Bytes>>())
        } else {
            self.body(items, &query).await?
        };
        let today = self.transfers.clock.day_of(self.transfers.clock.now());
        let name = format!("{}-{today}.{}", self.group.collection.name(), self.format.extension);
        let mut response = Response::builder().status(StatusCode::OK).body(body);
        response.extensions_mut().insert(LeastRate(None));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, MediaType::of_file(self.format).header());
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        set(headers, CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\""));
        Ok(response)
    }

    async fn body(&self, mut items: SelectedItems, query: &ExportQuery) -> Result<Body> {
        let collection = self.group.collection;
        let fields = query.request.view.fields.clone();
        let history = Arc::clone(&items.history);
        Ok(match self.format.kind {
            FormatKind::Csv => {
                let header = items.header(fields).await?;
                let first = csv::header(&header, query.has_bom);
                items.encoded(first, move |items| csv::rows(&header, items))
            }
            FormatKind::Xlsx => {
                let header = items.header(fields).await?;
                self.workbook(items, header).await?
            }
            FormatKind::Ndjson | FormatKind::Json => items.encoded(Vec::new(), move |items| {
                ndjson::rows(collection, &history, fields.as_deref(), items)
            }),
        })
    }

    /// Writes a temporary file first, because a workbook cannot be sent before its end is known.
    async fn workbook(&self, mut items: SelectedItems, header: HeaderRow) -> Result<Body> {
        let (name, folder) = (self.group.collection.name(), self.transfers.folder.clone());
        let mut writer = aside(move || WorkbookWriter::new(name, header, &folder)).await?;
        let mut is_end = false;
        while !is_end {
            let add = |batch: Vec<ItemContent>| {
                aside(move || writer.add(&batch).map(|()| (writer, batch.is_empty())))
            };
            (writer, is_end) = items.next(add).await?;
        }
        let work = Arc::clone(&items.work);
        let (client, folder) = (Arc::new(()), self.transfers.folder.clone());
        let is_wanted = Arc::downgrade(&client);
        let file = aside(move || {
            let mut file = tempfile::tempfile_in(folder)?;
            writer.finish(PacedWriter::new(&mut file, work, is_wanted))?;
            file.rewind()?;
            Ok(file)
        })
        .await?;
        drop(client);
        let file = (tokio::fs::File::from_std(file), items);
        Ok(Body::from_bytes_stream(stream::try_unfold(file, async |(mut file, items)| {
            let mut bytes = Vec::with_capacity(SENT_AT_A_TIME);
            let read = (&mut file).take(SENT_AT_A_TIME as u64).read_to_end(&mut bytes).await?;
            Ok::<_, io::Error>((read > 0).then(|| (Bytes::from(bytes), (file, items))))
        })))
    }
}

async fn aside<T: Send + 'static>(
    write: impl FnOnce() -> Result<T, WriteError> + Send + 'static,
) -> Result<T> {
    let written = spawn_blocking(write).await.map_err(|error| failed(&error))?;
    written.map_err(|error| match error {
        WriteError::DoesNotFit(detail) => Problem::new(&kinds::DOES_NOT_FIT, detail),
        error => failed(&error),
    })
}

fn failed(error: &dyn std::fmt::Display) -> Problem {
    tracing::error!(%error, "an export failed");
    Problem::unavailable("The file could not be written.")
}

struct SelectedItems {
    collection: Collection,
    /// The history in which they were selected.
    history: Arc<str>,
    service: Arc<ResourceService>,
    caller: Caller,
    changes: Vec<Sequence>,
    read: usize,
    work: Arc<Semaphore>,
    _place: ExportPlace,
}

impl SelectedItems {
    /// Returns an empty batch at the end. Paced like all exports.
    async fn next<T, F: Future<Output = Result<T>>>(
        &mut self,
        work: impl FnOnce(Vec<ItemContent>) -> F,
    ) -> Result<T> {
        let running = Arc::clone(&self.work);
        let piece = async {
            let mut items = Vec::new();
            while items.is_empty() && self.read < self.changes.len() {
                let end = self.changes.len().min(self.read + READ_AT_A_TIME);
                let part = &self.changes[self.read..end];
                items = self.service.selected(&self.caller, part).await?;
                let is_last =
                    |change: &Sequence| items.last().is_some_and(|it| it.change == *change);
                self.read = part.iter().position(is_last).map_or(end, |last| self.read + last + 1);
            }
            // In another history the numbers of the changes are those of other ones.
            if self.service.exported_history() != self.history {
                return Err(Problem::from(ApplicationError::Store(RepositoryError::Unavailable)));
            }
            work(items).await
        };
        paced(&running, piece).await
    }

    fn encoded(
        self,
        first: Vec<u8>,
        encode: impl Fn(&[ItemContent]) -> io::Result<Vec<u8>> + Send + Sync + 'static,
    ) -> Body {
        let first = stream::iter(Some(first).filter(|first| !first.is_empty()).map(Ok));
        let rows = stream::try_unfold((self, encode), async |(mut items, encode)| {
            let encoded = items.next(async |batch| encode(&batch).map_err(|error| failed(&error)));
            // The connection breaks off, so the client knows that the file is incomplete.
            let encoded = encoded.await.map_err(io::Error::other)?;
            Ok::<_, io::Error>((!encoded.is_empty()).then_some((encoded, (items, encode))))
        });
        Body::from_bytes_stream(first.chain(rows))
    }

    /// Takes `fields`, else the field table, else the members of all items.
    async fn header(&mut self, fields: Option<MemberNames>) -> Result<HeaderRow> {
        let names = match (fields, self.collection.spec().fields) {
            (Some(fields), _) => fields.iter().filter(|name| ***name != *META).cloned().collect(),
            (None, Fields::Typed(fields)) => fields.iter().map(|field| field.name.into()).collect(),
            (None, Fields::Open(_)) => self.all_members().await?,
        };
        let leading = self.service.leading_columns(&self.caller);
        Ok(HeaderRow::of_members(self.collection, Arc::clone(&self.history), leading, &names))
    }

    /// In the order of first occurrence.
    async fn all_members(&mut self) -> Result<MemberNames> {
        let (mut names, mut seen, mut is_end) = (Vec::new(), HashSet::new(), false);
        while !is_end {
            let batch = self.next(async |batch| Ok(batch)).await?;
            is_end = batch.is_empty();
            for item in &batch {
                let members = members_of(item).map_err(|error| failed(&error))?;
                for (name, _) in members.iter() {
                    if !seen.contains(name.as_ref()) {
                        let name: Arc<str> = name.into();
                        seen.insert(Arc::clone(&name));
                        names.push(name);
                    }
                }
            }
            if names.len() > MOST_COLUMNS {
                let detail = format!(
                    "The items have more than {MOST_COLUMNS} different members in total. Select the columns with `fields`."
                );
                return Err(Problem::new(&kinds::DOES_NOT_FIT, detail));
            }
        }
        self.read = 0;
        Ok(names.into())
    }
}
