//! The parts of a migration.

use crate::sql::dialect::Dialect;

/// A change of the schema, under the name that databases keep it by.
pub(crate) struct Migration {
    pub name: &'static str,
    definition: Definition,
}

enum Definition {
    /// One transaction that adds something.
    Statements(fn(&Dialect) -> Vec<String>),
    Staged(fn(&Dialect) -> Stages),
}

/// The steps of a migration during which older services keep running.
pub(crate) struct Stages {
    /// Adds what the new version uses. Its last step raises `schema_version.version`.
    pub expand: Vec<Step>,
    /// Fills in what is stored already, while services run.
    pub backfill: Option<Backfill>,
    /// Takes away what only older versions use. Its first step raises `oldest_writer` or
    /// `oldest_reader`, which is refused while such services run.
    pub contract: Vec<Step>,
}

/// A part of a migration that is done wholly or not at all.
#[derive(Clone)]
pub(crate) enum Step {
    /// Statements in one transaction, which must be brief: readers wait for the locks it has.
    Transaction(Vec<String>),
    Index(Index),
    Backfill(Backfill),
}

/// An index of a table that has rows: it is made without keeping writers out.
#[derive(Clone, Copy)]
pub(crate) struct Index {
    pub name: &'static str,
    /// The table and columns it is on, as in `items (collection, id)`.
    pub on: &'static str,
}

/// A change of many rows of `items`, some at a time in the order of their identifiers. Done twice it
/// does no more than once.
#[derive(Clone, Copy)]
pub(crate) struct Backfill {
    /// The assignment, as in `a = b`.
    pub set: &'static str,
    /// The rows that need it.
    pub stale: fn(&Dialect) -> &'static str,
}

impl Migration {
    /// The steps of the migration on an engine.
    pub fn stages(&self, dialect: &Dialect) -> Stages {
        match self.definition {
            Definition::Statements(of) => Stages {
                expand: vec![Step::Transaction(of(dialect))],
                backfill: None,
                contract: Vec::new(),
            },
            Definition::Staged(of) => of(dialect),
        }
    }
}

/// A migration of one transaction.
pub(super) fn statements(name: &'static str, of: fn(&Dialect) -> Vec<String>) -> Migration {
    Migration { name, definition: Definition::Statements(of) }
}

/// A migration during which older services keep running.
pub(super) const fn staged(name: &'static str, of: fn(&Dialect) -> Stages) -> Migration {
    Migration { name, definition: Definition::Staged(of) }
}
