//! Business rules, and the book of those that are not written in Rust.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{About, BuiltInRule, Collection, Lookup, Transition, Violation};

/// The business rules that are not written in Rust.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
pub trait RuleBook: Send + Sync {
    /// Returns the rules about the items of a collection as they are now, in the order in which
    /// their violations are reported. MUST cost next to nothing where there are none, and MUST be
    /// all of one edition.
    fn rules(&self, collection: Collection) -> Rules;

    /// Returns the rule of this id and its cases, as they are written.
    fn written(&self, id: &str) -> Option<WrittenRule>;

    /// Returns the edition of the rules; it differs whenever they were changed.
    fn edition(&self) -> u64;
}

/// A rule and its cases in the words of their author, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenRule {
    /// The rule, in YAML or JSON.
    pub definition: String,
    /// Its cases, in the order of the files.
    pub cases: Vec<WrittenCase>,
}

/// A case in the words of its author.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenCase {
    /// The name that its author gave it.
    pub name: String,
    /// The verdict that the rule is to give: `pass` or `fail`.
    pub expected: String,
    /// The case, in YAML or JSON.
    pub definition: String,
}

/// Rules of one edition about the items of one collection.
pub type Rules = Arc<[Arc<dyn Rule>]>;

/// A business rule, written in Rust or in a file. An evaluation MUST NOT block the calling thread
/// for long.
#[async_trait]
pub trait Rule: Send + Sync {
    /// Returns the properties of the rule.
    fn about(&self) -> About<'_>;

    /// Returns the members it reads. It is not evaluated while one of them is unreadable.
    fn fields(&self) -> Vec<&str>;

    /// Returns the other items it needs, at most [`Lookup::MOST`].
    ///
    /// # Errors
    /// The violation, when the lookups cannot be evaluated.
    async fn lookups(&self, transition: &Transition<'_>) -> Result<Vec<Lookup>, Violation>;

    /// Checks a write.
    ///
    /// # Errors
    /// The violation.
    async fn check(&self, transition: &Transition<'_>) -> Result<(), Violation>;

    /// Returns whether the rule has anything to check on such a write: its guard holds, or cannot be
    /// evaluated. Audits count by it.
    async fn applies(&self, _transition: &Transition<'_>) -> bool {
        true
    }
}

#[async_trait]
impl Rule for BuiltInRule {
    fn about(&self) -> About<'_> {
        self.about
    }

    fn fields(&self) -> Vec<&str> {
        self.fields.to_vec()
    }

    async fn lookups(&self, transition: &Transition<'_>) -> Result<Vec<Lookup>, Violation> {
        (self.lookups)(transition)
    }

    async fn check(&self, transition: &Transition<'_>) -> Result<(), Violation> {
        (self.check)(transition)
    }
}

/// The outcome of a case: a decision that is tried before its files are put in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseReport {
    /// The ids of the definitions that decided it.
    pub decided_by: Vec<String>,
    /// True if the decision is the expected one.
    pub passed: bool,
    /// The name of the case, the expected and the actual decision, in one line.
    pub line: String,
}
