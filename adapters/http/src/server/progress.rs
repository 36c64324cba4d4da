//! The phase of a connection. Its timeouts and its end depend on it.

use std::sync::atomic::{AtomicU8, Ordering};

use parking_lot::{Mutex, MutexGuard};

use super::pace::{LeastRate, Pace};

/// The part of a message that the client sends next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Quiet,
    Head,
    Body,
    /// The current request was read to its end.
    Exchange,
    /// The rest of an unread body, or the next request.
    Unread,
}

const PHASES: [Phase; 5] = [Phase::Quiet, Phase::Head, Phase::Body, Phase::Exchange, Phase::Unread];

/// Shared by the stream, the service and the request's body. One task polls them all, so they do
/// not race.
#[derive(Debug, Default)]
pub(super) struct Progress {
    phase: AtomicU8,
    pace: Mutex<Option<(Pace, LeastRate)>>,
}

impl Progress {
    pub(super) fn phase(&self) -> Phase {
        PHASES[usize::from(self.phase.load(Ordering::Relaxed))]
    }

    pub(super) fn head_begins(&self) {
        self.enter(Phase::Head);
    }

    pub(super) fn request_begins(&self, has_body: bool) {
        self.enter(if has_body { Phase::Body } else { Phase::Exchange });
    }

    pub(super) fn request_is_answered(&self) {
        self.enter(if self.phase() == Phase::Body { Phase::Unread } else { Phase::Quiet });
    }

    /// `None` if the response has no least rate.
    pub(super) fn pace(&self) -> MutexGuard<'_, Option<(Pace, LeastRate)>> {
        self.pace.lock()
    }

    pub(super) fn body_is_read(&self) {
        if self.phase() == Phase::Body {
            self.enter(Phase::Exchange);
        }
    }

    fn enter(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Relaxed);
    }
}
