//! A policy of a file.

use std::sync::Arc;

use application::{Access, Caller, Ownership, PublishedPolicy};
use domain::{Collection, Operation, Operations};
use jiff::civil::Date;
use language::effective::Effective;
use language::error::Location;

use crate::file_format::{ANYONE, SIGNED_IN};

/// A policy that was read from a file.
#[derive(Debug)]
pub(crate) struct Policy {
    pub file: Arc<str>,
    pub place: Location,
    pub id: Box<str>,
    pub collections: Vec<Collection>,
    pub denies: bool,
    pub operations: Operations,
    pub audience: Audience,
    /// True if it is about the items that the caller created alone.
    pub is_about_own: bool,
    pub effective: Effective,
    pub description: Option<Box<str>>,
    pub source: Option<Box<str>>,
}

/// The callers that a policy is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Audience {
    /// As it is written.
    pub written: Vec<Box<str>>,
}

impl Audience {
    /// Returns `true` if it is everybody.
    pub fn is_anyone(&self) -> bool {
        self.written.iter().any(|word| **word == *ANYONE)
    }

    /// Returns `true` if it is every known caller.
    pub fn is_signed_in(&self) -> bool {
        self.written.iter().any(|word| **word == *SIGNED_IN)
    }

    /// The roles of tokens among the words. A role of a token cannot be `anyone` or `signed_in`, so
    /// nobody is let in by its name.
    pub fn roles(&self) -> impl Iterator<Item = &str> {
        self.written.iter().map(|word| &**word).filter(|word| ![ANYONE, SIGNED_IN].contains(word))
    }

    fn includes(&self, caller: &Caller) -> bool {
        let is_known = |principal: &domain::Principal| {
            self.is_signed_in() || self.roles().any(|role| principal.has_role(role))
        };
        self.is_anyone() || caller.principal().is_some_and(|principal| is_known(principal))
    }
}

impl Policy {
    /// Returns `true` if it is about a caller on a day.
    pub fn concerns(&self, caller: &Caller, today: Date) -> bool {
        self.effective.contains(today) && self.audience.includes(caller)
    }

    /// Returns `true` if it is about an operation on items of a collection and an ownership.
    pub fn speaks_of(&self, of: Collection, operation: Operation, ownership: Ownership) -> bool {
        self.collections.contains(&of) && self.access().on(ownership).contains(operation)
    }

    /// The operations that it allows or denies.
    pub const fn access(&self) -> Access {
        let others = if self.is_about_own { Operations::NONE } else { self.operations };
        Access { own: self.operations, others }
    }

    /// The policy as it is shown.
    pub fn published(&self) -> PublishedPolicy {
        PublishedPolicy {
            id: self.id.clone(),
            collections: self.collections.clone(),
            denies: self.denies,
            operations: self.operations,
            to: self.audience.written.clone(),
            is_about_own: self.is_about_own,
            description: self.description.clone(),
            source: self.source.clone(),
        }
    }
}
