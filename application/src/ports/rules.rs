use std::sync::Arc;

use async_trait::async_trait;
use domain::{About, BuiltInRule, Collection, Lookup, Transition, Violation};

#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
pub trait RuleBook: Send + Sync {
    /// Returns the current rules of a collection, in the order in which their violations are
    /// reported. MUST cost next to nothing without rules, and MUST be all of one edition.
    fn rules(&self, collection: Collection) -> Rules;

    /// Returns the source of a rule and of its cases.
    fn written(&self, id: &str) -> Option<WrittenRule>;

    /// The edition; it differs after every change of the rules.
    fn edition(&self) -> u64;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenRule {
    pub definition: String,
    pub cases: Vec<WrittenCase>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenCase {
    pub name: String,
    pub expected: String,
    pub definition: String,
}

pub type Rules = Arc<[Arc<dyn Rule>]>;

/// A business rule, in Rust or in a file. An evaluation MUST NOT block the calling thread for long.
#[async_trait]
pub trait Rule: Send + Sync {
    fn about(&self) -> About<'_>;

    /// The members it reads. It is not evaluated while one of them is unreadable.
    fn fields(&self) -> Vec<&str>;

    /// The other items it needs, at most [`Lookup::MOST`] in all: those after the results in
    /// `transition`, as far as these determine them. Empty if all are known.
    async fn lookups(&self, transition: &Transition<'_>) -> Result<Vec<Lookup>, Violation>;

    async fn check(&self, transition: &Transition<'_>) -> Result<(), Violation>;

    /// Returns whether the rule has anything to check: its guard holds, or cannot be evaluated.
    /// Audits count by it.
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
        let lookups = (self.lookups)(transition)?;
        Ok(lookups.into_iter().skip(transition.found.len()).collect())
    }

    async fn check(&self, transition: &Transition<'_>) -> Result<(), Violation> {
        (self.check)(transition)
    }
}

/// The outcome of a test case, which runs before its files come into force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseReport {
    pub decided_by: Vec<String>,
    pub passed: bool,
    pub line: String,
}
