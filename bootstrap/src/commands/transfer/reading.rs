//! Reader of an export. The export counts only after the check of every line.

use std::io::BufRead;
use std::mem::take;
use std::ops::ControlFlow;

use indicatif::ProgressBar;
use sha2::{Digest as _, Sha256};
use storage_adapter::{CheckedChange, CollectionSummary, HistoryValidator};
use tokio::sync::mpsc::Sender;

use super::format::{self, ExportEntry};
use super::lines::{Line, LineReader};
use crate::commands::error::{CommandError, Result};
use crate::failed;

const MOST_ERRORS: usize = 20;

const BATCH_BYTES: usize = 1 << 20;
const BATCH: usize = 1_000;

const TOO_LARGE: &str = "the members exceed the size limit of an item; raise it with --max-body";

#[derive(Debug)]
pub struct ReadExport {
    pub changes: u64,
    pub summary: Vec<CollectionSummary>,
}

pub struct ExportReading<R> {
    lines: LineReader<R>,
    largest: usize,
    bar: ProgressBar,
    digest: Sha256,
    validator: HistoryValidator,
    changes: u64,
    errors: Vec<String>,
}

impl<R: BufRead> ExportReading<R> {
    /// Reads the header. `named` is the name of the source in messages, `largest` the limit on the
    /// members of an item in bytes.
    pub fn begin(
        source: R,
        named: String,
        largest: usize,
        bar: ProgressBar,
        validator: HistoryValidator,
    ) -> Result<Self> {
        let lines = LineReader::new(source, named, (largest + format::ENVELOPE) as u64);
        let (digest, errors) = (Sha256::new(), Vec::new());
        let mut reading = Self { lines, largest, bar, digest, validator, changes: 0, errors };
        let line = match reading.lines.next()? {
            Some(Line::Whole(line)) => line,
            _ => b"",
        };
        reading.digest.update(line);
        if let Err(error) = format::read_header(line) {
            reading.refuse(&error);
            return Err(reading.refused());
        }
        Ok(reading)
    }

    /// Reads to the end. Sends checked changes to the receiver, if any, until the first error.
    pub fn finish(mut self, sender: Option<Sender<Vec<CheckedChange>>>) -> Result<ReadExport> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while self.errors.len() < MOST_ERRORS
            && let ControlFlow::Continue(checked) = self.next()?
        {
            if let (Some(change), Some(sender), []) = (checked, &sender, self.errors.as_slice()) {
                bytes += change.size();
                batch.push(change);
                if bytes >= BATCH_BYTES || batch.len() >= BATCH {
                    bytes = 0;
                    if sender.blocking_send(take(&mut batch)).is_err() {
                        // The storing side has failed and reports it.
                        break;
                    }
                }
            }
        }
        if !self.errors.is_empty() {
            return Err(self.refused());
        }
        if let Some(sender) = sender.filter(|_| !batch.is_empty()) {
            // The storing side reports a failure.
            let _ = sender.blocking_send(batch);
        }
        Ok(ReadExport { changes: self.changes, summary: self.validator.summary()? })
    }

    fn next(&mut self) -> Result<ControlFlow<(), Option<CheckedChange>>> {
        let entry = match self.lines.next()? {
            Some(Line::Whole(line)) => {
                let entry = format::read_entry(line);
                if !matches!(entry, Ok(ExportEntry::Trailer { .. })) {
                    self.digest.update(line);
                }
                entry
            }
            Some(Line::TooLong) => Err(TOO_LARGE.to_owned()),
            None => {
                self.refuse("the file ends here without its last line, which counts the changes: it is truncated; export again");
                return Ok(ControlFlow::Break(()));
            }
        };
        let is_too_large = |members: &str| members.len() > self.largest;
        let checked = match entry {
            Ok(ExportEntry::Trailer { changes, sha256 }) => {
                self.close(changes, &sha256)?;
                return Ok(ControlFlow::Break(()));
            }
            Ok(ExportEntry::Change(change))
                if change.members.as_deref().is_some_and(is_too_large) =>
            {
                Err(TOO_LARGE.to_owned())
            }
            Ok(ExportEntry::Change(change)) => self.validator.check(self.lines.number, *change)?,
            Err(error) => Err(error),
        };
        self.changes += 1;
        self.bar.set_position(self.lines.bytes);
        Ok(ControlFlow::Continue(checked.map_err(|error| self.refuse(&error)).ok()))
    }

    /// Checks the trailer (unless a line was refused), that nothing follows, and that each item has
    /// its parent.
    fn close(&mut self, changes: u64, sha256: &str) -> Result<()> {
        let digest = format::checksum(take(&mut self.digest));
        let error = if changes == self.changes {
            let error = "the checksum does not match the lines before it: the file is damaged or was edited; export again";
            (sha256 != digest).then(|| error.to_owned())
        } else {
            let found = self.changes;
            Some(format!(
                "the last line counts {changes} changes but follows {found}: lines are missing or were added; export again"
            ))
        };
        if let Some(error) = error.filter(|_| self.errors.is_empty()) {
            self.refuse(&error);
        }
        if self.lines.next()?.is_some() {
            self.refuse("unexpected text after the line that counts the changes, the last line of an export");
        }
        let orphans =
            self.validator.incomplete_items(MOST_ERRORS.saturating_sub(self.errors.len()))?;
        self.errors.extend(orphans.iter().map(|(line, error)| format!("line {line}: {error}")));
        Ok(())
    }

    fn refuse(&mut self, error: &str) {
        // An empty file lacks its first line.
        self.errors.push(format!("line {}: {error}", self.lines.number.max(1)));
    }

    fn refused(&self) -> CommandError {
        let (separator, cut) = match self.errors.len() {
            1 => (" ", ""),
            ..MOST_ERRORS => ("\n", ""),
            _ => ("\n", "\nonly the first 20 errors are reported"),
        };
        let errors = self.errors.join("\n");
        failed(format!("the file was refused and no change was stored:{separator}{errors}{cut}"))
    }
}
