//! Files of legal holds: what is read, what is refused, and what is read again.

use std::fs;
use std::path::PathBuf;

use application::LegalHolds as _;
use proptest::prelude::*;
use tempfile::TempDir;

use super::HoldFiles;

const ONE: &str = "01890a5d-ac96-774b-bcce-b302099a8057";
const OTHER: &str = "01890a5d-ac96-774b-bcce-b302099a8058";

fn file(text: impl AsRef<[u8]>) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("holds.yaml");
    fs::write(&path, text).expect("a file");
    (folder, path)
}

fn number(text: &str) -> Result<usize, String> {
    let (_folder, path) = file(text);
    let holds = HoldFiles::open(&path).map_err(|errors| errors.to_string())?;
    Ok(holds.items().len())
}

#[test]
fn a_list_of_ids_with_comments_is_read() {
    assert_eq!(
        number(&format!("# Audit 2026-17\n- {ONE}  # the programme\n- \"{OTHER}\"\n")),
        Ok(2)
    );
    assert_eq!(number(&format!("[{ONE}, {OTHER}]")), Ok(2));
    assert_eq!(number("[]"), Ok(0));
    assert_eq!(HoldFiles::default().items().len(), 0);
}

#[test]
fn what_is_no_hold_is_refused_with_its_place() {
    for (text, error) in [
        (String::new(), "the file is empty; write a list of ids, or []"),
        ("# none\n".to_owned(), "the file is empty"),
        (ONE.to_owned(), "holds.yaml:1:1: it is a string but must be a list"),
        (format!("holds:\n- {ONE}\n"), "holds.yaml:1:1: it is a mapping but must be a list"),
        (
            format!("- {ONE}\n- {OTHER}\n- {ONE}\n"),
            "holds.yaml:3:3: 01890a5d-ac96-774b-bcce-b302099a8057 is given more than once",
        ),
        (format!("- {}\n", ONE.to_uppercase()), "is not an item id; write the 36 characters"),
        (format!("- {ONE}\n- 7\n- x\n"), "holds.yaml:3:3: `x` is not an item id"),
        ("- \n".to_owned(), "holds.yaml:1:"),
        (format!("- id: {ONE}\n"), "holds.yaml:1:3: it is a mapping but must be the id of an item"),
        (format!("- {}", "[".repeat(500)), "holds.yaml:1:"),
    ] {
        let said = number(&text).unwrap_err();
        assert!(said.contains(error), "{text}: {said}");
    }
}

#[test]
fn a_file_with_errors_leaves_the_holds_in_force() {
    let (_folder, path) = file(format!("- {ONE}\n"));
    let holds = HoldFiles::open(&path).unwrap();
    for text in ["", "- x\n", "\u{0}"] {
        fs::write(&path, text).expect("a file");
        assert!(holds.0.changed().is_some());
        let errors = holds.0.reload().unwrap_err().to_string();
        assert!(errors.contains("holds.yaml"), "{errors}");
        assert_eq!(holds.items().len(), 1, "{text}");
    }
    fs::remove_file(&path).unwrap();
    assert!(holds.0.reload().is_err());
    assert_eq!(holds.items().len(), 1, "the file is gone");
    fs::write(&path, format!("- {ONE}\n- {OTHER}\n")).unwrap();
    assert_eq!(holds.0.reload(), Ok(true));
    assert_eq!(holds.0.reload(), Ok(false));
    assert_eq!(holds.items().len(), 2);
}

proptest! {
    #[test]
    fn every_file_is_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200), text in "[-\\[\\]{}:,# a-f0-9\n]{0,80}") {
        for content in [&bytes[..], text.as_bytes()] {
            let (_folder, path) = file(content);
            let _ = HoldFiles::open(&path);
        }
    }
}
