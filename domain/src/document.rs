//! The open resource: any JSON object.

use crate::{Members, Resource, Rule, Violations};

/// An item of one of the open groups. Nothing in it is required, nothing is refused but what cannot
/// be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    members: Members,
}

impl Resource for Document {
    fn rules() -> &'static [&'static dyn Rule<Self>] {
        &[]
    }

    fn draft(members: Members) -> (Self, Violations) {
        (Self { members }, Violations::default())
    }

    fn members(&self) -> &Members {
        &self.members
    }

    fn into_members(self) -> Members {
        self.members
    }
}
