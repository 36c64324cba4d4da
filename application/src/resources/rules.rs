//! The evaluation of the business rules: those in Rust, then those of the rule book.
//!
//! The lookups of the rules form the read set of the decision. The store makes the write only while
//! their results are unchanged.

use std::collections::HashSet;

use domain::{
    Found, ItemId, Operation, Pointer, Transition, Verdict, Violation, Violations, VisibleMembers,
    WriteContext, WriteOperation,
};

use tracing::Instrument as _;

use super::ResourceService;
use super::permission::Origin;
use super::read_set::{DecisionContext, all_rules};
use super::validate::{Draft, stored_members};
use crate::ports::{ReadDependency, Rule, ShownItem};
use crate::query::{PageQuery, PageStart};
use crate::trace_span;
use crate::{ApplicationError, Caller, ItemAddress, Result, WriteOptions};

/// The items read at a time to find those that a replacement removes.
const REMOVALS_AT_A_TIME: u64 = 100;

impl ResourceService {
    /// Decides on a write. Returns its warnings and its read set.
    pub(super) async fn decide(
        &self,
        options: &WriteOptions,
        operation: WriteOperation,
        item: ItemAddress,
        origin: Origin<'_>,
        draft: &Draft,
        mut decision: DecisionContext,
    ) -> Result<(Violations, Vec<ReadDependency>)> {
        let visible = self.permit(options, operation, item, origin, draft, &mut decision).await?;
        let context = decision.context(&options.caller, operation, item);
        let before = if let Origin::Stored(before) = origin { Some(before) } else { None };
        let judged = self.judge(&context, before, (draft, visible.as_ref()), &mut decision);
        let verdict = judged.instrument(trace_span!("rules")).await?;
        if verdict.errors.is_empty() {
            Ok((verdict.warnings, decision.into_read_set()))
        } else {
            Err(ApplicationError::Invalid(verdict.errors))
        }
    }

    pub(super) async fn judge(
        &self,
        context: &WriteContext,
        before: Option<&ShownItem>,
        (draft, visible): (&Draft, Option<&VisibleMembers>),
        decision: &mut DecisionContext,
    ) -> Result<Verdict> {
        let mut verdict = Verdict { errors: draft.errors.clone(), ..Verdict::default() };
        if !decision.has_rules() {
            hide_members(visible, &mut verdict);
            return Ok(verdict);
        }
        let before = before.map(|shown| stored_members(&shown.item)).transpose()?;
        let transition =
            Transition { before: before.as_ref(), after: &draft.after, context, found: &[] };
        let book = decision.book.clone();
        for rule in all_rules(self.collection, &book) {
            self.ask(rule, &transition, (&mut verdict, visible), decision).await?;
        }
        log_undecided(&verdict);
        hide_members(visible, &mut verdict);
        Ok(verdict)
    }

    /// Decides on the removal of an item. Returns the read set.
    pub(super) async fn decide_removal(
        &self,
        options: &WriteOptions,
        shown: &ShownItem,
    ) -> Result<Vec<ReadDependency>> {
        let permissions = self.access.permissions(&options.caller);
        let is_permitted = permissions.has_all(self.collection, Operation::Delete);
        if is_permitted && !self.decision().judges_removals() {
            return Ok(Vec::new());
        }
        let own = ItemAddress::of(&shown.item);
        let draft = Draft::stored(&shown.item)?;
        let (origin, decision) = (Origin::Stored(shown), self.decision());
        let decided = self.decide(options, WriteOperation::Delete, own, origin, &draft, decision);
        Ok(decided.await?.1)
    }

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
            let page = self.ports.items.page(&self.everything(), &query).await?;
            let items = page.items.iter().map(|listed| &listed.shown);
            for removed in items.filter(|shown| !kept.contains(&shown.item.id)) {
                let own = ItemAddress::of(&removed.item);
                let context = decision.context(caller, WriteOperation::Delete, own);
                let draft = Draft::stored(&removed.item)?;
                let said = self.judge(&context, Some(removed), (&draft, None), decision).await?;
                verdict.errors.extend(of_removal(removed.item.id, &said.errors));
                verdict.warnings.extend(of_removal(removed.item.id, &said.warnings));
            }
            match page.last.clone().filter(|_| page.has_more) {
                Some(last) => query.position = PageStart::After(last),
                None => return Ok(()),
            }
        }
    }

    pub(super) async fn ask(
        &self,
        rule: &dyn Rule,
        transition: &Transition<'_>,
        (verdict, visible): (&mut Verdict, Option<&VisibleMembers>),
        decision: &mut DecisionContext,
    ) -> Result<Option<Vec<Found>>> {
        let about = rule.about();
        if !verdict.wants(&about, transition.context, || rule.fields()) {
            return Ok(None);
        }
        let (mut found, mut is_about_unseen) = (Vec::new(), false);
        let outcome = loop {
            let lookups = match rule.lookups(&transition.knowing(&found)).await {
                Ok(lookups) if lookups.is_empty() => {
                    break rule.check(&transition.knowing(&found)).await;
                }
                Ok(lookups) => lookups,
                Err(violation) => break Err(violation),
            };
            let caller = transition.context.caller.clone().into();
            let permissions = self.access.permissions(&caller);
            is_about_unseen |= lookups.iter().any(|lookup| {
                !permissions.has_all(lookup.collection, Operation::Read)
                    || permissions.visible(lookup.collection).is_some()
            });
            for lookup in lookups {
                found.push(decision.look_up(lookup, about.severity).await?);
            }
        };
        let mut violation = outcome.err();
        let is_about_hidden = visible.is_some_and(|visible| !visible.is_whole());
        if let Some(violation) = &mut violation
            && (is_about_unseen || is_about_hidden)
            && (about.message.is_none() || violation.undecided.is_some())
        {
            // A computed message and the reason of a failed evaluation may quote items or members
            // that the caller does not see.
            violation.detail = format!("The rule `{}` is not met.", about.code);
        }
        verdict.note(&about, violation);
        Ok(Some(found))
    }
}

/// Removes the errors of members that the caller does not see, and their places.
pub(super) fn hide_members(visible: Option<&VisibleMembers>, verdict: &mut Verdict) {
    let Some(visible) = visible.filter(|visible| !visible.is_whole()) else { return };
    let shown = |violation: Violation| match &violation.rule {
        None => Some(violation).filter(|it| visible.shows(&it.pointer)),
        Some(_) if visible.shows(&violation.pointer) => Some(violation),
        Some(_) => {
            let (pointer, field) = (Pointer::root(), Box::default());
            Some(Violation { pointer, field, ..violation })
        }
    };
    verdict.errors.filter_map(shown);
    verdict.warnings.filter_map(shown);
}

fn log_undecided(verdict: &Verdict) {
    for violation in verdict.errors.iter().chain(verdict.warnings.iter()) {
        if let Some(reason) = &violation.undecided {
            let rule = &*violation.code;
            tracing::warn!(rule, reason, "a rule could not be evaluated and counts as failed");
        }
    }
}

/// Returns the violations of a removal with a pointer to the root: the whole body would remove the
/// item.
fn of_removal(id: ItemId, said: &Violations) -> impl Iterator<Item = Violation> {
    said.iter().map(move |violation| {
        let detail = format!("without the item `{id}`: {}", violation.detail);
        Violation { pointer: Pointer::root(), field: "".into(), detail, ..violation.clone() }
    })
}
