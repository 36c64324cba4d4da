//! Reads of the current state.

use domain::{Found, ItemId, Lookup, LookupKey, Operation, Verdict, WriteOperation};

use super::ResourceService;
use super::listing::{Embedded, Listing, related, require_within};
use super::validate::{Draft, stored_members};
use super::visibility::missing;
use crate::access_control::Visibility;
use crate::ports::{PageRevision, Scope, ShownItem, ValueCounts};
use crate::query::{Filter, MemberNames, PageQuery, PageRequest, PageStart, View};
use crate::{ApplicationError, Caller, ItemAddress, Result};

const LOOKED_UP_AT_A_TIME: u64 = 50;

impl ResourceService {
    pub async fn list(
        &self,
        caller: &Caller,
        parent: Option<ItemId>,
        request: &PageRequest,
    ) -> Result<Listing> {
        let reach = self.reach(caller, parent).await?;
        let visibility = self.access.visibility(caller, self.collection, &request.view);
        let mut query = request.query(self.collection);
        query.related.retain(|collection| visibility.has_all(*collection));
        let content = self.ports.items.page(&reach, &query).await?;
        let has_items = async {
            let position = PageStart::Offset(0);
            let first = PageQuery { position, limit: 1, count_by: None, ..query.clone() };
            Ok(!self.ports.items.page(&reach, &first).await?.items.is_empty())
        };
        require_within(request, &content, has_items).await?;
        let content = self.page_seen_by(caller, &visibility, content).await?;
        let shown: Vec<_> = content.items.iter().map(|listed| &listed.shown).collect();
        let embedded = self.embedded(caller, &request.view, &visibility, &shown).await?;
        Ok(Listing { visibility, ..Listing::new(request, content, embedded) })
    }

    /// Returns the revision of [`list`](Self::list) without a query for items; `None` if only a
    /// query can decide whether the page exists, or whether its visible part changed.
    pub async fn revision(
        &self,
        caller: &Caller,
        parent: Option<ItemId>,
        request: &PageRequest,
    ) -> Result<Option<PageRevision>> {
        let reach = self.reach(caller, parent).await?;
        let visibility = self.access.visibility(caller, self.collection, &request.view);
        if !visibility.has_revision() {
            return Ok(None);
        }
        let mut related = request.view.related(self.collection);
        related.retain(|collection| visibility.has_all(*collection));
        let totals = self.ports.items.totals(&reach, &related).await?;
        let is_there = request.page == 1
            || request.position.is_some()
            || (request.selection.is_everything()
                && request.page <= totals.items.div_ceil(request.page_size));
        let revision = PageRevision { revision: totals.revision, unseen: visibility.unseen };
        Ok(is_there.then_some(revision))
    }

    pub async fn get(
        &self,
        caller: &Caller,
        item: ItemAddress,
        view: &View,
    ) -> Result<(ShownItem, Embedded)> {
        let mut shown = match &view.fields {
            None => self.find(caller, item).await?,
            Some(fields) => {
                let reach = self.reach(caller, item.parent).await?;
                let found = self.ports.items.find_fields(&reach, &[item.id], fields).await?.pop();
                found.ok_or_else(|| missing(caller, &reach, ApplicationError::ItemNotFound))?
            }
        };
        let visibility = self.access.visibility(caller, self.collection, view);
        let mut embedded = Embedded::default();
        if !visibility.is_whole() {
            let linking = [(self.collection, &shown)];
            self.visible_links(caller, &visibility, linking)
                .await?
                .cut(self.collection, &mut shown);
        }
        if !view.embed.is_empty() {
            embedded = self.embedded(caller, view, &visibility, &[&shown]).await?;
        }
        Ok((shown, embedded))
    }

    /// Returns those of these items that exist, regardless of the caller.
    pub async fn existing_items(&self, ids: &[ItemId]) -> Result<Vec<ItemId>> {
        Ok(self.ports.items.in_reach(&self.everything(), ids).await?)
    }

    /// Returns those of these items that the caller may read, in any order, with the named members
    /// alone.
    pub async fn get_fields(
        &self,
        caller: &Caller,
        ids: &[ItemId],
        fields: &MemberNames,
    ) -> Result<Vec<ShownItem>> {
        if ids.is_empty() || !self.access.may_read(caller, self.collection) {
            return Ok(Vec::new());
        }
        let reach = self.reach(caller, None).await?;
        let mut found = self.ports.items.find_fields(&reach, ids, fields).await?;
        let visibility = self.access.visibility(caller, self.collection, &View::default());
        let linking = found.iter().map(|shown| (self.collection, shown));
        let visible = self.visible_links(caller, &visibility, linking).await?;
        for shown in &mut found {
            visible.cut(self.collection, shown);
        }
        Ok(found)
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
        let stored = self.find_whole(caller, item).await?;
        let mut decision = self.decision();
        let visible = self.visible_members(caller, &stored.item, &mut decision).await?;
        let own = ItemAddress::of(&stored.item);
        let context = decision.context(caller, WriteOperation::Replace, own);
        let draft = Draft::restored(self.collection, &stored_members(&stored.item)?, own.id);
        let drafted = (&draft, visible.as_ref());
        let verdict = self.judge(&context, Some(&stored), drafted, &mut decision).await?;
        Ok((shown, embedded, verdict))
    }

    /// Returns the result of a lookup over the items and members that the caller sees. A member that
    /// the caller does not see finds no item.
    pub async fn look_up_seen(&self, caller: &Caller, lookup: &Lookup) -> Result<Found> {
        let mut query = PageQuery::all(self.collection, LOOKED_UP_AT_A_TIME);
        let (mut items, mut bytes, mut parent) = (Vec::new(), 0, None);
        match &lookup.key {
            LookupKey::Nothing => return Ok(Found::Items(items)),
            LookupKey::Id(id) => {
                let address = ItemAddress { parent, id: *id };
                let (shown, _) = self.get(caller, address, &View::default()).await?;
                let found = Some(shown.item).filter(|item| item.id != lookup.without);
                return Ok(Found::of(found.into_iter().collect()));
            }
            LookupKey::Parent(id) => parent = Some(*id),
            LookupKey::Member { name, value } => {
                match Filter::equal(self.collection, name, value) {
                    Some(filter) => query.selection.filters.push(filter),
                    None => return Ok(Found::Items(items)),
                }
            }
        }
        let visibility = self.access.visibility(caller, self.collection, &View::default());
        let reach = self.reach(caller, parent).await?;
        loop {
            let page = self.ports.items.page(&reach, &query).await?;
            let page = self.page_seen_by(caller, &visibility, page).await?;
            for listed in &page.items {
                let item = &listed.shown.item;
                if item.id != lookup.without && lookup.key.is_of(item) {
                    bytes += item.members.len();
                    items.push(item.clone());
                }
            }
            let is_enough = items.len() > Lookup::MOST_ITEMS || bytes > Lookup::MOST_BYTES;
            match page.last.clone().filter(|_| page.has_more && !is_enough) {
                Some(last) => query.position = PageStart::After(last),
                None => return Ok(Found::of(items)),
            }
        }
    }

    /// Returns the most frequent values of a [counted](domain::collection::CollectionSpec::counted)
    /// member, at most `limit`, and the time of the counts.
    pub async fn value_counts(
        &self,
        caller: &Caller,
        member: &str,
        limit: u64,
    ) -> Result<ValueCounts> {
        let reach = self.reach(caller, None).await?;
        let mut counts = self.ports.items.value_counts(&reach, member, limit).await?;
        // It is the time of the last write to any collection.
        counts.time = counts.time.filter(|_| self.access.permissions(caller).sees_everything());
        Ok(counts)
    }
}

impl ResourceService {
    /// Embeds related items, with one query for each relation. Omits those that the caller may not
    /// read.
    async fn embedded(
        &self,
        caller: &Caller,
        view: &View,
        visibility: &Visibility,
        items: &[&ShownItem],
    ) -> Result<Embedded> {
        let mut embedded = Embedded::default();
        for relation in &view.embed {
            let mut found = Vec::new();
            if !visibility.unseen.contains(&relation.to) {
                let scope = Scope::of(relation.to);
                let reach = self.access.reach(caller, scope, &[Operation::Read])?;
                found = related(self.ports.items.as_ref(), &reach, *relation, items).await?;
            }
            let linking = found.iter().map(|shown| (relation.to, shown));
            let visible = self.visible_links(caller, visibility, linking).await?;
            for shown in &mut found {
                visible.cut(relation.to, shown);
            }
            embedded = embedded.with(*relation, found);
        }
        Ok(embedded)
    }
}
