//! The rules that hold now, and how they are replaced by those that are in the files now.

use parking_lot::RwLock;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use application::{RuleBook, Rules, WrittenRule};
use domain::Collection;
use language::error::FileErrors;
use language::files::Fingerprint;
use language::{Reload, TrackedFiles};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use crate::file_format::KIND_OF_FILES;
use crate::metrics;
use crate::rule_set::RuleSet;

/// The rules of a path, read again when it is asked for.
///
/// The rules in force are behind a lock that is held for a read of a pointer, or for its
/// replacement: without a writer it costs two atomic operations, and rules are never read or
/// compiled while it is held.
#[derive(Debug, Default)]
pub struct ReloadableRules {
    source: Option<Source>,
    current: RwLock<Arc<RuleSet>>,
}

#[derive(Debug)]
struct Source {
    files: TrackedFiles,
    reserved: Vec<String>,
}

impl ReloadableRules {
    /// No rules, for good.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// The rules of a file or folder, as [`RuleSet::load`] reads them.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub fn open(path: &Path, reserved: &[&str]) -> Result<Self, FileErrors> {
        let (files, read, errors) = TrackedFiles::open(path, KIND_OF_FILES);
        let rules = RuleSet::from_files(&read, errors, reserved)?;
        let reserved = reserved.iter().map(ToString::to_string).collect();
        Ok(Self { source: Some(Source { files, reserved }), current: RwLock::new(rules.into()) })
    }

    /// The rules in force.
    pub fn current(&self) -> Arc<RuleSet> {
        self.current.read().clone()
    }

    /// True if there are files, and no rule in them.
    fn has_empty_files(&self) -> bool {
        self.source.is_some() && self.current().rules().len() == 0
    }
}

impl Reload for ReloadableRules {
    const NAME: &'static str = "rules";
    const KIND: &'static str = "rules";

    fn has_files(&self) -> bool {
        self.source.is_some()
    }

    fn changed(&self) -> Option<Fingerprint> {
        self.source.as_ref()?.files.changed()
    }

    /// Puts the rules of the files in force. Without files there is nothing to read.
    fn reload(&self) -> Result<bool, FileErrors> {
        let Some(source) = &self.source else { return Ok(false) };
        let reserved: Vec<_> = source.reserved.iter().map(String::as_str).collect();
        source.files.read_again(|files, errors| {
            let rules = Arc::new(RuleSet::from_files(files, errors, &reserved)?);
            let old = std::mem::replace(&mut *self.current.write(), rules.clone());
            Ok(old.edition() != rules.edition())
        })
    }

    fn log_change(&self) {
        let rules = self.current().rules().len();
        tracing::info!(rules, "the rules were read again and are in force");
    }

    fn warn_if_empty(&self) {
        if self.has_empty_files() {
            tracing::warn!("`rules: []` is in force: writes are not checked by rules from files");
        }
    }
}

impl RuleBook for ReloadableRules {
    fn rules(&self, collection: Collection) -> Rules {
        self.current.read().rules_of(collection)
    }

    fn written(&self, id: &str) -> Option<WrittenRule> {
        self.current().written(id)
    }

    fn edition(&self) -> u64 {
        self.current.read().edition()
    }
}

impl Collector for ReloadableRules {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let rules = self.current();
        let rules: Vec<_> = rules.rules().map(|rule| (&*rule.id, &rule.verdicts)).collect();
        metrics::encode(&rules, self.has_empty_files(), &mut encoder)
    }
}
