//! Use cases decide what a caller reaches and may write: nobody else makes a `Reach` or a `Warrant`.

use crate::sources::{SourceFile, product};

#[test]
fn access_to_the_store_is_given_by_the_use_cases_alone() {
    let product = product();
    let files = product.iter().flat_map(|product| &product.files);
    let others = files.filter(|file| !file.path.starts_with("application/src/"));
    let given: Vec<_> = others
        .filter(|file| code(file).contains("of_the_service("))
        .map(|file| &file.path)
        .collect();
    assert!(given.is_empty(), "ask a use case instead: {given:#?}");
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
    file.text.split("#[cfg(test)]").next().unwrap_or_default()
}
