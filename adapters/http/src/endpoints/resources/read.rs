//! Reads of what there is now.

use application::{Caller, ItemAddress, View};
use domain::{ItemId, Violations};
use poem::http::StatusCode;
use poem::http::header::IF_NONE_MATCH;
use poem::{Request, Response};

use super::respond::{modified, not_modified, with_tag};
use super::{GroupEndpoint, query_of};
use crate::hal::{self, ItemView, PageView, Snapshot};
use crate::headers::entity_tag::EntityTag;
use crate::problem::Problem;
use crate::query::{CollectionQuery, ItemQuery};

impl GroupEndpoint {
    pub(super) async fn list(&self, request: &Request) -> Result<Response, Problem> {
        let parent = self.parent_in(request);
        // A query is refused before a parent that does not exist.
        let named = parent.as_ref().ok().copied().flatten();
        let query = CollectionQuery::read(self.group, query_of(request), named)?;
        let parent = parent?;
        if let Some(time) = query.as_of {
            return self.list_at(request, parent, time, &query).await;
        }
        if let Some(known) = self.known_revision(request, parent, &query).await? {
            return Ok(not_modified(&known));
        }
        let listing = self.service.list(&Caller::Anonymous, parent, &query.request).await?;
        let tag = EntityTag::of_collection(listing.content.revision);
        if let Some(known) = tag.known_to(request.headers())? {
            return Ok(not_modified(&known));
        }
        let page = PageView {
            listing: &listing,
            parent,
            links: query.links(),
            snapshot: Snapshot::Now,
            warnings: &Violations::default(),
        };
        Ok(with_tag(self.page_response(&page).await?, &tag))
    }

    /// The tag of what the client has already, where it is known without a look at any item:
    /// whoever polls a collection that rests costs next to nothing.
    async fn known_revision(
        &self,
        request: &Request,
        parent: Option<ItemId>,
        query: &CollectionQuery<'_>,
    ) -> Result<Option<EntityTag>, Problem> {
        if !request.headers().contains_key(IF_NONE_MATCH) {
            return Ok(None);
        }
        match self.service.revision(&Caller::Anonymous, parent, &query.request).await? {
            Some(revision) => Ok(EntityTag::of_collection(revision).known_to(request.headers())?),
            None => Ok(None),
        }
    }

    pub(super) async fn get(&self, request: &Request) -> Result<Response, Problem> {
        let query = ItemQuery::read(self.group, query_of(request))?;
        let item = self.target(request)?;
        if let Some(time) = query.as_of {
            return self.get_at(request, item, time, &query.view).await;
        }
        if query.is_checked {
            return self.examine(request, item, &query.view).await;
        }
        let (shown, embedded) = self.service.get(&Caller::Anonymous, item, &query.view).await?;
        let beside = hal::embedded_items(self.group, &shown, &embedded);
        let tag = EntityTag::of_item_with(shown.item.version, &shown.links, beside);
        if let Some(known) = tag.known_to(request.headers())? {
            return Ok(not_modified(&known));
        }
        let view = ItemView::new(&shown, Snapshot::Now).embedding(&embedded);
        self.show(StatusCode::OK, item.parent, &view, &tag).await
    }

    /// An item with what rules would say if it were replaced by itself now, which depends on more
    /// than the item.
    async fn examine(
        &self,
        request: &Request,
        item: ItemAddress,
        view: &View,
    ) -> Result<Response, Problem> {
        let (shown, embedded, verdict) =
            self.service.examine(&Caller::Anonymous, item, view).await?;
        let view = ItemView::new(&shown, Snapshot::Now).embedding(&embedded).judged(&verdict);
        let make = || hal::item(&self.context.base_url, self.group, item.parent, &view);
        let response = self.content(request, hal::item_size(self.group, &view), make).await?;
        Ok(modified(response, &shown))
    }
}
