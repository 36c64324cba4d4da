//! The evaluation of the business rules for a write: those written in Rust, then those of the rule
//! book.
//!
//! A rule may ask for other items. What it was given is kept as the read set of the decision, and
//! the store makes the write only while all of it is still so: between the look and the write
//! nothing can change unseen.

use std::collections::HashSet;

use domain::{
    Found, ItemId, Lookup, Members, Pointer, Resource, Rule, Severity, Transition, Verdict,
    Violation, Violations, WriteContext, WriteOperation,
};

use tracing::Instrument as _;

use super::ResourceService;
use super::read_set::DecisionContext;
use super::validate::{Draft, stored_members};
use crate::ports::{BookRule, ReadDependency, ShownItem};
use crate::query::{PageQuery, PageStart};
use crate::trace_span;
use crate::{ApplicationError, Caller, ItemAddress, Result, WriteOptions};

/// How many items are looked through at a time for those that a replacement removes.
const REMOVALS_AT_A_TIME: u64 = 100;

/// The result of a write that no rule refuses.
pub(super) struct Decision<R> {
    pub after: R,
    pub warnings: Violations,
    pub read_set: Vec<ReadDependency>,
}

impl<R: Resource> ResourceService<R> {
    /// Decides on one write.
    pub(super) async fn decide(
        &self,
        options: &WriteOptions,
        operation: WriteOperation,
        item: ItemAddress,
        before: Option<&ShownItem>,
        draft: Draft<R>,
    ) -> Result<Decision<R>> {
        let mut decision = self.decision();
        let context = decision.context(&options.caller, operation, item);
        let judged = self.judge(&context, before, draft, &mut decision);
        let (after, verdict) = judged.instrument(trace_span!("rules")).await?;
        if verdict.errors.is_empty() {
            Ok(Decision { after, warnings: verdict.warnings, read_set: decision.into_read_set() })
        } else {
            Err(ApplicationError::Invalid(verdict.errors))
        }
    }

    /// Asks every rule that judges such writes.
    pub(super) async fn judge(
        &self,
        context: &WriteContext,
        before: Option<&ShownItem>,
        draft: Draft<R>,
        decision: &mut DecisionContext,
    ) -> Result<(R, Verdict)> {
        let Draft { after, errors } = draft;
        let mut verdict = Verdict { errors, warnings: Violations::default() };
        if !has_rules::<R>(decision) {
            return Ok((after, verdict));
        }
        let book = decision.book.clone();
        let before = before.map(stored).transpose()?;
        let transition = Transition { before: before.as_ref(), after: &after, context, found: &[] };
        for rule in R::rules() {
            self.ask(*rule, &transition, &mut verdict, decision).await?;
        }
        let of_members = Transition {
            before: before.as_ref().map(R::members),
            after: after.members(),
            context,
            found: &[],
        };
        for rule in book.iter() {
            self.ask_book(rule.as_ref(), &of_members, &mut verdict, decision).await?;
        }
        log_undecided(&verdict);
        Ok((after, verdict))
    }

    /// Decides on the removal of an item: what the decision rests on.
    pub(super) async fn decide_removal(
        &self,
        options: &WriteOptions,
        shown: &ShownItem,
    ) -> Result<Vec<ReadDependency>> {
        if !judges_removals::<R>(&self.decision()) {
            return Ok(Vec::new());
        }
        let own = ItemAddress::of(&shown.item);
        let draft = Draft { after: stored(shown)?, errors: Violations::default() };
        Ok(self.decide(options, WriteOperation::Delete, own, Some(shown), draft).await?.read_set)
    }

    /// Judges the removal of every item of the collection that is not `kept`.
    pub(super) async fn judge_removals(
        &self,
        caller: &Caller,
        kept: &[ItemId],
        verdict: &mut Verdict,
        decision: &mut DecisionContext,
    ) -> Result<()> {
        let kept: HashSet<_> = kept.iter().copied().collect();
        let mut query = PageQuery::all(self.collection, REMOVALS_AT_A_TIME);
        loop {
            let page = self.repository.page(&self.everything(), &query).await?;
            let items = page.items.iter().map(|listed| &listed.shown);
            for removed in items.filter(|shown| !kept.contains(&shown.item.id)) {
                let own = ItemAddress::of(&removed.item);
                let context = decision.context(caller, WriteOperation::Delete, own);
                let draft = Draft { after: stored::<R>(removed)?, errors: Violations::default() };
                let (_, said) = self.judge(&context, Some(removed), draft, decision).await?;
                verdict.errors.extend(of_removal(removed.item.id, &said.errors));
                verdict.warnings.extend(of_removal(removed.item.id, &said.warnings));
            }
            match page.last.clone().filter(|_| page.has_more) {
                Some(last) => query.position = PageStart::After(last),
                None => return Ok(()),
            }
        }
    }

    /// Asks a rule written in Rust.
    async fn ask<T: Sync>(
        &self,
        rule: &dyn Rule<T>,
        transition: &Transition<'_, T>,
        verdict: &mut Verdict,
        decision: &mut DecisionContext,
    ) -> Result<()> {
        if verdict.wants(rule, transition.context) {
            let outcome = match rule.lookups(transition) {
                Ok(lookups) => {
                    let found = self.look_up(lookups, rule.severity(), decision).await?;
                    rule.check(&transition.knowing(&found))
                }
                Err(violation) => Err(violation),
            };
            verdict.note(rule, outcome.err());
        }
        Ok(())
    }

    /// Asks a rule of the rule book, unless it does not judge such writes; returns what its lookups
    /// found.
    pub(super) async fn ask_book(
        &self,
        rule: &dyn BookRule,
        transition: &Transition<'_, Members>,
        verdict: &mut Verdict,
        decision: &mut DecisionContext,
    ) -> Result<Option<Vec<Found>>> {
        if !verdict.wants(rule, transition.context) {
            return Ok(None);
        }
        let mut found = Vec::new();
        let outcome = match rule.evaluate_lookups(transition).await {
            Ok(lookups) => {
                found = self.look_up(lookups, rule.severity(), decision).await?;
                rule.evaluate(&transition.knowing(&found)).await
            }
            Err(violation) => Err(violation),
        };
        verdict.note(rule, outcome.err());
        Ok(Some(found))
    }

    async fn look_up(
        &self,
        lookups: Vec<Lookup>,
        severity: Severity,
        decision: &mut DecisionContext,
    ) -> Result<Vec<Found>> {
        let mut found = Vec::with_capacity(lookups.len());
        for lookup in lookups {
            found.push(decision.look_up(self.repository.as_ref(), lookup, severity).await?);
        }
        Ok(found)
    }
}

/// Logs which rules could not be decided, and why.
fn log_undecided(verdict: &Verdict) {
    for violation in verdict.errors.iter().chain(verdict.warnings.iter()) {
        if let Some(reason) = &violation.undecided {
            let rule = &*violation.code;
            tracing::warn!(rule, reason, "a rule could not be decided, which counts as not passed");
        }
    }
}

/// Returns true when there is any rule for items of this kind.
pub(super) fn has_rules<R: Resource>(decision: &DecisionContext) -> bool {
    !R::rules().is_empty() || !decision.book.is_empty()
}

/// Returns true when any rule judges removals.
pub(super) fn judges_removals<R: Resource>(decision: &DecisionContext) -> bool {
    let is_of_removals =
        |operations: &[WriteOperation]| operations.contains(&WriteOperation::Delete);
    R::rules().iter().any(|rule| is_of_removals(rule.operations()))
        || decision.book.iter().any(|rule| is_of_removals(rule.operations()))
}

/// Returns the violations that the removal of an item causes, each with a pointer to the root. The
/// removed item is no part of the body: it is the body as a whole that would remove it.
fn of_removal(id: ItemId, said: &Violations) -> impl Iterator<Item = Violation> {
    said.iter().map(move |violation| {
        let detail = format!("without the item `{id}`: {}", violation.detail);
        Violation { pointer: Pointer::root(), field: "".into(), detail, ..violation.clone() }
    })
}

/// The stored item as rules see it. Fields may have become stricter since it was written: it is
/// what can still be read of it.
fn stored<R: Resource>(shown: &ShownItem) -> Result<R> {
    Ok(R::draft(stored_members(&shown.item)?).0)
}
