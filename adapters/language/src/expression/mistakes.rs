//! Mistakes of users of other languages, with their CEL replacement.

const FOREIGN: &[(&str, &str)] = &[
    ("=", "compare values with `==`, not with `=`"),
    ("<>", "use `!=` instead of `<>`"),
    ("=~", "use `.matches()` instead of `=~`, as in self.title.matches('^A')"),
    ("!~", "use `!` and `.matches()` instead of `!~`, as in !self.title.matches('^A')"),
    ("&", "use `&&` instead of `&`"),
    ("|", "use `||` instead of `|`"),
    ("and", "use `&&` instead of `and`"),
    ("or", "use `||` instead of `or`"),
    ("not", "use `!` instead of `not`"),
    ("is", "use `== null` instead of `is null`, and `!= null` instead of `is not null`"),
    ("if", "use `? :` instead of `if`, as in self.budget > 0 ? 'some' : 'none'"),
];

const FUNCTIONS: &[(&str, &str)] = &[
    ("len", "use size()"),
    ("length", "use size()"),
    ("if", "use `? :`, as in self.budget > 0 ? 'some' : 'none'"),
    ("now", "`now` is a variable; write it without parentheses"),
    ("today", "`today` is a variable; write it without parentheses"),
];

pub(super) fn in_source(source: &str) -> Option<(usize, &'static str)> {
    let mut at = 0;
    while let Some(first) = source[at..].chars().next() {
        let rest = &source[at..];
        let length = match first {
            '"' | '\'' => string_length(rest, first),
            first if is_word(first) => rest.find(|next| !is_word(next)).unwrap_or(rest.len()),
            first if is_sign(first) => rest.find(|next| !is_sign(next)).unwrap_or(rest.len()),
            first => first.len_utf8(),
        };
        let is_member = source[..at].trim_end().ends_with('.');
        let known = FOREIGN.iter().find(|(foreign, _)| *foreign == &rest[..length]);
        if let Some((_, instead)) = known.filter(|_| !is_member) {
            return Some((at, instead));
        }
        at += length;
    }
    None
}

pub(super) fn in_call(function: &str) -> Option<&'static str> {
    FUNCTIONS.iter().find(|(foreign, _)| *foreign == function).map(|(_, instead)| *instead)
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn is_sign(character: char) -> bool {
    "=<>!~&|".contains(character)
}

fn string_length(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (index, character) in text.char_indices().skip(1) {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if character == quote => return index + 1,
            _ => {}
        }
    }
    text.len()
}
