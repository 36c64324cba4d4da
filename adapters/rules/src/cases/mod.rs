//! Cases: writes that are written down with the verdict a rule is to give.

mod read;

use std::fmt;
use std::sync::Arc;

use domain::{Found, Members, Transition, WriteContext};

use crate::error::Location;
use crate::expectation::Expectation;
use crate::file_rule::FileRule;

pub(crate) use read::{Budget, read};

/// The outcome of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseOutcome {
    /// The file it is in.
    pub file: Arc<str>,
    /// Where in the file it begins.
    pub place: Location,
    /// The id of its rule.
    pub rule: Box<str>,
    /// Its name.
    pub name: Box<str>,
    /// The verdict that the case expects.
    pub expected: Expectation,
    /// The verdict that the rule gave.
    pub got: Expectation,
    /// The message of the violation.
    pub message: Option<String>,
}

impl CaseOutcome {
    /// Returns `true` if the rule gave the expected verdict.
    #[must_use]
    pub fn is_as_expected(&self) -> bool {
        self.expected == self.got
    }
}

impl fmt::Display for CaseOutcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, place, rule, name, expected, got, message } = self;
        let verdict = if self.is_as_expected() { "ok" } else { "WRONG" };
        write!(formatter, "{verdict} {file}:{}: {rule}: {name}: {}", place.line, got.name())?;
        if !self.is_as_expected() {
            write!(formatter, " where {} was expected", expected.name())?;
        }
        message.as_ref().map_or(Ok(()), |message| write!(formatter, ": {message}"))
    }
}

/// A write, and what its rule is to say.
#[derive(Debug)]
pub(crate) struct Case {
    file: Arc<str>,
    place: Location,
    rule: Arc<FileRule>,
    name: Box<str>,
    context: WriteContext,
    before: Option<Members>,
    after: Members,
    found: Vec<Found>,
    expected: Expectation,
}

impl Case {
    /// Returns whether it is a case of a rule.
    pub fn is_of(&self, rule: &FileRule) -> bool {
        std::ptr::eq(&raw const *self.rule, rule)
    }

    /// Judges it as the service would judge the write, with what is written in place of what would
    /// be looked up.
    pub fn run(&self) -> CaseOutcome {
        let message = self.judge().err();
        CaseOutcome {
            file: self.file.clone(),
            place: self.place,
            rule: self.rule.id().into(),
            name: self.name.clone(),
            expected: self.expected,
            got: if message.is_none() { Expectation::Pass } else { Expectation::Fail },
            message,
        }
    }

    fn judge(&self) -> Result<(), String> {
        if !self.rule.applies_to(self.context.operation, self.context.today) {
            return Ok(());
        }
        let transition = Transition {
            before: self.before.as_ref(),
            after: &self.after,
            context: &self.context,
            found: &[],
        };
        self.rule.judge_case(&transition, &self.found)
    }
}
