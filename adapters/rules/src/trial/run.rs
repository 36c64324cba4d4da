//! Evaluation of trials, within the cost limits of a write.

use application::{TracedExpression, TrialError, TrialReport, TrialValue, TrialVerdict};
use domain::json::shortened;
use domain::{Pointer, Transition, WriteContext, WriteOperation};
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
    let found = given.found().unwrap_or_default();
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

pub(super) async fn rule(
    rule: &FileRule,
    is_json: bool,
    given: &Given,
    context: WriteContext,
) -> TrialReport {
    let operation = rule.likely_operation(given.before.is_some());
    let context = WriteContext { id: given.id, operation, ..context };
    if !rule.applies_to(operation, context.today) {
        let reason = if rule.operations.contains(&operation) {
            format!("the rule is not in force on {}", context.today)
        } else {
            format!("the rule does not apply to a {}", operation.name())
        };
        return skipped(reason);
    }
    let is_delete = operation == WriteOperation::Delete;
    // A deleted item is also the state before.
    let before = given.before.as_ref().or(is_delete.then_some(&given.after));
    let transition = Transition { before, after: &given.after, context: &context, found: &[] };
    let pointer = |key: &str| if is_json { Pointer::to_member(key) } else { Pointer::root() };
    let failed =
        |(key, error): Failure| undecided(vec![error_at(pointer(key), error.into_reason())]);
    // The trial supplies the results, but the keys must still evaluate.
    let (keys, of_lookups) = traced(CostLimit::Lookups, |trace, meter| {
        rule.look_up(&Scope { trace: Some(trace), ..rule.scope(&transition) }, meter)
    })
    .await;
    if let Err(error) = keys {
        return with_trace(failed(("lookup", error)), [of_lookups]);
    }
    let found = given.found();
    let transition = transition.knowing(found.as_deref().unwrap_or_default());
    let (judged, traced) = traced(CostLimit::Verdict, |trace, meter| {
        rule.judge(&Scope { trace: Some(trace), ..rule.scope(&transition) }, meter)
    })
    .await;
    let report = match (judged, found) {
        (Ok(CheckOutcome::Skipped), _) => skipped("`when` is false".to_owned()),
        // A failing early guard has returned above, so results are missing.
        (Err(_), Err(missing)) => undecided(
            missing
                .into_iter()
                .map(|name| {
                    let reason = format!(
                        "the trial has no result for the lookup `{name}`; add `{name}` to `lookup`"
                    );
                    let pointer = pointer("lookup");
                    error_at(if is_json { pointer.member(name) } else { pointer }, reason)
                })
                .collect(),
        ),
        (Ok(CheckOutcome::Passed), _) => of_check(true),
        (Ok(CheckOutcome::Failed(message)), _) => {
            not_met(rule, message, pointer("message_expression"))
        }
        (Err(failure), Ok(_)) => failed(failure),
    };
    with_trace(report, [of_lookups, traced])
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
