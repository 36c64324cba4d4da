//! Trials: verdicts of rules that are in no file.

mod given;
mod place;
mod run;
mod subject;
#[cfg(test)]
mod tests;

use application::{RuleTrial, RuleTrials, TrialError, TrialReport};
use async_trait::async_trait;
use domain::{Pointer, Violations, WriteContext};
use given::Given;
use language::evaluation;
use subject::CompiledSubject;

#[derive(Clone, Copy, Debug, Default)]
pub struct Trials;

#[async_trait]
impl RuleTrials for Trials {
    async fn run(
        &self,
        trial: &RuleTrial,
        context: WriteContext,
    ) -> Result<TrialReport, Violations> {
        let sent = trial.clone();
        let subject = match evaluation::read(move || CompiledSubject::read(&sent)).await {
            Some(Ok(subject)) => subject?,
            Some(Err(errors)) => return Ok(undecided(errors)),
            None => {
                let (message, pointer) = ("it cannot be read".to_owned(), Pointer::root());
                return Ok(undecided(vec![TrialError { message, pointer, place: None }]));
            }
        };
        let given = Given::of(trial, &subject)?;
        Ok(match &subject {
            CompiledSubject::Rule { rule, is_json } => {
                run::rule(rule, *is_json, &given, context).await
            }
            CompiledSubject::Expression { expression, .. } => {
                run::expression(expression, &given, &context).await
            }
        })
    }
}

fn undecided(errors: Vec<TrialError>) -> TrialReport {
    TrialReport { errors, ..TrialReport::default() }
}
