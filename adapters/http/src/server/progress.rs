//! The phase of a connection in the exchange of requests and responses, on which its timeouts and
//! its end depend.

use std::sync::atomic::{AtomicU8, Ordering};

use parking_lot::{Mutex, MutexGuard};

use super::pace::Pace;

/// The part of a message that the client's next bytes belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// A request that has not begun.
    Quiet,
    /// A request's head.
    Head,
    /// The body of the request that is being answered.
    Body,
    /// The next request; the current one was read to its end.
    Exchange,
    /// The rest of a body that was not read, or the next request.
    Unread,
}

const PHASES: [Phase; 5] = [Phase::Quiet, Phase::Head, Phase::Body, Phase::Exchange, Phase::Unread];

/// The phase, which the stream, the service and the request's body share. One task polls them all,
/// so nothing races.
#[derive(Debug, Default)]
pub(super) struct Progress {
    phase: AtomicU8,
    pace: Mutex<Option<Pace>>,
}

impl Progress {
    pub(super) fn phase(&self) -> Phase {
        PHASES[usize::from(self.phase.load(Ordering::Relaxed))]
    }

    /// The first byte of a head was read.
    pub(super) fn head_begins(&self) {
        self.enter(Phase::Head);
    }

    /// A head was read, and its request is being answered.
    pub(super) fn request_begins(&self, has_body: bool) {
        self.enter(if has_body { Phase::Body } else { Phase::Exchange });
    }

    /// The answer is there, though not yet sent.
    pub(super) fn request_is_answered(&self) {
        self.enter(if self.phase() == Phase::Body { Phase::Unread } else { Phase::Quiet });
    }

    /// The pace of the response that is being sent; `None` where the client may take it at any rate.
    pub(super) fn pace(&self) -> MutexGuard<'_, Option<Pace>> {
        self.pace.lock()
    }

    /// The body was read to its end.
    pub(super) fn body_is_read(&self) {
        if self.phase() == Phase::Body {
            self.enter(Phase::Exchange);
        }
    }

    fn enter(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Relaxed);
    }
}
