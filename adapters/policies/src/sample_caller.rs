//! A caller in a file of its own, for trying policies.

use std::path::Path;

use application::Caller;
use language::error::{ErrorCollector, FileErrors};
use language::files;
use language::yaml::{self, Advice, MOST_VALUES};

use crate::cases;

/// The file in messages.
const KIND_OF_FILES: &str = "files of a caller";

const ADVICE: Advice = Advice {
    of_empty_file: "write a caller, such as {\"id\": \"agency:1\", \"roles\": [\"reviewer\"]}",
    of_line: |_| "",
};

/// Reads a caller from a file of JSON or YAML, as a case of a policy file has it.
///
/// # Errors
/// Everything that is wrong with the file.
pub fn read_caller(path: &Path) -> Result<Caller, FileErrors> {
    let (files, mut found) = files::read(path, KIND_OF_FILES);
    let mut caller = None;
    for file in &files {
        let mut errors = ErrorCollector::new(&file.name, &mut found);
        let tree = file
            .text(&mut errors)
            .and_then(|text| yaml::parse(text, &ADVICE, &mut MOST_VALUES.clone(), &mut errors));
        let read = tree.and_then(|tree| cases::caller(&tree, &mut errors));
        if caller.is_some() {
            errors.add_to_file("there is a caller in another file already; name one file");
        }
        caller = caller.or(read);
    }
    match caller {
        Some(caller) if found.is_empty() => Ok(caller),
        _ => Err(found),
    }
}
