//! Rule files as YAML, with the mistakes that their authors are likely to make.

use std::sync::Arc;

use language::error::ErrorCollector;
use language::yaml::{self, Advice, Node};

pub(crate) use language::yaml::MOST_VALUES;

const ADVICE: Advice =
    Advice { of_empty_file: "write the list `rules:`, the list `cases:`, or both", of_line: hint };

/// Reads the text of a file, taking its values off `values_left`. `None` when it holds nothing, or
/// has an error that nothing can be read after.
pub(crate) fn parse(
    text: &str,
    values_left: &mut usize,
    errors: &mut ErrorCollector<'_>,
) -> Option<Arc<Node>> {
    yaml::parse(text, &ADVICE, values_left, errors)
}

/// The likely mistake of the author of a line, with what to write instead.
fn hint(line: &str) -> &'static str {
    let has_lookup = line
        .split_once("lookup:")
        .is_some_and(|(_, value)| value.trim_start().starts_with('{') && value.contains('['));
    if has_lookup {
        return "; a lookup within `{…}` stands in quotes: {program: 'proposedprograms[self.program_id]'}";
    }
    let key = line
        .trim_start_matches(['-', ' ', '\t', '"', '{', ','])
        .split([':', '"'])
        .next()
        .unwrap_or_default();
    if matches!(key, "check" | "when" | "message_expression" | "message" | "description" | "source")
    {
        "; a value with `: ` or ` #` in it, or that begins with one of `! & * [ ] { } > | @ % \" '`, is written in the lines below `|`"
    } else {
        ""
    }
}
