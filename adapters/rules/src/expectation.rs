//! The verdict that a case expects.

/// The verdict of a rule on a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// Nothing.
    Pass,
    /// There is a violation.
    Fail,
}

impl Expectation {
    /// All there are.
    pub const ALL: [Self; 2] = [Self::Pass, Self::Fail];

    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|expectation| expectation.name() == name)
    }
}
