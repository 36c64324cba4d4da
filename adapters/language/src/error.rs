//! The errors of files. All of them are reported at once, each with its place.

use std::fmt;
use std::sync::Arc;

/// Where something stands in a file: line and column, both from 1. Columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

impl Location {
    /// The first character of a text.
    pub const START: Self = Self { line: 1, column: 1 };

    /// Returns the location after a text that begins here.
    pub fn after(self, passed: &str) -> Self {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let last = passed.rsplit('\n').next().unwrap_or_default();
        let characters = number(last.chars().count());
        match number(passed.matches('\n').count()) {
            0 => Self { column: self.column + characters, ..self },
            lines => Self { line: self.line + lines, column: characters + 1 },
        }
    }
}

/// An error of a file, and where in the file it is.
pub type Located = (Location, String);

/// One error. It displays as `FILE:LINE:COLUMN: REASON`, which editors make a link of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// The file, as it was named; the folder where the error is in none of its files.
    pub file: Arc<str>,
    /// Where in the file; `None` when it is the file as a whole.
    pub place: Option<Location>,
    /// The error and how to fix it.
    pub reason: String,
}

impl fmt::Display for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.line, self.column)
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some(place) => write!(formatter, "{}:{place}: {}", self.file, self.reason),
            None => write!(formatter, "{}: {}", self.file, self.reason),
        }
    }
}

/// All errors of some files, in the order of the files and lines; at most [`FileErrors::LIMIT`],
/// the rest are counted. It displays as a line each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileErrors {
    kept: Vec<FileError>,
    omitted: usize,
}

impl FileErrors {
    /// Most errors that are told.
    pub const LIMIT: usize = 100;

    /// Returns `true` if there is no error.
    pub const fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Adds an error of a file, or counts it.
    pub(crate) fn push(
        &mut self,
        file: &Arc<str>,
        place: Option<Location>,
        reason: impl Into<String>,
    ) {
        if self.kept.len() < Self::LIMIT {
            self.kept.push(FileError { file: file.clone(), place, reason: reason.into() });
        } else {
            self.omitted += 1;
        }
    }

    /// All that are told, in the order in which they were found.
    pub fn iter(&self) -> impl Iterator<Item = &FileError> {
        self.kept.iter()
    }

    /// The same in the order of the files, and in each of the places.
    pub fn sorted(mut self) -> Self {
        self.kept.sort_by(|left, right| (&left.file, left.place).cmp(&(&right.file, right.place)));
        self
    }
}

impl fmt::Display for FileErrors {
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

impl std::error::Error for FileErrors {}

/// Collects the errors of one file as they are found.
pub struct ErrorCollector<'a> {
    file: &'a Arc<str>,
    errors: &'a mut FileErrors,
}

impl<'a> ErrorCollector<'a> {
    /// Collects errors of a file beside those of others.
    pub const fn new(file: &'a Arc<str>, errors: &'a mut FileErrors) -> Self {
        Self { file, errors }
    }

    /// Adds an error at a place of the file.
    pub fn add(&mut self, place: Location, reason: impl Into<String>) {
        self.errors.push(self.file, Some(place), reason);
    }

    /// Adds an error of the file as a whole.
    pub fn add_to_file(&mut self, reason: impl Into<String>) {
        self.errors.push(self.file, None, reason);
    }

    /// Returns the value of a result; adds its error.
    pub fn take<T>(&mut self, result: Result<T, Located>) -> Option<T> {
        result.map_err(|(place, reason)| self.add(place, reason)).ok()
    }

    /// The file.
    pub const fn file(&self) -> &'a Arc<str> {
        self.file
    }

    /// How many there are so far.
    pub const fn count(&self) -> usize {
        self.errors.kept.len() + self.errors.omitted
    }
}
