//! Requests that are sent again under the same key (draft-ietf-httpapi-idempotency-key-header-07).
//!
//! The store remembers what was done for a key, in the transaction that did it. Here is known which
//! requests are at work now in this process; one at work in another is waited for by the store.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use domain::{Resource, Violations};

use super::ResourceService;
use super::result::remarks;
use crate::ports::{Answered, Change, IdempotencyKey, ReadDependency};
use crate::{ApplicationError, RequestKey, WriteOptions};

/// A request with a key: the caller, where it was sent, and the key.
type Sent = (Option<Box<str>>, Box<str>, Box<str>);

/// The requests with a key that are at work.
#[derive(Debug, Default)]
pub(super) struct InFlightKeys(Arc<Mutex<HashSet<Sent>>>);

/// Ends with the request.
#[derive(Debug)]
pub(super) struct InFlightKey {
    in_flight: Arc<Mutex<HashSet<Sent>>>,
    sent: Sent,
}

impl InFlightKeys {
    /// Begins a request; without a key nothing is noted.
    pub(super) fn begin(
        &self,
        options: &WriteOptions,
    ) -> Result<Option<InFlightKey>, ApplicationError> {
        let Some(RequestKey { path, key, .. }) = key(options) else { return Ok(None) };
        let sent =
            (options.caller.name().map(Into::into), path.as_str().into(), key.as_str().into());
        if !self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(Sent::clone(&sent)) {
            return Err(ApplicationError::KeyInUse);
        }
        Ok(Some(InFlightKey { in_flight: Arc::clone(&self.0), sent }))
    }
}

impl Drop for InFlightKey {
    fn drop(&mut self) {
        self.in_flight.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.sent);
    }
}

/// Returns the idempotency key of a write. A dry run uses up no key.
fn key(options: &WriteOptions) -> Option<&RequestKey> {
    options.key.as_ref().filter(|_| !options.is_dry_run)
}

impl<R: Resource> ResourceService<R> {
    /// Returns the record of a write that was decided on `read_set`, for the change log and the
    /// store of idempotency keys.
    pub(super) fn change_on(
        &self,
        options: &WriteOptions,
        read_set: Vec<ReadDependency>,
        warnings: &Violations,
    ) -> Change {
        let time = self.clock.now();
        let key = key(options).map(|RequestKey { path, key, fingerprint }| {
            let expires =
                time.checked_add(self.limits.key_lifetime).unwrap_or(jiff::Timestamp::MAX);
            let [path, key, fingerprint] =
                [path, key, fingerprint].map(|text| text.as_str().into());
            Box::new(IdempotencyKey { path, key, fingerprint, expires, remarks: remarks(warnings) })
        });
        Change { time, caller: options.caller.name().map(Into::into), key, read_set }
    }

    /// Returns the response that the request got when it was sent before, if any.
    pub(super) async fn answered(
        &self,
        options: &WriteOptions,
    ) -> Result<Option<Answered>, ApplicationError> {
        let Some(sent) = key(options) else { return Ok(None) };
        match self
            .repository
            .answered(&self.change_on(options, Vec::new(), &Violations::default()))
            .await?
        {
            Some(answered) if *answered.fingerprint != *sent.fingerprint => {
                Err(ApplicationError::KeyReused)
            }
            answered => Ok(answered),
        }
    }

    /// Returns the response that another instance gave while this one was processing the request.
    pub(super) async fn answered_meanwhile(
        &self,
        options: &WriteOptions,
    ) -> Result<Answered, ApplicationError> {
        self.answered(options).await?.ok_or(ApplicationError::TooManyConflicts)
    }
}
