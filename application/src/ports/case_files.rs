//! Definitions in files, such as business rules, explained and tried before they are put in force.

use jiff::civil::Date;

/// Definitions of one kind and their cases, all of which were read without an error.
pub trait CaseFiles: Send + Sync {
    /// The ids of the definitions, in the order of the files.
    fn ids(&self) -> Vec<String>;

    /// An explanation of each definition as of a day, in the same order.
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
    /// The ids of the definitions that decided it.
    pub decided_by: Vec<String>,
    /// The decision is the one that the case expects.
    pub passed: bool,
    /// One line that names the case, what was expected and what was decided.
    pub line: String,
}
