//! Retries of imports under the same key.
//!
//! The first written row claims the key of the request in its transaction, with its row number.
//! Each other row claims the key for a path with its own number. A request with another body
//! therefore fails before any write. A retry continues where the import stopped.

use std::collections::HashMap;

use domain::{Item, Violations};

use super::Batch;
use super::pace::few_at_a_time;
use super::row::{ImportRow, ImportedRow};
use crate::ports::{Answered, WriteMetadata};
use crate::resources::{ResourceService, Written};
use crate::{ApplicationError, IdempotencyKey, Result, WriteOptions};

pub(super) type Replay = HashMap<u64, ImportedRow>;

impl ResourceService {
    pub(super) async fn replay(&self, batch: Batch<'_>) -> Result<Replay> {
        let Batch { options, rows: sent, .. } = batch;
        let Some(key) = options.claimed_key() else { return Ok(Replay::new()) };
        let Some(first) = self.imported_by(options, key.clone()).await? else {
            return Ok(Replay::new());
        };
        let (fingerprint, row) = first.fingerprint.rsplit_once('#').unwrap_or_default();
        let row = row.parse().ok().filter(|_| fingerprint == key.fingerprint);
        let row = row.and_then(|number: u64| sent.iter().find(|row| row.number == number));
        let Some(first_row) = row else {
            return Err(ApplicationError::KeyReused);
        };
        let number = first_row.number;
        let mut rows = Replay::from([(number, imported(batch, first_row, first))]);
        let answered = |place: usize| async move {
            let row = &sent[place];
            if row.number == number {
                return Ok(None);
            }
            match self.imported_by(options, key_of_row(key, row.number)).await? {
                Some(answered) if *answered.fingerprint != *key.fingerprint => {
                    Err(ApplicationError::KeyReused)
                }
                answered => Ok(answered.map(|answered| (row, answered))),
            }
        };
        let take = |answered: Option<(&ImportRow, Answered)>| {
            let imported =
                |(row, answered): (&ImportRow, _)| (row.number, imported(batch, row, answered));
            rows.extend(answered.map(imported));
        };
        few_at_a_time(0..sent.len(), answered, take).await?;
        Ok(rows)
    }

    async fn imported_by(
        &self,
        options: &WriteOptions,
        key: IdempotencyKey,
    ) -> Result<Option<Answered>> {
        let metadata = self.metadata(options, &[], Vec::new(), &Violations::default())?;
        Ok(self.ports.items.answered(&WriteMetadata { key: Some(key), ..metadata }).await?)
    }
}

/// The key of a row: for the first one that of the request, with the row's number.
pub(super) fn key_of(options: &WriteOptions, row: u64, is_first: bool) -> Option<IdempotencyKey> {
    let key = options.key.as_ref()?;
    Some(if is_first {
        IdempotencyKey { fingerprint: format!("{}#{row}", key.fingerprint), ..key.clone() }
    } else {
        key_of_row(key, row)
    })
}

/// Uses a path that no request has, so that no client can choose it.
fn key_of_row(key: &IdempotencyKey, row: u64) -> IdempotencyKey {
    IdempotencyKey { path: format!("{}#{row}", key.path), ..key.clone() }
}

fn imported(batch: Batch<'_>, row: &ImportRow, answered: Answered) -> ImportedRow {
    let Item { id, version, .. } = answered.shown.item;
    let row = ImportedRow::written(row, answered.kind, id, version);
    batch.warned(row, Written::from(answered).warnings)
}
