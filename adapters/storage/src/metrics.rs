//! The metrics of a store. Whoever does the work counts it in a [`StoreMetrics`] that all of a store share.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use application::metrics::{
    Collector, Counter, Gauge, Histogram, ROWS, Reading, SECONDS, SHORT_SECONDS,
};

application::metrics! {
    OPERATIONS = histogram(
        "db_client_operation_duration_seconds",
        "Time that the database took, by operation: a read, one that may take long, a batch of writes, a step of the full-text index",
        SECONDS,
    );
    CONNECTIONS = gauge("db_client_connections", "Connections to PostgreSQL, by pool and state");
    CONNECTION_WAIT = histogram(
        "db_client_connection_wait_time_seconds",
        "Time until a connection to PostgreSQL was had",
        SHORT_SECONDS,
    );
    CONNECTION_TIMEOUTS = counter(
        "db_client_connection_timeouts",
        "How often no connection to PostgreSQL was had in time",
    );
    QUEUED_WRITES = gauge("proposal_service_write_queue_length", "Writes that wait for a batch");
    QUEUE_WAIT = histogram(
        "proposal_service_write_queue_wait_seconds",
        "Time that writes waited for a batch",
        SHORT_SECONDS,
    );
    BATCH_ROWS = histogram("proposal_service_write_batch_rows", "Writes in a batch", ROWS);
    RETRIES = counter(
        "proposal_service_write_retries",
        "Writes that were begun again: the database rolled them back for the sake of others, or a batch was done one by one",
    );
    LOCK_WAIT = histogram(
        "proposal_service_write_lock_wait_seconds",
        "Time until a write had the lock that keeps others out: on SQLite every batch, on PostgreSQL those that must have no other write beside them",
        SHORT_SECONDS,
    );
    LOCK_HELD = histogram(
        "proposal_service_write_lock_hold_seconds",
        "Time that it kept others out",
        SHORT_SECONDS,
    );
    QUEUED_READS = gauge(
        "proposal_service_read_queue_length",
        "Reads that wait for a worker, by kind",
    );
    SHARED_READS = histogram(
        "proposal_service_read_shared_rows",
        "Reads that a worker did together",
        ROWS,
    );
    INDEX_LAG = gauge(
        "proposal_service_index_lag_changes",
        "Changes that the full-text index does not know yet",
    );
    INDEX_LAG_TIME = gauge(
        "proposal_service_index_lag_seconds",
        "Age of the oldest change that the full-text index does not know yet",
    );
    INDEX_STEP = histogram(
        "proposal_service_index_step_changes",
        "Changes that a step of the full-text index took",
        ROWS,
    );
    HELD_BACK = counter(
        "proposal_service_index_held_back_seconds",
        "Time that writes were held back because the full-text index was far behind",
    );
    CACHE_HITS = counter("proposal_service_cache_hits", "Reads that a cache answered");
    CACHE_MISSES = counter("proposal_service_cache_misses", "Reads that a cache could not answer");
    CACHE_BYTES = gauge("proposal_service_cache_bytes", "About how large a cache is");
    REPLAYS = counter(
        "proposal_service_idempotency_replays",
        "Requests whose Idempotency-Key had been used before",
    );
    LOSSES = counter(
        "proposal_service_database_connection_changes",
        "Connections to PostgreSQL that were opened or found dead",
    );
    WAL = gauge(
        "proposal_service_sqlite_wal_bytes",
        "Size of the write-ahead log of the SQLite file",
    );
    CHECKPOINT = histogram(
        "proposal_service_sqlite_checkpoint_seconds",
        "Time that checkpoints of the write-ahead log took",
        SHORT_SECONDS,
    );
    STORE_BYTES = gauge(
        "proposal_service_store_bytes",
        "Size of the store by part: the SQLite file, or the tables of PostgreSQL with their indexes",
    );
    DISK = gauge("proposal_service_disk_bytes", "Size of the disk that the SQLite file is on");
    DISK_FREE = gauge(
        "proposal_service_disk_free_bytes",
        "What is free of the disk that the SQLite file is on",
    );
    REPLICAS = gauge(
        "proposal_service_replicas",
        "Servers that follow the PostgreSQL server, as far as the service may see them",
    );
    REPLICA_LAG = gauge(
        "proposal_service_replica_lag_seconds",
        "Time that the slowest of them is behind; 0 where there is none",
    );
    pub(crate) STANDBY_LAG = gauge(
        "proposal_service_standby_lag_seconds",
        "How long ago, at most, the primary was as a standby of --replica-url is; no series while it is not read",
    );
    pub(crate) STANDBY_READS = counter(
        "proposal_service_standby_reads",
        "Requests that a standby of --replica-url answered",
    );
    pub(crate) TOKEN_WAITS = counter(
        "proposal_service_consistency_token_waits",
        "Reads with a Consistency-Token that waited for a standby, by whether it had the position in time",
    );
    pub(crate) SCHEMA_ACCESS = gauge(
        "proposal_service_schema_access",
        "1 if the schema on PostgreSQL may be read or written by this version of the service, by access; 0 once it asks for a newer one",
    );
    SQLITE_BUSY = counter(
        "proposal_service_sqlite_busy",
        "How often a write to the SQLite file found it locked by another connection, and tried again",
    );
}

/// Waits of writing connections for a lock of an `SQLite` file. The library's callback has no state, so
/// all stores of a process share it.
pub(crate) static BUSY_WAITS: AtomicU64 = AtomicU64::new(0);

/// The facts of a store that are asked for from time to time.
#[derive(Debug, Default)]
pub(crate) struct Sample {
    /// Sizes in bytes, by part.
    pub sizes: Vec<(&'static str, u64)>,
    /// The size of the write-ahead log of SQLite in bytes.
    pub wal: Option<u64>,
    /// Bytes of the disk, and those that are free.
    pub disk: Option<(u64, u64)>,
    /// The number of replicas, and how far the slowest is behind.
    pub replicas: Option<(u64, Duration)>,
}

/// The state of the full-text index.
#[derive(Debug, Default)]
pub(crate) struct IndexLag {
    /// Changes that wait.
    pub changes: u64,
    /// The age of the oldest.
    pub age: Duration,
}

/// Kinds of operations of the database.
#[derive(Clone, Copy)]
pub(crate) enum OperationKind {
    Read,
    SlowRead,
    Write,
    Index,
}

const KINDS: [&str; 4] = ["read", "slow_read", "write", "index"];

/// Reasons why writes are begun again.
#[derive(Debug, Default)]
pub(crate) struct Retries {
    pub rolled_back: Counter,
    pub one_by_one: Counter,
}

/// Reads that a cache answered, and others.
#[derive(Debug, Default)]
pub(crate) struct CacheReads {
    pub hits: Counter,
    pub misses: Counter,
}

impl CacheReads {
    /// Counts a read by whether the cache had it, which is returned.
    pub fn count<T>(&self, found: Option<T>) -> Option<T> {
        let counter = if found.is_some() { &self.hits } else { &self.misses };
        counter.increment();
        found
    }
}

/// The counters and histograms that all parts of a store share.
#[derive(Debug, Default)]
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
    /// In microseconds.
    pub held_back: Counter,
    pub items: CacheReads,
    pub pages: CacheReads,
    pub replays: Counter,
    pub checkpoint: Histogram,
    sampled: Mutex<(Sample, IndexLag)>,
}

impl StoreMetrics {
    /// The time of operations of a kind.
    pub fn operation(&self, kind: OperationKind) -> &Histogram {
        let [read, slow_read, write, index] = &self.operations;
        match kind {
            OperationKind::Read => read,
            OperationKind::SlowRead => slow_read,
            OperationKind::Write => write,
            OperationKind::Index => index,
        }
    }

    pub fn set_sample(&self, sample: Sample) {
        self.sampled.lock().0 = sample;
    }

    pub fn set_index_lag(&self, lag: IndexLag) {
        self.sampled.lock().1 = lag;
    }

    /// Gives all series; `system` is the database engine.
    pub fn collect(&self, system: &str, collector: &mut dyn Collector) {
        for (kind, histogram) in KINDS.iter().zip(&self.operations) {
            let labels = [("db_system_name", system), ("db_operation_name", *kind)];
            collector.take(&OPERATIONS, &labels, Reading::Histogram(histogram));
        }
        collector.take(&QUEUED_WRITES, &[], self.queued_writes.read());
        for (metric, histogram) in [
            (&QUEUE_WAIT, &self.queue_wait),
            (&BATCH_ROWS, &self.batch_rows),
            (&LOCK_WAIT, &self.lock_wait),
            (&LOCK_HELD, &self.lock_held),
            (&SHARED_READS, &self.shared_reads),
            (&INDEX_STEP, &self.index_step),
        ] {
            collector.take(metric, &[], Reading::Histogram(histogram));
        }
        let Retries { rolled_back, one_by_one } = &self.retries;
        collector.take(&RETRIES, &[("reason", "rolled_back")], rolled_back.read());
        collector.take(&RETRIES, &[("reason", "one_by_one")], one_by_one.read());
        let held_back = Duration::from_micros(self.held_back.count());
        collector.take(&HELD_BACK, &[], Reading::Time(held_back));
        for (name, reads) in [("items", &self.items), ("pages", &self.pages)] {
            collector.take(&CACHE_HITS, &[("cache", name)], reads.hits.read());
            collector.take(&CACHE_MISSES, &[("cache", name)], reads.misses.read());
        }
        collector.take(&REPLAYS, &[], self.replays.read());
        self.collect_sampled(collector);
    }

    fn collect_sampled(&self, collector: &mut dyn Collector) {
        let sampled = self.sampled.lock();
        let (Sample { sizes, wal, disk, replicas }, lag) = &*sampled;
        collector.take(&INDEX_LAG, &[], Reading::Count(lag.changes));
        collector.take(&INDEX_LAG_TIME, &[], Reading::Time(lag.age));
        for (part, bytes) in sizes {
            collector.take(&STORE_BYTES, &[("part", part)], Reading::Count(*bytes));
        }
        if let Some(bytes) = wal {
            collector.take(&WAL, &[], Reading::Count(*bytes));
        }
        if let Some((bytes, free)) = disk {
            collector.take(&DISK, &[], Reading::Count(*bytes));
            collector.take(&DISK_FREE, &[], Reading::Count(*free));
        }
        if let Some((replicas, lag)) = replicas {
            collector.take(&REPLICAS, &[], Reading::Count(*replicas));
            collector.take(&REPLICA_LAG, &[], Reading::Time(*lag));
        }
    }

    /// Gives those of SQLite: its checkpoints and its locks.
    pub fn collect_sqlite(&self, collector: &mut dyn Collector) {
        let waits = Reading::Count(BUSY_WAITS.load(Ordering::Relaxed));
        collector.take(&SQLITE_BUSY, &[], waits);
        collector.take(&CHECKPOINT, &[], Reading::Histogram(&self.checkpoint));
    }

    /// Gives those of the connections to PostgreSQL: of each pool its name, and how many are used and
    /// idle; and how often connections were opened or lost.
    pub fn collect_connections(
        &self,
        pools: &[(&str, usize, usize)],
        losses: u64,
        collector: &mut dyn Collector,
    ) {
        for (pool, used, idle) in pools {
            for (state, count) in [("used", *used), ("idle", *idle)] {
                let labels = [
                    ("db_client_connection_pool_name", *pool),
                    ("db_client_connection_state", state),
                ];
                collector.take(&CONNECTIONS, &labels, Reading::Count(count as u64));
            }
        }
        collector.take(&CONNECTION_WAIT, &[], Reading::Histogram(&self.connection_wait));
        collector.take(&CONNECTION_TIMEOUTS, &[], self.connection_timeouts.read());
        collector.take(&LOSSES, &[], Reading::Count(losses));
    }
}

/// Gives how many reads wait, by kind.
pub(crate) fn collect_queued_reads(kinds: &[(&str, usize)], collector: &mut dyn Collector) {
    for (kind, length) in kinds {
        collector.take(&QUEUED_READS, &[("queue", kind)], Reading::Count(*length as u64));
    }
}

/// Gives how large caches are.
pub(crate) fn collect_cache_sizes(caches: &[(&str, u64)], collector: &mut dyn Collector) {
    for (cache, bytes) in caches {
        collector.take(&CACHE_BYTES, &[("cache", cache)], Reading::Count(*bytes));
    }
}
