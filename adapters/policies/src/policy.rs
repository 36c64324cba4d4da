use std::sync::Arc;

use application::{Access, Caller, Ownership, PublishedPolicy};
use domain::{Collection, Operation, Operations};
use jiff::civil::Date;
use language::effective::Effective;
use language::error::Location;

use crate::file_format::{ANYONE, SIGNED_IN};

#[derive(Debug)]
pub(crate) struct Policy {
    pub file: Arc<str>,
    pub place: Location,
    pub effective: Effective,
    pub shown: PublishedPolicy,
}

impl Policy {
    pub fn is_for_anyone(&self) -> bool {
        self.shown.to.iter().any(|word| **word == *ANYONE)
    }

    pub fn is_for_signed_in(&self) -> bool {
        self.shown.to.iter().any(|word| **word == *SIGNED_IN)
    }

    /// Returns the roles of tokens. A token's role cannot be `anyone` or `signed_in`, so its name
    /// alone never grants access.
    pub fn roles(&self) -> impl Iterator<Item = &str> {
        self.shown.to.iter().map(|word| &**word).filter(|word| ![ANYONE, SIGNED_IN].contains(word))
    }

    fn includes(&self, caller: &Caller) -> bool {
        let is_known = |principal: &domain::Principal| {
            self.is_for_signed_in() || self.roles().any(|role| principal.has_role(role))
        };
        self.is_for_anyone() || caller.principal().is_some_and(|principal| is_known(principal))
    }

    pub fn concerns(&self, caller: &Caller, today: Date) -> bool {
        self.effective.contains(today) && self.includes(caller)
    }

    pub fn speaks_of(&self, of: Collection, operation: Operation, ownership: Ownership) -> bool {
        self.shown.collections.contains(&of) && self.access().on(ownership).contains(operation)
    }

    pub const fn access(&self) -> Access {
        let others = if self.shown.is_about_own { Operations::NONE } else { self.shown.operations };
        Access { own: self.shown.operations, others }
    }
}
