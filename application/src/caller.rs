//! Who asks.

/// The party on whose behalf a use case runs. Every use case takes one; the change log keeps its
/// name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caller {
    /// Nobody in particular: what every request is until identity is configured.
    Anonymous,
}

impl Caller {
    /// The name the change log keeps; `None` for nobody in particular.
    #[must_use]
    pub const fn name(&self) -> Option<&str> {
        match self {
            Self::Anonymous => None,
        }
    }
}
