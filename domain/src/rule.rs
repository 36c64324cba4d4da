//! Business rules validate a write beyond the fields of its item.
//!
//! A rule is a pure function of a [`Transition`]. A rule that needs other items names them in its
//! lookups.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::Date;

use crate::json::escape_name;
use crate::{
    Collection, Item, ItemId, Members, Operation, Principal, Value, Violation, Violations,
};

#[derive(Clone, Copy, Debug)]
pub struct BuiltInRule {
    pub about: About<'static>,
    /// The members it reads. The rule is not evaluated while one of them is unreadable.
    pub fields: &'static [&'static str],
    /// The other items it needs, at most [`Lookup::MOST`]. It is asked until it returns no more than
    /// the transition has results of: a key may depend on an earlier result.
    pub lookups: fn(&Transition<'_>) -> Result<Vec<Lookup>, Violation>,
    /// Passes or refuses the write. The violation names the field to fix.
    pub check: fn(&Transition<'_>) -> Result<(), Violation>,
}

impl BuiltInRule {
    /// A rule without lookups that passes every write.
    pub const DEFAULT: Self =
        Self { about: About::DEFAULT, fields: &[], lookups: |_| Ok(Vec::new()), check: |_| Ok(()) };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About<'a> {
    /// The `code` of the rule's violations, and its name in the interface. It must stay stable.
    pub code: &'a str,
    pub operations: &'a [WriteOperation],
    pub severity: Severity,
    pub message: Option<&'a str>,
    /// The expression that computes the message, in the rule's language.
    pub message_expression: Option<&'a str>,
    /// The RFC 6901 JSON Pointer of its violations.
    pub pointer: Option<&'a str>,
    pub description: Option<&'a str>,
    pub source: Option<&'a str>,
    /// The first and the last day on which it is in force.
    pub effective: (Option<Date>, Option<Date>),
}

impl About<'_> {
    /// A rule that refuses writes, except deletions, on every day.
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

    pub fn is_in_force(&self, today: Date) -> bool {
        let (from, until) = self.effective;
        from.is_none_or(|from| from <= today) && until.is_none_or(|until| today <= until)
    }

    pub fn judges(&self, operation: WriteOperation) -> bool {
        self.operations.contains(&operation)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WriteOperation {
    Create,
    Replace,
    Patch,
    Delete,
    /// A patch that gives the item content.
    Attach,
    /// A patch that removes the content.
    Detach,
}

impl WriteOperation {
    /// Those that rules and policies distinguish.
    pub const ALL: [Self; 4] = [Self::Create, Self::Replace, Self::Patch, Self::Delete];

    /// Those that the change log distinguishes.
    pub const LOGGED: [Self; 6] =
        [Self::Create, Self::Replace, Self::Patch, Self::Delete, Self::Attach, Self::Detach];

    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Create => ("create", "created"),
            Self::Replace => ("replace", "replaced"),
            Self::Patch => ("patch", "patched"),
            Self::Delete => ("delete", "deleted"),
            Self::Attach => ("patch", "attached"),
            Self::Detach => ("patch", "detached"),
        }
    }

    pub const fn name(self) -> &'static str {
        self.names().0
    }

    /// The name in the change log, such as `created`.
    pub const fn change_name(self) -> &'static str {
        self.names().1
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operation| operation.name() == name)
    }

    pub fn of_change(name: &str) -> Option<Self> {
        Self::LOGGED.into_iter().find(|operation| operation.change_name() == name)
    }
}

impl From<WriteOperation> for Operation {
    fn from(operation: WriteOperation) -> Self {
        match operation {
            WriteOperation::Create => Self::Create,
            WriteOperation::Replace => Self::Replace,
            WriteOperation::Patch | WriteOperation::Attach | WriteOperation::Detach => Self::Patch,
            WriteOperation::Delete => Self::Delete,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Severity {
    Error,
    Warning,
}

impl Severity {
    pub const ALL: [Self; 2] = [Self::Error, Self::Warning];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.name() == name)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteContext {
    pub operation: WriteOperation,
    pub id: ItemId,
    pub parent: Option<ItemId>,
    pub caller: Option<Arc<Principal>>,
    /// In microseconds, UTC.
    pub now: Timestamp,
    /// The day in the time zone of the service.
    pub today: Date,
}

impl WriteContext {
    /// A dummy context, for rules that do not use it.
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

#[derive(Clone, Copy, Debug)]
pub struct Transition<'a> {
    /// The members before the write; `None` on a create.
    pub before: Option<&'a Members>,
    /// The members after the write; on a delete, the current ones.
    pub after: &'a Members,
    pub context: &'a WriteContext,
    /// The results of the rule's lookups, in their order.
    pub found: &'a [Found],
}

impl<'a> Transition<'a> {
    pub const fn knowing(self, found: &'a [Found]) -> Self {
        Self { found, ..self }
    }
}

/// A request for other items. It never finds the written item.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lookup {
    pub collection: Collection,
    pub key: LookupKey,
    /// The excluded item: the one that is written.
    pub without: ItemId,
}

impl Lookup {
    /// The limits of a rule's lookups, of a lookup's items, and of their members in bytes.
    pub const MOST: usize = 8;
    pub const MOST_ITEMS: usize = 1_000;
    pub const MOST_BYTES: usize = 4 << 20;
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LookupKey {
    Id(ItemId),
    Parent(ItemId),
    /// The items whose member is this text, or a number with these digits.
    Member {
        name: Box<str>,
        value: Box<str>,
    },
    /// An empty result without a lookup.
    Nothing,
}

impl LookupKey {
    /// Returns whether an item has this key.
    pub fn is_of(&self, item: &Item) -> bool {
        match self {
            Self::Id(id) => item.id == *id,
            Self::Parent(parent) => item.parent == Some(*parent),
            Self::Member { name, value } => {
                let member = Value::from_encoded(&item.members).member(&escape_name(name));
                member.and_then(Value::as_written).is_some_and(|written| *written == **value)
            }
            Self::Nothing => false,
        }
    }
}

impl Found {
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    Items(Vec<Item>),
    TooMany,
    TooLarge,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    pub errors: Violations,
    pub warnings: Violations,
}

impl Verdict {
    /// Returns whether to evaluate a rule: it judges such writes, is in force, and its fields are
    /// readable.
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

    pub fn note(&mut self, about: &About<'_>, violation: Option<Violation>) {
        let Some(violation) = violation else { return };
        let violation = Violation { rule: Some(about.code.into()), ..violation };
        match about.severity {
            Severity::Error => self.errors.push(violation),
            Severity::Warning => self.warnings.push(violation),
        }
    }
}
