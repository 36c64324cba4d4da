//! Reads of the current state.

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

    /// Returns the revision of [`list`](Self::list) without a query for items; `None` if only a
    /// query can decide whether the page exists.
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

    /// Returns a whole item with its embedded items, and the verdict on its replacement with the same members
    /// now.
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

    /// Refuses a caller who may not read the item or perform the operation on it.
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

    /// Returns the most frequent values of a [counted](domain::collection::CollectionSpec::counted)
    /// member, at most `limit`, and the time of the counts.
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
    /// Embeds related items, with one query for each relation. Omits those that the caller may not
    /// read.
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

    /// Removes the links to collections that the caller may not read.
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
