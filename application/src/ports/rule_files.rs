//! Business rules in files, explained and tried before they are put in force.

use jiff::civil::Date;

/// Rules and their cases, all of which were read without an error.
pub trait RuleFiles: Send + Sync {
    /// The ids of the rules, in the order of the files.
    fn ids(&self) -> Vec<String>;

    /// An explanation of each rule as of a day, in the same order.
    fn summaries(&self, today: Date) -> Vec<String>;

    /// Warnings about what is likely a mistake as of a day, a line each.
    fn warnings(&self, today: Date) -> Vec<String>;

    /// The number of cases.
    fn case_count(&self) -> usize;

    /// Runs every case.
    fn run_cases(&self) -> Vec<CaseReport>;
}

/// The outcome of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseReport {
    /// The id of its rule.
    pub rule: String,
    /// The rule decided as the case expects.
    pub passed: bool,
    /// One line that names the case, what was expected and what the rule said.
    pub line: String,
}
