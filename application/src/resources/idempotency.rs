//! Retries under the same idempotency key (draft-ietf-httpapi-idempotency-key-header-07).
//!
//! The store records the result for a key in the transaction of the write. This module knows the
//! requests in progress in this process. The store waits for those in other processes.

use parking_lot::Mutex;
use std::collections::HashSet;

use domain::{Operation, Violations};
use jiff::Timestamp;

use super::ResourceService;
use super::result::{Written, remarks};
use crate::ports::{Answered, ReadDependency, WriteMetadata};
use crate::{ApplicationError, Result, WriteOptions};

#[derive(Debug, Default)]
pub(super) struct InFlightKeys(Mutex<HashSet<[String; 3]>>);

/// A key in use until the request ends. Drop releases it.
#[derive(Debug)]
pub(super) struct InFlightKey<'a> {
    in_flight: &'a InFlightKeys,
    identity: [String; 3],
}

impl InFlightKeys {
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
    /// Returns the metadata of a write, decided on `read_set`, for the change log and for
    /// idempotency keys.
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

    /// Returns the outcome of a request, or the answer to its first attempt. That answer wins over
    /// a refusal today.
    ///
    /// For creations and continuations. The lookup follows a refusal instead of preceding each
    /// write: the write claims its key itself, so a new request does not wait for a lookup.
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

    pub(super) async fn written_before(&self, options: &WriteOptions) -> Result<Option<Written>> {
        let answered = self.answered(options).await?;
        Ok(match answered {
            Some(answered) => Some(self.written_by(&options.caller, answered.into()).await),
            None => None,
        })
    }

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
