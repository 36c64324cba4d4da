use std::fmt;

use language::metrics::write_series;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::gauge::ConstGauge;

use crate::in_force::InForce;

/// Limit on issuers with their own series, above that of an identity file.
const MOST_ISSUERS: usize = 100;

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

#[derive(Debug, Default)]
pub struct IdentityMetrics {
    pub cached: Counter,
    pub verified: Counter,
    pub keys: Counter,
    pub unavailable: Counter,
    refusals: [Counter; CHECKS.len()],
}

impl IdentityMetrics {
    pub fn refused(&self, check: Check) {
        if let Some(counter) = self.refusals.get(check as usize) {
            counter.inc();
        }
    }

    pub fn encode(&self, current: &InForce, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let outcomes = [
            ("cached", self.cached.get()),
            ("verified", self.verified.get()),
            ("key", self.keys.get()),
            ("refused", self.refusals.iter().map(Counter::get).sum()),
            ("unavailable", self.unavailable.get()),
        ];
        let outcomes =
            outcomes.map(|(outcome, count)| ([("outcome", outcome)], ConstCounter::new(count)));
        let help = "Checked credentials by outcome: a cached token, a verified token, a key of the service, refused, or unavailable keys of an issuer.";
        write_series(encoder, "proposal_service_identity_recognitions", help, outcomes)?;
        let refusals = CHECKS.iter().zip(&self.refusals);
        let refusals = refusals.map(|(check, counter)| ([("check", *check)], counter.clone()));
        let help = "Refused credentials by the failed check; `repeated` were refused before.";
        write_series(encoder, "proposal_service_identity_refusals", help, refusals)?;
        let issuers = current.file.issuers.iter().zip(&current.keys).take(MOST_ISSUERS);
        let issuers = issuers.map(|(issuer, keys)| (&*issuer.name, keys.fetches()));
        let fetches = issuers.clone().flat_map(|(name, fetches)| {
            [("success", fetches.answered), ("failure", fetches.failed)].map(|(outcome, count)| {
                ([("issuer", name), ("outcome", outcome)], ConstCounter::new(count))
            })
        });
        let help = "Fetches of the keys of an issuer by outcome.";
        write_series(encoder, "proposal_service_identity_key_fetches", help, fetches)?;
        let reachable = issuers.map(|(name, fetches)| {
            ([("issuer", name)], ConstGauge::new(i64::from(fetches.is_reachable)))
        });
        let help = "1 if the last fetch of the issuer's keys succeeded.";
        write_series(encoder, "proposal_service_identity_issuer_reachable", help, reachable)
    }
}
