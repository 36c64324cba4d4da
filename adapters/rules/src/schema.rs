//! The JSON Schema of rule files, for editors and checks before a release.

use crate::file_format::FILE;

/// The JSON Schema of a rule file.
pub fn schema() -> String {
    language::schema("Business rules in files", &FILE)
}

#[cfg(test)]
mod tests;
