//! Versions, comparison, past states and restoration of items.

use std::sync::Arc;

use application::{ItemAddress, ItemWrite, Links, PastVersion, ShownItem, View, WriteOptions};
use domain::{Item, ItemId, Value, Version, json_patch};
use jiff::Timestamp;
use poem::http::StatusCode;
use poem::{Request, Response};
use poem_openapi::types::ToJSON;

use super::GroupEndpoint;
use super::respond::unchanged;
use crate::endpoints::content;
use crate::groups::VERSION_PARAMETER;
use crate::hal::{ItemView, Snapshot, VersionHistory};
use crate::headers::entity_tag::{EntityTag, item_precondition};
use crate::headers::link::with_links;
use crate::links;
use crate::problem::{Problem, Result, kinds};
use crate::query::{VersionsQuery, difference_from, query_of, refuse_parameters, version};
use crate::request::caller::caller_of;
use crate::request::memory_budget::{MemoryReservation, work_on};
use crate::time::TIME;

impl GroupEndpoint {
    pub(super) async fn list_versions(&self, request: &Request) -> Result<Response> {
        let query = VersionsQuery::read(query_of(request))?;
        let item = self.target(request)?;
        let (number, size) = (query.page, query.page_size);
        let page = self.service.versions(caller_of(request), item, number, size).await?;
        let item = links::item(&self.context.base_url, self.group, item.parent, item.id);
        let names = self.context.log.caller_names(page.versions.iter()).await?;
        let history = VersionHistory::of(&item, &query, (&page, &names));
        let (body, targets) = (history.to_json_string(), history.targets());
        let response =
            content::answer(request, self.context.memory.body(body.len(), None, || body).await?)?;
        Ok(with_links(response, &targets))
    }

    pub(super) async fn get_version(&self, request: &Request) -> Result<Response> {
        refuse_parameters(request)?;
        let address = self.target(request)?;
        let (past, item) =
            self.service.version(caller_of(request), address, version_of(request)?).await?;
        self.show_past(request, address.parent, item, (Snapshot::Version(&past), None), &past).await
    }

    pub(super) async fn compare(&self, request: &Request) -> Result<Response> {
        let from = difference_from(query_of(request))?;
        let item = self.target(request)?;
        let to = version_of(request)?;
        let read = || self.service.versions_to_compare(caller_of(request), item, from, to);
        let ([from, to], memory) = self.context.memory.read(None, read, work_on_both).await?;
        let compare = move || json_patch(Value::from_encoded(&from), Value::from_encoded(&to));
        // Large values must not delay other requests.
        let patch = tokio::task::spawn_blocking(compare)
            .await
            .map_err(|_| Problem::unavailable("The versions could not be compared."))?;
        content::answer(request, self.context.memory.body(patch.len(), memory, || patch).await?)
    }

    pub(super) async fn restore(
        &self,
        request: &Request,
        options: &WriteOptions,
        memory: Option<MemoryReservation>,
    ) -> Result<Response> {
        let condition = item_precondition(request.headers())?;
        let item = self.target(request)?;
        // A removed item cannot be overwritten, so it needs no condition.
        if self.context.requires_condition
            && self.service.versions(caller_of(request), item, 1, 1).await?.exists
        {
            self.require(&condition)?;
        }
        let version = version_of(request)?;
        // The restoration reports the error, unless it is a retry of a finished one.
        let read = async || {
            Ok::<_, Problem>(self.service.version(caller_of(request), item, version).await)
        };
        let read = self.context.memory.read(memory, read, |past| {
            past.as_ref().map_or(0, |(_, past)| work_on(past.members.len()))
        });
        let (past, memory) = read.await?;
        let write = ItemWrite { options, item, precondition: &condition };
        let restored = self.service.restore(&write, past).await?;
        let status = if restored.is_created { StatusCode::CREATED } else { StatusCode::OK };
        let written = (&restored.written, memory);
        self.show_written(request, status, item.parent, written, options).await
    }

    pub(super) async fn get_at(
        &self,
        request: &Request,
        address: ItemAddress,
        time: Timestamp,
        view: &View,
    ) -> Result<Response> {
        let fields = view.fields.as_ref();
        let (past, item) = self.service.get_at(caller_of(request), address, time, fields).await?;
        let (time, removed_at) = (TIME.timestamp_to_string(&time), past.change.removed_at);
        self.show_past(request, address.parent, item, (Snapshot::At(&time), removed_at), &past)
            .await
    }

    async fn show_past(
        &self,
        request: &Request,
        parent: Option<ItemId>,
        item: Item,
        (snapshot, removed_at): (Snapshot<'_>, Option<Timestamp>),
        past: &PastVersion,
    ) -> Result<Response> {
        let shown = ShownItem { item, links: Links::default() };
        let view = ItemView { removed_at, ..ItemView::new(&shown, snapshot) };
        if past.is_cut {
            // The visible part can change without a write.
            return content::answer(request, self.item_body(parent, &view, None).await?);
        }
        // Links of a version change with the next version. Links of a time are fixed, but the body
        // may be removed.
        let tag = EntityTag::of_past(shown.item.version, snapshot.latest(), removed_at.is_some());
        let modified = removed_at.is_none().then_some(shown.item.updated_at);
        if let Some(unchanged) = unchanged(request, &tag, modified)? {
            return Ok(unchanged);
        }
        self.show(StatusCode::OK, parent, (&view, None), &tag).await
    }
}

pub fn work_on_both([from, to]: &[Arc<str>; 2]) -> usize {
    work_on(from.len() + to.len())
}

pub(super) fn version_of(request: &Request) -> Result<Version> {
    let named = request.raw_path_param(VERSION_PARAMETER).and_then(version);
    named.ok_or_else(|| {
        Problem::new(&kinds::VERSION_NOT_FOUND, "Versions are numbered 1, 2, 3 and so on.")
    })
}
