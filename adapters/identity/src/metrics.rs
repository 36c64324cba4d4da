//! The metrics of callers.

use application::metrics::{Collector, Counter, Reading};

use crate::in_force::InForce;

application::metrics! {
    RECOGNITIONS = counter(
        "proposal_service_identity_recognitions",
        "Credentials that were looked at, by what became of them: known of a token seen before, verified, of a key of the service, refused, or undecided for want of the keys of an issuer",
    );
    REFUSALS = counter(
        "proposal_service_identity_refusals",
        "Credentials that were refused, by the check that they failed; `repeated` were refused before",
    );
    FETCHES = counter(
        "proposal_service_identity_key_fetches",
        "How often the keys of an issuer were fetched, and whether it answered as it should",
    );
    REACHABLE = gauge(
        "proposal_service_identity_issuer_reachable",
        "1 if the issuer answered as it should when its keys were last fetched",
    );
}

/// Issuers that have series; an identity file has fewer.
const MOST_ISSUERS: usize = 100;

/// Checks of credentials, in their order.
#[derive(Clone, Copy)]
pub enum Check {
    Repeated,
    Form,
    Issuer,
    Header,
    Claims,
    Signature,
    Mapping,
    Revocation,
    Key,
}

const CHECKS: [&str; 9] =
    ["repeated", "form", "issuer", "header", "claims", "signature", "mapping", "revocation", "key"];

/// The outcomes of credentials that were shown.
#[derive(Debug, Default)]
pub struct IdentityMetrics {
    pub cached: Counter,
    pub verified: Counter,
    pub keys: Counter,
    pub unavailable: Counter,
    refusals: [Counter; CHECKS.len()],
}

impl IdentityMetrics {
    /// Counts credentials that failed a check.
    pub fn refused(&self, check: Check) {
        if let Some(counter) = self.refusals.get(check as usize) {
            counter.increment();
        }
    }

    /// Gives the series, with those of the issuers in force.
    pub fn collect(&self, current: &InForce, collector: &mut dyn Collector) {
        let refused = self.refusals.iter().map(Counter::count).sum();
        for (outcome, count) in [
            ("cached", self.cached.count()),
            ("verified", self.verified.count()),
            ("key", self.keys.count()),
            ("refused", refused),
            ("unavailable", self.unavailable.count()),
        ] {
            collector.take(&RECOGNITIONS, &[("outcome", outcome)], Reading::Count(count));
        }
        for (check, counter) in CHECKS.iter().zip(&self.refusals) {
            collector.take(&REFUSALS, &[("check", check)], counter.read());
        }
        let issuers = current.file.issuers.iter().zip(&current.keys);
        for (issuer, keys) in issuers.take(MOST_ISSUERS) {
            let (name, fetches) = (&*issuer.name, keys.fetches());
            for (outcome, count) in [("success", fetches.answered), ("failure", fetches.failed)] {
                let labels = [("issuer", name), ("outcome", outcome)];
                collector.take(&FETCHES, &labels, Reading::Count(count));
            }
            let is_reachable = Reading::Count(fetches.is_reachable.into());
            collector.take(&REACHABLE, &[("issuer", name)], is_reachable);
        }
    }
}
