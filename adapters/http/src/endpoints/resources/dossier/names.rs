//! Names of files in an archive that every common file system takes.

use crate::headers::content_disposition::safe;

/// In characters.
const LONGEST_SLUG: usize = 48;

/// The names of Windows devices, with any extension. `COM` and `LPT` are followed by a digit.
const DEVICES: [&str; 6] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"];

/// A file name from the name that a client gave to its content.
pub fn file_name(name: Option<&str>) -> Box<str> {
    let name = name.and_then(safe).unwrap_or_else(|| "content".into());
    let is_refused = |character: char| matches!(character, '<' | '>' | ':' | '"' | '|' | '?' | '*');
    let name = name.replace(is_refused, "_");
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_uppercase();
    let mut rest = stem.strip_prefix("COM").or(stem.strip_prefix("LPT")).unwrap_or("").chars();
    let is_port = rest.next().is_some_and(char::is_numeric) && rest.next().is_none();
    if is_port || DEVICES.contains(&&*stem) {
        return safe(&format!("_{name}")).unwrap_or(name.into());
    }
    name.into()
}

/// Letters and digits of a text, with hyphens between words.
pub fn slug(text: &str) -> String {
    let lower = text.to_lowercase();
    let words = lower.split(|character: char| !character.is_alphanumeric());
    let words: Vec<_> = words.filter(|word| !word.is_empty()).take(LONGEST_SLUG).collect();
    let slug: String = words.join("-").chars().take(LONGEST_SLUG).collect();
    slug.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{file_name, slug};

    #[test]
    fn names_are_readable_and_taken_by_windows() {
        for (name, expected) in [
            (None, "content"),
            (Some(".."), "content"),
            (Some("../../etc/passwd"), "passwd"),
            (Some("C:\\a\\b.txt"), "b.txt"),
            (Some("a:b?.txt"), "a_b_.txt"),
            (Some("Ñandú 1.pdf"), "Ñandú 1.pdf"),
            (Some("con"), "_con"),
            (Some("Nul.tar.gz"), "_Nul.tar.gz"),
            (Some("com1 .txt"), "_com1 .txt"),
            (Some("LPT³.txt"), "_LPT³.txt"),
            (Some("com10.txt"), "com10.txt"),
            (Some("contract.txt"), "contract.txt"),
            (Some("name. . "), "name"),
        ] {
            assert_eq!(&*file_name(name), expected, "{name:?}");
        }
        for (text, expected) in [
            ("Letter of Support (2026)", "letter-of-support-2026"),
            ("  Ñandú/../x ", "ñandú-x"),
            ("", ""),
            ("///", ""),
            (&"é".repeat(90), &"é".repeat(48)),
        ] {
            assert_eq!(slug(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_name_is_one_component(name in any::<String>()) {
            for made in [file_name(Some(&name)).into_string(), slug(&name)] {
                let is_bad = |it: char| it.is_control() || "/\\<>:\"|?*".contains(it);
                prop_assert!(!made.contains(is_bad) && !made.starts_with('.') && made.len() <= 255);
            }
        }
    }
}
