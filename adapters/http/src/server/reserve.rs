//! Connections beyond the limit, which wait for a free permit.
//!
//! Health requests do not wait: an instance at its limit must not look dead. The reserve is
//! bounded. When it is full, a new connection evicts the oldest one, so slow or silent clients do
//! not block others.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use hyper::StatusCode;
use poem::Endpoint;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;

use super::connection::Connection;
use super::{MAX_HEAD, Stage, refusal};
use crate::links::{HEALTH, READINESS};
use crate::metrics::OpenConnection;

pub const RESERVED_CONNECTIONS: u32 = 64;

/// Generous: a health response takes less, even while the store hangs.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(10);

const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct Reserve(VecDeque<oneshot::Sender<()>>);

impl Reserve {
    pub(super) fn admit<E: Endpoint + Clone + 'static>(
        &mut self,
        stream: TcpStream,
        permits: &Arc<Semaphore>,
        connection: &Connection<E>,
        open: OpenConnection,
    ) {
        self.0.retain(|place| !place.is_closed());
        if self.0.len() >= RESERVED_CONNECTIONS as usize
            && let Some(first) = self.0.pop_front()
        {
            // An error means that the connection ended already.
            let _ = first.send(());
        }
        let (place, evicted) = oneshot::channel();
        self.0.push_back(place);
        let waiting = wait(stream, Arc::clone(permits), connection.clone(), evicted);
        tokio::spawn(async move {
            waiting.await;
            drop(open);
        });
    }
}

async fn wait<E: Endpoint + Clone + 'static>(
    stream: TcpStream,
    permits: Arc<Semaphore>,
    mut connection: Connection<E>,
    mut evicted: oneshot::Receiver<()>,
) {
    let limit = connection.limits.first_byte_timeout;
    let permit = tokio::select! {
        biased;
        _ = &mut evicted => return refuse(stream).await,
        () = connection.stages.reached(Stage::Draining) => return,
        permit = permits.acquire_owned() => Some(permit),
        is_health = wants_health(&stream, limit) => if is_health { None } else { return },
    };
    // A connection that left the reserve cannot be evicted.
    if let Some(_permit) = permit {
        drop(evicted);
        return connection.serve(stream).await;
    }
    connection.is_kept_alive = false;
    tokio::select! {
        biased;
        _ = evicted => {}
        _ = timeout(HEALTH_TIMEOUT, connection.serve(stream)) => {}
    }
}

/// Peeks at the input. Returns false if none arrives, and never returns for another request.
async fn wants_health(stream: &TcpStream, limit: Duration) -> bool {
    let mut start = [0; 16];
    match timeout(limit, stream.peek(&mut start)).await {
        Ok(Ok(1..)) if is_for_health(&start) => true,
        Ok(Ok(1..)) => pending().await,
        _ => false,
    }
}

fn is_for_health(start: &[u8]) -> bool {
    let target = start.strip_prefix(b"GET ").or_else(|| start.strip_prefix(b"HEAD "));
    target.is_some_and(|target| {
        [HEALTH, READINESS].iter().any(|path| {
            target.strip_prefix(path.as_bytes()).is_some_and(|rest| rest.starts_with(b" "))
        })
    })
}

async fn refuse(mut stream: TcpStream) {
    // With unread input at close, the client's system would discard the response.
    if let Ok(1..) = stream.try_read(&mut vec![0; MAX_HEAD]) {
        let answer = refusal::answer(StatusCode::SERVICE_UNAVAILABLE);
        let _ = timeout(REFUSAL_TIMEOUT, stream.write_all(&answer)).await;
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn health_requests_are_recognized_by_their_request_line() {
        for (start, is_for_health) in [
            ("GET /healthz HTTP", true),
            ("HEAD /readyz HTTP", true),
            ("GET /healthzz HTT", false),
            ("GET /healthz", false),
            ("POST /healthz HTT", false),
            ("GET / HTTP/1.1\r\n", false),
            ("", false),
        ] {
            assert_eq!(super::is_for_health(start.as_bytes()), is_for_health, "{start:?}");
        }
    }
}
