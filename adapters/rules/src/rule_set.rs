//! Rules and cases of files without errors.

use std::path::Path;
use std::sync::Arc;

use application::{CaseReport, Rule, Rules, WrittenRule};
use domain::Collection;
use jiff::civil::Date;
use language::FileContent;
use language::error::{ErrorCollector, FileErrors};
use language::files::FileSet;
use language::keys::{self, ById, Keys, read_elements};
use language::yaml::Node;

use crate::cases::{self, Case};
use crate::definition;
use crate::file_format::{ADVICE, FILE, OPEN_GROUP};
use crate::file_rule::FileRule;

const MOST_CASES: usize = 10_000;

#[derive(Default)]
pub struct RuleSet {
    rules: Vec<Arc<FileRule>>,
    /// In the order of [`Collection::all`].
    by_collection: Vec<Rules>,
    cases: Vec<Case>,
    /// Members that the files declare, in addition to those of the domain.
    pub(crate) declared: Vec<(Collection, Box<str>)>,
}

impl RuleSet {
    /// Reads a file, or the files of a folder with the extension `.yaml`, `.yml` or `.json`, sorted
    /// by name. Skips hidden files and subfolders. `reserved` are ids of the service itself, such
    /// as the codes of the rules in Rust.
    pub fn load(path: &Path, reserved: &[&str]) -> Result<Self, FileErrors> {
        Self::read(FileSet::read(path, Self::FILES), reserved)
    }

    pub(crate) fn read(mut files: FileSet, reserved: &[&str]) -> Result<Self, FileErrors> {
        let (mut rules, mut known, mut declared) = (Vec::new(), ById::default(), Vec::new());
        let read = |node: &Node, errors: &mut ErrorCollector<'_>| {
            let (id, rule) = definition::read(node, errors)?;
            if reserved.contains(&&*id) {
                let reason =
                    format!("the id `{id}` is reserved for the service; choose another id");
                errors.add(node.place, reason);
            }
            Some((id, rule))
        };
        let trees = files.trees(&ADVICE);
        let mut keys = Vec::with_capacity(trees.len());
        for (file, tree) in &trees {
            let mut errors = files.errors_of(file);
            let Some(of_file) = Keys::of(tree, &FILE, Some(&[]), &mut errors) else { continue };
            let names = ("rules", "rule");
            rules.extend(read_elements(&of_file, names, &mut known, &mut errors, read));
            declared.extend(members(&of_file, &mut errors));
            keys.push((file, of_file));
        }
        let cases = cases(&keys, &known, &mut files);
        files.finish(&["rules"], keys.iter().any(|(_, keys)| keys.get("rules").is_some()))?;
        let of = |collection| {
            let rules = rules.iter().filter(|rule| rule.collection == collection);
            rules.map(|rule| Arc::clone(rule) as Arc<dyn Rule>).collect()
        };
        let by_collection = Collection::all().map(of).collect();
        Ok(Self { rules, by_collection, cases, declared })
    }

    pub fn rules(&self) -> impl ExactSizeIterator<Item = &FileRule> {
        self.rules.iter().map(|rule| &**rule)
    }

    pub fn rules_of(&self, collection: Collection) -> Rules {
        self.by_collection.get(collection.index()).cloned().unwrap_or_default()
    }

    pub fn written(&self, id: &str) -> Option<WrittenRule> {
        let rule = self.rules.iter().find(|rule| &*rule.id == id)?;
        let cases = self.cases.iter().filter(|case| case.rule.id == rule.id);
        Some(WrittenRule {
            definition: rule.definition.to_string(),
            cases: cases.map(|case| case.written.clone()).collect(),
        })
    }

    pub(crate) fn has_case(&self, rule: &FileRule) -> bool {
        self.cases.iter().any(|case| case.rule.id == rule.id)
    }

    pub fn ids(&self) -> Vec<String> {
        self.rules.iter().map(|rule| rule.id.to_string()).collect()
    }

    pub fn summaries(&self, today: Date) -> Vec<String> {
        self.rules.iter().map(|rule| rule.summary(today)).collect()
    }

    pub const fn case_count(&self) -> usize {
        self.cases.len()
    }

    pub fn run_cases(&self) -> Vec<CaseReport> {
        self.cases.iter().map(Case::run).collect()
    }
}

impl FileContent for RuleSet {
    const NAME: &'static str = "rules";
    const KIND: &'static str = "rules";
    const FILES: &'static str = "rule files";

    fn log_change(&self) {
        let rules = self.rules.len();
        tracing::info!(rules, "the rules were reloaded and are in force");
    }

    fn warn_if_empty(&self) {
        if self.rules.is_empty() {
            tracing::warn!("`rules: []` is in force: writes are not checked by rules from files");
        }
    }
}

fn members(keys: &Keys<'_>, errors: &mut ErrorCollector<'_>) -> Vec<(Collection, Box<str>)> {
    let mut declared = Vec::new();
    let entries = keys.get("members").and_then(|it| errors.take(keys::entries(it, "`members`")));
    for entry in entries.unwrap_or_default() {
        errors.take(OPEN_GROUP.check(&entry.key, entry.place));
        let names = errors.take(keys::list(&entry.value, &entry.key)).unwrap_or_default();
        for name in names {
            let name = errors.take(keys::string(name, &entry.key));
            let of = Collection::named(&entry.key).zip(name);
            declared.extend(of.map(|(of, name)| (of, name.text.as_str().into())));
        }
    }
    declared
}

/// Reads the cases after all rules: a case may be in another file than its rule.
fn cases(
    of_files: &[(&Arc<str>, Keys<'_>)],
    rules: &ById<FileRule>,
    files: &mut FileSet,
) -> Vec<Case> {
    let (mut read, mut bytes_left) = (Vec::new(), cases::MOST_BYTES);
    for (file, keys) in of_files {
        let mut errors = files.errors_of(file);
        for node in keys.elements("cases") {
            if read.len() == MOST_CASES {
                errors.add(node.place, format!("there are more than {MOST_CASES} cases"));
                return read;
            }
            read.extend(cases::read(node, rules, &mut bytes_left, &mut errors));
        }
    }
    read
}
