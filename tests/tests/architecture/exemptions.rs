//! Exemptions from obligations, by name. An exemption that is not needed fails the test.

use std::collections::BTreeSet;
use std::fs;

use crate::workspace;

/// Asserts that the violations of an obligation are exactly its exemptions. A violation is its name
/// and a detail for the message.
pub fn assert_only_exempt(
    obligation: &str,
    violations: impl IntoIterator<Item = (String, String)>,
) {
    let file = workspace::root().join("tests/tests/architecture/exemptions.txt");
    let text = fs::read_to_string(file).expect("the list of exemptions");
    let lines = text.lines().filter_map(|line| line.strip_prefix(obligation)?.strip_prefix(": "));
    let exempt: BTreeSet<_> = lines.map(str::to_owned).collect();
    let found: Vec<_> = violations.into_iter().collect();
    let new: Vec<_> = found.iter().filter(|(name, _)| !exempt.contains(name)).collect();
    assert!(new.is_empty(), "{obligation}: {new:#?}");
    let found: BTreeSet<_> = found.into_iter().map(|(name, _)| name).collect();
    let needless: Vec<_> = exempt.difference(&found).collect();
    assert!(needless.is_empty(), "no longer needed in exemptions.txt: {obligation} {needless:#?}");
}
