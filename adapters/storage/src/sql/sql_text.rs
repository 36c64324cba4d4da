//! The text of a statement with its parameters.

use std::collections::BTreeMap;

use domain::json::encode_string;
use domain::{Collection, ItemId};
use sea_orm::sea_query::ArrayType;
use sea_orm::{DbBackend, Statement, Value};
use serde::Serialize;

use crate::sql::dialect::Dialect;

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

    /// The number of values that are bound.
    pub const fn bound(&self) -> usize {
        self.values.len()
    }

    /// Drops values that the text does not use: a prepared text has a fixed number of parameters.
    pub fn unbind(&mut self, bound: usize) {
        self.values.truncate(bound);
    }

    pub fn among_ids(&mut self, ids: impl Iterator<Item = ItemId>) -> String {
        if self.dialect.backend == DbBackend::Sqlite {
            let ids = self.bind(listed(ids));
            return format!("IN (SELECT unhex(value, '-') FROM json_each({ids}))");
        }
        let ids = self.bind(texts(ids.map(|id| id.to_string())));
        // For an array of known length, PostgreSQL would plan each execution of the statement.
        format!("= ANY (ARRAY(SELECT unnest({ids}::text[])::uuid))")
    }

    pub fn among_texts(&mut self, wanted: impl Iterator<Item = String>) -> String {
        match self.dialect.backend {
            DbBackend::Sqlite => {
                let wanted = self.bind(json(&wanted.collect::<Vec<_>>()));
                format!("IN (SELECT value FROM json_each({wanted}))")
            }
            _ => format!("= ANY ({}::text[])", self.bind(texts(wanted))),
        }
    }

    /// A member's name for the operators of the engine. That of a field is a literal.
    pub fn member(&mut self, name: &str, is_field: bool) -> String {
        let path = format!("$.{}", encode_string(name));
        match (self.dialect.backend, is_field) {
            (DbBackend::Sqlite, true) => literal(&path),
            (DbBackend::Sqlite, false) => self.bind(path),
            (_, true) => literal(name),
            (_, false) => format!("{}::text", self.bind(name)),
        }
    }

    /// A path of names for the JSON functions of SQLite. A quoted name is that of an object's member.
    pub fn path<'p>(&mut self, names: impl Iterator<Item = &'p str>) -> String {
        let steps = names.map(|name| format!(".{}", encode_string(name)));
        self.bind(format!("${}", steps.collect::<String>()))
    }

    /// The condition that a row of `items` is of a collection. A literal, so that the planner knows
    /// how common that is. Without statistics an engine would
    /// use the index by collection. An expression hides the column, if another index leads to it.
    pub fn is_of(&self, row: &str, collection: Collection, is_indexed: bool) -> String {
        let expression = match self.dialect.backend {
            _ if !is_indexed => format!("{row}.collection"),
            DbBackend::Sqlite => format!("+{row}.collection"),
            _ => format!("({row}.collection || '')"),
        };
        format!("{expression} = {}", literal(collection.name()))
    }

    pub fn finish(self, text: &str) -> Statement {
        self.dialect.statement(text, self.values)
    }
}

/// A JSON object as a parameter: only its `json_each` is common to both engines.
pub(crate) fn keyed<K: Serialize + Ord, V: Serialize>(rows: impl Iterator<Item = (K, V)>) -> Value {
    json(&rows.collect::<BTreeMap<_, _>>())
}

/// JSON as a parameter. These values cannot fail to be written.
pub(crate) fn json(rows: &(impl Serialize + ?Sized)) -> Value {
    serde_json::to_string(rows).unwrap_or_default().into()
}

pub(crate) fn listed(ids: impl Iterator<Item = ItemId>) -> Value {
    json(&ids.map(ItemId::uuid).collect::<Vec<_>>())
}

/// An array as a parameter of `PostgreSQL`.
pub(crate) fn texts(values: impl Iterator<Item = String>) -> Value {
    Value::Array(ArrayType::String, Some(Box::new(values.map(Value::from).collect())))
}

/// Only for names that are constants of this program: the planner sees how common they are.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
