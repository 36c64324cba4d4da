//! The errors of rule files. All of them are reported at once, each with its place.

use std::fmt;
use std::sync::Arc;

/// Where something stands in a file: line and column, both from 1. Columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Location {
    pub line: u32,
    pub column: u32,
}

/// An error of a file, and where in the file it is.
pub(crate) type Located = (Location, String);

/// One error. It displays as `FILE:LINE:COLUMN: REASON`, which editors make a link of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RuleFileError {
    /// The file, as it was named; the folder where the error is in none of its files.
    pub file: Arc<str>,
    /// Where in the file; `None` when it is the file as a whole.
    pub place: Option<Location>,
    pub reason: String,
}

impl fmt::Display for RuleFileError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some(Location { line, column }) => {
                write!(formatter, "{}:{line}:{column}: {}", self.file, self.reason)
            }
            None => write!(formatter, "{}: {}", self.file, self.reason),
        }
    }
}

/// All errors of some rule files, in the order of the files and lines; at most [`RuleFileErrors::LIMIT`],
/// the rest are counted. It displays as a line each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleFileErrors {
    kept: Vec<RuleFileError>,
    omitted: usize,
}

impl RuleFileErrors {
    /// Most errors that are told.
    pub const LIMIT: usize = 100;

    pub(crate) const fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    pub(crate) fn push(
        &mut self,
        file: &Arc<str>,
        place: Option<Location>,
        reason: impl Into<String>,
    ) {
        if self.kept.len() < Self::LIMIT {
            self.kept.push(RuleFileError { file: file.clone(), place, reason: reason.into() });
        } else {
            self.omitted += 1;
        }
    }

    /// All that are told, in the order in which they were found.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &RuleFileError> {
        self.kept.iter()
    }

    /// The same in the order of the files, and in each of the places.
    pub(crate) fn sorted(mut self) -> Self {
        self.kept.sort_by(|left, right| (&left.file, left.place).cmp(&(&right.file, right.place)));
        self
    }
}

impl fmt::Display for RuleFileErrors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.kept.iter().enumerate() {
            write!(formatter, "{}{error}", if index == 0 { "" } else { "\n" })?;
        }
        if self.omitted > 0 {
            write!(formatter, "\nand {} more", self.omitted)?;
        }
        Ok(())
    }
}

impl std::error::Error for RuleFileErrors {}

/// The errors of one file as they are found.
pub(crate) struct FileErrors<'a> {
    file: &'a Arc<str>,
    errors: &'a mut RuleFileErrors,
}

impl<'a> FileErrors<'a> {
    pub const fn new(file: &'a Arc<str>, errors: &'a mut RuleFileErrors) -> Self {
        Self { file, errors }
    }

    pub fn add(&mut self, place: Location, reason: impl Into<String>) {
        self.errors.push(self.file, Some(place), reason);
    }

    pub fn add_to_file(&mut self, reason: impl Into<String>) {
        self.errors.push(self.file, None, reason);
    }

    /// Returns the value of a result; adds its error.
    pub fn take<T>(&mut self, result: Result<T, Located>) -> Option<T> {
        result.map_err(|(place, reason)| self.add(place, reason)).ok()
    }

    /// How many there are so far.
    pub const fn count(&self) -> usize {
        self.errors.kept.len() + self.errors.omitted
    }
}
