use application::ItemAddress;
use domain::ItemId;
use poem::http::StatusCode;
use poem::http::header::{IF_NONE_MATCH, LAST_MODIFIED};
use poem::{Request, Response};

use super::GroupEndpoint;
use super::respond::{not_modified, show_page, unchanged};
use crate::endpoints::content;
use crate::hal::{self, ItemView, Snapshot};
use crate::headers::entity_tag::EntityTag;
use crate::headers::link::with_links;
use crate::problem::Result;
use crate::query::{CollectionQuery, ItemQuery, query_of};
use crate::request::caller::caller_of;
use crate::time::TIME;

impl GroupEndpoint {
    pub(super) async fn list(&self, request: &Request) -> Result<Response> {
        let parent = self.parent_in(request);
        // An invalid query takes precedence over a missing parent.
        let named = parent.as_ref().ok().copied().flatten();
        let query = CollectionQuery::read(self.group, query_of(request), named)?;
        let parent = parent?;
        if !query.has_access
            && query.as_of.is_none()
            && let Some(known) = self.known_revision(request, parent, &query).await?
        {
            return Ok(not_modified(&known));
        }
        let (caller, wanted) = (caller_of(request), &query.request);
        let read = async || match query.as_of {
            Some(time) => self.service.list_at(caller, parent, time, wanted).await,
            None => self.service.list(caller, parent, wanted).await,
        };
        let (listing, memory) = self.read_page(read).await?;
        let time = query.as_of.map(|time| TIME.timestamp_to_string(&time));
        let snapshot = time.as_deref().map_or(Snapshot::Now, Snapshot::At);
        let mut page = self.page_of(&query, &listing, parent, snapshot);
        if query.has_access {
            let items: Vec<_> = listing.items().iter().map(|it| it.shown.item.id).collect();
            page.allowed = self.service.allowed(caller_of(request), &items).await?;
        }
        let body = self.page_body(&page, memory);
        if time.is_some() {
            return Ok(with_links(content::answer(request, body)?, &page.targets));
        }
        let tag = self.page_tag(&page, &body).read_at(self.is_standby);
        Ok(match tag.known_to(request.headers())? {
            Some(known) => not_modified(&known),
            None => show_page(&page, &tag, body),
        })
    }

    /// Finds the client's tag without a read of items, if possible: polling an unchanged collection
    /// is nearly free.
    async fn known_revision(
        &self,
        request: &Request,
        parent: Option<ItemId>,
        query: &CollectionQuery<'_>,
    ) -> Result<Option<EntityTag>> {
        if !request.headers().contains_key(IF_NONE_MATCH) {
            return Ok(None);
        }
        let revision = self.service.revision(caller_of(request), parent, &query.request).await?;
        let Some(revision) = revision else { return Ok(None) };
        EntityTag::of_collection(&revision).read_at(self.is_standby).known_to(request.headers())
    }

    pub(super) async fn get(&self, request: &Request) -> Result<Response> {
        let query = ItemQuery::read(self.group, query_of(request))?;
        let item = self.target(request)?;
        if let Some(time) = query.as_of {
            return self.get_at(request, item, time, &query.view).await;
        }
        if query.is_checked {
            return self.examine(request, item, &query).await;
        }
        let (shown, embedded) = self.service.get(caller_of(request), item, &query.view).await?;
        if query.has_access {
            let view =
                ItemView { embedded: embedded.requested(), ..ItemView::new(&shown, Snapshot::Now) };
            return self.show_allowed(request, item, view).await;
        }
        let embedded_items = hal::embedded_items(self.group, &shown, &embedded);
        let tag = EntityTag::of_item_with(shown.item.version, &shown.links, embedded_items);
        // The date of the last write does not cover embedded items and hidden members.
        let is_dated = query.view.embed.is_empty() && shown.links.cut.is_none();
        let modified = is_dated.then_some(shown.item.updated_at);
        if let Some(unchanged) = unchanged(request, &tag, modified)? {
            return Ok(unchanged);
        }
        let embedded = embedded.requested();
        let view = ItemView { embedded, ..ItemView::new(&shown, Snapshot::Now) };
        let mut response = self.show(StatusCode::OK, item.parent, (&view, None), &tag).await?;
        if modified.is_none() {
            response.headers_mut().remove(LAST_MODIFIED);
        }
        Ok(response)
    }

    /// Reports the violations that a replacement of the item with the same members would have. They
    /// depend on more than the item.
    async fn examine(
        &self,
        request: &Request,
        item: ItemAddress,
        query: &ItemQuery,
    ) -> Result<Response> {
        let (shown, embedded, verdict) =
            self.service.examine(caller_of(request), item, &query.view).await?;
        let view = ItemView {
            embedded: Some(&embedded),
            warnings: Some(&verdict.warnings),
            errors: Some(&verdict.errors),
            ..ItemView::new(&shown, Snapshot::Now)
        };
        if query.has_access {
            return self.show_allowed(request, item, view).await;
        }
        content::answer(request, self.item_body(item.parent, &view, None).await?)
    }

    /// Shows the operations that the caller may perform. They depend on more than the item.
    async fn show_allowed(
        &self,
        request: &Request,
        item: ItemAddress,
        view: ItemView<'_>,
    ) -> Result<Response> {
        let allowed = self.service.allowed(caller_of(request), &[item.id]).await?;
        let view = ItemView { allowed: allowed.get(&item.id).copied(), ..view };
        content::answer(request, self.item_body(item.parent, &view, None).await?)
    }
}
