//! Use cases decide what a caller reaches and may write: nobody else makes a `Reach` or a `Warrant`.

use crate::sources::{SourceFile, product};

/// The files in which access is given to the service itself: to a caller who was permitted, or to look at
/// what no caller is shown.
const GIVING: [&str; 7] = [
    "application/src/access_control.rs",
    "application/src/demonstration.rs",
    "application/src/ports/access.rs",
    "application/src/resources/dry_run.rs",
    "application/src/resources/history.rs",
    "application/src/resources/import/draft.rs",
    "application/src/resources/mod.rs",
];

#[test]
fn access_to_the_store_is_given_by_the_use_cases_alone() {
    let product = product();
    let files = product.iter().flat_map(|product| &product.files);
    let mut given: Vec<_> = files
        .filter(|file| code(file).contains("of_the_service("))
        .map(|file| file.path.as_str())
        .collect();
    given.sort_unstable();
    assert_eq!(given, GIVING, "ask a use case, or `AccessControl`, instead");
}

#[test]
fn a_request_is_anonymous_in_one_place() {
    let product = product();
    let files = product.iter().flat_map(|product| &product.files);
    let places: Vec<_> = files
        .filter(|file| code(file).contains("Caller::Anonymous"))
        .map(|file| file.path.as_str())
        .collect();
    assert_eq!(places, ["adapters/http/src/request/caller.rs"], "take the caller of the request");
}

/// The part of a file that is not its tests.
fn code(file: &SourceFile) -> &str {
    file.text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default()
}
