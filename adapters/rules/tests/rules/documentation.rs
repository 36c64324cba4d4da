//! The example of `docs/rules.md` is read and its cases hold.

use std::fs;

use domain::Collection;

use crate::support::{docs, load_text};

fn page() -> String {
    fs::read_to_string(docs("rules.md")).expect("the page")
}

#[test]
fn the_page_lists_the_members_of_each_group() {
    for collection in Collection::all() {
        let names: Vec<_> = collection.known_members().map(|(name, _)| name).collect();
        let row = format!("| `{}` | `{}` |", collection.name(), names.join("`, `"));
        assert!(page().contains(&row), "{row}");
    }
}

#[test]
fn the_example_of_the_documentation_is_sound_and_its_cases_hold() {
    let page = page();
    let example = page
        .split("```")
        .find_map(|block| block.strip_prefix("yaml\nrules:"))
        .expect("the example");
    let rules = load_text(&format!("rules:{example}"));
    let wrong: Vec<_> = rules.run_cases().into_iter().filter(|outcome| !outcome.passed).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!((rules.rules().len(), rules.case_count()), (2, 3));
}
