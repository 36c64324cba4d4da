//! The audit of stored items by rules, also by rules that are not yet in force.

use std::collections::BTreeMap;

use domain::{Item, Transition, Verdict, VisibleMembers, WriteOperation};

use super::ResourceService;
use super::read_set::DecisionContext;
use super::rules::hide_members;
use super::validate::stored_members;
use crate::ports::ShownItem;
use crate::query::{PageQuery, PageStart, SortPosition};
use crate::{Caller, ItemAddress, Result};

const AT_A_TIME: u64 = 50;

#[derive(Debug)]
pub struct Audited {
    /// The items with violations, as the caller sees them.
    pub remarked: Vec<(Item, Verdict)>,
    pub examined: u64,
    /// How many items each rule applied to, by the rule's code.
    pub applied: BTreeMap<String, u64>,
    /// The start of the next part; `None` at the end.
    pub next: Option<SortPosition>,
}

impl ResourceService {
    /// Evaluates the book's rules for the next items as if each were replaced with the same members. A rule
    /// that does not judge replacements is evaluated for the first operation that it judges.
    pub async fn audit(&self, caller: &Caller, after: Option<SortPosition>) -> Result<Audited> {
        let position = after.map_or(PageStart::Offset(0), PageStart::After);
        let query = PageQuery { position, ..PageQuery::all(self.collection, AT_A_TIME) };
        let reach = self.reach(caller, None).await?.masked(None);
        let page = self.ports.items.page(&reach, &query).await?;
        let mut audited = Audited {
            remarked: Vec::new(),
            examined: page.items.len() as u64,
            applied: BTreeMap::new(),
            next: page.last.clone().filter(|_| page.has_more),
        };
        let mut decision = self.decision();
        for listed in &page.items {
            let shown = &listed.shown;
            let visible = self.visible_members(caller, &shown.item, &mut decision).await?;
            let shown = (shown, visible.as_ref());
            let mut verdict =
                self.audit_item(caller, shown, &mut decision, &mut audited.applied).await?;
            hide_members(visible.as_ref(), &mut verdict);
            if !(verdict.errors.is_empty() && verdict.warnings.is_empty()) {
                let mut item = listed.shown.item.clone();
                if let Some(visible) = &visible {
                    visible.apply(&mut item);
                }
                audited.remarked.push((item, verdict));
            }
        }
        Ok(audited)
    }
}

impl ResourceService {
    async fn audit_item(
        &self,
        caller: &Caller,
        (shown, visible): (&ShownItem, Option<&VisibleMembers>),
        decision: &mut DecisionContext,
        applied: &mut BTreeMap<String, u64>,
    ) -> Result<Verdict> {
        let members = stored_members(&shown.item)?;
        let mut verdict = Verdict::default();
        for rule in decision.book.clone().iter() {
            let about = rule.about();
            let Some(operation) = audited_operation(about.operations) else { continue };
            let mut context = decision.context(caller, operation, ItemAddress::of(&shown.item));
            // A future rule is audited for its first day.
            context.today = about.effective.0.map_or(context.today, |from| from.max(context.today));
            let before = (operation != WriteOperation::Create).then_some(&members);
            let transition = Transition { before, after: &members, context: &context, found: &[] };
            let found =
                self.ask(rule.as_ref(), &transition, (&mut verdict, visible), decision).await?;
            if let Some(found) = found
                && rule.applies(&transition.knowing(&found)).await
            {
                *applied.entry(about.code.to_owned()).or_default() += 1;
            }
        }
        Ok(verdict)
    }
}

/// Returns the operation for which a rule is audited: a replacement, or else the first that it
/// judges.
pub fn audited_operation(judged: &[WriteOperation]) -> Option<WriteOperation> {
    judged
        .iter()
        .copied()
        .find(|operation| *operation == WriteOperation::Replace)
        .or_else(|| judged.first().copied())
}
