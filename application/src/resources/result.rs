//! The results of writes.

use domain::Violations;

use super::listing::Listing;
use crate::ports::{Answered, ShownItem};

/// An item as a write left it, or would have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The item.
    pub shown: ShownItem,
    /// The warnings of rules, which do not refuse the write.
    pub warnings: Violations,
}

/// A collection as its replacement left it, or would have.
#[derive(Clone, Debug)]
pub struct Replaced {
    /// Its first page.
    pub listing: Listing,
    /// The warnings of rules about its elements, which do not refuse them.
    pub warnings: Violations,
}

impl From<Answered> for Written {
    fn from(answered: Answered) -> Self {
        Self { warnings: warnings(&answered.remarks), shown: answered.shown }
    }
}

/// The text of warnings that the store keeps for requests that are sent again; empty when there are
/// none.
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

#[cfg(test)]
mod tests {
    use domain::{Violation, Violations};

    use super::{remarks, warnings};

    #[test]
    fn warnings_are_told_again() {
        let violation = Violation {
            rule: Some("words".into()),
            ..Violation::of_member("a/b", "words", "too \"long\"")
        };
        for said in [Violations::default(), Violations::from(violation)] {
            assert_eq!(warnings(&remarks(&said)), said);
        }
    }
}
