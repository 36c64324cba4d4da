//! The errors of a body. All of them are reported together, each with its place.

use std::borrow::Cow;

use exact_json::Pointer;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    pub pointer: Pointer,
    /// The invalid member; empty for the whole item or body.
    pub field: Box<str>,
    /// A stable word for programs, such as `required`.
    pub code: Cow<'static, str>,
    pub detail: String,
    /// The business rule that found it.
    pub rule: Option<Box<str>>,
    /// The reason why a rule could not be decided. Only for the operator, because it may quote
    /// items that the caller may not read.
    #[serde(skip)]
    pub undecided: Option<Box<str>>,
}

impl Violation {
    pub fn new(
        pointer: Pointer,
        code: impl Into<Cow<'static, str>>,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            field: pointer.first_name().into(),
            pointer,
            code: code.into(),
            detail: detail.into(),
            rule: None,
            undecided: None,
        }
    }

    pub fn of_member(
        name: &str,
        code: impl Into<Cow<'static, str>>,
        detail: impl Into<String>,
    ) -> Self {
        Self::new(Pointer::to_member(name), code, detail)
    }
}

/// The errors of a body in the order found. The limit prevents an answer larger than a hostile
/// body.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violations {
    kept: Vec<Violation>,
    omitted: usize,
}

impl Violations {
    pub const LIMIT: usize = 100;

    pub fn push(&mut self, violation: Violation) {
        self.push_with(|| violation);
    }

    /// Adds an error. Calls `make` only if the error is kept, because its text may be expensive.
    pub fn push_with(&mut self, make: impl FnOnce() -> Violation) {
        if self.kept.len() < Self::LIMIT { self.kept.push(make()) } else { self.omitted += 1 }
    }

    /// Adds the violations of a part of the body at `base`.
    pub fn extend_below(&mut self, base: &Pointer, mut part: Self) {
        for violation in &mut part.kept {
            violation.pointer = violation.pointer.below(base);
        }
        self.append(part);
    }

    pub fn keep_first(&mut self, most: usize) {
        self.omitted += self.kept.len().saturating_sub(most);
        self.kept.truncate(most);
        self.kept.shrink_to_fit();
    }

    pub fn append(&mut self, others: Self) {
        self.omitted += others.omitted;
        self.extend(others.kept);
    }

    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Violation> {
        self.kept.iter()
    }

    pub const fn omitted(&self) -> usize {
        self.omitted
    }

    /// Changes each violation, or drops it.
    pub fn filter_map(&mut self, change: impl FnMut(Violation) -> Option<Violation>) {
        self.kept = std::mem::take(&mut self.kept).into_iter().filter_map(change).collect();
    }

    pub fn concern(&self, names: &[&str]) -> bool {
        self.kept.iter().any(|violation| names.contains(&&*violation.field))
    }

    /// Returns `true` if one of the members has an error that no rule found. Such a member is
    /// unreadable.
    pub fn are_unreadable(&self, names: &[&str]) -> bool {
        self.kept
            .iter()
            .any(|violation| violation.rule.is_none() && names.contains(&&*violation.field))
    }
}

impl From<Violation> for Violations {
    fn from(violation: Violation) -> Self {
        Self { kept: vec![violation], omitted: 0 }
    }
}

impl Extend<Violation> for Violations {
    fn extend<I: IntoIterator<Item = Violation>>(&mut self, violations: I) {
        violations.into_iter().for_each(|violation| self.push(violation));
    }
}
