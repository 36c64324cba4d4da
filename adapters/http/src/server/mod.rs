//! The accept loop: from a listening socket to requests, with a limit on everything a client can
//! hold up.
//!
//! `poem::Server` has no timeout for half-sent requests and spins when it cannot accept, so
//! connections are accepted here and given to hyper, and hyper's requests to the endpoint. HTTP/1.1
//! only: encryption and HTTP/2 belong to the proxy in front.
//!
//! - [`serve`] accepts, and drains at the end;
//! - [`reserve`] holds connections beyond the limit;
//! - [`connection`] is the life of one connection;
//! - [`pace`] is how fast a client takes a response;
//! - [`event_stream`] sends responses that have no end;
//! - [`progress`] is the state that the parts of a connection share;
//! - [`timed_stream`] is the socket with its timeouts;
//! - [`refusal`] answers what never became a request.

mod connection;
mod event_stream;
mod pace;
mod progress;
mod refusal;
mod reserve;
mod sockets;
#[cfg(test)]
mod tests;
mod timed_stream;

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, sleep, timeout};

use crate::metrics::HttpMetrics;
use connection::Connection;
pub use pace::LeastRate;
pub use reserve::RESERVED_CONNECTIONS;
use reserve::Reserve;
pub use sockets::{ListenError, Port, affordable_connections};

/// The largest request head, and the most that is read or buffered at once.
const MAX_HEAD: usize = 64 * 1024;

/// How long the loop pauses after a failed accept. A cause such as too few file descriptors does not
/// pass in less.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(200);

/// Failures of a kind closer together than this are one burst, logged once.
const BURST: Duration = Duration::from_secs(30);

/// How long connections that were cut off may take to release what they hold.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(1);

/// The limits of what a client may hold, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerLimits {
    /// Connections open at a time. Beyond them, [`RESERVED_CONNECTIONS`] more may wait.
    pub connections: u32,
    /// For the first byte of a new connection.
    pub first_byte_timeout: Duration,
    /// For a request's head, from its first byte to its end.
    pub header_timeout: Duration,
    /// For the next request of a connection.
    pub idle_timeout: Duration,
    /// For more of a body, while it is being read.
    pub body_timeout: Duration,
    /// For the client to take more of a response.
    pub write_timeout: Duration,
    /// Bytes of an export that its client takes at least in each second that the export waits for it.
    pub least_rate: u32,
    /// How much waiting that rate is measured over.
    pub rate_window: Duration,
    /// For what a client still sends after an answer that did not wait for it; it is read and
    /// thrown away, since closing at once would make the client's system discard the answer too.
    pub linger_timeout: Duration,
    /// For the requests in flight when the service stops.
    pub drain_timeout: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            connections: 16_384,
            first_byte_timeout: Duration::from_secs(10),
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(75),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            least_rate: 64 * 1024,
            rate_window: Duration::from_secs(30),
            linger_timeout: Duration::from_secs(5),
            drain_timeout: Duration::from_secs(10),
        }
    }
}

/// How serving ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drained {
    /// Every request in flight was answered.
    Finished,
    /// The number of connections that still had a request in flight when the time was over.
    CutOff(usize),
}

/// The stages of the server's life, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Serving,
    Draining,
    Over,
}

/// A connection's view of the stage the server is in.
#[derive(Clone)]
struct Stages(watch::Receiver<Stage>);

impl Stages {
    /// Waits until the server is at `stage` or beyond.
    async fn reached(&mut self, stage: Stage) {
        // An error means that the server is gone, which is beyond every stage.
        let _ = self.0.wait_for(|now| *now >= stage).await;
    }
}

/// Answers the requests that come in on `listener` until `shutdown` is done, then drains: it
/// accepts no more, closes what is idle, lets requests in flight finish within the limit, and cuts
/// off the rest.
pub async fn serve<E: poem::Endpoint + 'static>(
    listener: TcpListener,
    endpoint: E,
    limits: ServerLimits,
    shutdown: impl Future<Output = ()> + Send,
) -> Drained {
    serve_measured(listener, endpoint, limits, &Arc::default(), shutdown).await
}

/// The same, with its connections counted.
pub async fn serve_measured<E: poem::Endpoint + 'static>(
    listener: TcpListener,
    endpoint: E,
    limits: ServerLimits,
    metrics: &HttpMetrics,
    shutdown: impl Future<Output = ()> + Send,
) -> Drained {
    let permits = Arc::new(Semaphore::new(limits.connections as usize));
    let (stage, stages) = watch::channel(Stage::Serving);
    let (connections, drain_timeout) = (limits.connections, limits.drain_timeout);
    let connection = Connection {
        endpoint: Arc::new(endpoint),
        limits: Arc::new(limits),
        stages: Stages(stages),
        is_kept_alive: true,
    };
    tokio::select! {
        never = accept_all(&listener, &permits, &connection, metrics) => match never {},
        () = shutdown => {}
    }
    drop(listener);
    drop(connection);
    drain(&stage, &permits, connections, drain_timeout).await
}

/// Gives each connection a task of its own; without a permit it waits in the reserve.
async fn accept_all<E: poem::Endpoint + Clone + 'static>(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
    connection: &Connection<E>,
    metrics: &HttpMetrics,
) -> Infallible {
    let (mut shortage, mut failures) = (Burst::default(), Burst::default());
    let mut reserve = Reserve::default();
    loop {
        let stream = accept(listener, &mut failures).await;
        let open = metrics.accept();
        let Ok(permit) = Arc::clone(permits).try_acquire_owned() else {
            metrics.over_limit.inc();
            if shortage.begins() {
                tracing::warn!(
                    "the limit of connections is reached; {RESERVED_CONNECTIONS} may wait, and others are refused"
                );
            }
            reserve.admit(stream, permits, connection, open);
            continue;
        };
        let connection = connection.clone();
        tokio::spawn(async move {
            connection.serve(stream).await;
            drop((permit, open));
        });
    }
}

async fn accept(listener: &TcpListener, failures: &mut Burst) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) if concerns_one_connection(&error) => {}
            Err(error) => {
                if failures.begins() {
                    tracing::error!(%error, "cannot accept connections for now; existing ones are served, new ones wait");
                }
                sleep(PAUSE_AFTER_FAILURE).await;
            }
        }
    }
}

/// Returns true if the client gave up before it was accepted, so that the next accept may succeed
/// at once.
fn concerns_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

/// Groups failures that belong together. Where descriptors are short, accepts fail and succeed in
/// turn: a burst ends with a quiet time, not with a success.
#[derive(Default)]
struct Burst {
    last: Option<Instant>,
}

impl Burst {
    /// Notes a failure; true if it is the first of its burst.
    fn begins(&mut self) -> bool {
        let now = Instant::now();
        let before = self.last.replace(now);
        before.is_none_or(|before| now.duration_since(before) > BURST)
    }
}

async fn drain(
    stage: &watch::Sender<Stage>,
    permits: &Semaphore,
    connections: u32,
    limit: Duration,
) -> Drained {
    stage.send_replace(Stage::Draining);
    if timeout(limit, permits.acquire_many(connections)).await.is_ok() {
        return Drained::Finished;
    }
    let open = connections as usize - permits.available_permits();
    tracing::warn!(connections = open, "cut off requests that did not finish in time");
    stage.send_replace(Stage::Over);
    // Database connections and the like that requests hold should be free before the caller closes
    // what they belong to.
    let _ = timeout(RELEASE_TIMEOUT, permits.acquire_many(connections)).await;
    Drained::CutOff(open)
}
