//! Evaluation of trials, within the cost limits of a write.

use application::{
    RepositoryError, TracedExpression, TrialError, TrialLookups, TrialReport, TrialValue,
    TrialVerdict,
};
use domain::json::shortened;
use domain::{Found, Lookup, LookupKey, Pointer, Transition, WriteContext, WriteOperation};
use language::evaluation;
use language::expression::{
    CostLimit, Expression, JsonText, Meter, Outcome, Scope, Trace, TracedPart,
};

use super::given::Given;
use super::undecided;
use crate::file_rule::{CheckOutcome, Failure, FileRule, LONGEST_MESSAGE};

const MOST_BYTES: usize = 64 << 10;
const MOST_ENTRIES: usize = 200;

pub(super) async fn expression(
    expression: &Expression,
    given: &Given,
    context: &WriteContext,
) -> TrialReport {
    let context = WriteContext { id: given.id, ..context.clone() };
    let found: Vec<_> = given.found.iter().flatten().cloned().collect();
    let (outcome, traced) = traced(CostLimit::Verdict, |trace, meter| {
        let scope = Scope {
            after: &given.after,
            before: given.before.as_ref(),
            context: &context,
            lookups: &given.variables,
            found: &found,
            meta: None,
            trace: Some(trace),
        };
        expression.json(&scope, meter, MOST_BYTES)
    })
    .await;
    let report = match outcome {
        Ok((json, verdict)) => {
            let (verdict, value) =
                (verdict.map_or_else(<_>::default, of_boolean), Some(value(json)));
            TrialReport { verdict, value, ..TrialReport::default() }
        }
        Err(error) => undecided(vec![error_at(Pointer::root(), error.into_reason())]),
    };
    with_trace(report, [traced])
}

pub(super) struct RuleRun<'a> {
    pub rule: &'a FileRule,
    /// JSON input: errors point to its members.
    pub is_json: bool,
    pub given: &'a Given,
    pub stored: Option<&'a dyn TrialLookups>,
}

/// Results of lookups, and the places of those without one.
type Results = (Vec<Found>, Vec<usize>);

impl RuleRun<'_> {
    /// Evaluates the rule. Returns also the results of the lookups that were made; `None` if one is
    /// missing.
    pub async fn report(
        &self,
        context: &WriteContext,
    ) -> Result<(TrialReport, Option<Vec<Found>>), RepositoryError> {
        let Self { rule, given, .. } = *self;
        let operation = rule.likely_operation(given.before.is_some());
        let context = WriteContext { id: given.id, operation, ..context.clone() };
        if !rule.applies_to(operation, context.today) {
            let reason = if rule.operations.contains(&operation) {
                format!("the rule is not in force on {}", context.today)
            } else {
                format!("the rule does not apply to a {}", operation.name())
            };
            return Ok((skipped(reason), Some(Vec::new())));
        }
        let is_delete = operation == WriteOperation::Delete;
        // A deleted item is also the state before.
        let before = given.before.as_ref().or(is_delete.then_some(&given.after));
        let transition = Transition { before, after: &given.after, context: &context, found: &[] };
        let mut all_traced = Vec::new();
        let (found, missing) = match self.look_up(&transition, &mut all_traced).await? {
            Ok(results) => results,
            Err(failure) => return Ok((with_trace(self.failed(failure), all_traced), None)),
        };
        let known = if missing.is_empty() { found.as_slice() } else { &[] };
        let transition = transition.knowing(known);
        let (judged, of_verdict) = traced(CostLimit::Verdict, |trace, meter| {
            rule.judge(&Scope { trace: Some(trace), ..rule.scope(&transition) }, meter)
        })
        .await;
        all_traced.push(of_verdict);
        let is_skipped = matches!(judged, Ok(CheckOutcome::Skipped));
        let report = match judged {
            Ok(CheckOutcome::Skipped) => skipped("`when` is false".to_owned()),
            // A failing early guard has returned above, so results are missing.
            Err(_) if !missing.is_empty() => undecided(self.without_result(&missing)),
            Ok(CheckOutcome::Passed) => of_check(true),
            Ok(CheckOutcome::Failed(message)) => {
                not_met(rule, message, self.pointer("message_expression"))
            }
            Err(failure) => self.failed(failure),
        };
        let found = (missing.is_empty() || is_skipped).then_some(found);
        Ok((with_trace(report, all_traced), found))
    }

    async fn look_up(
        &self,
        transition: &Transition<'_>,
        all_traced: &mut Vec<Traced>,
    ) -> Result<Result<Results, Failure>, RepositoryError> {
        let (mut found, mut missing) = (Vec::new(), Vec::new());
        while missing.is_empty() && found.len() < self.rule.targets.len() {
            let transition = transition.knowing(&found);
            // Results may be given, but the keys must still evaluate.
            let (keys, of_keys) = traced(CostLimit::Lookups, |trace, meter| {
                let scope = Scope { trace: Some(trace), ..self.rule.scope(&transition) };
                self.rule.look_up(&scope, meter)
            })
            .await;
            all_traced.push(of_keys);
            match keys {
                Ok(keys) => (found, missing) = self.results(keys, found).await?,
                Err(error) => return Ok(Err(("lookup", error))),
            }
        }
        Ok(Ok((found, missing)))
    }

    /// Adds the results of lookups: given ones, or else of stored items.
    async fn results(
        &self,
        keys: Vec<Lookup>,
        mut found: Vec<Found>,
    ) -> Result<Results, RepositoryError> {
        for lookup in keys {
            let place = found.len();
            let result = match (&self.given.found[place], self.stored) {
                (Some(given), _) => Some(given.clone()),
                (None, None) => return Ok((found, self.given.missing().collect())),
                (None, Some(_)) if lookup.key == LookupKey::Nothing => {
                    Some(Found::Items(Vec::new()))
                }
                (None, Some(stored)) => stored.look_up(&lookup).await?,
            };
            let Some(result) = result else { return Ok((found, vec![place])) };
            found.push(result);
        }
        Ok((found, Vec::new()))
    }

    fn without_result(&self, missing: &[usize]) -> Vec<TrialError> {
        let error = |place: &usize| {
            let (name, pointer) = (&self.rule.variables[*place].0, self.pointer("lookup"));
            let reason = if self.stored.is_some() {
                format!("you may not read the items of the lookup `{name}`")
            } else {
                format!("the trial has no result for the lookup `{name}`")
            };
            let pointer = if self.is_json { pointer.member(name) } else { pointer };
            error_at(pointer, format!("{reason}; add `{name}` to `lookup`"))
        };
        missing.iter().map(error).collect()
    }

    fn pointer(&self, key: &str) -> Pointer {
        if self.is_json { Pointer::to_member(key) } else { Pointer::root() }
    }

    fn failed(&self, (key, error): Failure) -> TrialReport {
        undecided(vec![error_at(self.pointer(key), error.into_reason())])
    }
}

type Traced = (Vec<TracedPart>, bool);

async fn traced<T>(limit: CostLimit, evaluate: impl Fn(&Trace, &Meter) -> T) -> (T, Traced) {
    evaluation::run(limit, |meter| {
        let trace = Trace::default();
        let outcome = evaluate(&trace, meter);
        (outcome, trace.into_parts())
    })
    .await
}

fn not_met(rule: &FileRule, message: Outcome<String>, of_message: Pointer) -> TrialReport {
    let (message, errors) = match message {
        Ok(message) => (message, Vec::new()),
        Err(error) => {
            let reason = format!("the message cannot be computed: {}", error.into_reason());
            (rule.other_message(), vec![error_at(of_message, reason)])
        }
    };
    let message = Some(shortened(&message, LONGEST_MESSAGE).into_owned());
    TrialReport { message, errors, ..of_check(false) }
}

fn skipped(reason: String) -> TrialReport {
    TrialReport { verdict: TrialVerdict::Pass, skipped: Some(reason), ..TrialReport::default() }
}

const fn of_boolean(verdict: bool) -> TrialVerdict {
    if verdict { TrialVerdict::Pass } else { TrialVerdict::Fail }
}

fn of_check(is_met: bool) -> TrialReport {
    let value = Some(TrialValue { json: is_met.to_string(), is_cut: false });
    TrialReport { verdict: of_boolean(is_met), value, ..TrialReport::default() }
}

fn value(JsonText { text, is_cut }: JsonText) -> TrialValue {
    TrialValue { json: text, is_cut }
}

const fn error_at(pointer: Pointer, message: String) -> TrialError {
    TrialError { message, pointer, place: None }
}

fn with_trace(report: TrialReport, traced: impl IntoIterator<Item = Traced>) -> TrialReport {
    let (mut trace, mut is_trace_cut) = (Vec::new(), false);
    for (parts, is_cut) in traced {
        is_trace_cut |= is_cut || trace.len() + parts.len() > MOST_ENTRIES;
        let left = MOST_ENTRIES.saturating_sub(trace.len());
        trace.extend(parts.into_iter().take(left).map(|TracedPart { expression, outcome }| {
            TracedExpression { expression, outcome: outcome.map(value) }
        }));
    }
    TrialReport { trace, is_trace_cut, ..report }
}
