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
use async_trait::async_trait;
use domain::{Collection, Content, ContentDigest, ItemId};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use jiff::Timestamp;
use poem::http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, ETAG,
};
use poem::http::{HeaderMap, HeaderValue, Method};
use poem::{Body, Request, Response};
use quick_cache::sync::Cache;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;

use self::archive::{Archive, Begun, Builder, MOST_ENTRIES, too_large};
use self::names::{Names, file_name, list_name};
use super::GroupEndpoint;
use super::download::{Representation, Sending};
use crate::endpoints::in_time;
use crate::endpoints::pacing::{ExportPlaces, Exporter};
use crate::hal;
use crate::headers::accept::accepts;
use crate::headers::content_disposition;
use crate::headers::digest_fields::{self, REPR_DIGEST};
use crate::headers::entity_tag::{EntityTag, content_precondition};
use crate::headers::media_type::MediaType;
use crate::links;
use crate::middleware::method_router::Handler;
use crate::problem::{Problem, kinds};
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
    pub places: Arc<ExportPlaces>,
    making: Semaphore,
    /// By entity tag.
    digests: Cache<ContentDigest, ContentDigest>,
}

impl Dossiers {
    /// The folder is for temporary files.
    pub fn new(folder: PathBuf) -> Self {
        let (places, digests) = (Arc::default(), Cache::new(DIGESTS));
        Self { folder, places, making: Semaphore::new(MAKING), digests }
    }
}

pub struct DossierEndpoint(pub Arc<GroupEndpoint>);

#[async_trait]
impl Handler for DossierEndpoint {
    async fn handle(&self, request: &mut Request) -> Result<Response, Problem> {
        Box::pin(self.get(request)).await
    }
}

impl DossierEndpoint {
    async fn get(&self, request: &Request) -> Result<Response, Problem> {
        let moment = dossier_moment(query_of(request))?;
        let address = self.0.target(request)?;
        let (context, caller, headers) = (&self.0.context, caller_of(request), request.headers());
        let limit = context.time_limit;
        let dossier = in_time(limit, self.0.service.dossier(caller, address, moment)).await?;
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
            headers: self.facts(&dossier, &archive),
        };
        if let Some(response) = shown.unmet(headers, &condition)? {
            return Ok(response);
        }
        let is_head = request.method() == Method::HEAD;
        let parts = shown.wanted(request)?;
        let is_cheap = parts.is_none() && archive.size <= CHEAP;
        if !shown.headers.contains_key(REPR_DIGEST) && (is_head || is_cheap) {
            let digest = self.digest(&archive).await?;
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

    /// The headers of every response with the archive, and of a 304.
    fn facts(&self, dossier: &Dossier, archive: &Archive) -> HeaderMap {
        let noun = self.0.group.noun();
        let name = format!("{noun}-{}.zip", dossier.item.id);
        let mut facts = HeaderMap::with_capacity(6);
        facts.insert(CONTENT_TYPE, MediaType::ZIP.header());
        let disposition = content_disposition::header(false, Some(&name), dossier.item.id);
        facts.insert(CONTENT_DISPOSITION, disposition);
        facts.insert(ETAG, EntityTag::of_digest(&archive.tag).header());
        facts.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        facts.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
        if let Some(digest) = self.0.context.dossiers.digests.get(&archive.tag) {
            facts.insert(REPR_DIGEST, digest_fields::header(&digest));
        }
        facts
    }

    async fn archive(&self, caller: &Caller, dossier: &Dossier) -> Result<Archive, Problem> {
        let _permit = self.0.context.dossiers.making.acquire().await;
        let service = &self.0.service;
        let builder = Builder::new(self.0.context.dossiers.folder.clone());
        let mut making = Making {
            endpoint: &self.0,
            builder,
            changed_at: dossier.item.updated_at,
            items: serde_json::Map::new(),
            compacted: Vec::new(),
            contents: Vec::new(),
        };
        let text = hal::document(&self.0.context.base_url, &dossier.item, None);
        let own = format!("{}.json", self.0.group.noun());
        making.builder.add_whole_text(&own, dossier.item.updated_at, text.as_bytes()).await?;
        for part in service.dossier_collections(caller, dossier) {
            let mut after = None;
            let mut list = List::of(part.0, making.builder.text());
            loop {
                let page = service.dossier_items(caller, dossier, part, after, PAGE).await?;
                for listed in &page.items {
                    making.add_listed(&mut list, listed).await?;
                }
                if !page.has_more {
                    break;
                }
                after = page.last;
            }
            making.add_list(list, dossier).await?;
        }
        making.finish(dossier).await
    }

    /// Reads the whole archive, unless its digest is known.
    async fn digest(&self, archive: &Archive) -> Result<ContentDigest, Problem> {
        let context = &self.0.context;
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
async fn require(service: &ContentService, contents: Vec<KeptContent>) -> Result<(), Problem> {
    let open = async |kept: KeptContent| service.open(&kept, 0..0).await.map(drop);
    let opened = stream::iter(contents.into_iter().map(open)).buffer_unordered(LOOKED_FOR);
    Ok(opened.try_collect::<()>().await.map_err(ApplicationError::from)?)
}

/// A file of items that is made.
struct List {
    collection: Collection,
    items: u64,
    changed_at: Option<Timestamp>,
    text: Begun,
}

impl List {
    const fn of(collection: Collection, text: Begun) -> Self {
        Self { collection, items: 0, changed_at: None, text }
    }
}

/// A content that follows the items.
struct Attached {
    collection: Collection,
    id: ItemId,
    content: Content,
}

/// A dossier that is made.
struct Making<'a> {
    endpoint: &'a GroupEndpoint,
    builder: Builder,
    changed_at: Timestamp,
    /// By collection.
    items: serde_json::Map<String, serde_json::Value>,
    /// Items whose bodies were removed.
    compacted: Vec<serde_json::Value>,
    contents: Vec<Attached>,
}

impl Making<'_> {
    async fn add_listed(
        &mut self,
        list: &mut List,
        ListedItem { shown, removed_at, .. }: &ListedItem,
    ) -> Result<(), Problem> {
        let (item, collection) = (&shown.item, list.collection);
        if let Some(removed_at) = removed_at {
            if self.compacted.len() == MOST_ENTRIES {
                return Err(too_large());
            }
            self.compacted.push(json!({
                "group": list_name(collection), "id": item.id.to_string(),
                "version": item.version.number(),
                "removed_at": TIME.timestamp_to_string(removed_at),
            }));
        }
        let text = hal::document(&self.endpoint.context.base_url, item, *removed_at);
        let before = if list.items == 0 { "[\n" } else { ",\n" };
        self.builder.write(&mut list.text, before.as_bytes()).await?;
        self.builder.write(&mut list.text, text.trim_end().as_bytes()).await?;
        list.items += 1;
        list.changed_at = list.changed_at.max(Some(item.updated_at));
        if let Some(content) = Content::of(&item.members) {
            if self.contents.len() == MOST_ENTRIES {
                return Err(too_large());
            }
            self.contents.push(Attached { collection, id: item.id, content });
        }
        Ok(())
    }

    async fn add_list(&mut self, mut list: List, dossier: &Dossier) -> Result<(), Problem> {
        let end = if list.items == 0 { "[]\n" } else { "\n]\n" };
        self.builder.write(&mut list.text, end.as_bytes()).await?;
        let time = list.changed_at.unwrap_or(dossier.item.updated_at);
        self.changed_at = self.changed_at.max(time);
        let name = list_name(list.collection);
        self.items.insert(name.to_owned(), list.items.into());
        self.builder.add_text(&format!("{name}.json"), time, list.text)
    }

    /// Adds the contents. Returns the item of each by its name.
    async fn add_contents(
        &mut self,
    ) -> Result<serde_json::Map<String, serde_json::Value>, Problem> {
        let (mut names, mut items) = (Names::default(), serde_json::Map::new());
        for Attached { collection, id, content } in mem::take(&mut self.contents) {
            let kept = self.endpoint.context.contents.service.find(&content).await?;
            let name = file_name(content.filename.as_deref());
            let name = names.unique(&format!("contents/{}/{name}", list_name(collection)));
            self.builder.add_content(&name, content.stored_at, kept).await?;
            items.insert(name, id.to_string().into());
        }
        Ok(items)
    }

    async fn finish(mut self, dossier: &Dossier) -> Result<Archive, Problem> {
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
        let about = format!("{about:#}\n");
        self.builder.add_whole_text("dossier.json", self.changed_at, about.as_bytes()).await?;
        self.builder.finish(self.changed_at).await
    }
}
