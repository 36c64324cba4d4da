//! Names of files in an archive that every common file system takes.

use std::collections::HashMap;

use domain::Collection;
use unicode_normalization::UnicodeNormalization as _;

use crate::headers::content_disposition::{safe, shortened};

/// In bytes. File systems take 255, and a number may follow.
const LONGEST: usize = 240;

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
        return shortened(&format!("_{name}"), LONGEST);
    }
    shortened(&name, LONGEST)
}

/// The name of the file with the items of a collection, without its extension, and of the folder with
/// their contents.
pub fn list_name(collection: Collection) -> &'static str {
    match collection.name() {
        "lib" => "library",
        "gadscores" => "scores",
        name => name,
    }
}

/// Names in use, each with its last number. Names that differ only by case are the same for Windows
/// and macOS; names that differ only by Unicode normalization, for macOS.
#[derive(Default)]
pub struct Names(HashMap<String, u32>);

impl Names {
    /// Returns a name that is not in use: this one, or this one with a number.
    pub fn unique(&mut self, name: &str) -> String {
        let folded = fold(name);
        // The last number stays known, so no name is tried twice.
        let mut number = self.0.get(&folded).copied().unwrap_or_default();
        let unused = loop {
            number += 1;
            let numbered = with_number(name, number);
            if !self.0.contains_key(&fold(&numbered)) {
                break numbered;
            }
        };
        self.0.insert(folded, number);
        self.0.insert(fold(&unused), 1);
        unused
    }
}

/// Changes of the case can make another form of Unicode, so the last step normalizes.
fn fold(name: &str) -> String {
    name.nfd().collect::<String>().to_uppercase().to_lowercase().nfc().collect()
}

/// The number is before the extension. The first name has none.
fn with_number(name: &str, number: u32) -> String {
    if number == 1 {
        return name.to_owned();
    }
    let start = name.rfind('/').map_or(0, |slash| slash + 1);
    let dot = name[start..].rfind('.').filter(|dot| *dot > 0);
    let (stem, extension) = name.split_at(dot.map_or(name.len(), |dot| start + dot));
    format!("{stem} ({number}){extension}")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::{Names, file_name, fold};

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
    }

    #[test]
    fn equal_names_get_numbers() {
        let mut names = Names::default();
        for (name, expected) in [
            ("a/x.pdf", "a/x.pdf"),
            ("a/X.PDF", "a/X (2).PDF"),
            ("b/x.pdf", "b/x.pdf"),
            ("a/x (3).pdf", "a/x (3).pdf"),
            ("a/x.pdf", "a/x (4).pdf"),
            ("a/x (2).pdf", "a/x (2) (2).pdf"),
            ("a.b/content", "a.b/content"),
            ("a.b/content", "a.b/content (2)"),
            ("STRASSE", "STRASSE"),
            ("straße", "straße (2)"),
            ("caf\u{e9}.txt", "caf\u{e9}.txt"),
            ("cafe\u{301}.txt", "cafe\u{301} (2).txt"),
            ("CAFE\u{301}.TXT", "CAFE\u{301} (3).TXT"),
        ] {
            assert_eq!(names.unique(name), expected);
        }
    }

    proptest! {
        #[test]
        fn any_name_is_one_component(name in any::<String>()) {
            let made = file_name(Some(&name)).into_string();
            let is_bad = |it: char| it.is_control() || "/\\<>:\"|?*".contains(it);
            prop_assert!(!made.contains(is_bad) && !made.starts_with('.') && made.len() <= 240);
        }

        #[test]
        fn any_names_become_unique(given in proptest::collection::vec("[aAb]( \\([23]\\))?(\\.x)?", 0..30)) {
            let mut names = Names::default();
            let made: Vec<_> = given.iter().map(|name| names.unique(name)).collect();
            let folded: HashSet<_> = made.iter().map(|name| fold(name)).collect();
            prop_assert_eq!(folded.len(), made.len());
        }
    }
}
