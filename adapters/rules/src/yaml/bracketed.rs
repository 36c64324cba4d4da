//! Lookups as they are naturally written: `lookup: {program: proposedprograms[self.program_id]}`.
//!
//! This is no YAML: within `{…}` a plain scalar holds no brackets. In a file that is no YAML
//! otherwise, the brackets that follow a word there, and the signs within them, are therefore
//! written as characters of the private use area while it is parsed. Each is one character like the
//! one it stands for, so that places stay what they are.

/// What has a meaning within `{…}`, and what stands for it meanwhile.
const SIGNS: [(char, char); 9] = [
    ('[', '\u{f6d0}'),
    (']', '\u{f6d1}'),
    ('{', '\u{f6d2}'),
    ('}', '\u{f6d3}'),
    (',', '\u{f6d4}'),
    (':', '\u{f6d5}'),
    ('#', '\u{f6d6}'),
    ('"', '\u{f6d7}'),
    ('\'', '\u{f6d8}'),
];

const KEY: &str = "lookup:";

/// The text with the bracketed parts of its lookups protected; `None` when it has none, or has our
/// characters already.
pub(super) fn protect(text: &str) -> Option<String> {
    if text.contains(|character| SIGNS.iter().any(|(_, ours)| *ours == character)) {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut is_changed = false;
    while let Some(start) = rest.find(KEY) {
        let (before, after) = rest.split_at(start + KEY.len());
        out.push_str(before);
        rest = after;
        if let Some(brace) = rest
            .find(|character: char| !character.is_whitespace())
            .filter(|at| rest[*at..].starts_with('{'))
        {
            let (before, mapping) = rest.split_at(brace);
            out.push_str(before);
            let length = protect_mapping(mapping, &mut out);
            is_changed |= !out.ends_with(&mapping[..length]);
            rest = &mapping[length..];
        }
    }
    out.push_str(rest);
    is_changed.then_some(out)
}

/// Writes the mapping at the beginning of `text`, and says how long it is there.
fn protect_mapping(text: &str, out: &mut String) -> usize {
    // How many brackets are open within a value, and the quote that is open.
    let (mut brackets, mut quote, mut previous) = (0_usize, None, ' ');
    for (index, character) in text.char_indices() {
        let is_quoted = quote.is_some();
        match character {
            '\n' if brackets > 0 => brackets = 0,
            _ if quote == Some(character) => quote = None,
            _ if is_quoted => {}
            '"' | '\'' if brackets > 0 || !previous.is_alphanumeric() => quote = Some(character),
            '[' if brackets > 0 || previous.is_alphanumeric() || previous == '_' => brackets += 1,
            ']' if brackets > 0 => {
                brackets -= 1;
                out.push(stand_in(character));
                previous = character;
                continue;
            }
            '}' if brackets == 0 => {
                out.push(character);
                return index + 1;
            }
            _ => {}
        }
        out.push(if brackets > 0 { stand_in(character) } else { character });
        previous = character;
    }
    text.len()
}

fn stand_in(character: char) -> char {
    SIGNS.iter().find(|(sign, _)| *sign == character).map_or(character, |(_, ours)| *ours)
}

/// A scalar as it was written.
pub(super) fn restore(value: &str) -> String {
    value
        .chars()
        .map(|character| {
            SIGNS.iter().find(|(_, ours)| *ours == character).map_or(character, |(sign, _)| *sign)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{protect, restore};

    #[test]
    fn what_stands_in_brackets_is_protected_and_comes_back() {
        for (text, is_protected) in [
            ("lookup: {a: lib[self.x], b: files[proposal = self.id]}", true),
            ("lookup:\n  {a: lib[{'x': self.y}['x']]}", true),
            ("lookup: {a: lib[\"]\" + self.x]}", true),
            ("lookup: {a: \"lib[self.x]\"}", false),
            ("lookup: {a: [1, 2], b: [{c: 3}]}", false),
            ("lookup: text[self.x]", false),
            ("other: {a: lib[self.x]}", false),
        ] {
            let protected = protect(text);
            assert_eq!(protected.is_some(), is_protected, "{text}");
            if let Some(protected) = protected {
                assert_eq!(restore(&protected), text);
                assert!(!protected.contains('['), "{protected}");
                assert_eq!(protected.chars().count(), text.chars().count());
            }
        }
    }

    #[test]
    fn a_text_with_the_characters_that_stand_in_is_left_alone() {
        assert_eq!(protect("lookup: {a: lib[self.x], b: \u{f6d0}}"), None);
    }
}
