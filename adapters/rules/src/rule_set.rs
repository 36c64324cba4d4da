//! The rules and cases of some files, all sound.

use std::path::Path;
use std::sync::Arc;

use application::{CaseReport, Rule, Rules, WrittenRule};
use domain::Collection;
use jiff::civil::Date;
use language::FileContent;
use language::error::{ErrorCollector, FileErrors};
use language::files::FileSet;
use language::keys::{self, Keys};
use language::yaml::Node;

use crate::cases::{self, Case, KnownRules};
use crate::definition;
use crate::file_format::{ADVICE, FILE, OPEN_GROUP};
use crate::file_rule::FileRule;

const MOST_RULES: usize = 1_000;
const MOST_CASES: usize = 10_000;

/// The rules and cases of some files.
#[derive(Default)]
pub struct RuleSet {
    rules: Vec<Arc<FileRule>>,
    /// In the order of [`Collection::all`].
    by_collection: Vec<Rules>,
    cases: Vec<Case>,
    /// The members that the files declare, beyond those that the domain knows.
    pub(crate) declared: Vec<(Collection, Box<str>)>,
}

impl RuleSet {
    /// Reads a file, or those files of a folder whose names end in `.yaml`, `.yml` or `.json`, in
    /// the order of their names. Hidden files and folders within are left out. `reserved` are the
    /// ids that the service uses itself, such as the codes of the rules in Rust.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub fn load(path: &Path, reserved: &[&str]) -> Result<Self, FileErrors> {
        Self::read(FileSet::read(path, Self::FILES), reserved)
    }

    /// Reads the rules of files, unless there are errors.
    pub(crate) fn read(mut files: FileSet, reserved: &[&str]) -> Result<Self, FileErrors> {
        let mut reader = RuleReader { reserved, ..RuleReader::default() };
        let trees = files.trees(&ADVICE);
        let mut keys = Vec::with_capacity(trees.len());
        for (file, tree) in &trees {
            let mut errors = files.errors_of(file);
            let Some(of_file) = Keys::of(tree, &FILE, Some(&[]), &mut errors) else { continue };
            reader.rules(&of_file, &mut errors);
            reader.members(&of_file, &mut errors);
            keys.push((file, of_file));
        }
        let cases = reader.cases(&keys, &mut files);
        files.finish(&["rules"], keys.iter().any(|(_, keys)| keys.get("rules").is_some()))?;
        let RuleReader { rules, declared, .. } = reader;
        let of = |collection| {
            let rules = rules.iter().filter(|rule| rule.collection == collection);
            rules.map(|rule| Arc::clone(rule) as Arc<dyn Rule>).collect()
        };
        let by_collection = Collection::all().map(of).collect();
        Ok(Self { rules, by_collection, cases, declared })
    }

    /// All rules, in the order of the files and of the rules in them.
    pub fn rules(&self) -> impl ExactSizeIterator<Item = &FileRule> {
        self.rules.iter().map(|rule| &**rule)
    }

    /// The rules about the items of a collection, in the same order.
    pub fn rules_of(&self, collection: Collection) -> Rules {
        self.by_collection.get(collection.index()).cloned().unwrap_or_default()
    }

    /// The rule of this id and its cases, as they are written.
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

    /// The ids of the rules, in the order of the files.
    pub fn ids(&self) -> Vec<String> {
        self.rules.iter().map(|rule| rule.id.to_string()).collect()
    }

    /// An explanation of each as of a day, in the same order.
    pub fn summaries(&self, today: Date) -> Vec<String> {
        self.rules.iter().map(|rule| rule.summary(today)).collect()
    }

    /// The number of cases.
    pub const fn case_count(&self) -> usize {
        self.cases.len()
    }

    /// Runs every case.
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
        tracing::info!(rules, "the rules were read again and are in force");
    }

    fn warn_if_empty(&self) {
        if self.rules.is_empty() {
            tracing::warn!("`rules: []` is in force: writes are not checked by rules from files");
        }
    }
}

#[derive(Default)]
struct RuleReader<'a> {
    reserved: &'a [&'a str],
    known: KnownRules,
    rules: Vec<Arc<FileRule>>,
    declared: Vec<(Collection, Box<str>)>,
}

impl RuleReader<'_> {
    fn rules(&mut self, keys: &Keys<'_>, errors: &mut ErrorCollector<'_>) {
        for node in keys.elements("rules") {
            if self.known.len() == MOST_RULES {
                errors.add(node.place, format!("there are more than {MOST_RULES} rules"));
                return;
            }
            self.rule(node, errors);
        }
    }

    fn rule(&mut self, node: &Node, errors: &mut ErrorCollector<'_>) {
        let Some((id, rule)) = definition::read(node, errors) else { return };
        if self.reserved.contains(&&*id) {
            errors.add(
                node.place,
                format!("the service uses the id `{id}` itself; choose another id"),
            );
        }
        if let Some((_, at)) = self.known.get(&id) {
            errors.add(
                node.place,
                format!("there is a rule `{id}` already, at {at}; choose another id"),
            );
            return;
        }
        let rule = rule.map(Arc::new);
        self.rules.extend(rule.clone());
        self.known.insert(id, (rule, format!("{}:{}", errors.file(), node.place.line)));
    }

    fn members(&mut self, keys: &Keys<'_>, errors: &mut ErrorCollector<'_>) {
        let Some(node) = keys.get("members") else { return };
        for entry in errors.take(keys::entries(node, "`members`")).unwrap_or_default() {
            errors.take(OPEN_GROUP.check(&entry.key, entry.place));
            let names = errors.take(keys::list(&entry.value, &entry.key)).unwrap_or_default();
            for name in names {
                let name = errors.take(keys::string(name, &entry.key));
                let declared = Collection::named(&entry.key).zip(name);
                self.declared.extend(declared.map(|(of, name)| (of, name.text.as_str().into())));
            }
        }
    }

    /// The cases, after all rules: a case may stand in another file than its rule.
    fn cases(&mut self, of_files: &[(&Arc<str>, Keys<'_>)], files: &mut FileSet) -> Vec<Case> {
        let (mut read, mut bytes_left) = (Vec::new(), cases::MOST_BYTES);
        for (file, keys) in of_files {
            let mut errors = files.errors_of(file);
            for node in keys.elements("cases") {
                if read.len() == MOST_CASES {
                    errors.add(node.place, format!("there are more than {MOST_CASES} cases"));
                    return read;
                }
                read.extend(cases::read(node, &self.known, &mut bytes_left, &mut errors));
            }
        }
        read
    }
}
