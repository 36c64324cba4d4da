//! Cases in files: decisions that are tried before the files are put in force.

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
