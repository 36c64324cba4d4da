//! A statement that is put together while its parameters are collected.

use domain::json::encode_string;
use sea_orm::{DbBackend, Statement, Value};
use serde::Serialize;

use crate::sql::dialect::Dialect;

/// A string under construction; `bind` gives the next parameter its number.
pub(crate) struct SqlText {
    pub dialect: &'static Dialect,
    values: Vec<Value>,
}

impl SqlText {
    pub const fn new(dialect: &'static Dialect) -> Self {
        Self { dialect, values: Vec::new() }
    }

    /// Binds a value and returns its placeholder.
    pub fn bind(&mut self, value: impl Into<Value>) -> String {
        self.values.push(value.into());
        format!("${}", self.values.len())
    }

    /// The member of the change `c` as JSON text; any name is allowed.
    pub fn member_as_json(&mut self, name: &str) -> String {
        match self.dialect.backend {
            DbBackend::Sqlite => {
                format!("(c.members -> {})", self.bind(format!("$.{}", encode_string(name))))
            }
            _ => format!("CAST(c.members -> {}::text AS TEXT)", self.bind(name)),
        }
    }

    /// The statement with all values that were bound.
    pub fn finish(self, text: &str) -> Statement {
        self.dialect.statement(text, self.values)
    }
}

/// Rows as a parameter: a JSON array. Nothing in them can fail to be written.
pub(crate) fn json(rows: &(impl Serialize + ?Sized)) -> Value {
    serde_json::to_string(rows).unwrap_or_default().into()
}

/// A string as a literal. Only for names that are constants of this program, so that an index on
/// them can be found.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
