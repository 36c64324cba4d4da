//! Reads of what there is now.

use std::sync::Arc;

use domain::{Collection, ItemId, Operation, Verdict, WriteOperation};

use super::ResourceService;
use super::listing::{Embedded, Listing, related, require_within};
use super::validate::{Draft, stored_members};
use crate::access_control::cut_links;
use crate::ports::{ListedPage, PageRevision, Scope, ShownItem, ValueCounts};
use crate::query::{PageQuery, PageRequest, PageStart, View};
use crate::{ApplicationError, Caller, ItemAddress, Result};

impl ResourceService {
    /// A page of the collection, or of the part of it that belongs to `parent`.
    ///
    /// # Errors
    /// `ParentNotFound`; `PageOutOfRange` beyond the last page of a selection that is not empty;
    /// `TooMuchEmbedded`; `Store`.
    pub async fn list(
        &self,
        caller: &Caller,
        parent: Option<ItemId>,
        request: &PageRequest,
    ) -> Result<Listing> {
        let reach = self.reach(caller, parent)?;
        let unseen = self.access.unseen(caller, self.collection, &request.view);
        let mut query = request.query(self.collection);
        query.related.retain(|collection| !unseen.contains(collection));
        let content = self.ports.items.page(&reach, &query).await?;
        let has_items = async {
            let position = PageStart::Offset(0);
            let first = PageQuery { position, limit: 1, count_by: None, ..query.clone() };
            Ok(!self.ports.items.page(&reach, &first).await?.items.is_empty())
        };
        require_within(request, &content, has_items).await?;
        let shown: Vec<_> = content.items.iter().map(|listed| &listed.shown).collect();
        let embedded = self.embedded(caller, &request.view, &unseen, &shown).await?;
        let content = self.page_seen_by(&unseen, content);
        Ok(Listing { unseen, ..Listing::new(request, content, embedded) })
    }

    /// The revision that [`list`](Self::list) would give, without a look at any item; `None` where
    /// a look is needed to know whether there is such a page.
    ///
    /// # Errors
    /// `ParentNotFound`; `Store`.
    pub async fn revision(
        &self,
        caller: &Caller,
        parent: Option<ItemId>,
        request: &PageRequest,
    ) -> Result<Option<PageRevision>> {
        let reach = self.reach(caller, parent)?;
        let unseen = self.access.unseen(caller, self.collection, &request.view);
        let related = self.related(&request.view, &unseen);
        let totals = self.ports.items.totals(&reach, &related).await?;
        let is_there = request.page == 1
            || request.position.is_some()
            || (request.selection.is_everything()
                && request.page <= totals.items.div_ceil(request.page_size));
        Ok(is_there.then_some(PageRevision { revision: totals.revision, unseen }))
    }

    /// One item, and what is shown beside it.
    ///
    /// # Errors
    /// `ItemNotFound`; `TooMuchEmbedded`; `Store`.
    pub async fn get(
        &self,
        caller: &Caller,
        item: ItemAddress,
        view: &View,
    ) -> Result<(ShownItem, Embedded)> {
        let shown = match &view.fields {
            None => self.find(caller, item).await?,
            Some(fields) => {
                let reach = self.reach(caller, item.parent)?;
                let found = self.ports.items.find_fields(&reach, item.id, fields).await?;
                found.ok_or(ApplicationError::ItemNotFound)?
            }
        };
        let mut embedded = Embedded::default();
        if !view.embed.is_empty() {
            let unseen = self.access.unseen(caller, self.collection, view);
            embedded = self.embedded(caller, view, &unseen, &[&shown]).await?;
        }
        Ok((self.seen_by(caller, shown), embedded))
    }

    /// One item whole, what is shown beside it, and what the rules would say if it were replaced by
    /// itself now.
    ///
    /// # Errors
    /// `ItemNotFound`; `TooMuchEmbedded`; `Store`.
    pub async fn examine(
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
        let draft = Draft::of(self.collection, &stored_members(&shown.item)?, Some(own.id));
        let verdict = self.judge(&context, Some(&shown), &draft, &mut decision).await?;
        Ok((shown, embedded, verdict))
    }

    /// Refuses a caller who may not perform an operation on an item, which the caller sees.
    ///
    /// # Errors
    /// `CredentialsRequired`; `InsufficientScope`; `NotPermitted`; `ItemNotFound`; `Store`.
    pub async fn require_permission(
        &self,
        caller: &Caller,
        item: ItemAddress,
        operation: Operation,
    ) -> Result<()> {
        let operations = &[Operation::Read, operation];
        let access = self.access.require(caller, self.collection, operations)?;
        self.find(caller, item).await?;
        self.require_on(access, caller, operation, item).await
    }

    /// The values that most items of the collection have for a member that is
    /// [counted](domain::collection::CollectionSpec::counted), at most `limit`, and the time of the counts.
    ///
    /// # Errors
    /// `Store`.
    pub async fn value_counts(
        &self,
        caller: &Caller,
        member: &str,
        limit: u64,
    ) -> Result<ValueCounts> {
        Ok(self.ports.items.value_counts(&self.reach(caller, None)?, member, limit).await?)
    }
}

impl ResourceService {
    /// Finds the items that are shown beside others, with one query for each relation. Those that the
    /// caller does not see are left out.
    async fn embedded(
        &self,
        caller: &Caller,
        view: &View,
        unseen: &[Collection],
        items: &[&ShownItem],
    ) -> Result<Embedded> {
        let mut embedded = Embedded::default();
        for relation in &view.embed {
            let mut found = Vec::new();
            if !unseen.contains(&relation.to) {
                let scope = Scope::of(relation.to);
                let reach = self.access.reach(caller, scope, &[Operation::Read])?;
                found = related(self.ports.items.as_ref(), &reach, *relation, items).await?;
            }
            for shown in &mut found {
                cut_links(relation.to, shown, |other| !unseen.contains(&other.to));
            }
            embedded = embedded.with(*relation, found);
        }
        Ok(embedded)
    }

    /// Returns a page as a caller sees it who does not see some collections.
    pub(super) fn page_seen_by(
        &self,
        unseen: &[Collection],
        page: Arc<ListedPage>,
    ) -> Arc<ListedPage> {
        if unseen.is_empty() {
            return page;
        }
        let mut page = Arc::unwrap_or_clone(page);
        for listed in &mut page.items {
            cut_links(self.collection, &mut listed.shown, |other| !unseen.contains(&other.to));
        }
        Arc::new(page)
    }
}
