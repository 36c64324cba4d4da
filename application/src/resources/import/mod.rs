//! Imports: rows of a table that become items, all in one transaction or each in its own.
//!
//! `row` has the input and the outcome of a row, `draft` the new items, `pace` the limit of rows in
//! flight, `replay` the outcome of a retry, and `refusal` the errors of rows.

mod draft;
mod pace;
mod refusal;
mod replay;
mod row;

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use domain::{Collection, Members, Operation, Violations};

pub use row::{ImportRow, ImportedRow, MemberChange, RowContent, RowMembers, RowOutcome};

use self::pace::{few_at_a_time, let_others_run};
use self::refusal::{duplicate_id, not_stored, too_much};
use self::replay::Replay;
use super::ResourceService;
use super::write::MAX_ATTEMPTS;
use crate::ports::{RepositoryError, WriteMetadata};
use crate::{ApplicationError, Result, WriteOptions};

/// The limit of kept errors of all rows, and of kept warnings.
const MOST_KEPT: usize = 1_000;

/// The limit of kept changes of members of all rows.
const MOST_CHANGES: usize = 200;

/// The limit of kept names of new members.
const MOST_NEW_MEMBERS: usize = 50;

#[derive(Clone, Debug)]
pub struct Import {
    pub mode: ImportMode,
    /// True if rows with an identifier change their items.
    pub is_upsert: bool,
    /// True if a row that changes an item must contain its version.
    pub requires_version: bool,
    pub rows: Vec<ImportRow>,
    /// The limit in bytes of stored members that one transaction may change.
    pub most_bytes: usize,
}

impl Import {
    const fn operations(&self) -> &'static [Operation] {
        if self.is_upsert {
            &[Operation::Read, Operation::Create, Operation::Replace]
        } else {
            &[Operation::Create]
        }
    }
}

/// The effect of refused rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportMode {
    /// No row is imported.
    All,
    /// The other rows are imported.
    Each,
}

#[derive(Clone, Debug)]
pub struct Imported {
    pub rows: Vec<ImportedRow>,
    /// False if refused rows stopped the whole import.
    pub is_done: bool,
    /// Members that neither the collection usually has nor the item had, of a dry run.
    pub new_members: Vec<String>,
}

impl ResourceService {
    /// Creates or changes an item for each row. Each row has its own idempotency key, so a retry
    /// continues after the last completed row. `Invalid` means that the rows are too large for one transaction.
    pub async fn import(&self, options: &WriteOptions, import: &Import) -> Result<Imported> {
        let operations = import.operations();
        self.access.require(&options.caller, self.collection, operations)?;
        if let Some(parents) = self.collection.parent() {
            self.access.require(&options.caller, parents, &[Operation::Read])?;
        }
        let _in_flight = self.in_flight.begin(options)?;
        for _ in 0..MAX_ATTEMPTS {
            let kept = Kept::default();
            let batch =
                Batch { options, import, rows: &import.rows, claims_key: true, kept: &kept };
            let replay = self.replay(batch).await?;
            let rows = match import.mode {
                ImportMode::All if replay.is_empty() => self.import_together(batch).await,
                // Unchanged rows have no record.
                ImportMode::All => Ok(import
                    .rows
                    .iter()
                    .map(|row| {
                        replay
                            .get(&row.number)
                            .cloned()
                            .unwrap_or_else(|| ImportedRow::unchanged(row))
                    })
                    .collect()),
                ImportMode::Each => self.import_each(batch, &replay).await,
            };
            match rows {
                Ok(rows) => {
                    let is_done = import.mode == ImportMode::Each
                        || !rows.iter().any(ImportedRow::is_refused);
                    let new_members = kept.new_members();
                    return Ok(Imported { rows, is_done, new_members });
                }
                // Another instance completed the same import.
                Err(BatchError::AnsweredBefore) => {}
                Err(BatchError::Failed(error)) => return Err(error),
            }
        }
        Err(ApplicationError::TooManyConflicts)
    }
}

#[derive(Clone, Copy)]
struct Batch<'a> {
    options: &'a WriteOptions,
    import: &'a Import,
    rows: &'a [ImportRow],
    /// True if the first written row claims the key of the request.
    claims_key: bool,
    kept: &'a Kept,
}

/// The numbers of kept errors and warnings. The limits are separate, so that many warnings do not
/// displace errors.
#[derive(Default)]
struct Kept {
    errors: AtomicUsize,
    warnings: AtomicUsize,
    changes: AtomicUsize,
    new_members: Mutex<BTreeSet<String>>,
}

impl Kept {
    fn new_members(self) -> Vec<String> {
        self.new_members.into_inner().unwrap_or_default().into_iter().collect()
    }
}

fn keep(violations: &mut Violations, kept: &AtomicUsize) {
    violations.keep_first(MOST_KEPT.saturating_sub(kept.load(Ordering::Relaxed)));
    kept.fetch_add(violations.iter().count(), Ordering::Relaxed);
}

impl Batch<'_> {
    fn refused(&self, row: &ImportRow, errors: impl Into<Violations>) -> ImportedRow {
        let mut errors: Violations = errors.into();
        keep(&mut errors, &self.kept.errors);
        ImportedRow::of(row, RowOutcome::Refused(errors))
    }

    /// Records the changes of a dry run to the members that the caller sees.
    fn changed(
        &self,
        collection: Collection,
        (before, after): (Option<&Members>, &Members),
    ) -> Vec<MemberChange> {
        let none = Members::default();
        let mut changes = MemberChange::between(before.unwrap_or(&none), after);
        if collection.is_open()
            && let Ok(mut names) = self.kept.new_members.lock()
        {
            let is_known = |name: &str| collection.known_members().any(|(known, _)| known == name);
            let new = changes.iter().filter(|it| it.before.is_none() && !is_known(&it.name));
            let free = MOST_NEW_MEMBERS.saturating_sub(names.len());
            names.extend(new.map(|it| it.name.clone()).take(free));
        }
        if before.is_none() {
            return Vec::new();
        }
        changes.truncate(MOST_CHANGES.saturating_sub(self.kept.changes.load(Ordering::Relaxed)));
        self.kept.changes.fetch_add(changes.len(), Ordering::Relaxed);
        changes
    }

    fn warned(&self, row: ImportedRow, mut warnings: Violations) -> ImportedRow {
        keep(&mut warnings, &self.kept.warnings);
        ImportedRow { warnings, ..row }
    }
}

enum BatchError {
    AnsweredBefore,
    Failed(ApplicationError),
}

impl<E: Into<ApplicationError>> From<E> for BatchError {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl ResourceService {
    /// Imports the remaining rows: one by one until a row has claimed the key, then concurrently.
    async fn import_each(
        &self,
        batch: Batch<'_>,
        replay: &Replay,
    ) -> Result<Vec<ImportedRow>, BatchError> {
        let twice = named_twice(batch.rows);
        let failure = OnceLock::new();
        let mut rows = Vec::with_capacity(batch.rows.len());
        let mut claims_key = batch.options.claimed_key().is_some() && replay.is_empty();
        let import = |row, claims_key| {
            let batch = Batch { claims_key, ..batch };
            self.import_one(batch, row, &twice, replay, &failure)
        };
        for row in batch.rows {
            if !claims_key {
                break;
            }
            let imported = import(row, true).await?;
            claims_key = !imported.is_written();
            rows.push(imported);
            let_others_run(rows.len()).await;
        }
        let others = rows.len()..batch.rows.len();
        let import = |place: usize| import(&batch.rows[place], false);
        few_at_a_time(others, import, |imported| rows.push(imported)).await?;
        match failure.get() {
            Some(error) if !rows.iter().any(ImportedRow::is_written) => {
                Err(ApplicationError::Store(*error).into())
            }
            _ => Ok(rows),
        }
    }

    /// Imports a row. A refusal of the store is an error of the row. A full or unreachable store
    /// ends the import.
    async fn import_one(
        &self,
        batch: Batch<'_>,
        row: &ImportRow,
        twice: &HashSet<u64>,
        replay: &Replay,
        failure: &OnceLock<RepositoryError>,
    ) -> Result<ImportedRow, BatchError> {
        if let Some(imported) = replay.get(&row.number) {
            return Ok(imported.clone());
        }
        if twice.contains(&row.number) {
            return Ok(batch.refused(row, duplicate_id()));
        }
        if let Some(error) = failure.get() {
            return Ok(batch.refused(row, not_stored(&ApplicationError::Store(*error))));
        }
        let rows = std::slice::from_ref(row);
        match self.import_together(Batch { rows, ..batch }).await {
            Ok(mut imported) => Ok(imported.remove(0)),
            Err(BatchError::AnsweredBefore) => Err(BatchError::AnsweredBefore),
            Err(BatchError::Failed(ApplicationError::Invalid(errors))) => {
                Ok(batch.refused(row, errors))
            }
            Err(BatchError::Failed(error)) => {
                if let ApplicationError::Store(
                    cause @ (RepositoryError::Full | RepositoryError::Unavailable),
                ) = error
                {
                    failure.get_or_init(|| cause);
                }
                Ok(batch.refused(row, not_stored(&error)))
            }
        }
    }

    /// Writes rows in one transaction, or none if one is refused. Retries if the basis of the
    /// decision has changed.
    async fn import_together(&self, batch: Batch<'_>) -> Result<Vec<ImportedRow>, BatchError> {
        for history in self.attempts(batch.options) {
            let Some(mut stored) = self.stored(batch, &history).await? else {
                return Err(ApplicationError::Invalid(too_much(batch.import).into()).into());
            };
            let judged = self.judge_rows(batch, &mut stored).await?;
            let is_refused = judged.rows.iter().any(ImportedRow::is_refused);
            if judged.changes.is_empty() || batch.options.is_dry_run || is_refused {
                return Ok(judged.rows);
            }
            let operations = batch.import.operations();
            let metadata =
                self.metadata(batch.options, operations, judged.read_set, &Violations::default())?;
            let metadata = WriteMetadata { key: None, ..metadata.decided_in(history) };
            match self.ports.items.write_all(self.collection, judged.changes, metadata).await {
                Ok(()) => return Ok(judged.rows),
                Err(RepositoryError::AnsweredBefore) => return Err(BatchError::AnsweredBefore),
                // Other writers change or remove these items. The retry sees the current state.
                Err(
                    RepositoryError::VersionConflict
                    | RepositoryError::ItemNotFound
                    | RepositoryError::ParentNotFound,
                ) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(ApplicationError::TooManyConflicts.into())
    }
}

/// Returns the numbers of rows whose item an earlier row names.
fn named_twice(rows: &[ImportRow]) -> HashSet<u64> {
    let mut seen = HashSet::new();
    let twice = rows.iter().filter(|row| row.id().is_some_and(|id| !seen.insert(id)));
    twice.map(|row| row.number).collect()
}
