//! Legal holds in a file, behind the port [`application::LegalHolds`].
//!
//! A file is a YAML list of the ids of items, each with a comment that says why:
//!
//! ```
//! use application::LegalHolds as _;
//! use holds_adapter::ReloadableHolds;
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = &folder.path().join("holds.yaml");
//! # std::fs::write(path, "
//! # - 01890a5d-ac96-774b-bcce-b302099a8057  # Audit 2026-17: the programme, and all of its proposals
//! # ")?;
//! let holds = ReloadableHolds::open(path)?;
//! assert_eq!(holds.items().len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A file that holds nothing is refused: a hold must not be lifted because a file was cut short. The
//! empty list `[]` lifts all.

use parking_lot::RwLock;
use std::collections::HashSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use application::LegalHolds;
use domain::ItemId;
use language::error::{ErrorCollector, FileErrors};
use language::files::{Fingerprint, SourceFile};
use language::yaml::{self, Advice, Content, MOST_VALUES, Node};
use language::{Reload, TrackedFiles};

const KIND_OF_FILES: &str = "files of legal holds";

const ADVICE: Advice = Advice {
    of_empty_file: "write a list of ids, or [] where there are no holds",
    of_line: |_| "",
};

type Items = Arc<HashSet<ItemId>>;

/// The holds of a file or folder, read again when it is asked for.
pub struct ReloadableHolds {
    files: Option<TrackedFiles>,
    current: RwLock<Items>,
}

impl fmt::Debug for ReloadableHolds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("ReloadableHolds").field(&self.items()).finish()
    }
}

impl ReloadableHolds {
    /// No holds, for good.
    #[must_use]
    pub fn none() -> Self {
        Self { files: None, current: RwLock::default() }
    }

    /// The holds of a file, or of the files of a folder.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub fn open(path: &Path) -> Result<Self, FileErrors> {
        let (files, read, errors) = TrackedFiles::open(path, KIND_OF_FILES);
        let current = RwLock::new(items_of(&read, errors)?);
        Ok(Self { files: Some(files), current })
    }
}

impl LegalHolds for ReloadableHolds {
    fn items(&self) -> Items {
        Arc::clone(&self.current.read())
    }
}

impl Reload for ReloadableHolds {
    const NAME: &'static str = "legal holds";
    const KIND: &'static str = "legal_holds";

    fn has_files(&self) -> bool {
        self.files.is_some()
    }

    fn changed(&self) -> Option<Fingerprint> {
        self.files.as_ref()?.changed()
    }

    fn reload(&self) -> Result<bool, FileErrors> {
        let Some(files) = &self.files else { return Ok(false) };
        files.read_again(|files, errors| {
            let items = items_of(files, errors)?;
            let mut current = self.current.write();
            let is_other = *current != items;
            *current = items;
            Ok(is_other)
        })
    }

    fn log_change(&self) {
        let holds = self.items().len();
        tracing::info!(holds, "the legal holds were read again and are in force");
    }
}

/// The items that files name.
fn items_of(files: &[SourceFile], mut errors: FileErrors) -> Result<Items, FileErrors> {
    let (mut items, mut values_left) = (HashSet::new(), MOST_VALUES);
    for file in files {
        let mut errors = ErrorCollector::new(&file.name, &mut errors);
        let tree = file
            .text(&mut errors)
            .and_then(|text| yaml::parse(text, &ADVICE, &mut values_left, &mut errors));
        if let Some(tree) = tree {
            add_items(&tree, &mut items, &mut errors);
        }
    }
    if errors.is_empty() { Ok(items.into()) } else { Err(errors.sorted()) }
}

fn add_items(tree: &Node, items: &mut HashSet<ItemId>, errors: &mut ErrorCollector<'_>) {
    let Content::List(entries) = &tree.content else {
        let reason =
            format!("it is {}, and must be a list: one id a line, after `- `", tree.with_article());
        return errors.add(tree.place, reason);
    };
    for entry in entries {
        match entry.scalar().map(|scalar| (ItemId::parse(&scalar.text), &scalar.text)) {
            Some((Some(id), _)) if items.insert(id) => {}
            Some((Some(id), _)) => {
                errors.add(entry.place, format!("{id} is named twice; remove one of the two"));
            }
            Some((None, text)) => {
                let shown: String = text.chars().take(60).collect();
                let reason = format!(
                    "`{shown}` is no id of an item; write the 36 characters of `id`, in lower case"
                );
                errors.add(entry.place, reason);
            }
            None => {
                let reason =
                    format!("it is {}, and must be the id of an item", entry.with_article());
                errors.add(entry.place, reason);
            }
        }
    }
}
