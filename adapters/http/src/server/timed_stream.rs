//! The socket as hyper sees it, with a timeout on every wait.
//!
//! hyper's `header_read_timeout` starts at the wait for a head, not at its first byte, so it cannot
//! separate idle connections from half-sent heads. hyper has no timeout for bodies and responses.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

use super::pace::LeastRate;
use super::progress::{Phase, Progress};
use super::refusal::is_of_unknown_coding;
use super::{MAX_HEAD, ServerLimits};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    Request,
    Head,
    Body,
    Response,
    HangUp,
}

/// The grace period after a client closed its half. A client that disconnected has closed it too,
/// and its requests are then aborted.
const HALF_CLOSED: Duration = Duration::from_secs(1);

#[derive(Default)]
struct Deadline {
    sleep: Option<Pin<Box<Sleep>>>,
    running: Option<Wait>,
}

impl Deadline {
    /// Restarts the timer for a wait of another kind.
    fn poll(&mut self, cx: &mut Context<'_>, wait: Wait, limit: Duration) -> Poll<()> {
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep(limit)));
        if self.running != Some(wait) {
            sleep.as_mut().reset(Instant::now() + limit);
            self.running = Some(wait);
        }
        sleep.as_mut().poll(cx)
    }

    fn stop(&mut self) {
        self.running = None;
    }
}

pub(super) struct TimedStream {
    pub(super) stream: TcpStream,
    progress: Arc<Progress>,
    limits: Arc<ServerLimits>,
    reading: Deadline,
    writing: Deadline,
    pacing: Deadline,
    hanging_up: Deadline,
    timed_out: Option<Wait>,
    ended: bool,
    head_bytes: usize,
    request_line_read: bool,
    write_blocked: bool,
    refused: Option<StatusCode>,
}

impl TimedStream {
    pub(super) fn new(
        stream: TcpStream,
        progress: Arc<Progress>,
        limits: Arc<ServerLimits>,
    ) -> Self {
        Self {
            stream,
            progress,
            limits,
            reading: Deadline::default(),
            writing: Deadline::default(),
            pacing: Deadline::default(),
            hanging_up: Deadline::default(),
            timed_out: None,
            ended: false,
            head_bytes: 0,
            request_line_read: false,
            write_blocked: false,
            refused: None,
        }
    }

    /// Returns the status that is still owed to a client whose request did not reach the endpoint.
    pub(super) fn refusal(&self, outcome: &hyper::Result<()>) -> Option<StatusCode> {
        if self.progress.phase() != Phase::Head {
            return None;
        }
        match (self.refused, outcome) {
            (_, Err(error)) if is_of_unknown_coding(error) => Some(StatusCode::NOT_IMPLEMENTED),
            // hyper has one limit for the whole head.
            (Some(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE), _) if !self.request_line_read => {
                Some(StatusCode::URI_TOO_LONG)
            }
            (Some(status), _) => Some(status),
            (None, Ok(())) => None,
            (None, Err(_)) if self.timed_out.is_some() => Some(StatusCode::REQUEST_TIMEOUT),
            (None, Err(error)) if error.is_parse_version_h2() => {
                Some(StatusCode::HTTP_VERSION_NOT_SUPPORTED)
            }
            (None, Err(_)) => Some(StatusCode::BAD_REQUEST),
        }
    }

    pub(super) fn may_have_unread_input(&self) -> bool {
        let mid_request =
            matches!(self.progress.phase(), Phase::Head | Phase::Body | Phase::Unread);
        mid_request && !self.ended && self.timed_out.is_none()
    }

    fn note_read(&mut self, bytes: &[u8]) {
        match self.progress.phase() {
            _ if bytes.is_empty() => self.ended = true,
            // Parts of a head do not extend its time: a client could send it byte by byte.
            Phase::Head => {
                self.head_bytes += bytes.len();
                self.request_line_read |= bytes.contains(&b'\n');
            }
            Phase::Quiet => {
                self.reading.stop();
                self.progress.head_begins();
                self.head_bytes = bytes.len();
                self.request_line_read = bytes.contains(&b'\n');
            }
            Phase::Body | Phase::Exchange | Phase::Unread => self.reading.stop(),
        }
    }

    /// hyper checks its limit only on an incomplete head, so it must not get more bytes than the
    /// limit before the head ends.
    fn most(&self) -> usize {
        match self.progress.phase() {
            Phase::Quiet => MAX_HEAD,
            // At zero hyper refuses the head and stops reading.
            Phase::Head if self.head_bytes < MAX_HEAD => MAX_HEAD - self.head_bytes,
            _ => usize::MAX,
        }
    }

    fn poll_fill(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let most = self.most();
        if buffer.remaining() <= most {
            return Pin::new(&mut self.stream).poll_read(cx, buffer);
        }
        let mut part = ReadBuf::new(buffer.initialize_unfilled_to(most));
        let polled = Pin::new(&mut self.stream).poll_read(cx, &mut part);
        let filled = part.filled().len();
        buffer.advance(filled);
        polled
    }

    fn wait_to_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let (wait, limit) = match self.progress.phase() {
            Phase::Quiet | Phase::Exchange | Phase::Unread => {
                (Wait::Request, self.limits.idle_timeout)
            }
            Phase::Head => (Wait::Head, self.limits.header_timeout),
            Phase::Body => (Wait::Body, self.limits.body_timeout),
        };
        ready!(self.reading.poll(cx, wait, limit));
        self.timed_out = Some(wait);
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client stopped sending")))
    }

    fn wait_to_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.write_blocked = true;
        let stopped = self.writing.poll(cx, Wait::Response, self.limits.write_timeout);
        if stopped.is_pending() {
            ready!(self.poll_too_slow(cx));
        }
        self.timed_out = Some(Wait::Response);
        Poll::Ready(Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "the client does not read the response",
        )))
    }

    fn poll_too_slow(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut pace = self.progress.pace();
        let Some((pace, LeastRate(least))) = pace.as_mut() else { return Poll::Pending };
        let least = least.unwrap_or(self.limits.least_rate);
        loop {
            pace.waits();
            let left = self.limits.rate_window.saturating_sub(pace.waited());
            ready!(self.pacing.poll(cx, Wait::Response, left));
            self.pacing.stop();
            if pace.is_too_slow(least) {
                return Poll::Ready(());
            }
        }
    }

    fn note_written(&mut self, bytes: usize) {
        self.write_blocked = false;
        self.writing.stop();
        if let Some((pace, _)) = self.progress.pace().as_mut() {
            self.pacing.stop();
            pace.takes(bytes);
        }
    }

    /// Fails once the client has closed its half for a while and there is no response yet. hyper
    /// flushes whenever it waits, and reads nothing then.
    fn poll_hang_up(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        if self.progress.phase() != Phase::Exchange || self.write_blocked {
            self.hanging_up.stop();
            return Poll::Pending;
        }
        match ready!(self.stream.poll_peek(cx, &mut ReadBuf::new(&mut [0]))) {
            Ok(0) => ready!(self.hanging_up.poll(cx, Wait::HangUp, HALF_CLOSED)),
            Ok(_) => return Poll::Pending,
            Err(error) => return Poll::Ready(error),
        }
        Poll::Ready(io::Error::new(io::ErrorKind::ConnectionAborted, "the client disconnected"))
    }

    /// Withholds hyper's own response to a refused head, which lacks a body and this service's
    /// headers. Keeps its status for the response that follows.
    fn write(
        &mut self,
        cx: &mut Context<'_>,
        bytes: &[u8],
        len: usize,
        write: impl FnOnce(Pin<&mut TcpStream>, &mut Context<'_>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if self.progress.phase() == Phase::Head && !self.write_blocked {
            self.refused = status_of(bytes);
            return Poll::Ready(Ok(len));
        }
        match write(Pin::new(&mut self.stream), cx) {
            Poll::Pending => self.wait_to_write(cx),
            Poll::Ready(done) => {
                self.note_written(done.as_ref().copied().unwrap_or_default());
                Poll::Ready(done)
            }
        }
    }
}

fn status_of(answer: &[u8]) -> Option<StatusCode> {
    StatusCode::from_bytes(answer.strip_prefix(b"HTTP/1.1 ")?.get(..3)?).ok()
}

impl AsyncRead for TimedStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        match this.poll_fill(cx, buffer) {
            Poll::Pending => this.wait_to_read(cx),
            Poll::Ready(Ok(())) => {
                this.note_read(&buffer.filled()[before..]);
                Poll::Ready(Ok(()))
            }
            failed @ Poll::Ready(_) => failed,
        }
    }
}

impl AsyncWrite for TimedStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.get_mut().write(cx, bytes, bytes.len(), |stream, cx| stream.poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = slices.first().map_or(&[][..], |slice| slice);
        let len = slices.iter().map(|slice| slice.len()).sum();
        self.get_mut().write(cx, first, len, |stream, cx| stream.poll_write_vectored(cx, slices))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        match this.poll_hang_up(cx) {
            Poll::Ready(error) => Poll::Ready(Err(error)),
            Poll::Pending => Pin::new(&mut this.stream).poll_flush(cx),
        }
    }

    /// Does nothing: after hyper ends, a response may be due and input may need to be read.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
