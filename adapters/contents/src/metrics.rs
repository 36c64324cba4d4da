//! The metrics of contents, sampled at each sweep.

use application::ContentTotals;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::layout::Disk;

/// Clones share the gauges.
#[derive(Clone, Default)]
pub struct ContentMetrics {
    kept: Gauge,
    bytes: Gauge,
    arriving: Gauge,
    doomed: Gauge,
    damaged: Gauge,
    disk: Gauge,
    disk_free: Gauge,
}

impl ContentMetrics {
    pub fn register(&self, registry: &mut Registry, has_disk: bool) {
        let mut register = |name: &str, help: &str, gauge: &Gauge| {
            registry.register(format!("proposal_service_{name}"), help, gauge.clone());
        };
        register("contents", "Stored contents; identical bytes count once", &self.kept);
        register("contents_bytes", "Size of the stored contents", &self.bytes);
        register(
            "contents_arriving",
            "Uploads in progress, also those of stopped instances",
            &self.arriving,
        );
        register(
            "contents_doomed",
            "Contents that no item has and that will be removed",
            &self.doomed,
        );
        register("contents_damaged", "Contents whose last verification failed", &self.damaged);
        if has_disk {
            register(
                "contents_disk_bytes",
                "Size of the disk with the folder of contents",
                &self.disk,
            );
            let help = "Free space on the disk with the folder of contents";
            register("contents_disk_free_bytes", help, &self.disk_free);
        }
    }

    pub(crate) fn set(&self, totals: ContentTotals, disk: Option<Disk>) {
        let set = |gauge: &Gauge, number: u64| {
            gauge.set(number.cast_signed());
        };
        set(&self.kept, totals.kept);
        set(&self.bytes, totals.bytes);
        set(&self.arriving, totals.arriving);
        set(&self.doomed, totals.doomed);
        set(&self.damaged, totals.damaged);
        if let Some(Disk { bytes, free }) = disk {
            set(&self.disk, bytes);
            set(&self.disk_free, free);
        }
    }
}
