//! Trials: verdicts of rules that are in no file.

mod case;
mod given;
mod place;
mod run;
mod subject;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use application::{RepositoryError, RuleTrial, RuleTrials, TrialError, TrialLookups, TrialReport};
use async_trait::async_trait;
use domain::{Pointer, Violations, WriteContext};
use given::Given;
use language::evaluation;
use run::RuleRun;
use subject::CompiledSubject;

#[derive(Clone, Copy, Debug, Default)]
pub struct Trials;

#[async_trait]
impl RuleTrials for Trials {
    async fn run(
        &self,
        trial: &RuleTrial,
        context: WriteContext,
        stored: Arc<dyn TrialLookups>,
    ) -> Result<Result<TrialReport, Violations>, RepositoryError> {
        let sent = trial.clone();
        let subject = match evaluation::read(move || CompiledSubject::read(&sent)).await {
            Some(Ok(Ok(subject))) => subject,
            Some(Ok(Err(violations))) => return Ok(Err(violations)),
            Some(Err(errors)) => return Ok(Ok(undecided(errors))),
            None => {
                let (message, pointer) = ("it cannot be read".to_owned(), Pointer::root());
                return Ok(Ok(undecided(vec![TrialError { message, pointer, place: None }])));
            }
        };
        let given = match Given::of(trial, &subject) {
            Ok(given) => given,
            Err(violations) => return Ok(Err(violations)),
        };
        match &subject {
            CompiledSubject::Rule { rule, is_json } => {
                let stored = trial.looks_up_stored.then_some(&*stored);
                let run = RuleRun { rule, is_json: *is_json, given: &given, stored };
                let (report, found) = run.report(&context).await?;
                let found = found.filter(|_| trial.makes_case);
                let case = found.and_then(|found| {
                    let uses = |variable| subject.uses(variable);
                    case::written(rule, &given, &found, (&context, report.verdict), uses)
                });
                Ok(Ok(TrialReport { case, ..report }))
            }
            CompiledSubject::Expression { expression, .. } => {
                Ok(Ok(run::expression(expression, &given, &context).await))
            }
        }
    }
}

fn undecided(errors: Vec<TrialError>) -> TrialReport {
    TrialReport { errors, ..TrialReport::default() }
}
