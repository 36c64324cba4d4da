//! The types that carry a value, as listed in docs/architecture.md.

use std::fs;

use crate::workspace;

/// Each value, and the limit of types that carry it.
const MOST: [(&str, usize); 3] = [("members", 7), ("filter", 6), ("page", 9)];

/// Limit of files on the path of a POST above the store.
const MOST_FILES: usize = 20;

fn in_code(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[test]
fn the_types_that_carry_a_value_exist_and_are_few_and_so_are_the_files_of_a_post() {
    let page = fs::read_to_string(workspace::root().join("docs/architecture.md")).expect("UTF-8");
    let (_, section) = page.split_once("### Types that carry a value").expect("a section");
    let section = section.split("\n### ").next().expect("text");
    for (value, most) in MOST {
        let rows: Vec<_> =
            section.lines().filter(|line| line.starts_with(&format!("| {value} |"))).collect();
        assert!((1..=most).contains(&rows.len()), "{value}: {} types, at most {most}", rows.len());
        for row in rows {
            let [name, file] = in_code(row)[..] else { panic!("{row}") };
            let source = fs::read_to_string(workspace::root().join(file)).expect(file);
            let is_defined = ["struct", "enum", "type"].iter().any(|keyword| {
                let definition = format!("{keyword} {name}");
                let mut ends = source.split(&definition).skip(1);
                ends.any(|rest| !rest.starts_with(char::is_alphanumeric))
            });
            assert!(is_defined, "{file} defines no type {name}");
        }
    }
    let (_, path) = section.split_once("The path of a POST").expect("the path");
    let files = in_code(path).len();
    assert!(files <= MOST_FILES, "{files} files");
}
