//! Requests that are sent again under the same key (draft-ietf-httpapi-idempotency-key-header-07).
//!
//! The store remembers what was done for a key, in the transaction that did it. Here is known which
//! requests are at work now in this process; one at work in another is waited for by the store.

use parking_lot::Mutex;
use std::collections::HashSet;

use domain::{Operation, Violations};
use jiff::Timestamp;

use super::ResourceService;
use super::result::{Written, remarks};
use crate::ports::{Answered, ReadDependency, WriteMetadata};
use crate::{ApplicationError, Result, WriteOptions};

/// The identities of the keys whose requests are at work.
#[derive(Debug, Default)]
pub(super) struct InFlightKeys(Mutex<HashSet<[String; 3]>>);

/// A key whose request is at work; dropped when the request ends.
#[derive(Debug)]
pub(super) struct InFlightKey<'a> {
    in_flight: &'a InFlightKeys,
    identity: [String; 3],
}

impl InFlightKeys {
    /// Begins a request; without a key nothing is noted.
    pub(super) fn begin(&self, options: &WriteOptions) -> Result<Option<InFlightKey<'_>>> {
        let Some(key) = options.claimed_key() else { return Ok(None) };
        let identity = key.identity(options.caller.id()).map(str::to_owned);
        if !self.0.lock().insert(identity.clone()) {
            return Err(ApplicationError::KeyInUse);
        }
        Ok(Some(InFlightKey { in_flight: self, identity }))
    }
}

impl Drop for InFlightKey<'_> {
    fn drop(&mut self) {
        self.in_flight.0.lock().remove(&self.identity);
    }
}

impl ResourceService {
    /// Returns the record of a write that performs some operations and was decided on `read_set`, for
    /// the change log and the store of idempotency keys.
    pub(super) fn metadata(
        &self,
        options: &WriteOptions,
        operations: &[Operation],
        read_set: Vec<ReadDependency>,
        warnings: &Violations,
    ) -> Result<WriteMetadata> {
        let time = self.ports.clock.now();
        let lifetime = self.limits.key_lifetime;
        let warrant = self.access.warrant(options, self.collection, operations)?;
        Ok(WriteMetadata {
            key: options.claimed_key().cloned(),
            key_expires: time.checked_add(lifetime).unwrap_or(Timestamp::MAX),
            remarks: remarks(warnings),
            read_set,
            ..WriteMetadata::under(warrant, time)
        })
    }

    /// Returns the outcome of a request, or the response that it got when it was sent before: that
    /// one counts, whatever would be refused today.
    ///
    /// For creations and continuations. It is looked up after a refusal, not before each write, because a write claims its key
    /// itself and finds it claimed: the usual request, which is new, does not wait for a look-up.
    pub(super) async fn unless_answered(
        &self,
        options: &WriteOptions,
        outcome: Result<Written>,
    ) -> Result<Written> {
        match outcome {
            Ok(_) | Err(ApplicationError::Store(_)) => outcome,
            Err(refusal) => self.written_before(options).await?.ok_or(refusal),
        }
    }

    /// Returns the response to an earlier request with the same key, as the caller may see it.
    pub(super) async fn written_before(&self, options: &WriteOptions) -> Result<Option<Written>> {
        let answered = self.answered(options).await?;
        Ok(answered.map(|answered| self.written_by(&options.caller, answered.into())))
    }

    /// Returns the response that the request got when it was sent before, if any.
    pub(super) async fn answered(&self, options: &WriteOptions) -> Result<Option<Answered>> {
        let Some(sent) = options.claimed_key() else { return Ok(None) };
        let metadata = self.metadata(options, &[], Vec::new(), &Violations::default())?;
        match self.ports.items.answered(&metadata).await? {
            Some(answered) if *answered.fingerprint != *sent.fingerprint => {
                Err(ApplicationError::KeyReused)
            }
            answered => Ok(answered),
        }
    }
}
