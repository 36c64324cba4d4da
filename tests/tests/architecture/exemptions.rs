//! Obligations that do not hold yet, by name. The list shrinks: an exemption that is not needed fails the
//! test as a new violation does.

use std::collections::BTreeSet;
use std::fs;

use crate::workspace;

/// Asserts that what violates an obligation is exactly what is exempt from it. A violation is the
/// name under which it may be exempt, and a detail for the message.
pub fn assert_only_exempt(
    obligation: &str,
    violations: impl IntoIterator<Item = (String, String)>,
) {
    let exempt = exemptions(obligation);
    for exemption in &exempt {
        println!("exempt from {obligation}: {exemption}");
    }
    let found: Vec<_> = violations.into_iter().collect();
    let new: Vec<_> = found.iter().filter(|(name, _)| !exempt.contains(name)).collect();
    assert!(new.is_empty(), "{obligation}: {new:#?}");
    let found: BTreeSet<_> = found.into_iter().map(|(name, _)| name).collect();
    let needless: Vec<_> = exempt.difference(&found).collect();
    assert!(needless.is_empty(), "no longer needed in exemptions.txt: {obligation} {needless:#?}");
}

fn exemptions(obligation: &str) -> BTreeSet<String> {
    let file = workspace::root().join("tests/tests/architecture/exemptions.txt");
    let text = fs::read_to_string(file).expect("the list of exemptions");
    let lines = text.lines().filter_map(|line| line.strip_prefix(obligation));
    lines.filter_map(|line| line.strip_prefix(": ")).map(str::to_owned).collect()
}
