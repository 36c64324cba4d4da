//! The dossier of a proposal: an archive with the proposal, and all that belongs to it or names it.
//!
//! Its length and its entity tag are known before its first byte. The bytes of contents are read
//! while they are sent.

mod archive;
mod names;

use std::mem;
use std::path::PathBuf;
use std::sync::Arc;

use application::{ApplicationError, Caller, ContentService, Dossier, KeptContent, ListedItem};
use domain::{Collection, Content, ContentDigest, ItemId};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use jiff::Timestamp;
use poem::http::header::CONTENT_LENGTH;
use poem::http::{HeaderMap, Method};
use poem::{Body, Request, Response};
use quick_cache::sync::Cache;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;

use self::archive::{Archive, Builder, MOST_ENTRIES, too_large};
use self::names::{Names, file_name, list_name};
use super::GroupEndpoint;
use super::content::facts;
use super::download::{Representation, Sending};
use crate::endpoints::in_time;
use crate::endpoints::pacing::{ExportPlaces, Exporter};
use crate::hal;
use crate::headers::accept::accepts;
use crate::headers::content_disposition;
use crate::headers::digest_fields::{self, REPR_DIGEST};
use crate::headers::entity_tag::content_precondition;
use crate::headers::media_type::MediaType;
use crate::links;
use crate::problem::{Problem, Result, kinds};
use crate::query::{dossier_moment, query_of};
use crate::request::caller::caller_of;
use crate::time::TIME;

/// Items that are read at a time: each can be as large as a request body.
const PAGE: u64 = 16;

/// Contents that are looked for at a time.
const LOOKED_FOR: usize = 16;

/// In bytes. Only HEAD reads a larger archive for its digest.
const CHEAP: u64 = 16 << 20;

const DIGESTS: usize = 1_000;

/// Archives that are made at a time: a page of items, and the names and facts of contents, take up to
/// 200 MiB each.
const MAKING: usize = 2;

pub struct Dossiers {
    folder: PathBuf,
    pub places: ExportPlaces,
    making: Semaphore,
    /// By entity tag.
    digests: Cache<ContentDigest, ContentDigest>,
}

impl Dossiers {
    /// The folder is for temporary files.
    pub fn new(folder: PathBuf) -> Self {
        let (places, digests) = (ExportPlaces::default(), Cache::new(DIGESTS));
        Self { folder, places, making: Semaphore::new(MAKING), digests }
    }
}

impl GroupEndpoint {
    pub(super) async fn dossier(self: Arc<Self>, request: Request) -> Result<Response> {
        let request = &request;
        let moment = dossier_moment(query_of(request))?;
        let address = self.target(request)?;
        let (context, caller, headers) = (&self.context, caller_of(request), request.headers());
        let limit = context.time_limit;
        let dossier = in_time(limit, self.service.dossier(caller, address, moment)).await?;
        if !accepts(headers, MediaType::ZIP.name()) {
            let detail = "A dossier has the type application/zip. Accept it.";
            return Err(Problem::new(&kinds::NOT_ACCEPTABLE, detail));
        }
        let condition = content_precondition(headers)?;
        let place = context.dossiers.places.take(Exporter::of(request, &context.gate))?;
        let archive = in_time(limit, self.archive(caller, &dossier)).await?;
        let mut shown = Representation {
            media_type: MediaType::ZIP.name(),
            size: archive.size,
            tag: archive.tag,
            stored_at: None,
            headers: self.facts_of_dossier(&dossier, &archive),
        };
        if let Some(response) = shown.unmet(headers, &condition)? {
            return Ok(response);
        }
        let is_head = request.method() == Method::HEAD;
        let parts = shown.wanted(request)?;
        let is_cheap = parts.is_none() && archive.size <= CHEAP;
        if !shown.headers.contains_key(REPR_DIGEST) && (is_head || is_cheap) {
            let digest = self.digest_of(&archive).await?;
            shown.headers.insert(REPR_DIGEST, digest_fields::header(&digest));
        }
        if is_head {
            // The length is that of the archive.
            let body = Body::from_bytes_stream(stream::empty::<std::io::Result<bytes::Bytes>>());
            let response = Response::builder().header(CONTENT_LENGTH, archive.size).body(body);
            return Ok(shown.complete(response));
        }
        let contents = archive.contents(parts.as_deref());
        in_time(limit, require(&context.contents.service, contents)).await?;
        let sending = Sending::new(&context.contents, archive.texts.clone(), place);
        shown.answer(sending, limit, parts, |part| archive.pieces(part)).await
    }

    fn facts_of_dossier(&self, dossier: &Dossier, archive: &Archive) -> HeaderMap {
        let name = format!("{}-{}.zip", self.group.noun(), dossier.item.id);
        let disposition = content_disposition::header(false, Some(&name), dossier.item.id);
        let kind = MediaType::ZIP.header();
        let mut facts = facts(kind, disposition, &archive.tag, "private, no-cache");
        if let Some(digest) = self.context.dossiers.digests.get(&archive.tag) {
            facts.insert(REPR_DIGEST, digest_fields::header(&digest));
        }
        facts
    }

    async fn archive(&self, caller: &Caller, dossier: &Dossier) -> Result<Archive> {
        let _permit = self.context.dossiers.making.acquire().await;
        let item = &dossier.item;
        let mut making = Making {
            endpoint: self,
            builder: Builder::new(self.context.dossiers.folder.clone()),
            changed_at: item.updated_at,
            items: Map::new(),
            compacted: Vec::new(),
            contents: Vec::new(),
        };
        let text = hal::document(&self.context.base_url, item, None);
        making.builder.write(text.as_bytes()).await?;
        making.builder.add_text(&format!("{}.json", self.group.noun()), item.updated_at)?;
        for part in self.service.dossier_collections(caller, dossier) {
            making.add_list(caller, dossier, part).await?;
        }
        making.finish(dossier).await
    }

    /// Reads the whole archive, unless its digest is known.
    async fn digest_of(&self, archive: &Archive) -> Result<ContentDigest> {
        let context = &self.context;
        let mut reading = Sending::new(&context.contents, archive.texts.clone(), ());
        reading.pieces.extend(archive.pieces(&(0..archive.size)));
        let mut hash = Sha256::new();
        while let Some(piece) = reading.next().await? {
            context.contents.throttle.pass(async || hash.update(&piece)).await;
        }
        let digest = ContentDigest::new(hash.finalize().into());
        context.dossiers.digests.insert(archive.tag, digest);
        Ok(digest)
    }
}

/// Reports missing contents before the first byte.
async fn require(service: &ContentService, contents: Vec<KeptContent>) -> Result<()> {
    let open = async |kept: KeptContent| service.open(&kept, 0..0).await.map(drop);
    let opened = stream::iter(contents.into_iter().map(open)).buffer_unordered(LOOKED_FOR);
    Ok(opened.try_collect::<()>().await.map_err(ApplicationError::from)?)
}

/// A dossier that is made.
struct Making<'a> {
    endpoint: &'a GroupEndpoint,
    builder: Builder,
    changed_at: Timestamp,
    /// The number of items by collection.
    items: Map<String, Value>,
    /// Items whose bodies were removed.
    compacted: Vec<Value>,
    /// Contents that follow the items.
    contents: Vec<(Collection, ItemId, Content)>,
}

impl Making<'_> {
    async fn add_list(
        &mut self,
        caller: &Caller,
        dossier: &Dossier,
        part: (Collection, Option<&'static str>),
    ) -> Result<()> {
        let service = &self.endpoint.service;
        let (mut items, mut changed_at, mut after) = (0_u64, None, None);
        loop {
            let page = service.dossier_items(caller, dossier, part, after, PAGE).await?;
            for listed in &page.items {
                let before = if items == 0 { "[\n" } else { ",\n" };
                self.builder.write(before.as_bytes()).await?;
                self.add_item(part.0, listed).await?;
                items += 1;
                changed_at = changed_at.max(Some(listed.shown.item.updated_at));
            }
            if !page.has_more {
                break;
            }
            after = page.last;
        }
        let end = if items == 0 { "[]\n" } else { "\n]\n" };
        self.builder.write(end.as_bytes()).await?;
        let time = changed_at.unwrap_or(dossier.item.updated_at);
        self.changed_at = self.changed_at.max(time);
        let name = list_name(part.0);
        self.items.insert(name.to_owned(), items.into());
        self.builder.add_text(&format!("{name}.json"), time)
    }

    async fn add_item(&mut self, of: Collection, listed: &ListedItem) -> Result<()> {
        let (item, removed_at) = (&listed.shown.item, listed.removed_at);
        if let Some(removed_at) = removed_at {
            self.compacted.push(json!({
                "group": list_name(of), "id": item.id.to_string(),
                "version": item.version.number(),
                "removed_at": TIME.timestamp_to_string(&removed_at),
            }));
        }
        self.contents.extend(Content::of(&item.members).map(|content| (of, item.id, content)));
        if self.compacted.len().max(self.contents.len()) > MOST_ENTRIES {
            return Err(too_large());
        }
        let text = hal::document(&self.endpoint.context.base_url, item, removed_at);
        self.builder.write(text.trim_end().as_bytes()).await
    }

    /// Adds the contents. Returns the item of each by its name.
    async fn add_contents(&mut self) -> Result<Map<String, Value>> {
        let (mut names, mut items) = (Names::default(), Map::new());
        for (collection, id, content) in mem::take(&mut self.contents) {
            let kept = self.endpoint.context.contents.service.find(&content).await?;
            let name = file_name(content.filename.as_deref());
            let name = names.unique(&format!("contents/{}/{name}", list_name(collection)));
            self.builder.add_content(&name, content.stored_at, kept).await?;
            items.insert(name, id.to_string().into());
        }
        Ok(items)
    }

    async fn finish(mut self, dossier: &Dossier) -> Result<Archive> {
        let (item, group) = (&dossier.item, self.endpoint.group);
        let contents = self.add_contents().await?;
        let base_url = &self.endpoint.context.base_url;
        let mut about = json!({
            "base_url": base_url.as_str(),
            "id": item.id.to_string(),
            group.noun(): links::item(base_url, group, None, item.id),
            "version": item.version.number(),
            "changed_at": TIME.timestamp_to_string(&self.changed_at),
            "items": self.items,
            "contents": contents,
            "compacted": self.compacted,
        });
        if dossier.is_past {
            about["as_of"] = TIME.timestamp_to_string(&dossier.time).into();
        }
        self.builder.write(format!("{about:#}\n").as_bytes()).await?;
        self.builder.add_text("dossier.json", self.changed_at)?;
        self.builder.finish(self.changed_at).await
    }
}
