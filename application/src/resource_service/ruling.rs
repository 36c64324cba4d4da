//! What the business rules say of a write: those written in Rust, then those of the rule book.
//!
//! A rule may ask for other items. What it was given is kept as the grounds of the decision, and the store makes the write
//! only while all of it is still so: between the look and the write nothing can change unseen.

use std::collections::{HashMap, HashSet};

use domain::{
    Found, ItemId, Lookup, Occasion, Pointer, Resource, Rule, Severity, Transition, Verdict, Violation, Violations, WriteOperation,
};

use super::ResourceService;
use super::judging::{Draft, stored_members};
use crate::ports::{Ground, Revision, ShownItem};
use crate::query::{PageQuery, Position};
use crate::{ApplicationError, PageRequest, WriteOptions};

/// How many items are looked through at a time for those that a replacement removes.
const REMOVALS_AT_A_TIME: u64 = 100;

/// What a write comes to that no rule refuses.
pub(super) struct Decision<R> {
    pub after: R,
    pub warnings: Violations,
    pub grounds: Vec<Ground>,
}

/// What was looked up so far for a request.
#[derive(Default)]
pub(super) struct Looked {
    /// What each lookup found, and whether a write depends on it.
    found: HashMap<Lookup, (Found, bool)>,
}

impl Looked {
    /// What may not change before the write.
    pub fn into_grounds(self) -> Vec<Ground> {
        let relied_on = self.found.into_iter().filter(|(_, (_, is_relied_on))| *is_relied_on);
        let ground = |(lookup, (found, _))| match found {
            Found::Items(items) => Some(Ground { lookup, found: items.iter().map(|item| (item.id, item.version)).collect() }),
            Found::TooMany | Found::TooLarge => None,
        };
        relied_on.filter_map(ground).collect()
    }
}

impl<R: Resource> ResourceService<R> {
    /// When, by whom and to which item a write is done.
    pub(super) fn occasion(&self, options: &WriteOptions, operation: WriteOperation, id: ItemId, parent: Option<ItemId>) -> Occasion {
        let now = self.clock.now();
        Occasion { operation, id, parent, caller: options.caller.name().map(Into::into), now, today: self.clock.day_of(now) }
    }

    /// Decides on one write.
    pub(super) async fn decide(
        &self,
        occasion: &Occasion,
        before: Option<&ShownItem>,
        draft: Draft<R>,
    ) -> Result<Decision<R>, ApplicationError> {
        let mut looked = Looked::default();
        let (after, verdict) = self.judge(occasion, before, draft, &mut looked).await?;
        if verdict.errors.is_empty() {
            Ok(Decision { after, warnings: verdict.warnings, grounds: looked.into_grounds() })
        } else {
            Err(ApplicationError::Invalid(verdict.errors))
        }
    }

    /// Asks every rule that judges such writes.
    pub(super) async fn judge(
        &self,
        occasion: &Occasion,
        before: Option<&ShownItem>,
        draft: Draft<R>,
        looked: &mut Looked,
    ) -> Result<(R, Verdict), ApplicationError> {
        let Draft { after, errors } = draft;
        let mut verdict = Verdict { errors, warnings: Violations::default() };
        let book = self.rules.rules(self.collection);
        if R::rules().is_empty() && book.is_empty() {
            return Ok((after, verdict));
        }
        let before = before.map(stored).transpose()?;
        let transition = Transition { before: before.as_ref(), after: &after, occasion, found: &[] };
        for rule in R::rules() {
            self.ask(*rule, &transition, &mut verdict, looked).await?;
        }
        let of_members = Transition { before: before.as_ref().map(R::members), after: after.members(), occasion, found: &[] };
        for rule in book.iter() {
            self.ask(rule.as_ref(), &of_members, &mut verdict, looked).await?;
        }
        Ok((after, verdict))
    }

    /// Decides on the removal of an item: what the decision rests on.
    pub(super) async fn decide_removal(&self, options: &WriteOptions, shown: &ShownItem) -> Result<Vec<Ground>, ApplicationError> {
        if !self.judges_removals() {
            return Ok(Vec::new());
        }
        let occasion = self.occasion(options, WriteOperation::Delete, shown.item.id, shown.item.parent);
        let draft = Draft { after: stored(shown)?, errors: Violations::default() };
        Ok(self.decide(&occasion, Some(shown), draft).await?.grounds)
    }

    /// Judges the removal of every item of the collection that is not `kept`; gives the revision it was judged at.
    pub(super) async fn judge_removals(
        &self,
        options: &WriteOptions,
        kept: &[ItemId],
        verdict: &mut Verdict,
        looked: &mut Looked,
    ) -> Result<Revision, ApplicationError> {
        let revision = self.repository.totals(self.scope(None), self.collection.linked()).await?.revision;
        let kept: HashSet<_> = kept.iter().copied().collect();
        let mut query = PageQuery { limit: REMOVALS_AT_A_TIME, ..PageRequest::plain(1, REMOVALS_AT_A_TIME).query(self.collection) };
        loop {
            let page = self.repository.page(self.scope(None), &query).await?;
            for removed in page.items.iter().map(|listed| &listed.shown).filter(|shown| !kept.contains(&shown.item.id)) {
                let occasion = self.occasion(options, WriteOperation::Delete, removed.item.id, removed.item.parent);
                let draft = Draft { after: stored::<R>(removed)?, errors: Violations::default() };
                let (_, said) = self.judge(&occasion, Some(removed), draft, looked).await?;
                // It is no part of the body: the whole of it would remove the item.
                for error in said.errors.iter() {
                    let detail = format!("without the item `{}`: {}", removed.item.id, error.detail);
                    verdict.errors.push(Violation { pointer: Pointer::root(), field: String::new(), detail, ..error.clone() });
                }
            }
            match page.last.clone().filter(|_| page.goes_on) {
                Some(last) => query.position = Position::After(last),
                None => return Ok(revision),
            }
        }
    }

    /// Whether any rule may have something to say of a removal.
    pub(super) fn judges_removals(&self) -> bool {
        let is_of_removals = |operations: &[WriteOperation]| operations.contains(&WriteOperation::Delete);
        R::rules().iter().any(|rule| is_of_removals(rule.operations()))
            || self.rules.rules(self.collection).iter().any(|rule| is_of_removals(rule.operations()))
    }

    pub(super) async fn ask<T: Sync>(
        &self,
        rule: &dyn Rule<T>,
        transition: &Transition<'_, T>,
        verdict: &mut Verdict,
        looked: &mut Looked,
    ) -> Result<(), ApplicationError> {
        if !verdict.wants(rule, transition.occasion) {
            return Ok(());
        }
        let lookups = match rule.lookups(transition) {
            Ok(lookups) => lookups,
            Err(violation) => {
                verdict.note(rule, Some(violation));
                return Ok(());
            }
        };
        let mut found = Vec::with_capacity(lookups.len());
        for lookup in lookups {
            found.push(self.look_up(lookup, rule.severity(), looked).await?);
        }
        verdict.note(rule, rule.check(&transition.knowing(&found)).err());
        Ok(())
    }

    /// A warning is given for what there was; only a refusal must hold at the moment of writing.
    async fn look_up(&self, lookup: Lookup, severity: Severity, looked: &mut Looked) -> Result<Found, ApplicationError> {
        let is_relied_on = severity == Severity::Error;
        if let Some((found, is_known_relied_on)) = looked.found.get_mut(&lookup) {
            *is_known_relied_on |= is_relied_on;
            return Ok(found.clone());
        }
        let found = self.repository.look_up(&lookup).await?;
        looked.found.insert(lookup, (found.clone(), is_relied_on));
        Ok(found)
    }
}

/// The stored item as rules see it. Fields may have become stricter since it was written: it is what can still be read of it.
fn stored<R: Resource>(shown: &ShownItem) -> Result<R, ApplicationError> {
    Ok(R::draft(stored_members(shown)?).0)
}
