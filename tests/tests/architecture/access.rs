//! Use cases decide what a caller reaches and may write: nobody else makes a `Reach` or a `Warrant`.

use crate::sources::product;

#[test]
fn access_to_the_store_is_given_by_the_use_cases_alone() {
    let product = product();
    let files = product.iter().flat_map(|product| &product.files);
    let others = files.filter(|file| !file.path.starts_with("application/src/"));
    let given: Vec<_> = others
        .filter(|file| {
            let code = file.text.split("#[cfg(test)]").next().unwrap_or_default();
            code.contains("of_the_service(")
        })
        .map(|file| &file.path)
        .collect();
    assert!(given.is_empty(), "ask a use case instead: {given:#?}");
}
