//! Use cases alone decide about access: only they create a `Reach` or a `Warrant`.

use crate::sources::product_files;

/// Files that give access to the service: for a permitted caller, or for reads that no caller sees.
const GIVING: [&str; 7] = [
    "application/src/access_control.rs",
    "application/src/demonstration.rs",
    "application/src/judgement.rs",
    "application/src/ports/access.rs",
    "application/src/resources/dry_run.rs",
    "application/src/resources/history.rs",
    "application/src/resources/mod.rs",
];

#[test]
fn access_to_the_store_is_given_by_the_use_cases_only() {
    assert_only_in("of_the_service(", &GIVING, "ask a use case, or `AccessControl`, instead");
}

#[test]
fn only_access_control_limits_a_reach() {
    let place = ["application/src/access_control.rs"];
    assert_only_in(".only(", &place, "ask `AccessControl` for the reach of the caller");
}

#[test]
fn a_request_is_anonymous_in_one_place() {
    let place = ["adapters/http/src/request/caller.rs"];
    assert_only_in("Caller::Anonymous", &place, "take the caller of the request");
}

#[track_caller]
fn assert_only_in(words: &str, places: &[&str], correction: &str) {
    let files = product_files();
    let code =
        |text: &str| text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or(text).to_owned();
    let found = files.iter().filter(|file| code(&file.text).contains(words));
    let mut found: Vec<_> = found.map(|file| file.path.as_str()).collect();
    found.sort_unstable();
    assert_eq!(found, places, "{correction}");
}
