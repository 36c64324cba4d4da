//! The metrics of a store. All its parts count in one [`StoreMetrics`].

use parking_lot::Mutex;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::TypedMetric;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;

/// Bounds of OpenTelemetry for requests, and shorter ones.
const SECONDS: [f64; 17] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0,
    7.5, 10.0,
];

const SHORT_SECONDS: [f64; 15] =
    [0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

const ROWS: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

/// Waits of writing connections for a lock of an `SQLite` file, of all stores of the process.
pub(crate) static BUSY_WAITS: AtomicU64 = AtomicU64::new(0);

#[derive(Debug, Default)]
pub(crate) struct Sample {
    /// Bytes by part.
    pub sizes: Vec<(String, u64)>,
    /// Bytes of the write-ahead log.
    pub wal: Option<u64>,
    /// Bytes of the disk, and those that are free.
    pub disk: Option<(u64, u64)>,
    /// The number of replicas, and how far the slowest is behind.
    pub replicas: Option<(u64, Duration)>,
}

/// A kind of operations of the database, as an index of [`KINDS`].
#[derive(Clone, Copy)]
pub(crate) enum OperationKind {
    Read,
    SlowRead,
    Write,
    Index,
}

const KINDS: [&str; 4] = ["read", "slow_read", "write", "index"];

#[derive(Debug, Default)]
pub(crate) struct Retries {
    pub rolled_back: Counter,
    pub one_by_one: Counter,
}

#[derive(Debug, Default)]
pub(crate) struct CacheReads {
    pub hits: Counter,
    pub misses: Counter,
}

impl CacheReads {
    pub fn count<T>(&self, found: Option<T>) -> Option<T> {
        let counter = if found.is_some() { &self.hits } else { &self.misses };
        counter.inc();
        found
    }
}

#[derive(Debug)]
pub(crate) struct StoreMetrics {
    operations: [Histogram; KINDS.len()],
    pub connection_wait: Histogram,
    pub connection_timeouts: Counter,
    pub queued_writes: Gauge,
    pub queue_wait: Histogram,
    pub batch_rows: Histogram,
    pub retries: Retries,
    pub lock_wait: Histogram,
    pub lock_held: Histogram,
    pub shared_reads: Histogram,
    pub index_step: Histogram,
    /// In seconds.
    pub held_back: Counter<f64, AtomicU64>,
    pub items: CacheReads,
    pub pages: CacheReads,
    pub replays: Counter,
    pub checkpoint: Histogram,
    pub index_lag_changes: Gauge,
    pub index_lag_seconds: Gauge<f64, AtomicU64>,
    pub sampled: Mutex<Sample>,
}

impl Default for StoreMetrics {
    fn default() -> Self {
        Self {
            operations: KINDS.map(|_| Histogram::new(SECONDS)),
            connection_wait: Histogram::new(SHORT_SECONDS),
            connection_timeouts: Counter::default(),
            queued_writes: Gauge::default(),
            queue_wait: Histogram::new(SHORT_SECONDS),
            batch_rows: Histogram::new(ROWS),
            retries: Retries::default(),
            lock_wait: Histogram::new(SHORT_SECONDS),
            lock_held: Histogram::new(SHORT_SECONDS),
            shared_reads: Histogram::new(ROWS),
            index_step: Histogram::new(ROWS),
            held_back: Counter::default(),
            items: CacheReads::default(),
            pages: CacheReads::default(),
            replays: Counter::default(),
            checkpoint: Histogram::new(SHORT_SECONDS),
            index_lag_changes: Gauge::default(),
            index_lag_seconds: Gauge::default(),
            sampled: Mutex::default(),
        }
    }
}

impl StoreMetrics {
    pub fn operation(&self, kind: OperationKind) -> &Histogram {
        &self.operations[kind as usize]
    }

    /// Writes the metrics of both engines; `system` is the name of the engine.
    pub fn encode(&self, system: &str, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let operations = KINDS.iter().zip(&self.operations).map(|(kind, histogram)| {
            let labels = [("db_system_name", system), ("db_operation_name", *kind)];
            (labels, histogram.clone())
        });
        let help = "Duration of database operations: a read, a slow read, a batch of writes, a step of the full-text index.";
        write_series(encoder, "db_client_operation_duration_seconds", help, operations)?;
        self.encode_writes(encoder)?;
        self.encode_reads(encoder)?;
        self.encode_index(encoder)?;
        self.encode_sample(encoder)
    }

    fn encode_writes(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Writes waiting for a batch.";
        write_metric(encoder, "proposal_service_write_queue_length", help, &self.queued_writes)?;
        let help = "Waiting time of writes for a batch.";
        write_metric(encoder, "proposal_service_write_queue_wait_seconds", help, &self.queue_wait)?;
        let help = "Number of writes per batch.";
        write_metric(encoder, "proposal_service_write_batch_rows", help, &self.batch_rows)?;
        let help = "Waiting time for the exclusive write lock: on SQLite for every batch, on PostgreSQL for writes that must run alone.";
        write_metric(encoder, "proposal_service_write_lock_wait_seconds", help, &self.lock_wait)?;
        let help = "Time that the exclusive write lock was held.";
        write_metric(encoder, "proposal_service_write_lock_hold_seconds", help, &self.lock_held)?;
        let help = "Requests with an Idempotency-Key that was used before.";
        write_metric(encoder, "proposal_service_idempotency_replays", help, &self.replays)?;
        let Retries { rolled_back, one_by_one } = &self.retries;
        let retries = [("rolled_back", rolled_back), ("one_by_one", one_by_one)];
        let retries = retries.map(|(reason, counter)| ([("reason", reason)], counter.clone()));
        let help = "Retried writes: rolled back by the database because of a conflict, or from a failed batch and retried one by one.";
        write_series(encoder, "proposal_service_write_retries", help, retries)
    }

    fn encode_reads(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Number of reads that a worker combined.";
        write_metric(encoder, "proposal_service_read_shared_rows", help, &self.shared_reads)?;
        let caches = [("items", &self.items), ("pages", &self.pages)];
        let hits = caches.map(|(name, reads)| ([("cache", name)], reads.hits.clone()));
        let help = "Cache hits of reads.";
        write_series(encoder, "proposal_service_cache_hits", help, hits)?;
        let misses = caches.map(|(name, reads)| ([("cache", name)], reads.misses.clone()));
        let help = "Cache misses of reads.";
        write_series(encoder, "proposal_service_cache_misses", help, misses)
    }

    fn encode_index(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Changes per step of the full-text index.";
        write_metric(encoder, "proposal_service_index_step_changes", help, &self.index_step)?;
        let help = "Time that writes were delayed because the full-text index was far behind.";
        write_metric(encoder, "proposal_service_index_held_back_seconds", help, &self.held_back)?;
        let (changes, age) = (&self.index_lag_changes, &self.index_lag_seconds);
        let help = "Changes that are not in the full-text index yet.";
        write_metric(encoder, "proposal_service_index_lag_changes", help, changes)?;
        let help = "Age of the oldest change that is not in the full-text index yet.";
        write_metric(encoder, "proposal_service_index_lag_seconds", help, age)
    }

    fn encode_sample(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let Sample { sizes, wal, disk, replicas } = &*self.sampled.lock();
        let sizes =
            sizes.iter().map(|(part, bytes)| ([("part", part.as_str())], ConstGauge::new(*bytes)));
        let help = "Size of the store by part: the SQLite file, or the tables of PostgreSQL with their indexes.";
        write_series(encoder, "proposal_service_store_bytes", help, sizes)?;
        if let Some(bytes) = wal.map(ConstGauge::new) {
            let help = "Size of the write-ahead log of the SQLite file.";
            write_metric(encoder, "proposal_service_sqlite_wal_bytes", help, &bytes)?;
        }
        if let Some((bytes, free)) = *disk {
            let (bytes, free) = (ConstGauge::new(bytes), ConstGauge::new(free));
            let help = "Size of the disk with the SQLite file.";
            write_metric(encoder, "proposal_service_disk_bytes", help, &bytes)?;
            let help = "Free space on the disk with the SQLite file.";
            write_metric(encoder, "proposal_service_disk_free_bytes", help, &free)?;
        }
        if let Some((replicas, lag)) = *replicas {
            let (replicas, lag) = (ConstGauge::new(replicas), ConstGauge::new(lag.as_secs_f64()));
            let help = "Standbys of the PostgreSQL server that are visible to the service.";
            write_metric(encoder, "proposal_service_replicas", help, &replicas)?;
            let help = "Lag of the slowest standby; 0 if there are no standbys.";
            write_metric(encoder, "proposal_service_replica_lag_seconds", help, &lag)?;
        }
        Ok(())
    }

    pub fn encode_sqlite(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let waits = ConstCounter::new(BUSY_WAITS.load(Ordering::Relaxed));
        let help =
            "Number of retries of writes because another connection had locked the SQLite file.";
        write_metric(encoder, "proposal_service_sqlite_busy", help, &waits)?;
        let help = "Duration of checkpoints of the write-ahead log.";
        write_metric(encoder, "proposal_service_sqlite_checkpoint_seconds", help, &self.checkpoint)
    }

    /// Takes the numbers of used and of idle connections of each pool.
    pub fn encode_connections(
        &self,
        pools: &[(&str, (usize, usize))],
        losses: u64,
        encoder: &mut DescriptorEncoder<'_>,
    ) -> fmt::Result {
        let series = pools.iter().flat_map(|(pool, (used, idle))| {
            [("used", *used), ("idle", *idle)].map(|(state, count)| {
                let pool = ("db_client_connection_pool_name", *pool);
                ([pool, ("db_client_connection_state", state)], ConstGauge::new(count))
            })
        });
        let help = "Connections to PostgreSQL, by pool and state.";
        write_series(encoder, "db_client_connections", help, series)?;
        let (wait, timeouts) = (&self.connection_wait, &self.connection_timeouts);
        let help = "Waiting time for a connection to PostgreSQL.";
        write_metric(encoder, "db_client_connection_wait_time_seconds", help, wait)?;
        let help = "Number of timeouts while waiting for a connection to PostgreSQL.";
        write_metric(encoder, "db_client_connection_timeouts", help, timeouts)?;
        let losses = ConstCounter::new(losses);
        let help = "Connections to PostgreSQL that were opened or lost.";
        write_metric(encoder, "proposal_service_database_connection_changes", help, &losses)
    }
}

fn write_metric(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    metric: &dyn EncodeMetric,
) -> fmt::Result {
    metric.encode(encoder.encode_descriptor(name, help, None, metric.metric_type())?)
}

/// Writes a metric with labelled series, or nothing without series.
pub(crate) fn write_series<L: EncodeLabelSet, M: EncodeMetric + TypedMetric>(
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

/// The value of a histogram.
pub(crate) fn count(count: usize) -> f64 {
    u32::try_from(count).unwrap_or(u32::MAX).into()
}
