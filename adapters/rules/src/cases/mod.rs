//! Cases: writes with the expected verdict of a rule.

mod read;

use std::fmt::Write as _;
use std::sync::Arc;

use application::{CaseReport, WrittenCase};
use domain::{Found, Members, Transition, WriteContext};
use language::error::Location;

use crate::file_format::{FAIL, PASS};
use crate::file_rule::FileRule;

pub(crate) use read::{MOST_BYTES, read};

#[derive(Debug)]
pub(crate) struct Case {
    file: Arc<str>,
    place: Location,
    pub rule: Arc<FileRule>,
    pub written: WrittenCase,
    context: WriteContext,
    before: Option<Members>,
    after: Members,
    found: Vec<Found>,
}

impl Case {
    /// Judges the write as the service does. The results of lookups come from the case.
    pub fn run(&self) -> CaseReport {
        let judged = self.judge();
        let verdict = if judged.is_ok() { PASS } else { FAIL };
        let Self { file, place, rule, written: WrittenCase { name, expected, .. }, .. } = self;
        let passed = verdict == expected;
        let outcome = if passed { "ok" } else { "WRONG" };
        let mut line = format!("{outcome} {file}:{}: {}: {name}: {verdict}", place.line, rule.id);
        // Writing to a String cannot fail.
        if !passed {
            let _ = write!(line, ", expected {expected}");
        }
        if let Err(message) = judged {
            let _ = write!(line, ": {message}");
        }
        CaseReport { decided_by: vec![rule.id.to_string()], passed, line }
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
