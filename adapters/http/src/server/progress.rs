//! Where a connection is in the exchange of requests and answers: what its timeouts and its end
//! depend on.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

/// The part of a message that the client's next bytes belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// A request that has not begun.
    Quiet,
    /// A request's head.
    Head,
    /// The body of the request that is at work.
    Body,
    /// The next request; the one at work was read to its end.
    Exchange,
    /// The rest of a body nobody wanted, or the next request.
    Unread,
}

const PHASES: [Phase; 5] = [Phase::Quiet, Phase::Head, Phase::Body, Phase::Exchange, Phase::Unread];

/// The phase, which the stream, the service and the request's body share. One task polls them all,
/// so nothing races.
#[derive(Debug, Default)]
pub(super) struct Progress(AtomicU8);

impl Progress {
    pub(super) fn phase(&self) -> Phase {
        PHASES[usize::from(self.0.load(Ordering::Relaxed))]
    }

    /// The first byte of a head was read.
    pub(super) fn head_begins(&self) {
        self.enter(Phase::Head);
    }

    /// A head was read and its request is at work.
    pub(super) fn request_begins(&self, has_body: bool) {
        self.enter(if has_body { Phase::Body } else { Phase::Exchange });
    }

    /// The answer is there, though not yet sent.
    pub(super) fn request_is_answered(&self) {
        self.enter(if self.phase() == Phase::Body { Phase::Unread } else { Phase::Quiet });
    }

    fn body_is_read(&self) {
        if self.phase() == Phase::Body {
            self.enter(Phase::Exchange);
        }
    }

    fn enter(&self, phase: Phase) {
        self.0.store(phase as u8, Ordering::Relaxed);
    }
}

/// A request's body that tells when it was read to its end.
pub(super) struct WatchedBody<B> {
    pub(super) body: B,
    pub(super) progress: Arc<Progress>,
}

impl<B: Body<Data = Bytes, Error = io::Error> + Unpin> Body for WatchedBody<B> {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if matches!(frame, Poll::Ready(None)) || self.body.is_end_stream() {
            self.progress.body_is_read();
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
