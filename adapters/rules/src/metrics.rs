//! The metrics of rules in files.

use application::metrics::{Collector, Counter, Histogram, Reading};

application::metrics! {
    EVALUATIONS = counter(
        "proposal_service_rule_evaluations",
        "Evaluations of the rules in files for writes, by rule and verdict, since the rules were read; rules beyond 200 are together `other`",
    );
    EVALUATION = histogram(
        "proposal_service_rule_evaluation_seconds",
        "Time of an evaluation, by rule; rules beyond 200 have none",
        &[0.000_01, 0.000_05, 0.000_1, 0.000_5, 0.001, 0.01, 0.1, 1.0],
    );
    RULES = gauge("proposal_service_rules", "Rules of files that are in force");
    pub RULES_EMPTY = gauge(
        "proposal_service_rules_empty",
        "1 while the files of --rules hold an empty list, so that no rule of a file judges a write",
    );
}

/// Rules that have series of their own.
const MOST_RULES: usize = 200;

const OTHER: &str = "other";

/// The verdicts of a rule.
#[derive(Debug, Default)]
pub struct Verdicts {
    pub passed: Counter,
    pub failed: Counter,
    pub undecided: Counter,
    pub time: Histogram,
}

impl Verdicts {
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
