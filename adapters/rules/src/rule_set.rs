//! The rules and cases of some files, all sound.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use application::{BookRule, CaseReport, Rules, WrittenRule};
use domain::Collection;
use jiff::civil::Date;
use language::error::{ErrorCollector, FileError, FileErrors};
use language::files::{self, Fingerprint, SourceFile};
use language::keys::{self, Keys};
use language::yaml::Node;

use crate::cases::{self, Case, KnownRules};
use crate::definition;
use crate::file_format::{FILE, KIND_OF_FILES, OPEN_GROUP};
use crate::file_rule::FileRule;
use crate::yaml::{self, MOST_VALUES};

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
    edition: u64,
}

impl fmt::Debug for RuleSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.rules.iter().map(|rule| &rule.id)).finish()
    }
}

impl RuleSet {
    /// Reads a file, or those files of a folder whose names end in `.yaml`, `.yml` or `.json`, in
    /// the order of their names. Hidden files and folders within are left out. `reserved` are the
    /// ids that the service uses itself, such as the codes of the rules in Rust.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub fn load(path: &Path, reserved: &[&str]) -> Result<Self, FileErrors> {
        let (files, errors) = files::read(path, KIND_OF_FILES);
        Self::from_files(&files, errors, reserved)
    }

    /// The rules of files that were read, unless there are errors.
    pub(crate) fn from_files(
        files: &[SourceFile],
        errors: FileErrors,
        reserved: &[&str],
    ) -> Result<Self, FileErrors> {
        let edition = Fingerprint::of(files, &errors).number();
        let mut reader = Reader { reserved, errors, ..Reader::default() };
        let mut values_left = MOST_VALUES;
        let trees: Vec<_> = files
            .iter()
            .filter_map(|file| Some((&file.name, reader.tree(file, &mut values_left)?)))
            .collect();
        let (mut keys, mut has_list) = (Vec::with_capacity(trees.len()), false);
        for (file, tree) in &trees {
            let mut errors = ErrorCollector::new(file, &mut reader.errors);
            let Some(of_file) = Keys::of(tree, &FILE, Some(&[]), &mut errors) else { continue };
            has_list |= of_file.get("rules").is_some();
            reader.rules(file, &of_file);
            reader.members(file, &of_file);
            keys.push((*file, of_file));
        }
        let cases = reader.cases(&keys);
        files::require_list(&["rules"], has_list, files, &mut reader.errors);
        if !reader.errors.is_empty() {
            return Err(reader.errors.sorted());
        }
        let Reader { rules, declared, .. } = reader;
        let of = |collection| {
            let rules = rules.iter().filter(|rule| rule.collection == collection);
            rules.map(|rule| Arc::clone(rule) as Arc<dyn BookRule>).collect()
        };
        Ok(Self {
            by_collection: Collection::all().map(of).collect(),
            rules,
            cases,
            declared,
            edition,
        })
    }

    /// All rules, in the order of the files and of the rules in them.
    #[must_use]
    pub fn rules(&self) -> impl ExactSizeIterator<Item = &FileRule> {
        self.rules.iter().map(|rule| &**rule)
    }

    /// The rules about the items of a collection, in the same order.
    #[must_use]
    pub fn rules_of(&self, collection: Collection) -> Rules {
        self.by_collection.get(collection.index()).cloned().unwrap_or_default()
    }

    /// A number that other content would not have; 0 for no files at all.
    #[must_use]
    pub const fn edition(&self) -> u64 {
        self.edition
    }

    /// The rule of this id and its cases, as they are written.
    #[must_use]
    pub fn written(&self, id: &str) -> Option<WrittenRule> {
        let rule = self.rules.iter().find(|rule| &*rule.id == id)?;
        let cases = self.cases.iter().filter(|case| case.rule.id == rule.id);
        Some(WrittenRule {
            definition: rule.definition.to_string(),
            cases: cases.map(Case::written).collect(),
        })
    }

    pub(crate) fn has_case(&self, rule: &FileRule) -> bool {
        self.cases.iter().any(|case| case.rule.id == rule.id)
    }

    /// The ids of the rules, in the order of the files.
    #[must_use]
    pub fn ids(&self) -> Vec<String> {
        self.rules.iter().map(|rule| rule.id.to_string()).collect()
    }

    /// An explanation of each as of a day, in the same order.
    #[must_use]
    pub fn summaries(&self, today: Date) -> Vec<String> {
        self.rules.iter().map(|rule| rule.summary(today)).collect()
    }

    /// Warnings about likely mistakes as of a day, a line each.
    #[must_use]
    pub fn warnings(&self, today: Date) -> Vec<String> {
        self.likely_mistakes(today).iter().map(FileError::to_string).collect()
    }

    /// The number of cases.
    #[must_use]
    pub const fn case_count(&self) -> usize {
        self.cases.len()
    }

    /// Runs every case.
    #[must_use]
    pub fn run_cases(&self) -> Vec<CaseReport> {
        self.cases.iter().map(Case::run).collect()
    }
}

#[derive(Default)]
struct Reader<'a> {
    reserved: &'a [&'a str],
    errors: FileErrors,
    known: KnownRules,
    rules: Vec<Arc<FileRule>>,
    declared: Vec<(Collection, Box<str>)>,
}

impl Reader<'_> {
    fn tree(&mut self, file: &SourceFile, values_left: &mut usize) -> Option<Arc<Node>> {
        let mut errors = ErrorCollector::new(&file.name, &mut self.errors);
        let text = file.text(&mut errors)?;
        yaml::parse(text, values_left, &mut errors)
    }

    fn rules(&mut self, file: &Arc<str>, keys: &Keys<'_>) {
        for node in keys.elements("rules") {
            if self.known.len() == MOST_RULES {
                ErrorCollector::new(file, &mut self.errors)
                    .add(node.place, format!("there are more than {MOST_RULES} rules"));
                return;
            }
            self.rule(file, node);
        }
    }

    fn rule(&mut self, file: &Arc<str>, node: &Node) {
        let mut errors = ErrorCollector::new(file, &mut self.errors);
        let Some((id, rule)) = definition::read(node, file, &mut errors) else { return };
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
        self.known.insert(id, (rule, format!("{file}:{}", node.place.line)));
    }

    fn members(&mut self, file: &Arc<str>, keys: &Keys<'_>) {
        let mut errors = ErrorCollector::new(file, &mut self.errors);
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
    fn cases(&mut self, files: &[(&Arc<str>, Keys<'_>)]) -> Vec<Case> {
        let (mut read, mut bytes_left) = (Vec::new(), cases::MOST_BYTES);
        for (file, keys) in files {
            let mut errors = ErrorCollector::new(file, &mut self.errors);
            for node in keys.elements("cases") {
                if read.len() == MOST_CASES {
                    errors.add(node.place, format!("there are more than {MOST_CASES} cases"));
                    return read;
                }
                read.extend(cases::read(node, file, &self.known, &mut bytes_left, &mut errors));
            }
        }
        read
    }
}
