//! Doc comments that begin as sentences do, not as questions.

use crate::exemptions::assert_only_exempt;
use crate::sources::product;

/// Beginnings that leave the reader to find out what a thing is.
const REFUSED: [&str; 3] = ["What ", "Whether ", "So many "];

#[test]
fn doc_comments_begin_with_a_verb_or_a_noun() {
    let mut refused = Vec::new();
    for product in product() {
        for file in &product.files {
            for (line, comment) in first_lines(&file.text) {
                if REFUSED.iter().any(|beginning| comment.starts_with(beginning)) {
                    refused.push((product.name.clone(), format!("{}:{line} {comment}", file.path)));
                }
            }
        }
    }
    assert_only_exempt("beginnings of doc comments", refused);
}

/// The first line of each doc comment, with its number.
fn first_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().map(str::trim_start);
    let before = std::iter::once("").chain(lines.clone());
    let first = lines
        .zip(before)
        .zip(1..)
        .filter(move |((line, before), _)| is_comment(line) && !is_comment(before));
    first.map(|((line, _), number)| (number, line[3..].trim_start()))
}

fn is_comment(line: &str) -> bool {
    line.starts_with("///") || line.starts_with("//!")
}
