//! Trials of business rules.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{Collection, Found, Lookup, WriteContext, WriteOperation};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::ports::{
    self, Clock, RepositoryError, RuleTrial, RuleTrials, TrialLookups, TrialReport,
};
use crate::{ApplicationError, Caller, ResourceService, Result};

/// The trial of rules and expressions. It writes nothing, and reads the store only if the trial wants
/// it.
#[derive(Clone)]
pub struct RuleTrialService {
    trials: Arc<dyn RuleTrials>,
    clock: Arc<dyn Clock>,
    stored: Arc<[(Collection, Arc<ResourceService>)]>,
}

/// The stored items as a caller sees them.
struct SeenItems {
    stored: Arc<[(Collection, Arc<ResourceService>)]>,
    caller: Caller,
}

#[async_trait]
impl TrialLookups for SeenItems {
    async fn look_up(&self, lookup: &Lookup) -> ports::Result<Option<Found>> {
        let mut stored = self.stored.iter();
        let of = stored.find(|(collection, _)| *collection == lookup.collection);
        let Some((_, service)) = of else { return Ok(None) };
        match service.look_up_seen(&self.caller, lookup).await {
            Ok(found) => Ok(Some(found)),
            Err(ApplicationError::ItemNotFound | ApplicationError::ParentNotFound) => {
                Ok(Some(Found::Items(Vec::new())))
            }
            Err(ApplicationError::Store(error)) => match error {
                RepositoryError::ParentNotFound => Ok(Some(Found::Items(Vec::new()))),
                error => Err(error),
            },
            Err(_) => Ok(None),
        }
    }
}

impl RuleTrialService {
    pub fn new(
        trials: Arc<dyn RuleTrials>,
        clock: Arc<dyn Clock>,
        stored: Arc<[(Collection, Arc<ResourceService>)]>,
    ) -> Self {
        Self { trials, clock, stored }
    }

    /// Tries a rule or an expression as of a day, by default today. On another day the time is
    /// midnight in UTC, as in the cases of rule files. `Invalid` means that the trial does not fit
    /// the rule. An error of the rule is part of the report.
    pub async fn run(
        &self,
        caller: &Caller,
        trial: &RuleTrial,
        today: Option<Date>,
    ) -> Result<TrialReport> {
        let now = self.clock.now();
        let (now, today) = today.map_or_else(
            || (now, self.clock.day_of(now)),
            |day| (TimeZone::UTC.to_timestamp(day.at(0, 0, 0, 0)).unwrap_or(Timestamp::MAX), day),
        );
        let operation = match trial.before {
            Some(_) => WriteOperation::Replace,
            None => WriteOperation::Create,
        };
        let seen = SeenItems { stored: Arc::clone(&self.stored), caller: caller.clone() };
        let caller = caller.principal().cloned();
        let context = WriteContext { caller, now, today, ..WriteContext::any(operation) };
        self.trials.run(trial, context, Arc::new(seen)).await?.map_err(ApplicationError::Invalid)
    }
}

#[cfg(test)]
mod tests {
    use domain::{Collection, Violation};
    use jiff::civil::date;

    use super::*;
    use crate::ports::{MockClock, MockRuleTrials, TrialSubject};

    fn clock() -> Arc<MockClock> {
        let mut clock = MockClock::new();
        clock.expect_now().returning(|| Timestamp::constant(1_771_200_000, 0));
        clock.expect_day_of().returning(|_| date(2026, 2, 17));
        Arc::new(clock)
    }

    fn trial() -> RuleTrial {
        RuleTrial {
            subject: TrialSubject::Expression("true".to_owned()),
            collection: Collection::known("files"),
            after: None,
            before: None,
            lookups: Vec::new(),
            looks_up_stored: false,
            makes_case: false,
        }
    }

    /// The context of a trial.
    async fn context(today: Option<Date>) -> WriteContext {
        let (sender, receiver) = std::sync::mpsc::channel();
        let mut trials = MockRuleTrials::new();
        trials.expect_run().returning(move |_, context, _| {
            sender.send(context).expect("a receiver");
            Ok(Err(Violation::of_member("self", "required", "").into()))
        });
        let service = RuleTrialService::new(Arc::new(trials), clock(), Arc::new([]));
        let outcome = service.run(&Caller::Anonymous, &trial(), today).await;
        assert!(matches!(outcome, Err(ApplicationError::Invalid(_))), "{outcome:?}");
        receiver.recv().expect("a context")
    }

    #[tokio::test]
    async fn a_trial_is_of_the_day_of_the_clock_unless_it_names_one() {
        let of_clock = context(None).await;
        assert_eq!(of_clock.today, date(2026, 2, 17));
        assert_eq!(of_clock.now.as_second(), 1_771_200_000);
        let named = context(Some(date(2030, 1, 31))).await;
        assert_eq!(named.today, date(2030, 1, 31));
        assert_eq!(named.now.to_string(), "2030-01-31T00:00:00Z");
    }
}
