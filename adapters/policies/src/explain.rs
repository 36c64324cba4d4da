//! The values that conditions see on an item, for an explanation to the operator.

use application::Caller;
use domain::json::shortened;
use domain::{Found, Item, Lookup, Members, WriteContext, WriteOperation};
use jiff::civil::Date;
use language::expression::{
    Condition, CostLimit, JsonText, LookupTarget, Meta, Meter, Scope, Trace, TracedPart,
};

use crate::policy_set::PolicySet;

/// The limit of a shown value in characters.
const LONGEST_VALUE: usize = 200;

/// The condition of a policy on a stored item.
pub struct ExplainedCondition<'a> {
    condition: &'a Condition,
    members: Members,
    meta: Meta<'a>,
    context: WriteContext,
}

impl PolicySet {
    /// Returns the condition of a policy; `None` if it applies to all items.
    pub fn explain<'a>(
        &'a self,
        id: &str,
        item: &'a Item,
        caller: &Caller,
        today: Date,
    ) -> Option<ExplainedCondition<'a>> {
        let policy = self.policies.iter().find(|policy| *policy.shown.id == *id)?;
        let condition = policy.condition.when.as_ref()?;
        let members = Members::read(item.members.as_bytes()).ok().flatten()?;
        let context = WriteContext {
            id: item.id,
            parent: item.parent,
            caller: caller.principal().cloned(),
            today,
            ..WriteContext::any(WriteOperation::Replace)
        };
        Some(ExplainedCondition { condition, members, meta: Meta::of(item), context })
    }
}

impl ExplainedCondition<'_> {
    /// Returns the next lookup, after the results of the earlier ones; `None` if its key cannot be
    /// evaluated, or all are known.
    pub fn next_lookup(&self, found: &[Found]) -> Option<Lookup> {
        let (_, target) = self.condition.lookups().get(found.len())?;
        let key = self.evaluate(found, None, |scope, meter| target.key(scope, meter).ok())?;
        let (collection, without) = (target.collection, self.context.id);
        Some(Lookup { collection, key, without })
    }

    /// Returns the parts of the condition with their values.
    pub fn values(&self, found: &[Found]) -> Vec<String> {
        let trace = Trace::default();
        let expression = self.condition.expression();
        // The trace has the result.
        let _ = self.evaluate(found, Some(&trace), |scope, meter| expression.boolean(scope, meter));
        let (parts, _) = trace.into_parts();
        let line = |TracedPart { expression, outcome }| match outcome {
            Ok(JsonText { text, .. }) => {
                format!("{expression} is {}", shortened(&text, LONGEST_VALUE))
            }
            Err(reason) => format!("{expression} fails: {reason}"),
        };
        parts.into_iter().map(line).collect()
    }

    fn evaluate<T>(
        &self,
        found: &[Found],
        trace: Option<&Trace>,
        evaluate: impl FnOnce(&Scope<'_>, &Meter) -> T,
    ) -> T {
        let lookups = LookupTarget::variables(self.condition.lookups());
        let (after, context, meta) = (&self.members, &self.context, Some(self.meta));
        let scope = Scope { after, before: None, context, lookups: &lookups, found, trace, meta };
        evaluate(&scope, &Meter::of(CostLimit::Verdict))
    }
}
