use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::TypedMetric;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, Default)]
pub(crate) struct ReloadMetrics {
    reloads: Family<[(&'static str, &'static str); 2], Counter>,
    failed: Family<[(&'static str, &'static str); 1], Gauge>,
}

impl ReloadMetrics {
    pub fn register(&self, registry: &mut Registry) {
        let help = "Reloads of files by kind and outcome";
        registry.register("proposal_service_reloads", help, self.reloads.clone());
        let help = "1 while files have errors, so that their last valid content stays in force";
        registry.register("proposal_service_reload_failed", help, self.failed.clone());
    }

    pub fn show(&self, kind: &'static str) {
        for outcome in ["success", "failure"] {
            drop(self.reloads.get_or_create(&[("files", kind), ("outcome", outcome)]));
        }
        drop(self.failed.get_or_create(&[("files", kind)]));
    }

    pub fn count(&self, kind: &'static str, has_failed: bool) {
        let outcome = if has_failed { "failure" } else { "success" };
        self.reloads.get_or_create(&[("files", kind), ("outcome", outcome)]).inc();
        self.failed.get_or_create(&[("files", kind)]).set(has_failed.into());
    }
}

pub fn write_series<L: EncodeLabelSet, M: EncodeMetric + TypedMetric>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    series: impl IntoIterator<Item = (L, M)>,
) -> fmt::Result {
    let mut series = series.into_iter().peekable();
    if series.peek().is_none() {
        return Ok(());
    }
    let mut family = encoder.encode_descriptor(name, help, None, M::TYPE)?;
    for (labels, metric) in series {
        metric.encode(family.encode_family(&labels)?)?;
    }
    Ok(())
}
