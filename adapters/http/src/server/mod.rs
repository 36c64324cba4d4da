//! The accept loop, with limits on the resources that a client can hold.
//!
//! `poem::Server` has no timeout for half-sent requests and spins when accept fails. HTTP/1.1 only:
//! the proxy in front does TLS and HTTP/2.
//!
//! - [`reserve`] holds connections beyond the limit;
//! - [`pace`] measures how fast a client reads a response;
//! - [`progress`] is the state that the parts of a connection share;
//! - [`timed_stream`] is the socket with its timeouts;
//! - [`refusal`] answers input that never became a request.

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
pub use pace::{LeastRate, Pace};
pub use reserve::RESERVED_CONNECTIONS;
use reserve::Reserve;
pub use sockets::{ListenError, Port, affordable_connections};

/// In bytes. Also the limit of one read.
pub const MAX_HEAD: usize = 64 * 1024;

/// Causes such as too few file descriptors last longer.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(200);

/// Failures closer together than this are one burst, logged once.
const BURST: Duration = Duration::from_secs(30);

/// The time for aborted connections to release their resources.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerLimits {
    /// Beyond these, [`RESERVED_CONNECTIONS`] more may wait.
    pub connections: u32,
    pub first_byte_timeout: Duration,
    /// From the first byte of a request's head to its end.
    pub header_timeout: Duration,
    /// Until the next request of a connection.
    pub idle_timeout: Duration,
    /// Between two parts of a body.
    pub body_timeout: Duration,
    /// Between two reads of a response by the client.
    pub write_timeout: Duration,
    /// In bytes per second of waiting for the client, for exports.
    pub least_rate: u32,
    /// The waiting time over which `least_rate` is measured.
    pub rate_window: Duration,
    /// For input that the service discards after an early response. If it closed immediately, the
    /// client's system would discard the response.
    pub linger_timeout: Duration,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drained {
    Finished,
    /// The number of connections with a request in flight at the timeout.
    CutOff(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Serving,
    Draining,
    Over,
}

#[derive(Clone)]
struct Stages(watch::Receiver<Stage>);

impl Stages {
    async fn reached(&mut self, stage: Stage) {
        // An error means that the server is gone, which is beyond every stage.
        let _ = self.0.wait_for(|now| *now >= stage).await;
    }
}

/// Serves until `shutdown` is done, then drains: closes the listener and idle connections, waits
/// for requests in flight up to the limit, and aborts the rest.
pub async fn serve<E: poem::Endpoint + 'static>(
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
                    "the connection limit is reached; {RESERVED_CONNECTIONS} may wait, others are refused"
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
                    tracing::error!(%error, "cannot accept new connections; they wait, existing ones are served");
                }
                sleep(PAUSE_AFTER_FAILURE).await;
            }
        }
    }
}

/// Detects a client that gave up before accept. The next accept may succeed immediately.
fn concerns_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

/// Groups failures. If descriptors are short, accepts fail and succeed in turn, so a burst ends
/// with a quiet time, not with a success.
#[derive(Default)]
struct Burst {
    last: Option<Instant>,
}

impl Burst {
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
    tracing::warn!(connections = open, "closed connections whose requests did not finish in time");
    stage.send_replace(Stage::Over);
    // Requests should release database connections before the caller closes the database.
    let _ = timeout(RELEASE_TIMEOUT, permits.acquire_many(connections)).await;
    Drained::CutOff(open)
}
