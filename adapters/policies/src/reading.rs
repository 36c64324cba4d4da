//! Parts shared by several mappings of a policy file.

use domain::{Operation, Operations};
use language::error::ErrorCollector;
use language::keys::{self, Keys, Table};
use language::yaml::{Advice, Content, Node};

use crate::file_format::{OPERATION_WORDS, SEVERAL};

pub(crate) const ADVICE: Advice = Advice {
    of_empty_file: "write the list `policies:`, with `cases:` or `matrix:`",
    of_line: |line| {
        if line.trim_start_matches(['-', ' ', '{']).starts_with("to:") && line.contains('*') {
            "; write `[anyone]` for every caller"
        } else if line.contains("description:") || line.contains("source:") {
            "; put a value with `: ` or ` #` in quotes, or in the lines below `|`"
        } else {
            ""
        }
    },
};

pub(crate) fn keys_of<'a>(
    node: &'a Node,
    table: &Table,
    later: &[&'static str],
    errors: &mut ErrorCollector<'_>,
) -> Option<Keys<'a>> {
    let entries = match &node.content {
        Content::Mapping(entries) => entries.as_slice(),
        _ => &[],
    };
    let mut present = Vec::new();
    for entry in entries {
        if let Some(name) = later.iter().find(|name| **name == entry.key) {
            let of = table.name;
            let reason = format!(
                "the key `{name}` of {of} is not supported: policies of this version decide about whole items; remove it"
            );
            errors.add(entry.place, reason);
            present.push(*name);
        }
    }
    Keys::of(node, table, Some(&present), errors)
}

pub(crate) fn operations(node: &Node, key: &str, errors: &mut ErrorCollector<'_>) -> Operations {
    let elements = errors.take(keys::list(node, key)).unwrap_or_default();
    let (mut seen, mut operations) = (Vec::new(), Operations::NONE);
    for element in elements {
        let Some(word) = errors.take(keys::string(element, key)) else { continue };
        errors.take(OPERATION_WORDS.check(&word.text, word.place));
        if seen.contains(&word.text.as_str()) {
            let name = &word.text;
            errors.add(word.place, format!("`{key}` names `{name}` more than once; remove one"));
        }
        seen.push(&word.text);
        operations = operations.union(meaning(&word.text));
    }
    operations
}

fn meaning(word: &str) -> Operations {
    let several = SEVERAL.iter().find(|(name, _)| *name == word);
    match several {
        Some((_, operations)) => operations.iter().copied().collect(),
        None => Operation::named(word).into_iter().collect(),
    }
}
