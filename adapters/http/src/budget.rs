//! What all requests together may take of the memory.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use http_body_util::combinators::BoxBody;
use hyper::body::{Frame, SizeHint};
use poem::Body;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::problem::Problem;

/// How long a request waits for its share.
const PATIENCE: Duration = Duration::from_secs(15);

/// Memory that is shared out in KiB, first come, first served.
pub struct Budget {
    whole: u32,
    free: Arc<Semaphore>,
}

/// A share of a budget, given back when it is dropped.
#[derive(Debug)]
pub struct Share(OwnedSemaphorePermit);

impl Budget {
    /// A budget of so many MiB.
    #[must_use]
    pub fn of_mib(mib: u16) -> Self {
        let whole = u32::from(mib) * 1024;
        Self { whole, free: Arc::new(Semaphore::new(whole as usize)) }
    }

    /// Takes a share of so many bytes; more than the whole budget counts as the whole.
    ///
    /// # Errors
    /// 503 when the budget stays used up.
    pub async fn take(&self, bytes: usize) -> Result<Share, Problem> {
        let kib = u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX).min(self.whole);
        match timeout(PATIENCE, Arc::clone(&self.free).acquire_many_owned(kib)).await {
            Ok(Ok(permit)) => Ok(Share(permit)),
            _ => Err(Problem::unavailable("Too many large requests are in work at once.")),
        }
    }
}

impl Share {
    /// Both shares as one.
    pub fn add(&mut self, more: Self) {
        self.0.merge(more.0);
    }

    /// A response body that gives the share back when it was sent.
    #[must_use]
    pub fn hold_while_sending(self, text: Bytes) -> Body {
        BoxBody::new(Held { body: Full::new(text), _share: self }).into()
    }
}

struct Held {
    body: Full<Bytes>,
    _share: Share,
}

impl hyper::body::Body for Held {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        Pin::new(&mut self.body).poll_frame(cx).map_err(|never| match never {})
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
