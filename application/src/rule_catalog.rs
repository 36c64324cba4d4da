use std::sync::Arc;

use domain::{About, Collection, Severity, WriteOperation};
use jiff::civil::Date;

use crate::Caller;
use crate::ports::{RuleBook, WrittenRule};

#[derive(Clone, Debug)]
pub struct PublishedRule {
    pub id: String,
    pub collection: Collection,
    pub operations: Vec<WriteOperation>,
    pub severity: Severity,
    pub message: Option<String>,
    /// The expression that computes the message.
    pub message_expression: Option<String>,
    /// The RFC 6901 pointer of its violations.
    pub pointer: Option<String>,
    pub description: Option<String>,
    pub source: Option<String>,
    /// The first and the last day on which it is in force.
    pub effective: (Option<Date>, Option<Date>),
    pub home: RuleHome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleHome {
    Rust,
    File,
}

impl RuleHome {
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

#[derive(Clone)]
pub struct RuleCatalog {
    book: Arc<dyn RuleBook>,
}

impl RuleCatalog {
    pub fn new(book: Arc<dyn RuleBook>) -> Self {
        Self { book }
    }

    /// The edition; it differs after every change of the rules.
    pub fn edition(&self, _caller: &Caller) -> u64 {
        self.book.edition()
    }

    /// Returns all rules by collection: those in Rust, then those of the book.
    pub fn list(&self, _caller: &Caller) -> Vec<PublishedRule> {
        Collection::all().flat_map(|collection| self.of(collection)).collect()
    }

    pub fn get(&self, caller: &Caller, id: &str) -> Option<PublishedRule> {
        self.list(caller).into_iter().find(|rule| rule.id == id)
    }

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
