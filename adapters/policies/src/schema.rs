//! The JSON Schema of policy files, for editors and checks before a release.

use crate::file_format::FILE;

/// The JSON Schema of a policy file.
pub fn schema() -> String {
    language::schema("Policies in files", &FILE)
}

#[cfg(test)]
mod tests;
