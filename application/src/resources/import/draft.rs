//! The items that rows would leave, and their verdicts.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use domain::content::META;
use domain::{Item, ItemId, Members, Operation, Violation, VisibleMembers};
use jiff::Timestamp;

use super::pace::let_others_run;
use super::refusal::{
    duplicate_id, id_not_allowed, not_permitted, not_stored, require_no_version, require_version,
    unknown_id,
};
use super::replay::key_of;
use super::row::{ImportRow, ImportedRow, RowContent};
use super::{Batch, Import};
use crate::ports::{ItemChange, ItemChangeKind, Reach, ReadDependency, Scope, ShownItem};
use crate::resources::ResourceService;
use crate::resources::permission::Origin;
use crate::resources::read_set::DecisionContext;
use crate::resources::result::remarks;
use crate::resources::validate::{Draft, ProposedItem, kept, stored_members, visible_part};
use crate::{ApplicationError, ItemAddress, Result};

/// The items of one read.
const READ_AT_A_TIME: usize = 32;

#[derive(Default)]
pub(super) struct Stored {
    history: Arc<str>,
    items: HashMap<ItemId, ShownItem>,
    parents: HashSet<ItemId>,
    /// The members that the caller sees; all of those of other items.
    visible: HashMap<ItemId, VisibleMembers>,
}

pub(super) struct JudgedRows {
    pub rows: Vec<ImportedRow>,
    pub changes: Vec<ItemChange>,
    pub read_set: Vec<ReadDependency>,
}

impl ResourceService {
    /// Reads the items that rows name; `None` if they are too large for one transaction.
    pub(super) async fn stored(
        &self,
        batch: Batch<'_>,
        history: &Arc<str>,
    ) -> Result<Option<Stored>> {
        let mut stored = Stored { history: Arc::clone(history), ..Stored::default() };
        let named = batch.rows.iter().filter_map(ImportRow::id);
        let ids: Vec<_> = named.filter(|_| batch.import.is_upsert).collect();
        let mut bytes = 0;
        let caller = &batch.options.caller;
        for ids in ids.chunks(READ_AT_A_TIME) {
            let reach = self.reach(caller, None).await?.masked(None);
            for shown in self.ports.items.find_many(&reach, ids).await? {
                bytes += shown.item.members.len();
                stored.items.insert(shown.item.id, shown);
            }
            if bytes > batch.import.most_bytes {
                return Ok(None);
            }
        }
        if let Some(collection) = self.collection.parent() {
            let reach = self.access.reach(caller, Scope::of(collection), &[Operation::Read])?;
            stored.parents = self.existing_parents(&reach, batch.rows).await?;
        }
        Ok(Some(stored))
    }

    async fn existing_parents(&self, reach: &Reach, rows: &[ImportRow]) -> Result<HashSet<ItemId>> {
        let parent = |row: &ImportRow| ItemId::parse(row.content.as_ref().ok()?.parent.as_deref()?);
        let named: HashSet<_> = rows.iter().filter_map(parent).collect();
        let named: Vec<_> = named.into_iter().collect();
        let mut existing = HashSet::new();
        for ids in named.chunks(READ_AT_A_TIME) {
            let found = self.ports.items.find_many(reach, ids).await?;
            existing.extend(found.into_iter().map(|shown| shown.item.id));
        }
        Ok(existing)
    }

    /// Returns the resulting items for rules about other items, and the ids of the new ones. The
    /// drafts are made again for each verdict: kept, they would take most of the memory of an
    /// import.
    async fn proposed_items(
        &self,
        batch: Batch<'_>,
        stored: &Stored,
        now: Timestamp,
    ) -> (Vec<Item>, Vec<Option<ItemId>>) {
        let (mut items, mut ids) = (Vec::new(), Vec::with_capacity(batch.rows.len()));
        let mut seen = HashSet::new();
        for row in batch.rows {
            let draft = self.row_draft(batch.import, row, stored, &mut seen, None);
            let item = draft.ok().map(|draft| draft.item(&batch.options.caller, now));
            ids.push(item.as_ref().map(|item| item.id));
            items.extend(item);
            let_others_run(ids.len()).await;
        }
        (items, ids)
    }

    /// Returns the draft of a row, or the error that prevents its identification. `seen` are the
    /// items of earlier rows. `id` is for a new item.
    fn row_draft(
        &self,
        import: &Import,
        row: &ImportRow,
        stored: &Stored,
        seen: &mut HashSet<ItemId>,
        id: Option<ItemId>,
    ) -> Result<ProposedItem, Violation> {
        let is_twice = row.id().is_some_and(|named| !seen.insert(named));
        let content = row.content.as_ref().map_err(Violation::clone)?;
        if is_twice {
            return Err(duplicate_id());
        }
        let Some(named) = &content.id else {
            require_no_version(content)?;
            let parent = self.parent_of(content, stored)?;
            let draft = Draft::of(self.collection, &content.members.applied_to(None)?, None);
            let id = id.unwrap_or_else(|| self.ports.ids.next_id());
            let address = ItemAddress { parent, id };
            return Ok(ProposedItem { address, before: None, draft });
        };
        if !import.is_upsert {
            return Err(id_not_allowed());
        }
        let shown = ItemId::parse(named).and_then(|id| stored.items.get(&id));
        let shown = shown.ok_or_else(unknown_id)?;
        self.require_same_parent(content, &shown.item)?;
        let before = stored_members(&shown.item).map_err(|error| not_stored(&error))?;
        let visible = stored.visible.get(&shown.item.id);
        let seen = visible.map_or_else(|| before.clone(), |it| visible_part(it, &before));
        let mut after = content.members.applied_to(Some(&seen))?;
        if after.encoded() != seen.encoded() {
            require_version(import, content, (shown.item.version, &stored.history))?;
        }
        let mut refused = Vec::new();
        if let Some(visible) = visible {
            let own = after.retain(|name, _| name != META);
            after = kept(visible, &before, own, false, &mut refused);
        }
        let draft = Draft::of(self.collection, &after, Some(shown.item.id)).with_facts_of(&before);
        let draft = Draft { refused, visible: visible.cloned(), ..draft };
        let address = ItemAddress::of(&shown.item);
        Ok(ProposedItem { address, before: Some(shown.clone()), draft })
    }

    fn parent_of(
        &self,
        content: &RowContent,
        stored: &Stored,
    ) -> Result<Option<ItemId>, Violation> {
        let Some(named) = &content.parent else { return Ok(None) };
        let parent = ItemId::parse(named).filter(|id| stored.parents.contains(id));
        parent.map(Some).ok_or_else(|| {
            let name = self.parent_name();
            let detail = format!("No {name} has this id. Correct it, or leave the cell empty.");
            Violation::of_member(name, "unknown_parent", detail)
        })
    }

    fn require_same_parent(&self, content: &RowContent, item: &Item) -> Result<(), Violation> {
        let Some(named) = &content.parent else { return Ok(()) };
        if ItemId::parse(named) == item.parent {
            return Ok(());
        }
        let name = self.parent_name();
        let detail =
            format!("An item cannot move to another {name}. Restore the cell, or leave it empty.");
        Err(Violation::of_member(name, "parent_mismatch", detail))
    }

    fn parent_name(&self) -> &'static str {
        self.collection.spec().parent.map_or("parent", |parent| parent.rel)
    }

    pub(super) async fn judge_rows(
        &self,
        batch: Batch<'_>,
        stored: &mut Stored,
    ) -> Result<JudgedRows> {
        let (mut decision, mut ids) = (self.decision(), Vec::new());
        for shown in stored.items.values() {
            let item = &shown.item;
            let visible = self.visible_members(&batch.options.caller, item, &mut decision).await?;
            stored.visible.extend(visible.map(|visible| (item.id, visible)));
        }
        if decision.has_rules() && batch.rows.len() > 1 {
            let items;
            (items, ids) = self.proposed_items(batch, stored, decision.now).await;
            decision = decision.writing(items, false);
        }
        let mut rows = Vec::with_capacity(batch.rows.len());
        let mut changes = Vec::with_capacity(batch.rows.len());
        let mut seen = HashSet::new();
        let mut ids = ids.into_iter();
        for row in batch.rows {
            let is_first = batch.claims_key && changes.is_empty();
            let id = ids.next().flatten();
            rows.push(match self.row_draft(batch.import, row, stored, &mut seen, id) {
                Err(violation) => batch.refused(row, violation),
                Ok(draft) if is_unchanged(&draft) => ImportedRow::unchanged(row),
                Ok(draft) => {
                    let (imported, change) =
                        self.judge_row(batch, row, draft, is_first, &mut decision).await?;
                    changes.extend(change);
                    imported
                }
            });
            let_others_run(rows.len()).await;
        }
        Ok(JudgedRows { rows, changes, read_set: decision.into_read_set() })
    }

    async fn judge_row(
        &self,
        batch: Batch<'_>,
        row: &ImportRow,
        draft: ProposedItem,
        is_first: bool,
        decision: &mut DecisionContext,
    ) -> Result<(ImportedRow, Option<ItemChange>)> {
        let (operation, version) = (draft.operation(), draft.version());
        let context = decision.context(&batch.options.caller, operation, draft.address);
        let imported = ImportedRow::written(row, operation, draft.address.id, version);
        let ProposedItem { address, before, draft } = draft;
        let origin = before.as_ref().map_or(Origin::New { continues: None }, Origin::Stored);
        let permitted = self.permit(batch.options, operation, address, origin, &draft, decision);
        let visible = match permitted.await {
            Err(ApplicationError::Store(error)) => return Err(error.into()),
            Err(refusal) => {
                let violations = not_permitted(operation, refusal);
                return Ok((batch.refused(row, violations), None));
            }
            Ok(visible) => visible,
        };
        let ItemAddress { parent, id } = address;
        let drafted = (&draft, visible.as_ref());
        let verdict = self.judge(&context, before.as_ref(), drafted, decision).await?;
        if !verdict.errors.is_empty() {
            return Ok((batch.refused(row, verdict.errors), None));
        }
        if let Err(violation) = self.require_size(draft.after.encoded().len()) {
            return Ok((batch.refused(row, violation), None));
        }
        let remarks = remarks(&verdict.warnings);
        let mut imported = batch.warned(imported, verdict.warnings);
        let seen = |members: &Members| match &draft.visible {
            Some(visible) => visible_part(visible, members),
            None => members.clone(),
        };
        if batch.options.is_dry_run {
            let stored = before.as_ref().map(|shown| stored_members(&shown.item)).transpose()?;
            let stored = stored.as_ref().map(seen);
            let changed = (stored.as_ref(), &seen(&draft.after));
            imported.changes = batch.changed(self.collection, changed);
        }
        let addition = self.new_item(id, draft.after, None);
        let kind = match &before {
            Some(shown) => ItemChangeKind::Update(addition.in_place_of(&shown.item)),
            None => ItemChangeKind::Insert(addition),
        };
        if batch.options.is_dry_run && before.is_none() {
            // A real import assigns another id.
            (imported.id, imported.version) = (None, None);
        }
        let key = key_of(batch.options, row.number, is_first);
        Ok((imported, Some(ItemChange { parent, kind, key, remarks })))
    }
}

/// Returns true if the item has these members already. It is then not judged again.
fn is_unchanged(proposed: &ProposedItem) -> bool {
    let encoded = proposed.draft.after.encoded();
    proposed.draft.refused.is_empty()
        && proposed.before.as_ref().is_some_and(|shown| *shown.item.members == *encoded)
}
