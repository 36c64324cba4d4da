//! The metrics of rules in files.

use std::time::Instant;

use application::metrics::{Collector, Counter, Histogram, Metric, Reading};

/// The metrics of this crate.
pub static METRICS: &[&Metric] = &[&EVALUATIONS, &EVALUATION, &RULES];

static EVALUATIONS: Metric = Metric::counter(
    "proposal_service_rule_evaluations",
    "Evaluations of the rules in files for writes, by rule and verdict, since the rules were read; rules beyond 200 are together `other`",
);
static EVALUATION: Metric = Metric::histogram(
    "proposal_service_rule_evaluation_seconds",
    "Time that an evaluation took, of every eighth of the first 200 rules in files",
    &[0.000_01, 0.000_05, 0.000_1, 0.000_5, 0.001, 0.01, 0.1, 1.0],
);
static RULES: Metric = Metric::gauge("proposal_service_rules", "Rules of files that are in force");

/// Rules that have series of their own.
const MOST_RULES: usize = 200;

const OTHER: &str = "other";

/// The verdicts of a rule.
#[derive(Debug, Default)]
pub struct Verdicts {
    pub passed: Counter,
    pub failed: Counter,
    pub undecided: Counter,
    time: Histogram,
}

/// The evaluations of which the time is taken are one in so many: to take it costs about as much as a
/// short evaluation.
const SAMPLED: u64 = 8;

impl Verdicts {
    /// Begins to take the time of an evaluation, if it is one of those.
    pub fn begin(&self) -> Option<Instant> {
        let is_sampled = || self.counts().iter().sum::<u64>().is_multiple_of(SAMPLED);
        (self.time.is_attached() && is_sampled()).then(Instant::now)
    }

    /// Records the time of an evaluation that has ended.
    pub fn end(&self, began: Option<Instant>) {
        if let Some(began) = began {
            self.time.record_time(began.elapsed());
        }
    }

    fn counts(&self) -> [u64; 3] {
        [self.passed.count(), self.failed.count(), self.undecided.count()]
    }
}

/// Gives the series of the rules in force, by their ids.
pub fn collect<'a>(
    rules: impl Iterator<Item = (&'a str, &'a Verdicts)>,
    collector: &mut dyn Collector,
) {
    let rules: Vec<_> = rules.collect();
    collector.take(&RULES, &[], Reading::Count(rules.len() as u64));
    let (own, others) = rules.split_at(rules.len().min(MOST_RULES));
    for (id, verdicts) in own {
        take(id, verdicts.counts(), collector);
        let time = Reading::HistogramIfUsed(&verdicts.time);
        collector.take(&EVALUATION, &[("rule", id)], time);
    }
    let mut sums = [0; 3];
    for (_, verdicts) in others {
        for (sum, count) in sums.iter_mut().zip(verdicts.counts()) {
            *sum += count;
        }
    }
    if !others.is_empty() {
        take(OTHER, sums, collector);
    }
}

fn take(rule: &str, counts: [u64; 3], collector: &mut dyn Collector) {
    for (verdict, count) in ["passed", "failed", "undecided"].into_iter().zip(counts) {
        collector.take(
            &EVALUATIONS,
            &[("rule", rule), ("verdict", verdict)],
            Reading::Count(count),
        );
    }
}
