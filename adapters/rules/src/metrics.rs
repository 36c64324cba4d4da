use std::fmt;

use language::metrics::write_series;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::histogram::Histogram;

/// Histogram buckets, in seconds.
const SECONDS: [f64; 8] = [0.000_01, 0.000_05, 0.000_1, 0.000_5, 0.001, 0.01, 0.1, 1.0];

/// Limit on rules with their own series.
const MOST_RULES: usize = 200;

#[derive(Debug)]
pub struct Verdicts {
    pub passed: Counter,
    pub failed: Counter,
    pub undecided: Counter,
    pub time: Histogram,
}

impl Default for Verdicts {
    fn default() -> Self {
        let (passed, failed, undecided) = <_>::default();
        Self { passed, failed, undecided, time: Histogram::new(SECONDS) }
    }
}

impl Verdicts {
    fn counts(&self) -> [u64; 3] {
        [self.passed.get(), self.failed.get(), self.undecided.get()]
    }
}

pub fn encode(
    rules: &[(&str, &Verdicts)],
    is_empty: bool,
    encoder: &mut DescriptorEncoder<'_>,
) -> fmt::Result {
    let (own, others) = rules.split_at(rules.len().min(MOST_RULES));
    let mut counts: Vec<_> = own.iter().map(|(id, verdicts)| (*id, verdicts.counts())).collect();
    let sum = |sums: [u64; 3], (_, verdicts): &(_, &Verdicts)| {
        let counts = verdicts.counts();
        [sums[0] + counts[0], sums[1] + counts[1], sums[2] + counts[2]]
    };
    counts.extend((!others.is_empty()).then(|| ("other", others.iter().fold([0; 3], sum))));
    let evaluations = counts.iter().flat_map(|(rule, [passed, failed, undecided])| {
        [("passed", passed), ("failed", failed), ("undecided", undecided)].map(
            |(verdict, count)| ([("rule", *rule), ("verdict", verdict)], ConstCounter::new(*count)),
        )
    });
    let help = "Evaluations of file rules for writes by rule and verdict since the rules were loaded; rules beyond 200 count as `other`.";
    write_series(encoder, "proposal_service_rule_evaluations", help, evaluations)?;
    let evaluated = own.iter().filter(|(_, verdicts)| verdicts.counts() != [0; 3]);
    let times = evaluated.map(|(id, verdicts)| ([("rule", *id)], verdicts.time.clone()));
    let help = "Duration of an evaluation by rule, for at most 200 rules.";
    write_series(encoder, "proposal_service_rule_evaluation_seconds", help, times)?;
    let help = "File rules in force.";
    let mut family =
        encoder.encode_descriptor("proposal_service_rules", help, None, MetricType::Gauge)?;
    family.encode_gauge(&rules.len())?;
    let help = "1 while the files of --rules contain an empty list, so that no file rule applies to writes.";
    let mut family =
        encoder.encode_descriptor("proposal_service_rules_empty", help, None, MetricType::Gauge)?;
    family.encode_gauge(&i64::from(is_empty))
}
