//! Callers, and the options of a write.

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
/// The options of a write, apart from the content to be written.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// Who asks.
    pub caller: Caller,
    /// True for a dry run: everything is checked, and nothing is stored.
    pub is_dry_run: bool,
    /// By what it is known when it is sent again.
    pub key: Option<RequestKey>,
}

impl WriteOptions {
    /// A write that is done, as often as it is sent.
    #[must_use]
    pub const fn by(caller: Caller) -> Self {
        Self { caller, is_dry_run: false, key: None }
    }
}

/// By what a request is known when it is sent again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestKey {
    /// Where it is sent.
    pub path: String,
    /// The key that the client chose.
    pub key: String,
    /// Tells what is sent from anything else.
    pub fingerprint: String,
}
