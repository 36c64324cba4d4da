//! The requests of a group that an audit log records.

/// A level of an audit log. Each includes those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum AuditLevel {
    /// Refusals: 401, 403 and 429.
    #[default]
    Denied,
    /// Refusals and writes.
    Writes,
    /// All requests.
    Reads,
}

impl AuditLevel {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::Denied, Self::Writes, Self::Reads];

    /// The word for it, such as `reads`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::Writes => "writes",
            Self::Reads => "reads",
        }
    }

    /// The level of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }
}
