//! Caller in a separate file, for trying policies.

use std::path::Path;

use application::Caller;
use language::error::FileErrors;
use language::files::FileSet;
use language::yaml::Advice;

use crate::cases;

const KIND_OF_FILES: &str = "files of a caller";

const ADVICE: Advice = Advice {
    of_empty_file: "write a caller, such as {\"id\": \"agency:1\", \"roles\": [\"reviewer\"]}",
    of_line: |_| "",
};

/// Reads a caller from JSON or YAML, in the form of a case.
pub fn read_caller(path: &Path) -> Result<Caller, FileErrors> {
    let mut files = FileSet::read(path, KIND_OF_FILES);
    let mut caller = None;
    for (file, tree) in files.trees(&ADVICE) {
        let mut errors = files.errors_of(&file);
        let read = cases::caller(&tree, &mut errors);
        if caller.is_some() {
            errors.add_to_file("another file also has a caller; name one file");
        }
        caller = caller.or(read);
    }
    match caller {
        Some(caller) if files.errors.is_empty() => Ok(caller),
        _ => Err(files.errors),
    }
}
