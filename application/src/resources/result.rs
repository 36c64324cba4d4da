//! The results of writes and of dry runs.

use domain::Violations;

use super::listing::Listing;
use crate::ports::{Answered, ShownItem};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    pub shown: ShownItem,
    /// The warnings do not refuse the write.
    pub warnings: Violations,
}

#[derive(Clone, Debug)]
pub struct Replaced {
    pub listing: Listing,
    pub warnings: Violations,
}

impl From<Answered> for Written {
    fn from(answered: Answered) -> Self {
        Self { warnings: warnings(&answered.remarks), shown: answered.shown }
    }
}

/// The warnings as the store keeps them for retries; empty without warnings.
pub(super) fn remarks(warnings: &Violations) -> Box<str> {
    if warnings.is_empty() {
        Box::default()
    } else {
        serde_json::to_string(warnings).unwrap_or_default().into()
    }
}

fn warnings(remarks: &str) -> Violations {
    if remarks.is_empty() {
        return Violations::default();
    }
    serde_json::from_str(remarks).unwrap_or_else(|error| {
        tracing::error!(%error, "the warnings of an answer cannot be read");
        Violations::default()
    })
}
