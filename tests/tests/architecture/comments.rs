//! Doc comments that begin as sentences do, not as questions.

use crate::exemptions::assert_only_exempt;
use crate::sources::every_file;

/// Beginnings that leave the reader to find out what a thing is.
const REFUSED: [&str; 4] = ["What ", "Whether ", "Which ", "So many"];

#[test]
fn doc_comments_begin_with_a_verb_or_a_noun() {
    let mut refused = Vec::new();
    for (path, text) in every_file() {
        for (line, comment) in first_lines(&text) {
            if REFUSED.iter().any(|beginning| comment.starts_with(beginning)) {
                refused.push((path.clone(), format!("{line} {comment}")));
            }
        }
    }
    assert_only_exempt("beginnings of doc comments", refused);
}

/// The first line of each paragraph of a doc comment, with its number.
fn first_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().map(str::trim_start);
    let before = std::iter::once("").chain(lines.clone());
    let first = lines
        .zip(before)
        .zip(1..)
        .filter(move |((line, before), _)| is_comment(line) && is_end(before));
    first.map(|((line, _), number)| (number, line[3..].trim_start()))
}

/// Tells whether a line ends a paragraph: it is empty, or no doc comment.
fn is_end(line: &str) -> bool {
    !is_comment(line) || line[3..].trim().is_empty()
}

fn is_comment(line: &str) -> bool {
    line.starts_with("///") || line.starts_with("//!")
}
