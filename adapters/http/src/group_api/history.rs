//! What items were: their versions, what differs between two, what there was at a time, and the way
//! back.

use application::{Caller, Relations, ResourceUseCases as _, ShownItem, View, WriteOptions};
use domain::{Item, ItemId, Value, Version, Violations, json_patch};
use jiff::Timestamp;
use poem::http::StatusCode;
use poem::{Request, Response};

use super::{GroupApi, held, not_modified, query_of, target, with_tag};
use crate::entity_tag::{EntityTag, item_precondition};
use crate::group::{Group, VERSION_PARAMETER};
use crate::problem::{Problem, kinds};
use crate::query::{CollectionQuery, VersionsQuery, difference_from, refuse_parameters, version};
use crate::representation::{self, Moment, Shown, TIME};

/// What two versions that are compared may take of the memory for that: they are known when they
/// were read.
const COMPARED: usize = 16 << 20;

impl<G: Group> GroupApi<G> {
    pub(super) async fn list_versions(&self, request: &Request) -> Result<Response, Problem> {
        let query = VersionsQuery::read(query_of(request))?;
        let (owner, id) = target::<G>(request)?;
        let page = self
            .service
            .versions(&Caller::Anonymous, owner, id, query.page, query.page_size)
            .await?;
        let item_url = representation::item_url::<G>(&self.surroundings.base_url, owner, id);
        self.show_text(request, representation::versions(&item_url, &query, &page)).await
    }

    pub(super) async fn get_version(&self, request: &Request) -> Result<Response, Problem> {
        refuse_parameters(query_of(request))?;
        let (owner, id) = target::<G>(request)?;
        let (past, item) =
            self.service.version(&Caller::Anonymous, owner, id, version_of(request)?).await?;
        self.show_past(request, owner, item, Moment::Version(&past)).await
    }

    pub(super) async fn compare(&self, request: &Request) -> Result<Response, Problem> {
        let from = difference_from(query_of(request))?;
        let (owner, id) = target::<G>(request)?;
        let _share = self.surroundings.comparisons.take(COMPARED).await?;
        let [from, to] = self
            .service
            .versions_to_compare(&Caller::Anonymous, owner, id, from, version_of(request)?)
            .await?;
        let compare = move || json_patch(Value::from_encoded(&from), Value::from_encoded(&to));
        // Large values keep no other request waiting.
        let text = tokio::task::spawn_blocking(compare)
            .await
            .map_err(|_| Problem::unavailable("The versions were not compared."))?;
        self.show_text(request, text).await
    }

    pub(super) async fn restore(
        &self,
        request: &Request,
        options: &WriteOptions,
    ) -> Result<Response, Problem> {
        let condition = item_precondition(request.headers())?;
        let (owner, id) = target::<G>(request)?;
        // What was removed cannot be overwritten.
        if self.surroundings.requires_condition
            && self.service.versions(&Caller::Anonymous, owner, id, 1, 1).await?.exists
        {
            self.required(condition.clone())?;
        }
        let restored =
            self.service.restore(options, owner, id, version_of(request)?, &condition).await?;
        let status = if restored.is_created { StatusCode::CREATED } else { StatusCode::OK };
        self.show_written(status, owner, &restored.written, options).await
    }

    pub(super) async fn get_at(
        &self,
        request: &Request,
        owner: Option<ItemId>,
        id: ItemId,
        time: Timestamp,
        view: &View,
    ) -> Result<Response, Problem> {
        let (_, item) =
            self.service.get_at(&Caller::Anonymous, owner, id, time, view.fields.as_ref()).await?;
        self.show_past(request, owner, item, Moment::At(&TIME.timestamp_to_string(&time))).await
    }

    pub(super) async fn list_at(
        &self,
        request: &Request,
        owner: Option<ItemId>,
        time: Timestamp,
        query: &CollectionQuery<'_>,
    ) -> Result<Response, Problem> {
        let listing = self.service.list_at(&Caller::Anonymous, owner, time, &query.request).await?;
        let share =
            self.surroundings.share_for(representation::collection_size::<G>(&listing)).await?;
        let time = TIME.timestamp_to_string(&time);
        let text = representation::collection::<G>(
            &self.surroundings.base_url,
            owner,
            &query.links(),
            &listing,
            Moment::At(&time),
            &Violations::default(),
        );
        let tag = EntityTag::of_content(text.as_bytes());
        if let Some(known) = tag.known_to(request.headers())? {
            return Ok(not_modified(&known));
        }
        Ok(with_tag(Response::builder().body(held(share, text)), &tag))
    }

    async fn show_past(
        &self,
        request: &Request,
        owner: Option<ItemId>,
        item: Item,
        moment: Moment<'_>,
    ) -> Result<Response, Problem> {
        let shown = ShownItem { item, relations: Relations::default() };
        let shown = Shown::written(&shown, moment);
        // What is shown of a version beside the item changes when another follows; of a time,
        // never.
        let tag = EntityTag::of_past(shown.item.item.version, moment.latest());
        if let Some(known) = tag.known_to(request.headers())? {
            return Ok(not_modified(&known));
        }
        self.show(StatusCode::OK, owner, &shown, &tag).await
    }

    async fn show_text(&self, request: &Request, text: String) -> Result<Response, Problem> {
        let tag = EntityTag::of_content(text.as_bytes());
        if let Some(known) = tag.known_to(request.headers())? {
            return Ok(not_modified(&known));
        }
        let share = self.surroundings.share_for(text.len()).await?;
        Ok(with_tag(Response::builder().body(held(share, text)), &tag))
    }
}

/// The version in the path. A text that is no number names none.
fn version_of(request: &Request) -> Result<Version, Problem> {
    let named = request.raw_path_param(VERSION_PARAMETER).and_then(version);
    named.ok_or_else(|| {
        Problem::new(&kinds::VERSION_NOT_FOUND, "Versions are numbered 1, 2, 3 and so on.")
    })
}
