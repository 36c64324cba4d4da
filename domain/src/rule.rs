//! Business rules: what judges a write beyond what its fields say of themselves.
//!
//! A rule is a pure function of a [`Transition`]: what was there, what would be there, and on what
//! context. Where it needs other items it says which ([`Rule::lookups`]), and is given them as
//! they are stored.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::Date;

use crate::{Collection, Item, ItemId, Operation, Principal, Violation, Violations};

/// One business rule about items of kind `R`. A rule about any item at all is one about its
/// [`Members`](crate::Members).
pub trait Rule<R>: Send + Sync {
    /// A stable word for programs: the `code` of the rule's violations, and its name in the
    /// interface.
    fn code(&self) -> &str;

    /// The members it reads. The rule is not asked while one of them is unreadable.
    fn fields(&self) -> Vec<&str>;

    /// The writes it judges. By default those that leave an item.
    fn operations(&self) -> &[WriteOperation] {
        &[WriteOperation::Create, WriteOperation::Replace, WriteOperation::Patch]
    }

    /// Returns whether a violation refuses the write or only warns.
    fn severity(&self) -> Severity {
        Severity::Error
    }

    /// Returns `true` if the rule is in force on a day. By default it is in force on every day.
    fn is_in_force(&self, _today: Date) -> bool {
        true
    }

    /// The other items it needs to know, at most [`Lookup::MOST`]. By default none.
    ///
    /// # Errors
    /// The violation, when what is to be looked up cannot be told.
    fn lookups(&self, _transition: &Transition<'_, R>) -> Result<Vec<Lookup>, Violation> {
        Ok(Vec::new())
    }

    /// Passes or refuses the write.
    ///
    /// # Errors
    /// The violation, naming the field to fix.
    fn check(&self, transition: &Transition<'_, R>) -> Result<(), Violation>;

    /// Returns the description of the rule, for people.
    fn about(&self) -> About<'_> {
        About::default()
    }
}

/// The description of a rule, for people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct About<'a> {
    /// The message of a violation, when it is always the same.
    pub message: Option<&'a str>,
    /// The expression that computes the message, when the message depends on the item. It is
    /// written in the rule's language.
    pub message_expression: Option<&'a str>,
    /// Where its error is: an RFC 6901 JSON Pointer into the item.
    pub pointer: Option<&'a str>,
    /// The purpose of the rule.
    pub description: Option<&'a str>,
    /// Where it comes from: a guideline, a memo.
    pub source: Option<&'a str>,
    /// The first and the last day on which it holds.
    pub effective: (Option<Date>, Option<Date>),
}

/// The operation that a write performs on an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WriteOperation {
    /// There was no such item.
    Create,
    /// All its members are replaced.
    Replace,
    /// A merge patch is applied.
    Patch,
    /// It is removed.
    Delete,
}

impl WriteOperation {
    /// All there are.
    pub const ALL: [Self; 4] = [Self::Create, Self::Replace, Self::Patch, Self::Delete];

    /// The word for it, and for the change that it makes.
    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Create => ("create", "created"),
            Self::Replace => ("replace", "replaced"),
            Self::Patch => ("patch", "patched"),
            Self::Delete => ("delete", "deleted"),
        }
    }

    /// The word for it, such as `create`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.names().0
    }

    /// The word for a change of this kind in the change log, such as `created`.
    #[must_use]
    pub const fn change_name(self) -> &'static str {
        self.names().1
    }

    /// The operation of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operation| operation.name() == name)
    }

    /// The operation that the change log calls so.
    #[must_use]
    pub fn of_change(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operation| operation.change_name() == name)
    }
}

impl From<WriteOperation> for Operation {
    fn from(operation: WriteOperation) -> Self {
        match operation {
            WriteOperation::Create => Self::Create,
            WriteOperation::Replace => Self::Replace,
            WriteOperation::Patch => Self::Patch,
            WriteOperation::Delete => Self::Delete,
        }
    }
}

/// The effect of a violation of a rule on the write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Severity {
    /// It is refused.
    Error,
    /// It is done, and the violation is reported.
    Warning,
}

impl Severity {
    /// All there are.
    pub const ALL: [Self; 2] = [Self::Error, Self::Warning];

    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }

    /// The severity of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.name() == name)
    }
}

/// When, by whom and to which item a write is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteContext {
    /// The operation of the write.
    pub operation: WriteOperation,
    /// The item, which has its identifier before it is stored.
    pub id: ItemId,
    /// The item it belongs to.
    pub parent: Option<ItemId>,
    /// Who asks for it; `None` for nobody in particular.
    pub caller: Option<Arc<Principal>>,
    /// The time (microseconds, UTC).
    pub now: Timestamp,
    /// The day, in the time zone the service is set to.
    pub today: Date,
}

impl WriteContext {
    /// No particular one: a nameless item at the beginning of 1970, for rules that do not ask.
    #[must_use]
    pub const fn any(operation: WriteOperation) -> Self {
        Self {
            operation,
            id: ItemId::NIL,
            parent: None,
            caller: None,
            now: Timestamp::UNIX_EPOCH,
            today: jiff::civil::date(1970, 1, 1),
        }
    }
}

/// A write under judgement.
#[derive(Debug)]
pub struct Transition<'a, R> {
    /// The item before the write; `None` on a create.
    pub before: Option<&'a R>,
    /// The item after the write; on a delete, the item that is there.
    pub after: &'a R,
    /// When, by whom, to which item.
    pub context: &'a WriteContext,
    /// The results of the rule's lookups, in the order of the lookups.
    pub found: &'a [Found],
}

impl<R> Clone for Transition<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Transition<'_, R> {}

impl<'a, R> Transition<'a, R> {
    /// The same, with what was found.
    #[must_use]
    pub const fn knowing(self, found: &'a [Found]) -> Self {
        Self { found, ..self }
    }
}

/// Other items that a rule needs to know. The item that is written is never among what is found.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lookup {
    /// Where to look.
    pub collection: Collection,
    /// The key to look for.
    pub key: LookupKey,
    /// The item that is left out: the one that is written.
    pub without: ItemId,
}

impl Lookup {
    /// Most lookups of a rule.
    pub const MOST: usize = 8;
    /// Most items a lookup may find.
    pub const MOST_ITEMS: usize = 1_000;
    /// Most bytes of members a lookup may find.
    pub const MOST_BYTES: usize = 4 << 20;
}

/// The key that a lookup looks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LookupKey {
    /// The one item of this id.
    Id(ItemId),
    /// All items that belong to this one.
    Parent(ItemId),
    /// All items whose member of this name is this text, or is a number written so.
    Member {
        /// The member's name.
        name: Box<str>,
        /// Its value.
        value: Box<str>,
    },
    /// There is nothing to look for; nothing is found.
    Nothing,
}

impl Found {
    /// These items, unless they are more than a lookup may find.
    #[must_use]
    pub fn of(items: Vec<Item>) -> Self {
        if items.len() > Lookup::MOST_ITEMS {
            Self::TooMany
        } else if items.iter().map(|item| item.members.len()).sum::<usize>() > Lookup::MOST_BYTES {
            Self::TooLarge
        } else {
            Self::Items(items)
        }
    }
}

/// The result of a lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// The items, in the order of their ids.
    Items(Vec<Item>),
    /// More than [`Lookup::MOST_ITEMS`].
    TooMany,
    /// More than [`Lookup::MOST_BYTES`].
    TooLarge,
}

/// The verdict of rules on a write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The violations that refuse the write.
    pub errors: Violations,
    /// The violations that are only reported.
    pub warnings: Violations,
}

impl Verdict {
    /// Asks a rule, unless it does not judge such writes, is not in force, or reads what is
    /// unreadable.
    pub fn ask<R>(&mut self, rule: &dyn Rule<R>, transition: &Transition<'_, R>) {
        if self.wants(rule, transition.context) {
            self.note(rule, rule.check(transition).err());
        }
    }

    /// Returns `true` if a rule is to be asked.
    pub fn wants<R>(&self, rule: &dyn Rule<R>, context: &WriteContext) -> bool {
        rule.operations().contains(&context.operation)
            && rule.is_in_force(context.today)
            && (self.errors.is_empty() || !self.errors.are_unreadable(&rule.fields()))
    }

    /// Keeps what a rule has to say.
    pub fn note<R>(&mut self, rule: &dyn Rule<R>, violation: Option<Violation>) {
        let Some(violation) = violation else { return };
        let violation = Violation { rule: Some(rule.code().into()), ..violation };
        match rule.severity() {
            Severity::Error => self.errors.push(violation),
            Severity::Warning => self.warnings.push(violation),
        }
    }
}
