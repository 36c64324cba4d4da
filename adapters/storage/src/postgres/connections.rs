//! A pool of connections, each owned by a task. A task serves one [`Session`] at a time: it opens
//! or tests its connection, and answers the questions of the session. If a caller drops its
//! session, the task cancels the statement in progress and rolls back. Every wait has a limit,
//! because open connections can fall silent without a reset, as after the failover of an address.

use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use sea_orm::sqlx::postgres::PgConnection;
use sea_orm::sqlx::{Connection as _, Error as SqlxError, Row as _, raw_sql};
use sea_orm::{QueryResult, Statement};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::error::{DbResult, is_connection_lost, is_refusal, is_schema_change};
use crate::postgres::server::{Purpose, Server, silence};
use crate::postgres::session::{
    Asked, Effect, Limits, Question, Reply, ServerAnswer, Session, database_error, lost,
};
use crate::sql::dialect::POSTGRES;

const PING: Duration = Duration::from_secs(2);

const PAUSE: Duration = Duration::from_millis(100);

const IDLE_FOR: Duration = Duration::from_mins(10);

const LIFETIME: Duration = Duration::from_mins(30);

const CLOSING: Duration = Duration::from_secs(5);

const CLEANING: Duration = Duration::from_secs(5);

/// The time limit for a read in progress after another connection was found dead.
const AFTER_A_LOSS: Duration = Duration::from_secs(2);

pub(crate) struct Connections {
    pub server: Arc<Server>,
    purpose: Purpose,
    size: u32,
    /// Cancel abandoned statements of these connections, which otherwise run to their end.
    canceller: Option<Arc<Self>>,
    permits: Arc<Semaphore>,
    /// The tasks without a session. The one used last is used next.
    idle: Mutex<Vec<oneshot::Sender<Client>>>,
    tasks: Mutex<JoinSet<()>>,
}

/// The end of a session that its task serves.
struct Client {
    pool: Arc<Connections>,
    questions: mpsc::Receiver<Asked>,
    timeline: oneshot::Sender<u32>,
    asked: Instant,
    limits: Limits,
    permit: OwnedSemaphorePermit,
}

struct Open {
    connection: PgConnection,
    timeline: u32,
    since: Instant,
    used: Instant,
    process: i32,
    is_in_transaction: bool,
}

impl Connections {
    pub fn new(
        server: &Arc<Server>,
        purpose: Purpose,
        size: u32,
        canceller: Option<&Arc<Self>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            server: Arc::clone(server),
            purpose,
            size,
            canceller: canceller.cloned(),
            permits: Arc::new(Semaphore::new(size as usize)),
            idle: Mutex::default(),
            tasks: Mutex::default(),
        })
    }

    /// The numbers of used and of idle connections.
    pub fn sizes(&self) -> (usize, usize) {
        let used = self.size as usize - self.permits.available_permits();
        (used, self.idle.lock().len())
    }

    /// Waits for a free connection. The first question waits until it is open.
    pub async fn session(self: &Arc<Self>, limits: Limits) -> DbResult<Session> {
        let asked = Instant::now();
        let permit = Arc::clone(&self.permits).acquire_owned();
        let Ok(permit) = timeout(self.server.acquire_timeout, permit).await else {
            self.measure_wait(asked, true);
            return Err(database_error(SqlxError::PoolTimedOut));
        };
        let permit = permit.map_err(|_| database_error(SqlxError::PoolClosed))?;
        let ((sender, questions), (opened, timeline)) = (mpsc::channel(1), oneshot::channel());
        let mut client =
            Client { pool: Arc::clone(self), questions, timeline: opened, asked, limits, permit };
        loop {
            let Some(idle) = self.idle.lock().pop() else {
                let mut tasks = self.tasks.lock();
                while tasks.try_join_next().is_some() {}
                tasks.spawn_on(serve(client), &self.purpose.runtime());
                break;
            };
            match idle.send(client) {
                Ok(()) => break,
                Err(returned) => client = returned,
            }
        }
        Ok(Session { questions: sender, timeline, may_have_committed: AtomicBool::new(false) })
    }

    fn measure_wait(&self, asked: Instant, has_timed_out: bool) {
        let metrics = &self.server.metrics;
        metrics.connection_wait.observe(asked.elapsed().as_secs_f64());
        metrics.connection_timeouts.inc_by(u64::from(has_timed_out));
    }

    pub async fn query(
        self: &Arc<Self>,
        limits: Limits,
        statement: Statement,
    ) -> DbResult<Vec<QueryResult>> {
        self.session(limits).await?.query_last(statement).await
    }

    /// Closes all connections, those in use after their sessions.
    pub async fn close(&self) {
        if timeout(CLOSING, self.permits.acquire_many(self.size)).await.is_err() {
            tracing::warn!("closing the pool although PostgreSQL connections are still in use");
        }
        self.permits.close();
        self.idle.lock().clear();
        let mut tasks = std::mem::take(&mut *self.tasks.lock());
        let ended = async { while tasks.join_next().await.is_some() {} };
        if timeout(PING, ended).await.is_err() {
            tracing::debug!("a PostgreSQL connection did not close cleanly");
        }
    }
}

/// Runs the worker of the queue and the connections that write. In the runtime of the requests,
/// each step of a batch would queue behind other ready tasks.
static WRITING: LazyLock<Option<Runtime>> = LazyLock::new(|| {
    let mut runtime = Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).thread_name("writes").enable_all().build();
    runtime.inspect_err(|error| tracing::warn!(%error, "writes have no separate thread")).ok()
});

impl Purpose {
    pub fn runtime(self) -> Handle {
        let writing = (self == Self::Write).then(|| WRITING.as_ref()).flatten();
        writing.map_or_else(Handle::current, |runtime| runtime.handle().clone())
    }
}

/// Boxes the future, because a task that cancels a statement may start another task.
fn serve(client: Client) -> BoxFuture<'static, ()> {
    serve_sessions(client).boxed()
}

async fn serve_sessions(mut client: Client) {
    let mut open = None;
    loop {
        let Client { pool, questions, timeline, asked, limits, permit } = client;
        let Some(kept) = pool.serve(open, timeline, asked, questions, limits).await else { return };
        let (idle, next) = oneshot::channel();
        if kept.since.elapsed() < LIFETIME {
            pool.idle.lock().push(idle);
        } else {
            drop(idle);
        }
        // An idle task does not keep the pool alive.
        drop(pool);
        drop(permit);
        let Ok(Ok(next)) = timeout(IDLE_FOR, next).await else {
            if !matches!(timeout(PING, kept.connection.close()).await, Ok(Ok(()))) {
                tracing::debug!("a PostgreSQL connection did not close cleanly");
            }
            return;
        };
        (client, open) = (next, Some(kept));
    }
}

impl Connections {
    /// Serves a session. Returns the connection if it can serve another.
    async fn serve(
        &self,
        kept: Option<Open>,
        timeline: oneshot::Sender<u32>,
        asked: Instant,
        mut questions: mpsc::Receiver<Asked>,
        limits: Limits,
    ) -> Option<Open> {
        let mut open = self.open(kept, timeline, asked, &mut questions).await?;
        while let Some((question, mut reply)) = questions.recv().await {
            let answered = tokio::select! {
                biased;
                answer = self.answer(&mut open, question, limits) => Some(answer),
                () = reply.closed() => None,
            };
            let Some(answer) = answered else {
                self.cancel(open.process).await;
                open.is_in_transaction = true;
                break;
            };
            let error = answer.result.as_ref().err();
            let mut is_usable = !error.is_some_and(is_connection_lost);
            if !is_usable {
                self.server.losses.note();
            } else if error.is_some_and(is_schema_change) {
                self.server.losses.schema_change.notify_one();
                let forgotten = open.connection.clear_cached_statements();
                is_usable = self.within_cleaning(forgotten).await;
            }
            let _ = reply.send(answer);
            if !is_usable {
                return None;
            }
        }
        if open.is_in_transaction {
            // Outside a transaction it has no effect.
            let ended = raw_sql("ROLLBACK").execute(&mut open.connection);
            if !self.within_cleaning(ended).await {
                return None;
            }
            open.is_in_transaction = false;
        }
        open.used = Instant::now();
        Some(open)
    }

    /// Opens or tests the connection. An error answers the first question.
    async fn open(
        &self,
        kept: Option<Open>,
        mut timeline: oneshot::Sender<u32>,
        asked: Instant,
        questions: &mut mpsc::Receiver<Asked>,
    ) -> Option<Open> {
        let longest = self.server.acquire_timeout.saturating_sub(asked.elapsed());
        let opened = tokio::select! {
            biased;
            opened = timeout(longest, self.ready(kept)) => opened,
            () = timeline.closed() => return None,
        };
        self.measure_wait(asked, opened.is_err());
        match opened.unwrap_or(Err(SqlxError::PoolTimedOut)) {
            Ok(open) => {
                let _ = timeline.send(open.timeline);
                Some(open)
            }
            Err(error) => {
                // A session may wait for the timeline before it asks.
                drop(timeline);
                let (_, reply) = questions.recv().await?;
                let _ = reply.send(ServerAnswer { result: Err(error), may_have_committed: false });
                None
            }
        }
    }

    async fn answer(&self, open: &mut Open, question: Question, limits: Limits) -> ServerAnswer {
        let (effect, was_in_transaction) = (question.effect, open.is_in_transaction);
        open.is_in_transaction |= effect == Effect::Begin;
        let mut reply = Reply::default();
        let result = tokio::select! {
            biased;
            result = question.answer(&mut open.connection, &mut reply) => result,
            error = self.give_up(limits) => Err(error),
        };
        let is_commit = effect == Effect::Commit;
        open.is_in_transaction &= !(is_commit && result.is_ok());
        let can_commit = is_commit || effect == Effect::None && !was_in_transaction;
        let is_rolled_back = match &result {
            Ok(()) => false,
            Err(error) if is_commit => is_refusal(error),
            // When the statement itself is done, it is its commit that failed.
            Err(error) => matches!(error, SqlxError::Database(_)) && reply.rows.is_empty(),
        };
        let may_have_committed = can_commit && !is_rolled_back;
        ServerAnswer { result: result.map(|()| reply), may_have_committed }
    }

    /// Returns when the answer is late.
    async fn give_up(&self, limits: Limits) -> SqlxError {
        let another_was_lost = async {
            self.server.losses.next().await;
            sleep(AFTER_A_LOSS).await;
        };
        tokio::select! {
            () = sleep(limits.answer) => lost(io::ErrorKind::TimedOut, "no response within the time limit"),
            () = another_was_lost, if limits.can_repeat => {
                lost(io::ErrorKind::ConnectionAborted, "no response, and another connection was lost")
            }
        }
    }

    async fn cancel(&self, process: i32) {
        let Some(canceller) = &self.canceller else { return };
        let cancel = POSTGRES.statement("SELECT pg_cancel_backend($1)", [process.into()]);
        if let Err(error) = canceller.query(Limits::BRIEF, cancel).await {
            tracing::warn!(%error, "cannot cancel an abandoned statement");
        }
    }

    /// Prepares a connection for its next use. Returns false if it is lost.
    async fn within_cleaning<T>(&self, step: impl Future<Output = Result<T, SqlxError>>) -> bool {
        let is_done = matches!(timeout(CLEANING, step).await, Ok(Ok(_)));
        if !is_done {
            self.server.losses.note();
        }
        is_done
    }

    /// The connection, if it can still be used, or a new one.
    async fn ready(&self, open: Option<Open>) -> Result<Open, SqlxError> {
        let Self { server, purpose, .. } = self;
        // After a failover to a server that is newer, connections to the earlier one are of no use.
        if let Some(mut open) = open.filter(|open| open.timeline == server.timeline()) {
            if !server.losses.is_suspect(open.since.elapsed(), open.used.elapsed()) {
                return Ok(open);
            }
            let checked = timeout(PING, server.check(&mut open.connection, *purpose)).await;
            match checked.unwrap_or_else(|_| Err(silence())) {
                Ok(()) => return Ok(open),
                Err(error) => {
                    tracing::info!(%error, "an idle connection was lost");
                    server.losses.note();
                    // To try the others one by one would take longer than to open new ones.
                    self.idle.lock().clear();
                }
            }
        }
        let (mut connection, timeline) = loop {
            match server.connect(*purpose).await {
                Err(error) if is_passing(&error) => sleep(PAUSE).await,
                connected => break connected?,
            }
        };
        let process = raw_sql("SELECT pg_backend_pid()").fetch_one(&mut connection).await?;
        let (process, now) = (process.try_get(0)?, Instant::now());
        Ok(Open { connection, timeline, since: now, used: now, process, is_in_transaction: false })
    }
}

/// Returns true for a server that is starting up, or has no connection left.
fn is_passing(error: &SqlxError) -> bool {
    match error {
        SqlxError::Io(error) => error.kind() == io::ErrorKind::ConnectionRefused,
        SqlxError::Database(error) => error.is_transient_in_connect_phase(),
        _ => false,
    }
}
