//! The business rules in force, as they are published.

use std::sync::Arc;

use domain::{About, Collection, Severity, WriteOperation};
use jiff::civil::Date;

use crate::Caller;
use crate::ports::{RuleBook, WrittenRule};

/// A rule as it is published.
#[derive(Clone, Debug)]
pub struct PublishedRule {
    /// Its code.
    pub id: String,
    /// The collection whose items it judges.
    pub collection: Collection,
    /// The writes it judges.
    pub operations: Vec<WriteOperation>,
    /// Its effect on a write.
    pub severity: Severity,
    /// The message of its violations, when it is always the same.
    pub message: Option<String>,
    /// The expression that makes the message otherwise.
    pub message_expression: Option<String>,
    /// The RFC 6901 pointer of its violations.
    pub pointer: Option<String>,
    /// Its purpose.
    pub description: Option<String>,
    /// The guideline or memo it comes from.
    pub source: Option<String>,
    /// The first and the last day on which it holds.
    pub effective: (Option<Date>, Option<Date>),
    /// Where it is written.
    pub home: RuleHome,
}

/// Where a rule is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleHome {
    /// In Rust.
    Rust,
    /// In a rule file.
    File,
}

impl RuleHome {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::File => "file",
        }
    }
}

impl PublishedRule {
    fn new(collection: Collection, rule: &About<'_>, home: RuleHome) -> Self {
        Self {
            id: rule.code.to_owned(),
            collection,
            operations: rule.operations.to_vec(),
            severity: rule.severity,
            message: rule.message.map(Into::into),
            message_expression: rule.message_expression.map(Into::into),
            pointer: rule.pointer.map(Into::into),
            description: rule.description.map(Into::into),
            source: rule.source.map(Into::into),
            effective: rule.effective,
            home,
        }
    }
}

/// Lists the rules in force.
#[derive(Clone)]
pub struct RuleCatalog {
    book: Arc<dyn RuleBook>,
}

impl RuleCatalog {
    /// The rules written in Rust, and those of a rule book.
    pub fn new(book: Arc<dyn RuleBook>) -> Self {
        Self { book }
    }

    /// Returns the edition of the rules; it differs whenever they were changed.
    pub fn edition(&self, _caller: &Caller) -> u64 {
        self.book.edition()
    }

    /// Returns all rules, collection by collection: those written in Rust, then those of the book.
    pub fn list(&self, _caller: &Caller) -> Vec<PublishedRule> {
        Collection::all().flat_map(|collection| self.of(collection)).collect()
    }

    /// Returns the rule of this id.
    pub fn get(&self, caller: &Caller, id: &str) -> Option<PublishedRule> {
        self.list(caller).into_iter().find(|rule| rule.id == id)
    }

    /// Returns the rule of this id and its cases as they are written, of a rule in a file.
    pub fn written(&self, _caller: &Caller, id: &str) -> Option<WrittenRule> {
        self.book.written(id)
    }

    fn of(&self, collection: Collection) -> Vec<PublishedRule> {
        let book = self.book.rules(collection);
        let in_rust = collection.rules().iter().map(|rule| (rule.about, RuleHome::Rust));
        let in_files = book.iter().map(|rule| (rule.about(), RuleHome::File));
        let rules = in_rust.chain(in_files);
        rules.map(|(about, home)| PublishedRule::new(collection, &about, home)).collect()
    }
}
