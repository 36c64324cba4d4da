//! Legal holds: YAML lists of item ids, each with a comment on the reason.
//!
//! An empty file is refused: truncation must not lift holds. The empty list `[]` lifts all.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use application::LegalHolds;
use domain::ItemId;
use language::error::{ErrorCollector, FileErrors};
use language::files::FileSet;
use language::yaml::{Advice, Content, Node};
use language::{FileContent, ReloadableFiles};

const ADVICE: Advice =
    Advice { of_empty_file: "write a list of ids, or [] if there are no holds", of_line: |_| "" };

#[derive(Default)]
pub struct HeldItems(Arc<HashSet<ItemId>>);

/// Holds of a path, reloaded on change and at SIGHUP. The default has no holds.
#[derive(Default)]
pub struct HoldFiles(pub Arc<ReloadableFiles<HeldItems>>);

impl HoldFiles {
    pub fn open(path: &Path) -> Result<Self, FileErrors> {
        let files = ReloadableFiles::open(path, |files, _| HeldItems::read(files))?;
        Ok(Self(files.into()))
    }
}

impl LegalHolds for HoldFiles {
    fn items(&self) -> Arc<HashSet<ItemId>> {
        Arc::clone(&self.0.current().0)
    }
}

impl FileContent for HeldItems {
    const NAME: &'static str = "legal holds";
    const KIND: &'static str = "legal_holds";
    const FILES: &'static str = "files of legal holds";

    fn log_change(&self) {
        let holds = self.0.len();
        tracing::info!(holds, "legal holds reloaded");
    }
}

impl HeldItems {
    fn read(mut files: FileSet) -> Result<Self, FileErrors> {
        let mut items = HashSet::new();
        for (file, tree) in files.trees(&ADVICE) {
            add_items(&tree, &mut items, &mut files.errors_of(&file));
        }
        files.finish(&[], true)?;
        Ok(Self(items.into()))
    }
}

fn add_items(tree: &Node, items: &mut HashSet<ItemId>, errors: &mut ErrorCollector<'_>) {
    let Content::List(entries) = &tree.content else {
        let reason = format!(
            "it is {} but must be a list: one id per line, after `- `",
            tree.with_article()
        );
        return errors.add(tree.place, reason);
    };
    for entry in entries {
        match entry.scalar().map(|scalar| (ItemId::parse(&scalar.text), &scalar.text)) {
            Some((Some(id), _)) if items.insert(id) => {}
            Some((Some(id), _)) => {
                errors.add(
                    entry.place,
                    format!("{id} is given more than once; remove the duplicates"),
                );
            }
            Some((None, text)) => {
                let shown: String = text.chars().take(60).collect();
                let reason = format!(
                    "`{shown}` is not an item id; write the 36 characters of `id` in lower case"
                );
                errors.add(entry.place, reason);
            }
            None => {
                let reason =
                    format!("it is {} but must be the id of an item", entry.with_article());
                errors.add(entry.place, reason);
            }
        }
    }
}

#[cfg(test)]
mod tests;
