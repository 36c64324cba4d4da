//! The business rules in force, as they are published.

use std::sync::Arc;

use domain::{
    About, Collection, Document, Fields, Proposal, Resource, Rule, Severity, WriteOperation,
};
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
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::File => "file",
        }
    }
}

impl PublishedRule {
    fn new<R>(collection: Collection, rule: &dyn Rule<R>, home: RuleHome) -> Self {
        let About { message, message_expression, pointer, description, source, effective } =
            rule.about();
        Self {
            id: rule.code().to_owned(),
            collection,
            operations: rule.operations().to_vec(),
            severity: rule.severity(),
            message: message.map(Into::into),
            message_expression: message_expression.map(Into::into),
            pointer: pointer.map(Into::into),
            description: description.map(Into::into),
            source: source.map(Into::into),
            effective,
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
    #[must_use]
    pub fn edition(&self, _caller: &Caller) -> u64 {
        self.book.edition()
    }

    /// Returns all rules, collection by collection: those written in Rust, then those of the book.
    #[must_use]
    pub fn list(&self, _caller: &Caller) -> Vec<PublishedRule> {
        Collection::all().flat_map(|collection| self.of(collection)).collect()
    }

    /// Returns the rule of this id.
    #[must_use]
    pub fn get(&self, caller: &Caller, id: &str) -> Option<PublishedRule> {
        self.list(caller).into_iter().find(|rule| rule.id == id)
    }

    /// Returns the rule of this id and its cases as they are written, of a rule in a file.
    #[must_use]
    pub fn written(&self, _caller: &Caller, id: &str) -> Option<WrittenRule> {
        self.book.written(id)
    }

    fn of(&self, collection: Collection) -> Vec<PublishedRule> {
        let mut rules = match collection.spec().fields {
            Fields::Typed(_) => in_rust::<Proposal>(collection),
            Fields::Open(_) => in_rust::<Document>(collection),
        };
        rules.extend(
            self.book
                .rules(collection)
                .iter()
                .map(|rule| PublishedRule::new(collection, rule.as_ref(), RuleHome::File)),
        );
        rules
    }
}

fn in_rust<R: Resource>(collection: Collection) -> Vec<PublishedRule> {
    let rules = R::rules().iter();
    rules.map(|rule| PublishedRule::new(collection, *rule, RuleHome::Rust)).collect()
}
