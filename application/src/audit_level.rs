/// A level of an audit log. Each includes those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum AuditLevel {
    /// Refusals: 401, 403 and 429.
    #[default]
    Denied,
    Writes,
    Reads,
}

impl AuditLevel {
    pub const ALL: [Self; 3] = [Self::Denied, Self::Writes, Self::Reads];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::Writes => "writes",
            Self::Reads => "reads",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }
}
