//! Reading an export to its end: every line is checked before any of it counts.

use std::fmt;
use std::io::BufRead;

use application::maintenance::{CheckedChange, CollectionSummary, HistoryValidator};
use indicatif::ProgressBar;
use tokio::sync::mpsc::Sender;

use super::format::{self, Digest, Entry};
use super::lines::{Line, Lines};
use crate::error::CommandError;

/// The most errors that are reported of one file.
const MOST_ERRORS: usize = 20;

/// Bytes of changes that are stored at a time, and how many at most.
const BATCH_BYTES: usize = 1 << 20;
const BATCH: usize = 1_000;

const TOO_LARGE: &str =
    "the members are larger than those of an item may be; --max-body allows more";

/// The errors of a file, line by line.
#[derive(Debug)]
struct FileErrors {
    /// Line numbers and messages.
    errors: Vec<(u64, String)>,
    /// There may be more.
    is_cut: bool,
}

impl fmt::Display for FileErrors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (separator, cut) = match self.errors.as_slice() {
            [_] => (" ", ""),
            _ => (
                "\n",
                if self.is_cut {
                    "\nthere may be more; only the first 20 are reported"
                } else {
                    ""
                },
            ),
        };
        write!(formatter, "the file is refused:")?;
        self.errors
            .iter()
            .try_for_each(|(line, error)| write!(formatter, "{separator}line {line}: {error}"))?;
        formatter.write_str(cut)
    }
}

/// The content of a file without errors.
#[derive(Debug)]
pub struct Found {
    /// The number of changes.
    pub changes: u64,
    /// The items they leave, by group.
    pub summary: Vec<CollectionSummary>,
}

/// An export that is being read.
pub struct Reading<R> {
    lines: Lines<R>,
    most: usize,
    bar: ProgressBar,
    named: String,
    digest: Digest,
    validator: Box<dyn HistoryValidator>,
    changes: u64,
    errors: Vec<(u64, String)>,
}

impl<R: BufRead> Reading<R> {
    /// Begins with the header. `named` is what the source is called, `most` how many bytes the
    /// members of an item may have.
    pub fn begin(
        source: R,
        named: String,
        most: usize,
        bar: ProgressBar,
        validator: Box<dyn HistoryValidator>,
    ) -> Result<Self, CommandError> {
        let mut lines = Lines::new(source, most.saturating_add(format::ENVELOPE));
        let mut digest = Digest::default();
        let header =
            match lines.next().map_err(|cause| CommandError::Source(named.clone(), cause))? {
                Some(Line::Whole(line)) => {
                    digest.add(line);
                    format::read_header(line)
                }
                _ => Err(None),
            };
        let refused = |version: Option<String>| match version {
            Some(version) => format!(
                "the file has version {version} of the format, and this program reads 1; import it with the version of the service that wrote it"
            ),
            None => {
                format!("the file is no export: it must begin with {}", format::header().trim_end())
            }
        };
        header.map_err(|version| {
            CommandError::Import(
                FileErrors { errors: vec![(1, refused(version))], is_cut: false }.to_string(),
            )
        })?;
        Ok(Self { lines, most, bar, named, digest, validator, changes: 0, errors: Vec::new() })
    }

    /// Reads to the end. Checked changes are handed on, if anybody takes them, until the first
    /// error.
    pub fn finish(
        mut self,
        sender: Option<Sender<Vec<CheckedChange>>>,
    ) -> Result<Found, CommandError> {
        let mut outlet = Outlet { sender, changes: Vec::new(), bytes: 0 };
        while self.errors.len() < MOST_ERRORS {
            match self.next()? {
                Next::Change(change) if self.errors.is_empty() => {
                    if !outlet.push(*change) {
                        // Who stores has failed, and tells why.
                        return self.found();
                    }
                }
                Next::Change(_) | Next::Refused => {}
                Next::Trailer => {
                    self.look_behind()?;
                    break;
                }
                Next::End => {
                    self.refuse("the file ends here without its last line, which counts the changes: it was cut off; export again");
                    break;
                }
            }
        }
        if !self.errors.is_empty() {
            let is_cut = self.errors.len() >= MOST_ERRORS;
            let errors = FileErrors { errors: self.errors, is_cut };
            return Err(CommandError::Import(errors.to_string()));
        }
        outlet.flush();
        self.found()
    }

    fn found(&self) -> Result<Found, CommandError> {
        Ok(Found { changes: self.changes, summary: self.validator.summary()? })
    }

    fn next(&mut self) -> Result<Next, CommandError> {
        let line = match self
            .lines
            .next()
            .map_err(|cause| CommandError::Source(self.named.clone(), cause))?
        {
            None => return Ok(Next::End),
            Some(Line::TooLong) => {
                self.changes += 1;
                return Ok(self.refuse(TOO_LARGE));
            }
            Some(Line::Whole(line)) => line,
        };
        let entry = format::read_entry(line);
        if !matches!(entry, Ok(Entry::Trailer { .. })) {
            self.digest.add(line);
            self.changes += 1;
        }
        self.bar.set_position(self.lines.bytes());
        match entry {
            Ok(Entry::Change(change))
                if change.members.as_deref().map_or(0, str::len) > self.most =>
            {
                Ok(self.refuse(TOO_LARGE))
            }
            Ok(Entry::Change(change)) => {
                match self.validator.check(self.lines.number(), *change)? {
                    Ok(checked) => Ok(Next::Change(Box::new(checked))),
                    Err(error) => Ok(self.refuse(&error)),
                }
            }
            Ok(Entry::Trailer { changes, sha256 }) => {
                self.close(changes, &sha256);
                Ok(Next::Trailer)
            }
            Err(error) => Ok(self.refuse(&error.to_string())),
        }
    }

    /// The trailer vouches for what is before it. Where a line is faulty already, it has nothing to
    /// add.
    fn close(&mut self, changes: u64, sha256: &str) {
        let digest = std::mem::take(&mut self.digest).finish();
        if !self.errors.is_empty() {
            return;
        }
        if changes != self.changes {
            let found = self.changes;
            self.refuse(&format!(
                "the last line counts {changes} changes, and {found} stand before it: lines are missing or were added; export again"
            ));
        } else if sha256 != digest {
            self.refuse("the checksum is not that of the lines before it: the file was damaged or edited; export again");
        }
    }

    /// Checks what can be checked only at the end: nothing follows it, and no item is left without
    /// its parent.
    fn look_behind(&mut self) -> Result<(), CommandError> {
        if self
            .lines
            .next()
            .map_err(|cause| CommandError::Source(self.named.clone(), cause))?
            .is_some()
        {
            self.refuse("something follows the line that counts the changes; an export ends there");
        }
        let room = MOST_ERRORS.saturating_sub(self.errors.len());
        self.errors.extend(self.validator.orphans(room)?);
        Ok(())
    }

    fn refuse(&mut self, error: &str) -> Next {
        self.errors.push((self.lines.number(), error.to_owned()));
        Next::Refused
    }
}

/// A line that was read.
enum Next {
    Change(Box<CheckedChange>),
    Refused,
    Trailer,
    End,
}

/// Where checked changes go, many at a time.
struct Outlet {
    sender: Option<Sender<Vec<CheckedChange>>>,
    changes: Vec<CheckedChange>,
    bytes: usize,
}

impl Outlet {
    /// Takes a change. Whether anybody who took changes still does.
    fn push(&mut self, change: CheckedChange) -> bool {
        if self.sender.is_none() {
            return true;
        }
        self.bytes += change.size();
        self.changes.push(change);
        let is_full = self.bytes >= BATCH_BYTES || self.changes.len() >= BATCH;
        !is_full || self.flush()
    }

    /// Hands on what there is.
    fn flush(&mut self) -> bool {
        self.bytes = 0;
        let changes = std::mem::take(&mut self.changes);
        self.sender
            .as_ref()
            .is_none_or(|sender| changes.is_empty() || sender.blocking_send(changes).is_ok())
    }
}
