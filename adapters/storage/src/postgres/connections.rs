//! Connections, each owned by a task.
//!
//! A task serves one [session](Session) at a time: it opens or checks its connection, answers the
//! questions of the session, and then makes the connection ready for the next one. A caller that goes
//! away drops its session; the task then cancels the statement in progress and rolls back. Every wait
//! has a limit: when open connections fall silent without a reset, as after the failover of an address,
//! they are closed and opened again. The driver's own pool waits without a limit, and pings each
//! connection.
//!
//! [Session]: crate::postgres::session::Session

use parking_lot::Mutex;
use std::future::pending;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use sea_orm::sqlx::postgres::PgConnection;
use sea_orm::sqlx::{Connection as _, Error as SqlxError, Row as _, raw_sql};
use sea_orm::{ConnAcquireErr, DbErr, QueryResult, Statement};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::error::{is_connection_lost, is_schema_change};
use crate::metrics::StoreMetrics;
use crate::postgres::losses::Losses;
use crate::postgres::server::{LONGEST_SILENCE, Purpose, Server};
use crate::postgres::session::{
    Answer, Asked, Effect, Limits, Question, Reply, Session, lost, query_error,
};
use crate::sql::dialect::POSTGRES;

/// The time in which a connection that is tried must answer.
const PING: Duration = Duration::from_secs(2);

/// Pauses between attempts to connect to a server that is starting up; they double.
const PAUSES: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// A connection idle for so long is closed.
const IDLE_FOR: Duration = Duration::from_mins(10);

/// A connection is used for so long, then replaced by a new one.
const LIFETIME: Duration = Duration::from_mins(30);

/// The time limit for the sessions in progress when all connections are closed.
const CLOSING: Duration = Duration::from_secs(5);

/// The time limit for making a connection ready for its next session.
const CLEANING: Duration = Duration::from_secs(5);

/// The time limit for a read in progress after another connection was found dead.
const AFTER_A_LOSS: Duration = Duration::from_secs(2);

/// Limits of the statement that cancels another.
const CANCEL: Limits = Limits { answer: Duration::from_secs(3), can_repeat: true };

/// Connections for one purpose.
#[derive(Clone)]
pub(crate) struct Connections(Arc<Inner>);

struct Inner {
    options: ConnectionOptions,
    permits: Arc<Semaphore>,
    /// The tasks without a session. The one used last is used next.
    idle: Mutex<Vec<oneshot::Sender<Client>>>,
    tasks: Mutex<JoinSet<()>>,
}

pub(crate) struct ConnectionOptions {
    pub server: Arc<Server>,
    pub purpose: Purpose,
    /// The most connections.
    pub connections: u32,
    /// The connections that cancel abandoned statements of these. Without them an abandoned statement
    /// runs to its end.
    pub canceller: Option<Connections>,
    pub losses: Arc<Losses>,
    pub acquire_timeout: Duration,
    pub metrics: Arc<StoreMetrics>,
}

/// The end of a session that its task serves.
struct Client {
    pool: Arc<Inner>,
    questions: mpsc::Receiver<Asked>,
    /// Receives the timeline of the connection, or the error of opening it. If no caller waits for that,
    /// the error answers the first question.
    ready: oneshot::Sender<Result<u32, SqlxError>>,
    limits: Limits,
    asked: Instant,
    permit: OwnedSemaphorePermit,
}

type Answered = (oneshot::Sender<Answer>, Answer);

type NewSession = (mpsc::Sender<Asked>, oneshot::Receiver<Result<u32, SqlxError>>);

/// An open connection.
struct Open {
    connection: PgConnection,
    /// The timeline of its server; 0 where the server does not tell.
    timeline: u32,
    since: Instant,
    used: Instant,
    /// The process of the server, if its statements can be cancelled.
    process: Option<i32>,
    is_in_transaction: bool,
}

impl Connections {
    pub fn new(options: ConnectionOptions) -> Self {
        let permits = usize::try_from(options.connections).unwrap_or(Semaphore::MAX_PERMITS);
        let permits = Arc::new(Semaphore::new(permits));
        Self(Arc::new(Inner { options, permits, idle: Mutex::default(), tasks: Mutex::default() }))
    }

    /// The name of the database for messages.
    pub fn target(&self) -> String {
        self.0.options.server.target()
    }

    /// The timeline of the server that the last connection was opened to.
    pub fn timeline(&self) -> u32 {
        self.0.options.server.timeline()
    }

    pub fn losses(&self) -> &Arc<Losses> {
        &self.0.options.losses
    }

    pub fn metrics(&self) -> &Arc<StoreMetrics> {
        &self.0.options.metrics
    }

    /// The numbers of connections in use, or being opened, and of idle ones.
    pub fn sizes(&self) -> (usize, usize) {
        let all = self.0.options.connections as usize;
        (all.saturating_sub(self.0.permits.available_permits()), self.0.idle.lock().len())
    }

    /// Waits for a connection.
    pub async fn session(&self, limits: Limits) -> Result<Session, DbErr> {
        let (questions, ready) = self.begin_session(limits).await?;
        let lost = |_| lost(io::ErrorKind::NotConnected, "the connection was lost");
        let timeline = ready.await.map_err(lost).flatten();
        let timeline = timeline.map_err(query_error)?;
        Ok(Session::new(questions, timeline))
    }

    /// Waits for a task that is free, and gives it a session.
    async fn begin_session(&self, limits: Limits) -> Result<NewSession, DbErr> {
        let (asked, pool) = (Instant::now(), &self.0);
        let permit = Arc::clone(&pool.permits).acquire_owned();
        let Ok(permit) = timeout(pool.options.acquire_timeout, permit).await else {
            self.metrics().connection_wait.observe(asked.elapsed().as_secs_f64());
            self.metrics().connection_timeouts.inc();
            return Err(DbErr::ConnectionAcquire(ConnAcquireErr::Timeout));
        };
        let closed = |_| DbErr::ConnectionAcquire(ConnAcquireErr::ConnectionClosed);
        let permit = permit.map_err(closed)?;
        let ((sender, questions), (ready, is_ready)) = (mpsc::channel(1), oneshot::channel());
        let mut client = Client { pool: Arc::clone(pool), questions, ready, limits, asked, permit };
        loop {
            let Some(idle) = pool.idle.lock().pop() else {
                let mut tasks = pool.tasks.lock();
                while tasks.try_join_next().is_some() {}
                tasks.spawn(serve(client));
                break;
            };
            match idle.send(client) {
                Ok(()) => break,
                // The task has ended.
                Err(returned) => client = returned,
            }
        }
        Ok((sender, is_ready))
    }

    /// Begins a transaction, which is rolled back unless it is committed.
    pub async fn begin(&self, limits: Limits) -> Result<Session, DbErr> {
        let session = self.session(limits).await?;
        session.begin_with("BEGIN").await?;
        Ok(session)
    }

    /// Runs a statement as a separate transaction.
    pub async fn query(
        &self,
        limits: Limits,
        statement: Statement,
    ) -> Result<Vec<QueryResult>, DbErr> {
        let (questions, _) = self.begin_session(limits).await?;
        Session::new(questions, 0).query_last(Question::Statement(statement)).await
    }

    /// Looks for a server that took over from the current one, which still accepts writes. Its
    /// connections are replaced.
    pub async fn find_successor(&self) {
        let ConnectionOptions { server, purpose, losses, .. } = &self.0.options;
        if !server.has_several() {
            return;
        }
        match server.connect_to_newest(*purpose, LONGEST_SILENCE).await {
            Ok((connection, timeline)) => {
                let known = server.timeline();
                if timeline > known {
                    tracing::warn!(
                        timeline,
                        known,
                        "the primary was replaced, although it still accepts writes"
                    );
                    // Before the timeline: values that were cached earlier belong to the old one.
                    losses.note();
                    server.set_timeline(timeline);
                }
                if let Err(error) = connection.close().await {
                    tracing::debug!(%error, "a PostgreSQL connection did not close cleanly");
                }
            }
            Err(error) => tracing::debug!(%error, "no server accepts writes"),
        }
    }

    /// Closes all connections, those in use after their sessions.
    pub async fn close(&self) {
        let all = self.0.permits.acquire_many(self.0.options.connections);
        if timeout(CLOSING, all).await.is_err() {
            tracing::warn!("closing the pool although PostgreSQL connections are still in use");
        }
        self.0.permits.close();
        self.0.idle.lock().clear();
        let mut tasks = std::mem::take(&mut *self.0.tasks.lock());
        let ended = async { while tasks.join_next().await.is_some() {} };
        if timeout(PING, ended).await.is_err() {
            tracing::debug!("a PostgreSQL connection did not close cleanly");
        }
    }
}

/// Serves sessions until the connection is no longer needed. Boxed, because a task that cancels a
/// statement may start another task.
fn serve(client: Client) -> BoxFuture<'static, ()> {
    serve_sessions(client).boxed()
}

async fn serve_sessions(mut client: Client) {
    let mut open = None;
    loop {
        let Client { pool, mut questions, ready, limits, asked, permit } = client;
        let mut last = None;
        match pool.ready_in_time(open, asked).await {
            Ok(opened) => {
                let _ = ready.send(Ok(opened.timeline));
                (open, last) = pool.serve(opened, questions, limits).await;
            }
            Err(error) => {
                open = None;
                if let Err(Err(error)) = ready.send(Err(error)) {
                    let first = questions.recv().await;
                    last = first.map(|(_, reply)| (reply, Answer::not_sent(error)));
                }
            }
        }
        let (idle, next) = oneshot::channel();
        let is_kept = open.as_ref().is_some_and(|open| open.since.elapsed() < LIFETIME);
        if is_kept {
            pool.idle.lock().push(idle);
        }
        // An idle task does not keep the pool alive.
        drop(pool);
        drop(permit);
        if let Some((reply, answer)) = last {
            let _ = reply.send(answer);
        }
        if !is_kept {
            break;
        }
        match timeout(IDLE_FOR, next).await {
            Ok(Ok(next)) => client = next,
            _ => break,
        }
    }
    if let Some(Open { connection, .. }) = open
        && !matches!(timeout(PING, connection.close()).await, Ok(Ok(())))
    {
        tracing::debug!("a PostgreSQL connection did not close cleanly");
    }
}

impl Inner {
    /// Serves a session. Returns the connection if it can serve another, and the answer to the last
    /// question: its caller may ask for the next session at once.
    async fn serve(
        &self,
        mut open: Open,
        mut questions: mpsc::Receiver<Asked>,
        limits: Limits,
    ) -> (Option<Open>, Option<Answered>) {
        let mut last = None;
        while let Some((question, mut reply)) = questions.recv().await {
            let answered = tokio::select! {
                biased;
                answer = self.answer(&mut open, question, limits) => Some(answer),
                () = reply.closed() => None,
            };
            let Some(answer) = answered else {
                self.cancel(&open).await;
                open.is_in_transaction = true;
                break;
            };
            if answer.result.as_ref().is_err_and(is_connection_lost) {
                self.options.losses.note();
                return (None, Some((reply, answer)));
            }
            if answer.result.as_ref().is_err_and(is_schema_change) {
                self.options.losses.note_schema_change();
                let forgotten = open.connection.clear_cached_statements();
                if self.within_cleaning(forgotten).await.is_none() {
                    return (None, Some((reply, answer)));
                }
            }
            if questions.is_closed() && !open.is_in_transaction {
                last = Some((reply, answer));
            } else {
                let _ = reply.send(answer);
            }
        }
        if open.is_in_transaction {
            // Outside a transaction it has no effect.
            let ended = raw_sql("ROLLBACK").execute(&mut open.connection);
            if self.within_cleaning(ended).await.is_none() {
                return (None, last);
            }
            open.is_in_transaction = false;
        }
        open.used = Instant::now();
        (Some(open), last)
    }

    /// Waits for the answer of the server.
    async fn answer(&self, open: &mut Open, question: Question, limits: Limits) -> Answer {
        let effect = question.effect();
        open.is_in_transaction |= matches!(effect, Effect::Begin | Effect::Whole);
        let ends = matches!(effect, Effect::Commit | Effect::Whole);
        let mut reply = Reply::default();
        let result = tokio::select! {
            biased;
            result = question.answer(&mut open.connection, &mut reply) => result,
            error = self.give_up(limits) => Err(error),
        };
        open.is_in_transaction &= !(ends && result.is_ok());
        Answer::new(result, reply, effect)
    }

    /// Returns the error of a server that does not answer in time.
    async fn give_up(&self, limits: Limits) -> SqlxError {
        let another_was_lost = async {
            if !limits.can_repeat {
                pending::<()>().await;
            }
            self.options.losses.next().await;
            sleep(AFTER_A_LOSS).await;
        };
        tokio::select! {
            () = sleep(limits.answer) => lost(io::ErrorKind::TimedOut, "no response within the time limit"),
            () = another_was_lost => {
                lost(io::ErrorKind::ConnectionAborted, "no response, and another connection was lost")
            }
        }
    }

    /// Cancels the statement in progress. The server does not notice that its client no longer needs
    /// the result.
    async fn cancel(&self, open: &Open) {
        let (Some(canceller), Some(process)) = (&self.options.canceller, open.process) else {
            return;
        };
        let cancel = POSTGRES.statement("SELECT pg_cancel_backend($1)", [process.into()]);
        let sent = canceller.query(CANCEL, cancel);
        if let Err(error) = sent.await {
            tracing::warn!(%error, "cannot cancel an abandoned statement");
        }
    }

    /// The result of a step that makes a connection ready; `None` if the connection is lost.
    async fn within_cleaning<T>(
        &self,
        step: impl Future<Output = Result<T, SqlxError>>,
    ) -> Option<T> {
        let done = timeout(CLEANING, step).await.ok().and_then(Result::ok);
        if done.is_none() {
            self.options.losses.note();
        }
        done
    }

    async fn ready_in_time(&self, open: Option<Open>, asked: Instant) -> Result<Open, SqlxError> {
        let ConnectionOptions { acquire_timeout, metrics, .. } = &self.options;
        let left = acquire_timeout.saturating_sub(asked.elapsed());
        let ready = timeout(left, self.ready(open)).await;
        metrics.connection_wait.observe(asked.elapsed().as_secs_f64());
        ready.unwrap_or_else(|_| {
            metrics.connection_timeouts.inc();
            Err(SqlxError::PoolTimedOut)
        })
    }

    /// The connection, if it can be used, or a new one.
    async fn ready(&self, open: Option<Open>) -> Result<Open, SqlxError> {
        let ConnectionOptions { server, purpose, losses, canceller, .. } = &self.options;
        // After a failover to a server that is newer, connections to the earlier one are of no use.
        if let Some(mut open) = open.filter(|open| open.timeline == server.timeline()) {
            if !losses.is_suspect(open.since.elapsed(), open.used.elapsed()) {
                return Ok(open);
            }
            match server.check(&mut open.connection, *purpose, PING).await {
                Ok(()) => return Ok(open),
                Err(error) => {
                    tracing::info!(%error, "an idle connection was lost");
                    losses.note();
                    // To try the others one by one would take longer than to open new ones.
                    self.idle.lock().clear();
                }
            }
        }
        let (mut connection, timeline) = self.connect().await?;
        let process = match canceller {
            Some(_) => {
                let process = raw_sql("SELECT pg_backend_pid()").fetch_one(&mut connection).await?;
                Some(process.try_get(0)?)
            }
            None => None,
        };
        let now = Instant::now();
        Ok(Open { connection, timeline, since: now, used: now, process, is_in_transaction: false })
    }

    /// Connects; a server that is starting up, or has no connection left, is waited for.
    async fn connect(&self) -> Result<(PgConnection, u32), SqlxError> {
        let (mut pause, longest) = PAUSES;
        loop {
            match self.options.server.connect(self.options.purpose).await {
                Err(error) if is_passing(&error) => {
                    sleep(pause).await;
                    pause = (pause * 2).min(longest);
                }
                done => {
                    self.options.losses.connected();
                    return done
                        .inspect(|(_, timeline)| self.options.server.set_timeline(*timeline));
                }
            }
        }
    }
}

fn is_passing(error: &SqlxError) -> bool {
    match error {
        SqlxError::Io(error) => error.kind() == io::ErrorKind::ConnectionRefused,
        SqlxError::Database(error) => error.is_transient_in_connect_phase(),
        _ => false,
    }
}
