//! The life of one connection: first byte, HTTP by hyper, close without losing a response.

use parking_lot::Mutex;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::poll_fn;
use hyper::body::{Body as _, Incoming};
use hyper::header::{DATE, HeaderMap, HeaderValue, TRANSFER_ENCODING};
use hyper::http::uri::Scheme;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use poem::web::{LocalAddr, RemoteAddr};
use poem::{Body, Endpoint, Request};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::event_stream::EventStream;
use super::pace::{LeastRate, Pace};
use super::progress::Progress;
use super::refusal::{self, Unanswered};
use super::timed_stream::TimedStream;
use super::{MAX_HEAD, ServerLimits, Stage, Stages};
use crate::time::now;

/// An event stream that this module takes from hyper.
type Taken = Arc<Mutex<Option<EventStream>>>;

#[derive(Clone)]
pub(super) struct Connection<E> {
    pub(super) endpoint: E,
    pub(super) limits: Arc<ServerLimits>,
    pub(super) stages: Stages,
    pub(super) is_kept_alive: bool,
}

impl<E: Endpoint + Clone + 'static> Connection<E> {
    pub(super) async fn serve(mut self, stream: TcpStream) {
        let (Ok(local), Ok(remote)) = (stream.local_addr(), stream.peer_addr()) else {
            return; // the client is gone
        };
        // A response is one write, so Nagle's algorithm has nothing to join.
        let _ = stream.set_nodelay(true);
        if !self.has_first_byte(&stream).await {
            return;
        }
        // Boxed, so that a silent connection or an event stream costs a small task.
        let taken = Box::pin(self.converse(stream, local, remote)).await;
        if let Some((events, stream)) = taken {
            Box::pin(events.send(stream, self.limits.write_timeout, self.stages)).await;
        }
    }

    /// Peeks for the first byte. `readable` would not do: tokio assumes that a new socket is
    /// readable.
    async fn has_first_byte(&mut self, stream: &TcpStream) -> bool {
        let mut byte = [0];
        tokio::select! {
            biased;
            peeked = timeout(self.limits.first_byte_timeout, stream.peek(&mut byte)) => matches!(peeked, Ok(Ok(1..))),
            () = self.stages.reached(Stage::Draining) => false,
        }
    }

    /// `None` if the connection was cut off.
    async fn converse(
        &mut self,
        stream: TcpStream,
        local: SocketAddr,
        remote: SocketAddr,
    ) -> Option<(EventStream, TcpStream)> {
        let progress = Arc::new(Progress::default());
        let taken = Arc::new(Mutex::new(None));
        let mut io =
            TokioIo::new(TimedStream::new(stream, Arc::clone(&progress), Arc::clone(&self.limits)));
        let addresses = (LocalAddr(local.into()), RemoteAddr(remote.into()));
        let outcome = self.speak_http(&mut io, &progress, addresses, &taken).await?;
        let timed = io.into_inner();
        let events = taken.lock().take();
        if let Some(events) = events {
            return Some((events, timed.stream));
        }
        let (refusal, unread) = (timed.refusal(&outcome), timed.may_have_unread_input());
        let mut stream = timed.stream;
        let ending = async {
            if let Some(status) = refusal {
                let _ =
                    timeout(self.limits.write_timeout, stream.write_all(&refusal::answer(status)))
                        .await;
            }
            let _ = stream.shutdown().await;
            if unread {
                linger(&mut stream, self.limits.linger_timeout).await;
            }
        };
        tokio::select! {
            biased;
            () = ending => {}
            () = self.stages.reached(Stage::Draining) => {}
        }
        None
    }

    async fn speak_http(
        &mut self,
        io: &mut TokioIo<TimedStream>,
        progress: &Arc<Progress>,
        addresses: (LocalAddr, RemoteAddr),
        taken: &Taken,
    ) -> Option<hyper::Result<()>> {
        let endpoint = self.endpoint.clone();
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            let (endpoint, progress, (local, remote)) =
                (endpoint.clone(), Arc::clone(progress), addresses.clone());
            let (taken, method, version) =
                (Arc::clone(taken), request.method().clone(), request.version());
            let has_body = !request.body().is_end_stream();
            let is_coded = has_body && has_unknown_coding(request.headers());
            if is_coded {
                progress.head_begins();
            } else {
                progress.request_begins(has_body);
            }
            let mut request = Request::from((request, local, remote, Scheme::HTTP));
            if has_body {
                watch_body(&mut request, Arc::clone(&progress));
            }
            async move {
                if is_coded {
                    return Err(Unanswered::UnknownCoding);
                }
                let mut response = endpoint.get_response(request).await;
                if EventStream::is_one(&method, &response) {
                    let events = EventStream::of(version, response);
                    *taken.lock() = Some(events);
                    return Err(Unanswered::TakenOver);
                }
                // Without this header, hyper panics while the clock is before 1970.
                if now() < Timestamp::UNIX_EPOCH {
                    let epoch = HeaderValue::from_static("Thu, 01 Jan 1970 00:00:00 GMT");
                    response.headers_mut().insert(DATE, epoch);
                }
                let least = response.extensions().get::<LeastRate>();
                *progress.pace() = least.map(|least| (Pace::default(), *least));
                progress.request_is_answered();
                Ok::<hyper::Response<_>, Unanswered>(response.into())
            }
        });
        let mut connection = pin!(protocol(self.is_kept_alive).serve_connection(io, service));
        tokio::select! {
            biased;
            outcome = connection.as_mut() => return Some(outcome),
            () = self.stages.reached(Stage::Draining) => connection.as_mut().graceful_shutdown(),
        }
        tokio::select! {
            biased;
            outcome = connection.as_mut() => Some(outcome),
            () = self.stages.reached(Stage::Over) => None,
        }
    }
}

/// Detects transfer codings other than `chunked` (RFC 9112 section 6.1). hyper checks the last
/// coding only.
fn has_unknown_coding(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let is_unknown = |coding: &HeaderValue| !coding.as_bytes().eq_ignore_ascii_case(b"chunked");
    codings.next().is_some_and(is_unknown) || codings.next().is_some()
}

fn watch_body(request: &mut Request, progress: Arc<Progress>) {
    let end = poll_fn(move |_| {
        progress.body_is_read();
        Poll::Ready(None)
    });
    let body = request.take_body().into_bytes_stream().chain(end);
    request.set_body(Body::from_bytes_stream(body));
}

/// Clients may close their half after the request. [`TimedStream`] has the timeouts. The header
/// limit stays at hyper's default of 100: setting it costs an allocation per request.
fn protocol(is_kept_alive: bool) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .keep_alive(is_kept_alive)
        .half_close(true)
        .header_read_timeout(None)
        .max_buf_size(MAX_HEAD);
    builder
}

/// Discards input until the client closes or the time is over.
async fn linger(stream: &mut TcpStream, limit: Duration) {
    let mut forgotten = vec![0; 16 * 1024];
    let reading = async { while matches!(stream.read(&mut forgotten).await, Ok(1..)) {} };
    let _ = timeout(limit, reading).await;
}
