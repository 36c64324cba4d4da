//! Errors of files. All of them are reported together, each with its position.

use std::fmt;
use std::sync::Arc;

/// Line and column, both from 1. Columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    pub line: u32,
    pub column: u32,
}

impl Location {
    pub const START: Self = Self { line: 1, column: 1 };

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

pub type Located = (Location, String);

/// Displays as `FILE:LINE:COLUMN: REASON`, which editors turn into a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    pub file: Arc<str>,
    pub place: Option<Location>,
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

/// Errors of files in the order of files and lines, at most [`FileErrors::LIMIT`]. The rest is only
/// counted. Displays one line per error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileErrors {
    kept: Vec<FileError>,
    omitted: usize,
}

impl FileErrors {
    pub const LIMIT: usize = 100;

    pub const fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

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

    pub fn iter(&self) -> impl Iterator<Item = &FileError> {
        self.kept.iter()
    }

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

pub struct ErrorCollector<'a> {
    file: &'a Arc<str>,
    errors: &'a mut FileErrors,
}

impl<'a> ErrorCollector<'a> {
    pub const fn new(file: &'a Arc<str>, errors: &'a mut FileErrors) -> Self {
        Self { file, errors }
    }

    pub fn add(&mut self, place: Location, reason: impl Into<String>) {
        self.errors.push(self.file, Some(place), reason);
    }

    pub fn add_to_file(&mut self, reason: impl Into<String>) {
        self.errors.push(self.file, None, reason);
    }

    pub fn take<T>(&mut self, result: Result<T, Located>) -> Option<T> {
        result.map_err(|(place, reason)| self.add(place, reason)).ok()
    }

    pub const fn file(&self) -> &'a Arc<str> {
        self.file
    }

    pub const fn count(&self) -> usize {
        self.errors.kept.len() + self.errors.omitted
    }
}
