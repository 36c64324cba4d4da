//! Business rules check a write beyond the fields of its item.
//!
//! A rule is a pure function of a [`Transition`]: the item before, the item after, and the context.
//! A rule that needs other items names them in its lookups, and gets them as they are stored.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::Date;

use crate::{Collection, Item, ItemId, Members, Operation, Principal, Violation, Violations};

/// A business rule that is written in Rust.
#[derive(Clone, Copy, Debug)]
pub struct BuiltInRule {
    /// The properties of the rule.
    pub about: About<'static>,
    /// The members it reads. The rule is not evaluated while one of them is unreadable.
    pub fields: &'static [&'static str],
    /// The other items it needs, at most [`Lookup::MOST`].
    pub lookups: fn(&Transition<'_>) -> Result<Vec<Lookup>, Violation>,
    /// Passes or refuses the write. The violation names the field to fix.
    pub check: fn(&Transition<'_>) -> Result<(), Violation>,
}

impl BuiltInRule {
    /// A rule without lookups that passes every write, for the members that a rule leaves out.
    pub const DEFAULT: Self =
        Self { about: About::DEFAULT, fields: &[], lookups: |_| Ok(Vec::new()), check: |_| Ok(()) };
}

/// The properties of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About<'a> {
    /// A stable word for programs: the `code` of the rule's violations, and its name in the
    /// interface.
    pub code: &'a str,
    /// The writes it judges.
    pub operations: &'a [WriteOperation],
    /// The effect of a violation: it refuses the write or only warns.
    pub severity: Severity,
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

impl About<'_> {
    /// A rule without a code that refuses writes which leave an item, on every day.
    pub const DEFAULT: Self = Self {
        code: "",
        operations: &[WriteOperation::Create, WriteOperation::Replace, WriteOperation::Patch],
        severity: Severity::Error,
        message: None,
        message_expression: None,
        pointer: None,
        description: None,
        source: None,
        effective: (None, None),
    };

    /// Returns whether the rule is in force on a day.
    pub fn is_in_force(&self, today: Date) -> bool {
        let (from, until) = self.effective;
        from.is_none_or(|from| from <= today) && until.is_none_or(|until| today <= until)
    }

    /// Returns whether the rule judges such writes.
    pub fn judges(&self, operation: WriteOperation) -> bool {
        self.operations.contains(&operation)
    }
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
    pub const fn name(self) -> &'static str {
        self.names().0
    }

    /// The word for a change of this kind in the change log, such as `created`.
    pub const fn change_name(self) -> &'static str {
        self.names().1
    }

    /// The operation of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operation| operation.name() == name)
    }

    /// The operation that the change log calls so.
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
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }

    /// The severity of this name.
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
#[derive(Clone, Copy, Debug)]
pub struct Transition<'a> {
    /// The members before the write; `None` on a create.
    pub before: Option<&'a Members>,
    /// The members after the write; on a delete, those of the item that is there.
    pub after: &'a Members,
    /// When, by whom, to which item.
    pub context: &'a WriteContext,
    /// The results of the rule's lookups, in the order of the lookups.
    pub found: &'a [Found],
}

impl<'a> Transition<'a> {
    /// The same, with what was found.
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
    /// Returns whether a rule is to be evaluated: it judges such writes, is in force, and can read
    /// its fields.
    pub fn wants<'a>(
        &self,
        about: &About<'_>,
        context: &WriteContext,
        fields: impl FnOnce() -> Vec<&'a str>,
    ) -> bool {
        about.judges(context.operation)
            && about.is_in_force(context.today)
            && (self.errors.is_empty() || !self.errors.are_unreadable(&fields()))
    }

    /// Adds the violation that a rule found, if any.
    pub fn note(&mut self, about: &About<'_>, violation: Option<Violation>) {
        let Some(violation) = violation else { return };
        let violation = Violation { rule: Some(about.code.into()), ..violation };
        match about.severity {
            Severity::Error => self.errors.push(violation),
            Severity::Warning => self.warnings.push(violation),
        }
    }
}
