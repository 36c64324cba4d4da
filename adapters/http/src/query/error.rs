use crate::problem::{Problem, kinds};

const MOST_LETTERS: usize = 64;

pub fn invalid(detail: impl Into<String>) -> Problem {
    Problem::new(&kinds::INVALID_QUERY, detail)
}

pub fn quoted(text: &str) -> String {
    let mut letters = text.chars();
    let start: String = letters.by_ref().take(MOST_LETTERS).collect();
    let more = if letters.next().is_some() { "…" } else { "" };
    format!("`{start}{more}`")
}

pub fn fix(nearest: Option<&str>, otherwise: impl FnOnce() -> String) -> String {
    nearest.map_or_else(otherwise, |name| format!("Did you mean `{name}`?"))
}

/// Formats names as `` `a`, `b` or `c` ``.
pub fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        Some((last, _)) => last.clone(),
        None => "nothing".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{listed, quoted};

    #[test]
    fn lists_read_like_sentences() {
        for (names, expected) in [
            (&[][..], "nothing"),
            (&["a"], "`a`"),
            (&["a", "b"], "`a` or `b`"),
            (&["a", "b", "c"], "`a`, `b` or `c`"),
        ] {
            assert_eq!(listed(names.iter().copied()), expected);
        }
    }

    #[test]
    fn what_is_repeated_is_short() {
        assert_eq!(quoted("ñ"), "`ñ`");
        assert_eq!(quoted(&"ñ".repeat(1000)).chars().count(), 67);
    }
}
