//! Reads of what there is now.

use async_trait::async_trait;
use domain::{ItemId, Resource, Verdict, WriteOperation};

use super::ResourceService;
use super::listing::{Embedded, Listing, require_within};
use super::validate::{Draft, stored_members};
use crate::ports::{Revision, ShownItem, ValueCounts};
use crate::query::{PageQuery, PageRequest, PageStart, View};
use crate::{ApplicationError, Caller, ItemAddress, Result};

/// The reads of what there is now.
#[async_trait]
pub trait ReadUseCases: Send + Sync {
    /// A page of the collection, or of the part of it that belongs to `parent`.
    ///
    /// # Errors
    /// `ParentNotFound`; `PageOutOfRange` beyond the last page of a selection that is not empty;
    /// `TooMuchEmbedded`; `Store`.
    async fn list(
        &self,
        caller: &Caller,
        parent: Option<ItemId>,
        request: &PageRequest,
    ) -> Result<Listing>;

    /// The revision that [`list`](Self::list) would give, without a look at any item; `None` where
    /// a look is needed to know whether there is such a page.
    ///
    /// # Errors
    /// `ParentNotFound`; `Store`.
    async fn revision(
        &self,
        caller: &Caller,
        parent: Option<ItemId>,
        request: &PageRequest,
    ) -> Result<Option<Revision>>;

    /// One item, and what is shown beside it.
    ///
    /// # Errors
    /// `ItemNotFound`; `TooMuchEmbedded`; `Store`.
    async fn get(
        &self,
        caller: &Caller,
        item: ItemAddress,
        view: &View,
    ) -> Result<(ShownItem, Embedded)>;

    /// One item whole, what is shown beside it, and what the rules would say if it were replaced by
    /// itself now.
    ///
    /// # Errors
    /// `ItemNotFound`; `TooMuchEmbedded`; `Store`.
    async fn examine(
        &self,
        caller: &Caller,
        item: ItemAddress,
        view: &View,
    ) -> Result<(ShownItem, Embedded, Verdict)>;

    /// The values that most items of the collection have for a member that is
    /// [counted](domain::collection::CollectionSpec::counted), at most `limit`, and the time of the counts.
    ///
    /// # Errors
    /// `Store`.
    async fn value_counts(&self, caller: &Caller, member: &str, limit: u64) -> Result<ValueCounts>;
}

#[async_trait]
impl<R: Resource> ReadUseCases for ResourceService<R> {
    async fn list(
        &self,
        _caller: &Caller,
        parent: Option<ItemId>,
        request: &PageRequest,
    ) -> Result<Listing> {
        let (reach, query) = (self.reach(parent), request.query(self.collection));
        let content = self.repository.page(&reach, &query).await?;
        let has_items = async {
            let position = PageStart::Offset(0);
            let first = PageQuery { position, limit: 1, count_by: None, ..query.clone() };
            Ok(!self.repository.page(&reach, &first).await?.items.is_empty())
        };
        require_within(request, &content, has_items).await?;
        let shown: Vec<_> = content.items.iter().map(|listed| &listed.shown).collect();
        let embedded =
            Embedded::find(self.repository.as_ref(), &request.view.embed, &shown).await?;
        Ok(Listing::new(request, content, embedded))
    }

    async fn revision(
        &self,
        _caller: &Caller,
        parent: Option<ItemId>,
        request: &PageRequest,
    ) -> Result<Option<Revision>> {
        let related = request.view.related(self.collection);
        let totals = self.repository.totals(&self.reach(parent), &related).await?;
        let is_there = request.page == 1
            || request.position.is_some()
            || (request.selection.is_everything()
                && request.page <= totals.items.div_ceil(request.page_size));
        Ok(is_there.then_some(totals.revision))
    }

    async fn get(
        &self,
        _caller: &Caller,
        item: ItemAddress,
        view: &View,
    ) -> Result<(ShownItem, Embedded)> {
        let shown = match &view.fields {
            None => self.find(item).await?,
            Some(fields) => {
                let reach = self.reach(item.parent);
                let found = self.repository.find_fields(&reach, item.id, fields).await?;
                found.ok_or(ApplicationError::ItemNotFound)?
            }
        };
        let embedded = Embedded::find(self.repository.as_ref(), &view.embed, &[&shown]).await?;
        Ok((shown, embedded))
    }

    async fn examine(
        &self,
        caller: &Caller,
        item: ItemAddress,
        view: &View,
    ) -> Result<(ShownItem, Embedded, Verdict)> {
        let whole = View { fields: None, embed: view.embed.clone() };
        let (shown, embedded) = self.get(caller, item, &whole).await?;
        let mut decision = self.decision();
        let own = ItemAddress::of(&shown.item);
        let context = decision.context(caller, WriteOperation::Replace, own);
        let draft = Draft::of(&stored_members(&shown.item)?, Some(own.id));
        let (_, verdict) = self.judge(&context, Some(&shown), draft, &mut decision).await?;
        Ok((shown, embedded, verdict))
    }

    async fn value_counts(
        &self,
        _caller: &Caller,
        member: &str,
        limit: u64,
    ) -> Result<ValueCounts> {
        Ok(self.repository.value_counts(&self.reach(None), member, limit).await?)
    }
}
