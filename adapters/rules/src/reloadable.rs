use std::fmt;
use std::path::Path;
use std::sync::Arc;

use application::{RuleBook, Rules, WrittenRule};
use domain::Collection;
use language::ReloadableFiles;
use language::error::FileErrors;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use crate::metrics;
use crate::rule_set::RuleSet;

/// Rules of a path, reloaded on change and at SIGHUP. The default is empty.
#[derive(Debug, Default)]
pub struct ReloadableRules {
    pub files: Arc<ReloadableFiles<RuleSet>>,
}

impl ReloadableRules {
    pub fn open(path: &Path, reserved: &[&'static str]) -> Result<Self, FileErrors> {
        let reserved = reserved.to_vec();
        let files = ReloadableFiles::open(path, move |files, _| RuleSet::read(files, &reserved))?;
        Ok(Self { files: files.into() })
    }
}

impl RuleBook for ReloadableRules {
    fn rules(&self, collection: Collection) -> Rules {
        self.files.current().rules_of(collection)
    }

    fn written(&self, id: &str) -> Option<WrittenRule> {
        self.files.current().written(id)
    }

    fn edition(&self) -> u64 {
        self.files.edition()
    }
}

impl Collector for ReloadableRules {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let rules = self.files.current();
        let is_empty = self.files.has_files() && rules.rules().len() == 0;
        let rules: Vec<_> = rules.rules().map(|rule| (&*rule.id, &rule.verdicts)).collect();
        metrics::encode(&rules, is_empty, &mut encoder)
    }
}
