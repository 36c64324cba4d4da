//! Imports: rows of a table that become items, all in one transaction or each in its own.
//!
//! `row` has the input and the outcome of a row, `draft` the new items, `pace` the limit of rows in flight,
//! `replay` the outcome of a repeated import, and `refusal` the errors of rows.

mod draft;
mod pace;
mod refusal;
mod replay;
mod row;

use std::collections::HashSet;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use domain::{Operation, Violations};

pub use row::{ImportRow, ImportedRow, RowContent, RowMembers, RowOutcome};

use self::pace::{few_at_a_time, let_others_run};
use self::refusal::{id_stands_twice, not_stored, too_much};
use self::replay::Replay;
use super::ResourceService;
use super::write::MAX_ATTEMPTS;
use crate::ports::{RepositoryError, WriteMetadata};
use crate::{ApplicationError, Result, WriteOptions};

/// Most errors that are kept of all rows, and most warnings.
const MOST_KEPT: usize = 1_000;

/// Rows as they are to be imported.
#[derive(Clone, Debug)]
pub struct Import {
    /// How much is done when rows are refused.
    pub mode: ImportMode,
    /// True when rows with an identifier change the item of it.
    pub is_upsert: bool,
    /// True when a row that changes an item must name its version.
    pub requires_version: bool,
    /// The rows.
    pub rows: Vec<ImportRow>,
    /// Most bytes of stored members that the rows may change in one transaction.
    pub most_bytes: usize,
}

impl Import {
    /// The operations that it performs.
    const fn operations(&self) -> &'static [Operation] {
        if self.is_upsert {
            &[Operation::Read, Operation::Create, Operation::Replace]
        } else {
            &[Operation::Create]
        }
    }
}

/// How much of an import is done when rows are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportMode {
    /// Nothing.
    All,
    /// The other rows.
    Each,
}

/// The outcome of an import, or of a dry run.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The rows, in their order.
    pub rows: Vec<ImportedRow>,
    /// False when nothing was done because rows were refused.
    pub is_done: bool,
}

impl ResourceService {
    /// Makes new items of rows and gives new members to the items that rows name. Each row has a key
    /// of its own, so that an import that is sent again continues where it broke off.
    ///
    /// # Errors
    /// `KeyInUse`; `KeyReused`; `Invalid` when the rows are too much for one transaction;
    /// `TooManyConflicts`; `Store`.
    pub async fn import(&self, options: &WriteOptions, import: &Import) -> Result<Imported> {
        let operations = import.operations();
        self.access.require_whole(&options.caller, self.collection, operations)?;
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
                // Only written rows count.
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
                    return Ok(Imported { rows, is_done });
                }
                // The same import is under way in another instance, and has done it.
                Err(BatchError::AnsweredBefore) => {}
                Err(BatchError::Failed(error)) => return Err(error),
            }
        }
        Err(ApplicationError::TooManyConflicts)
    }
}

/// Rows that are imported together or not at all.
#[derive(Clone, Copy)]
struct Batch<'a> {
    options: &'a WriteOptions,
    import: &'a Import,
    rows: &'a [ImportRow],
    /// True when the first row that is written claims the key of the whole request.
    claims_key: bool,
    kept: &'a Kept,
}

/// Counts of the errors and warnings kept so far. The limits are separate, so that many warnings
/// do not displace errors.
#[derive(Default)]
struct Kept {
    errors: AtomicUsize,
    warnings: AtomicUsize,
}

/// Keeps violations up to the limit of the whole import, and counts the rest.
fn keep(violations: &mut Violations, kept: &AtomicUsize) {
    violations.keep_first(MOST_KEPT.saturating_sub(kept.load(Ordering::Relaxed)));
    kept.fetch_add(violations.iter().count(), Ordering::Relaxed);
}

impl Batch<'_> {
    /// A row that was refused. Beyond the first errors of all rows, its own are not kept.
    fn refused(&self, row: &ImportRow, errors: impl Into<Violations>) -> ImportedRow {
        let mut errors: Violations = errors.into();
        keep(&mut errors, &self.kept.errors);
        ImportedRow::of(row, RowOutcome::Refused(errors))
    }

    /// A row that was not refused, with its warnings.
    fn warned(&self, row: ImportedRow, mut warnings: Violations) -> ImportedRow {
        keep(&mut warnings, &self.kept.warnings);
        ImportedRow { warnings, ..row }
    }
}

/// Why rows were not imported.
enum BatchError {
    /// A row was imported before under the same key.
    AnsweredBefore,
    Failed(ApplicationError),
}

impl<E: Into<ApplicationError>> From<E> for BatchError {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl ResourceService {
    /// Imports the rows that were not imported before: one after the other until one has claimed the
    /// key, the others side by side.
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

    /// Imports a row. A refusal of the store is an error of the row, because others may be done; when
    /// it is full or cannot be reached, no more rows are tried.
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
            return Ok(batch.refused(row, id_stands_twice()));
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

    /// Decides on rows and writes them in one transaction; starts over when what the decision rests
    /// on has changed. When one is refused none is written.
    async fn import_together(&self, batch: Batch<'_>) -> Result<Vec<ImportedRow>, BatchError> {
        for _ in 0..MAX_ATTEMPTS {
            let Some(stored) = self.stored(batch).await? else {
                return Err(ApplicationError::Invalid(too_much(batch.import).into()).into());
            };
            let judged = self.judge_rows(batch, &stored).await?;
            let is_refused = judged.rows.iter().any(ImportedRow::is_refused);
            if judged.changes.is_empty() || batch.options.is_dry_run || is_refused {
                return Ok(judged.rows);
            }
            let operations = batch.import.operations();
            let metadata =
                self.metadata(batch.options, operations, judged.read_set, &Violations::default())?;
            let metadata = WriteMetadata { key: None, ..metadata };
            match self.ports.items.write_all(self.collection, judged.changes, metadata).await {
                Ok(()) => return Ok(judged.rows),
                Err(RepositoryError::AnsweredBefore) => return Err(BatchError::AnsweredBefore),
                // Others write the same items or remove them: what there is now tells what to answer.
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

/// The numbers of the rows whose item a row before them names.
fn named_twice(rows: &[ImportRow]) -> HashSet<u64> {
    let mut seen = HashSet::new();
    let twice = rows.iter().filter(|row| row.id().is_some_and(|id| !seen.insert(id)));
    twice.map(|row| row.number).collect()
}
