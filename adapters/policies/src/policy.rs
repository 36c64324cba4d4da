use std::sync::Arc;

use application::{Caller, PublishedPolicy};
use domain::Operation;
use language::effective::Effective;
use language::error::Location;
use language::expression::Variable;

use crate::condition::ItemCondition;
use crate::file_format::{ANYONE, SIGNED_IN};
use crate::member_list::MemberList;

#[derive(Debug)]
pub(crate) struct Policy {
    pub file: Arc<str>,
    pub place: Location,
    pub effective: Effective,
    pub condition: ItemCondition,
    pub hide: Option<MemberList>,
    /// `None` shows all members.
    pub show: Option<MemberList>,
    /// `None` lets all members be written.
    pub write: Option<MemberList>,
    pub shown: PublishedPolicy,
}

impl Policy {
    pub fn depends_on_the_day(&self) -> bool {
        !self.effective.is_always() || self.condition.uses(Variable::Today)
    }

    /// Returns whether it allows operations, and does not deny them or hide members.
    pub const fn allows(&self) -> bool {
        !self.shown.denies && self.hide.is_none()
    }

    /// Returns the only members on which it allows an operation; `None` for all.
    pub const fn listed(&self, operation: Operation) -> Option<&MemberList> {
        let list = if matches!(operation, Operation::Read) { &self.show } else { &self.write };
        list.as_ref()
    }

    /// Returns the lists of members of the policy.
    pub fn member_lists(&self) -> impl Iterator<Item = &MemberList> {
        [&self.hide, &self.show, &self.write].into_iter().flatten()
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
