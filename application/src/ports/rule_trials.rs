use std::sync::Arc;

use async_trait::async_trait;
use domain::{Collection, Found, Lookup, Members, Pointer, Violations, WriteContext};

use super::Result;

#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait RuleTrials: Send + Sync {
    /// Evaluates a rule or an expression as a write of the item would. MUST take no more time and
    /// memory than an evaluation for a write may, and MUST NOT block other tasks of the calling
    /// thread for long. Lookups that are not given are made in `stored` if the trial wants it; otherwise
    /// their results are unknown.
    ///
    /// The operation of the context determines whether the item existed before. The trial then
    /// takes an operation of that kind that the rule judges.
    ///
    /// Errors are the parts of the trial that do not fit the rule, under the names that rules use.
    async fn run(
        &self,
        trial: &RuleTrial,
        context: WriteContext,
        stored: Arc<dyn TrialLookups>,
    ) -> Result<Result<TrialReport, Violations>>;
}

/// The stored items that a trial may look up.
#[async_trait]
pub trait TrialLookups: Send + Sync {
    /// Returns the result of a lookup over the items and members that the caller may read; `None` if
    /// the caller may not read the collection.
    async fn look_up(&self, lookup: &Lookup) -> Result<Option<Found>>;
}

#[derive(Clone, Debug)]
pub struct RuleTrial {
    pub subject: TrialSubject,
    pub collection: Collection,
    /// The item after the write; it may have an `id`. Required if the rule reads it.
    pub after: Option<Members>,
    pub before: Option<Members>,
    /// Results of lookups. They take precedence over stored items.
    pub lookups: Vec<(String, TrialLookup)>,
    pub looks_up_stored: bool,
    pub makes_case: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrialSubject {
    Expression(String),
    Yaml(String),
    Json(String),
}

#[derive(Clone, Debug)]
pub enum TrialLookup {
    One(Option<Members>),
    Many(Vec<Members>),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrialReport {
    pub verdict: TrialVerdict,
    /// The reason why the rule has nothing to check.
    pub skipped: Option<String>,
    pub value: Option<TrialValue>,
    pub message: Option<String>,
    pub trace: Vec<TracedExpression>,
    pub is_trace_cut: bool,
    /// The errors that prevent a verdict or a message.
    pub errors: Vec<TrialError>,
    /// The trial as a case of a rule file, if one was wanted and has all results of lookups.
    pub case: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrialVerdict {
    Pass,
    Fail,
    /// An error occurred, or an expression is neither true nor false.
    #[default]
    Undecided,
}

impl TrialVerdict {
    pub const ALL: [Self; 3] = [Self::Pass, Self::Fail, Self::Undecided];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Undecided => "undecided",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialValue {
    pub json: String,
    /// The value is truncated.
    pub is_cut: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedExpression {
    pub expression: String,
    pub outcome: Result<TrialValue, String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialError {
    pub message: String,
    pub pointer: Pointer,
    /// Line and column in the string, both from 1; `None` for the value as a whole.
    pub place: Option<(u32, u32)>,
}
