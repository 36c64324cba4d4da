//! Labels in a file: an agency's name, logo, labels, choices and help texts, by language.

mod file_format;
mod reader;

use std::path::Path;
use std::sync::Arc;

use application::{LabelSet, Labels};
use language::error::FileErrors;
use language::{FileContent, ReloadableFiles};

pub use file_format::schema;

/// The labels of a file, reloaded on change and at SIGHUP.
#[derive(Debug)]
pub struct ReloadableLabels {
    pub files: Arc<ReloadableFiles<InForce>>,
}

#[derive(Debug)]
pub struct InForce(Arc<LabelSet>);

impl ReloadableLabels {
    pub fn open(path: &Path) -> Result<Self, FileErrors> {
        let read = |files, _: Option<&InForce>| Ok(InForce(Arc::new(reader::read(files)?)));
        Ok(Self { files: Arc::new(ReloadableFiles::open(path, read)?) })
    }
}

impl FileContent for InForce {
    const NAME: &'static str = "labels";
    const KIND: &'static str = "labels";
    const FILES: &'static str = "label files";

    fn log_change(&self) {
        let languages = self.0.languages.join(", ");
        tracing::info!(languages, "the label file was reloaded and is in force");
    }
}

impl Labels for ReloadableLabels {
    fn in_force(&self) -> Arc<LabelSet> {
        Arc::clone(&self.files.current().0)
    }

    fn edition(&self) -> u64 {
        self.files.edition()
    }
}
