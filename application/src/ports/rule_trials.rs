//! Business rules that are tried on an item, and put in force nowhere.

use async_trait::async_trait;
use domain::{Collection, Members, Pointer, Violations, WriteContext};

/// Tries rules of the kind that stands in rule files.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait RuleTrials: Send + Sync {
    /// Evaluates a rule or an expression as a write of the item would, and tells how. MUST take no
    /// more time and memory than an evaluation for a write may, and MUST NOT keep other tasks of the
    /// calling thread waiting for long. MUST NOT look anything up: what is not given is not known.
    ///
    /// The operation of the context says if there was such an item before; of the operations that
    /// are meant by that, one that the rule judges is taken.
    ///
    /// # Errors
    /// The parts of the trial that do not fit the rule, under the names that rules give them.
    async fn run(
        &self,
        trial: &RuleTrial,
        context: WriteContext,
    ) -> Result<TrialReport, Violations>;
}

/// A rule or an expression, and what it is tried on.
#[derive(Clone, Debug)]
pub struct RuleTrial {
    /// The thing to try.
    pub subject: TrialSubject,
    /// The collection of the item.
    pub collection: Collection,
    /// The item as it would be; it may have an `id`. It is needed where the rule reads it.
    pub after: Option<Members>,
    /// The item as it was; `None` on a create.
    pub before: Option<Members>,
    /// The results of lookups, by their names.
    pub lookups: Vec<(String, TrialLookup)>,
}

/// The thing that is tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrialSubject {
    /// An expression alone.
    Expression(String),
    /// A rule as it stands in a rule file.
    Yaml(String),
    /// The same as compact JSON.
    Json(String),
}

/// The result of a lookup.
#[derive(Clone, Debug)]
pub enum TrialLookup {
    /// One item, or none.
    One(Option<Members>),
    /// Any number of items.
    Many(Vec<Members>),
}

/// The outcome of a trial.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrialReport {
    /// The verdict.
    pub verdict: TrialVerdict,
    /// The reason for which the rule has nothing to check, where it has not.
    pub skipped: Option<String>,
    /// The value of the expression, if it has one.
    pub value: Option<TrialValue>,
    /// The rule's message, where it does not pass.
    pub message: Option<String>,
    /// The parts of the expressions in the order in which they were evaluated.
    pub trace: Vec<TracedExpression>,
    /// There were more parts than the trace shows.
    pub is_trace_cut: bool,
    /// The errors, for which there is no verdict or no message.
    pub errors: Vec<TrialError>,
}

/// The verdict of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrialVerdict {
    /// The rule passes, or has nothing to check.
    Pass,
    /// It does not.
    Fail,
    /// There is an error, or an expression is neither true nor false.
    #[default]
    Undecided,
}

impl TrialVerdict {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::Pass, Self::Fail, Self::Undecided];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Undecided => "undecided",
        }
    }
}

/// A value, of limited size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialValue {
    /// The value as JSON.
    pub json: String,
    /// The end of a string, of a list or of a map is missing.
    pub is_cut: bool,
}

/// A part of an expression that was evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedExpression {
    /// Its source.
    pub expression: String,
    /// Its value, or why it has none.
    pub outcome: Result<TrialValue, String>,
}

/// An error of the thing that is tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialError {
    /// The error and how to fix it.
    pub message: String,
    /// Where it is, within the thing that is tried.
    pub pointer: Pointer,
    /// Line and column in the string there, both from 1; `None` where it is the value as a whole.
    pub place: Option<(u32, u32)>,
}
