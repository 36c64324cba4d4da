//! Doc comments begin as statements, not as questions.

use crate::sources::every_file;

/// First words of a doc comment that are not allowed.
const REFUSED: [&str; 3] = ["What ", "Whether ", "Which "];

#[test]
fn doc_comments_begin_with_a_verb_or_a_noun() {
    let mut refused = Vec::new();
    for (path, text) in every_file() {
        let mut is_end = true;
        for (number, line) in (1..).zip(text.lines().map(str::trim_start)) {
            let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
            let comment = comment.unwrap_or_default().trim_start();
            if is_end && REFUSED.iter().any(|beginning| comment.starts_with(beginning)) {
                refused.push(format!("{path}:{number} {comment}"));
            }
            is_end = comment.is_empty();
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
}
