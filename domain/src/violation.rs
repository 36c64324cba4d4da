//! The errors of a body. All of them are reported at once, each with its place.

use std::borrow::Cow;

use exact_json::Pointer;
use serde::{Deserialize, Serialize};

/// One error of a body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// Where it is.
    pub pointer: Pointer,
    /// The member of the item that is at error; empty when it is the item or the body as a whole.
    pub field: Box<str>,
    /// A stable word for programs, such as `required`.
    pub code: Cow<'static, str>,
    /// The error and how to fix it, for people.
    pub detail: String,
    /// The business rule that found it; what no rule found has none.
    pub rule: Option<Box<str>>,
    /// Why a rule could not be decided, for the operator alone: it may quote items that the caller may
    /// not read.
    #[serde(skip)]
    pub undecided: Option<Box<str>>,
}

impl Violation {
    /// An error at `pointer`, within an item.
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

    /// An error of a top-level member.
    pub fn of_member(
        name: &str,
        code: impl Into<Cow<'static, str>>,
        detail: impl Into<String>,
    ) -> Self {
        Self::new(Pointer::to_member(name), code, detail)
    }
}

/// All errors of a body, in the order found; never more than [`Violations::LIMIT`] are kept, so
/// that a hostile body cannot make an answer larger than itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violations {
    kept: Vec<Violation>,
    omitted: usize,
}

impl Violations {
    /// Most errors that are reported; the rest are counted.
    pub const LIMIT: usize = 100;

    /// Adds an error.
    pub fn push(&mut self, violation: Violation) {
        self.push_with(|| violation);
    }

    /// Adds an error that is only made if it is kept: its text may take long to find.
    pub fn push_with(&mut self, make: impl FnOnce() -> Violation) {
        if self.kept.len() < Self::LIMIT { self.kept.push(make()) } else { self.omitted += 1 }
    }

    /// Adds the violations of a part of the body that stands at `base`.
    pub fn extend_below(&mut self, base: &Pointer, mut part: Self) {
        for violation in &mut part.kept {
            violation.pointer = violation.pointer.below(base);
        }
        self.append(part);
    }

    /// Keeps the first errors; the rest are counted.
    pub fn keep_first(&mut self, most: usize) {
        self.omitted += self.kept.len().saturating_sub(most);
        self.kept.truncate(most);
        self.kept.shrink_to_fit();
    }

    /// Adds violations of the same body.
    pub fn append(&mut self, others: Self) {
        self.omitted += others.omitted;
        self.extend(others.kept);
    }

    /// Returns `true` if there are no errors.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// The errors that are reported.
    pub fn iter(&self) -> impl Iterator<Item = &Violation> {
        self.kept.iter()
    }

    /// How many errors there are beyond those reported.
    pub const fn omitted(&self) -> usize {
        self.omitted
    }

    /// Returns `true` if a reported error lies in one of the top-level members `names`.
    pub fn concern(&self, names: &[&str]) -> bool {
        self.kept.iter().any(|violation| names.contains(&&*violation.field))
    }

    /// Returns `true` if one of the top-level members `names` has an error that no rule found. Such
    /// a member cannot be read.
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
