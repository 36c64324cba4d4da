//! The evaluation of what is tried, within the limits of an evaluation for a write.

use application::{TracedExpression, TrialError, TrialReport, TrialValue, TrialVerdict};
use domain::json::shortened;
use domain::{Pointer, Transition, WriteContext, WriteOperation};
use language::evaluation;
use language::expression::{
    CostLimit, EvaluationError, Expression, JsonText, Meter, Scope, Trace, TracedPart,
};

use super::given::Given;
use super::undecided;
use crate::file_rule::{FileRule, LONGEST_MESSAGE};

/// Most bytes of the value of an expression.
const MOST_BYTES: usize = 64 << 10;
/// Most entries of the trace of a trial.
const MOST_ENTRIES: usize = 200;

/// An evaluation that failed, and the key of the rule whose expression it was.
type Failure = (&'static str, EvaluationError);

/// Tries an expression.
pub(super) async fn expression(
    expression: &Expression,
    given: &Given,
    context: &WriteContext,
) -> TrialReport {
    let context = WriteContext { id: given.id, ..context.clone() };
    // All lookups are given: they are those that the expression was read with.
    let found = given.found().unwrap_or_default();
    let (outcome, traced) = evaluation::run(CostLimit::Verdict, |meter| {
        let trace = Trace::default();
        let scope = Scope {
            after: &given.after,
            before: given.before.as_ref(),
            context: &context,
            lookups: &given.variables,
            found: &found,
            trace: Some(&trace),
        };
        (expression.json(&scope, meter, MOST_BYTES), trace.into_parts())
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

/// Tries a rule.
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
            format!("the rule does not judge a {}", operation.name())
        };
        return skipped(reason);
    }
    let is_delete = operation == WriteOperation::Delete;
    // What is removed is at once what was there.
    let before = given.before.as_ref().or(is_delete.then_some(&given.after));
    let transition = Transition { before, after: &given.after, context: &context, found: &[] };
    let pointer = |key: &str| if is_json { Pointer::to_member(key) } else { Pointer::root() };
    let failed =
        |(key, error): Failure| undecided(vec![error_at(pointer(key), error.into_reason())]);
    let (keys, of_lookups) = look_up(rule, &transition).await;
    if let Err(failure) = keys {
        return with_trace(failed(failure), [of_lookups]);
    }
    let found = given.found();
    let (checked, traced) = check(rule, &transition, found.as_deref().ok()).await;
    let report = match checked {
        Ok(Checked::Skipped) => skipped("`when` is false".to_owned()),
        Ok(Checked::NotLookedUp) => undecided(
            found.err().unwrap_or_default().into_iter().map(|name| {
                let reason = format!("the rule looks up `{name}`, and the trial does not say what it finds; add `{name}` to `lookup`");
                let pointer = pointer("lookup");
                error_at(if is_json { pointer.member(name) } else { pointer }, reason)
            }).collect(),
        ),
        Ok(Checked::Passed) => of_check(true),
        Ok(Checked::Failed(message)) => {
            let errors = message.as_ref().err().map(|error| {
                let reason = format!("the message cannot be made: {}", error.clone().into_reason());
                error_at(pointer("message_expression"), reason)
            });
            let message = message.unwrap_or_else(|_| rule.other_message());
            TrialReport {
                message: Some(shortened(&message, LONGEST_MESSAGE).into_owned()),
                errors: errors.into_iter().collect(),
                ..of_check(false)
            }
        }
        Err(failure) => failed(failure),
    };
    with_trace(report, [of_lookups, traced])
}

/// The parts that were evaluated, and true if there were more.
type Traced = (Vec<TracedPart>, bool);

/// Evaluates what a rule looks for: it must be possible to say that, though the trial says what is
/// found.
async fn look_up(rule: &FileRule, transition: &Transition<'_>) -> (Result<(), Failure>, Traced) {
    if rule.targets.is_empty() {
        return (Ok(()), Traced::default());
    }
    evaluation::run(CostLimit::Lookups, |meter| {
        let trace = Trace::default();
        let scope = Scope { trace: Some(&trace), ..rule.scope(transition) };
        let keys = rule.look_up(&scope, meter).map(|_| ()).map_err(|error| ("lookup", error));
        (keys, trace.into_parts())
    })
    .await
}

/// The outcome of a rule that could be evaluated.
enum Checked {
    /// The guard does not hold.
    Skipped,
    /// The guard holds, and what was looked up is not known.
    NotLookedUp,
    Passed,
    /// With the message, unless it cannot be made.
    Failed(Result<String, EvaluationError>),
}

async fn check(
    rule: &FileRule,
    transition: &Transition<'_>,
    found: Option<&[domain::Found]>,
) -> (Result<Checked, Failure>, Traced) {
    evaluation::run(CostLimit::Verdict, |meter| {
        let trace = Trace::default();
        let transition = transition.knowing(found.unwrap_or_default());
        let checked = check_by(rule, meter, &rule.scope(&transition), found.is_some(), &trace);
        (checked, trace.into_parts())
    })
    .await
}

fn check_by<'a>(
    rule: &'a FileRule,
    meter: &Meter,
    scope: &Scope<'a>,
    is_looked_up: bool,
    trace: &'a Trace,
) -> Result<Checked, Failure> {
    let traced = Scope { trace: Some(trace), ..*scope };
    // Of a rule with lookups the guard was traced when they were evaluated.
    let early = if rule.targets.is_empty() { &traced } else { scope };
    if let Some(guard) = rule.early_guard()
        && !guard.boolean(early, meter).map_err(|error| ("when", error))?
    {
        return Ok(Checked::Skipped);
    }
    if !is_looked_up {
        return Ok(Checked::NotLookedUp);
    }
    if !rule.late_guard(&traced, meter).map_err(|error| ("when", error))? {
        return Ok(Checked::Skipped);
    }
    if rule.check.boolean(&traced, meter).map_err(|error| ("check", error))? {
        return Ok(Checked::Passed);
    }
    Ok(Checked::Failed(rule.own_message(&traced, meter)))
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

/// The report with what was evaluated one after the other.
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
