use std::sync::Arc;

use application::{Caller, PublishedPolicy};
use language::effective::Effective;
use language::error::Location;
use language::expression::Variable;

use crate::condition::ItemCondition;
use crate::file_format::{ANYONE, SIGNED_IN};

#[derive(Debug)]
pub(crate) struct Policy {
    pub file: Arc<str>,
    pub place: Location,
    pub effective: Effective,
    pub condition: ItemCondition,
    pub shown: PublishedPolicy,
}

impl Policy {
    pub fn depends_on_the_day(&self) -> bool {
        !self.effective.is_always() || self.condition.uses(Variable::Today)
    }

    pub fn is_for_anyone(&self) -> bool {
        self.shown.to.iter().any(|word| **word == *ANYONE)
    }

    pub fn is_for_signed_in(&self) -> bool {
        self.shown.to.iter().any(|word| **word == *SIGNED_IN)
    }

    /// Returns the roles of tokens and of items. A token's role cannot be `anyone` or `signed_in`,
    /// so its name alone never grants access.
    pub fn roles(&self) -> impl Iterator<Item = &str> {
        self.shown.to.iter().map(|word| &**word).filter(|word| ![ANYONE, SIGNED_IN].contains(word))
    }

    /// Returns whether the caller belongs to the audience regardless of the item. The name of an
    /// item role in a token has no effect.
    pub fn includes(&self, caller: &Caller, is_item_role: impl Fn(&str) -> bool) -> bool {
        let has_role = |principal: &domain::Principal| {
            let mut roles = self.roles().filter(|role| !is_item_role(role));
            self.is_for_signed_in() || roles.any(|role| principal.has_role(role))
        };
        self.is_for_anyone() || caller.principal().is_some_and(|principal| has_role(principal))
    }
}
