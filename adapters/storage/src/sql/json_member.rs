//! A member of a stored item, as both engines' SQL sees it.

use application::query::Subject;
use domain::Collection;
use domain::proposal::FieldKind;
use sea_orm::DbBackend;

use crate::sql::indexed_columns::{self, LENGTH};
use crate::sql::sql_text::SqlText;

/// A member at the top level of the row `w`.
pub(crate) struct Member {
    /// The member's name as the operators take it.
    name: String,
    /// The column that has the beginning of its value, if it is one of the keys.
    key: Option<&'static str>,
    kind: Option<FieldKind>,
    backend: DbBackend,
}

impl Member {
    pub fn of(text: &mut SqlText, name: &str, kind: Option<FieldKind>) -> Self {
        let name = text.member(name, kind.is_some());
        Self { name, key: None, kind, backend: text.dialect.backend }
    }

    /// The member a filter or an order speaks about, if it speaks about one.
    pub fn of_subject(
        text: &mut SqlText,
        collection: Collection,
        subject: &Subject,
    ) -> Option<Self> {
        match subject {
            Subject::Member { name, kind } => {
                let key = kind.and_then(|_| indexed_columns::column(collection, name));
                Some(Self { key, ..Self::of(text, name, *kind) })
            }
            _ => None,
        }
    }

    /// Returns whether it holds texts alone, never a list or a number.
    pub const fn is_text(&self) -> bool {
        matches!(self.kind, Some(FieldKind::String | FieldKind::Date))
    }

    /// Returns whether it holds one value, which equals another when their texts do.
    pub const fn is_scalar(&self) -> bool {
        matches!(self.kind, Some(FieldKind::String | FieldKind::Date | FieldKind::StringOrInteger))
    }

    /// The text to compare with the given texts: the key column, so that an index can be used, if the
    /// member has one and the texts are short; otherwise the value.
    pub fn as_text_comparable_to<'a>(&self, mut texts: impl Iterator<Item = &'a str>) -> String {
        match self.key {
            Some(column) if texts.all(indexed_columns::compares_to_keys) => format!("w.{column}"),
            _ => self.as_string(),
        }
    }

    /// The column that has the beginnings of its values in their order, if it has one: numbers have
    /// another order than their texts.
    pub fn column_of_text(&self) -> Option<&'static str> {
        self.key.filter(|_| self.is_text())
    }

    /// Returns whether every value is whole in its column.
    pub fn is_short(&self) -> bool {
        self.kind == Some(FieldKind::Date)
    }

    /// Its whole text if the column has only the beginning, otherwise the empty text.
    pub fn cut_text(&self, column: &str) -> String {
        let text = whole(&self.as_string());
        format!("CASE WHEN length(w.{column}) >= {LENGTH} THEN {text} ELSE '' END")
    }

    /// Its value as JSON text, from the column unless the value is cut there.
    pub fn value_of(&self, column: &str) -> String {
        let key = match self.backend {
            DbBackend::Sqlite => format!("json_quote(w.{column})"),
            _ => format!("CAST(to_json(w.{column}) AS TEXT)"),
        };
        if self.is_short() {
            return key;
        }
        let json = whole(&self.as_json());
        format!("CASE WHEN length(w.{column}) >= {LENGTH} THEN {json} ELSE {key} END")
    }

    /// Its value as a string, compared by code point; `NULL` if it has no value.
    pub fn as_string(&self) -> String {
        let Self { name, .. } = self;
        match (self.backend, self.kind) {
            (DbBackend::Sqlite, Some(FieldKind::StringOrInteger)) => {
                format!("CAST(w.members ->> {name} AS TEXT)")
            }
            (DbBackend::Sqlite, _) => format!("(w.members ->> {name})"),
            _ => format!("((w.members ->> {name}) COLLATE \"C\")"),
        }
    }

    /// Its value as it was written, where it [is](Self::is_written) a string or a number; compared
    /// by code point.
    pub fn as_written(&self) -> String {
        match self.backend {
            // As a string SQLite writes numbers in its own way.
            DbBackend::Sqlite => format!(
                "CASE {} WHEN 0 THEN {} ELSE {} END",
                self.type_rank(),
                self.as_json(),
                self.as_string()
            ),
            _ => self.as_string(),
        }
    }

    /// The condition that it is a string or a number.
    pub fn is_written(&self) -> String {
        format!("{} < 2", self.type_rank())
    }

    /// Its value as JSON text.
    pub fn as_json(&self) -> String {
        format!("CAST(w.members -> {} AS TEXT)", self.name)
    }

    /// The condition that it is there and not `null`.
    pub fn exists(&self) -> String {
        format!("(w.members ->> {}) IS NOT NULL", self.name)
    }

    /// Returns a condition that is true if any value of the member satisfies `holds`, a condition on
    /// the row `e`. The values are the elements of a list, or the single value; an object has none.
    /// Never `NULL`.
    ///
    /// SQLite 3.51 rewrites a bare `EXISTS` as a join, and then `OFFSET` counts a skipped row once
    /// per matching element. Inside a function call it is not rewritten.
    pub fn any(&self, holds: &str) -> String {
        let Self { name, .. } = self;
        let exists = match self.backend {
            DbBackend::Sqlite => format!(
                "(json_type(w.members, {name}) <> 'object' AND EXISTS (SELECT 1 FROM json_each(w.members, {name}) e WHERE {holds}))"
            ),
            _ => format!(
                "EXISTS (SELECT 1 FROM json_array_elements(CASE json_typeof(w.members -> {name}) WHEN 'array' THEN w.members -> {name} \
                 ELSE json_build_array(w.members -> {name}) END) e (value) WHERE {holds})"
            ),
        };
        format!("COALESCE({exists}, FALSE)")
    }

    /// A number for the place of its type in an order: numbers, texts, the rest, nothing.
    pub fn type_rank(&self) -> String {
        let Self { name, .. } = self;
        match self.backend {
            DbBackend::Sqlite => format!(
                "CASE COALESCE(json_type(w.members, {name}), 'null') WHEN 'integer' THEN 0 WHEN 'real' THEN 0 WHEN 'text' THEN 1 \
                 WHEN 'null' THEN 3 ELSE 2 END"
            ),
            _ => format!(
                "CASE COALESCE(json_typeof(w.members -> {name}), 'null') WHEN 'number' THEN 0 WHEN 'string' THEN 1 WHEN 'null' THEN 3 \
                 ELSE 2 END"
            ),
        }
    }

    /// Its value as a number; 0 if it is not a number.
    pub fn number(&self) -> String {
        let Self { name, .. } = self;
        let value = match self.backend {
            DbBackend::Sqlite => format!("w.members ->> {name}"),
            _ => format!("(w.members ->> {name})::numeric"),
        };
        format!("CASE {} WHEN 0 THEN {value} ELSE 0 END", self.type_rank())
    }

    /// Its text, or the JSON text of what is neither text nor number, or the empty text.
    pub fn text_or_json(&self) -> String {
        let (rank, text, json) = (self.type_rank(), self.as_string(), self.as_json());
        let chosen = format!("CASE {rank} WHEN 1 THEN {text} WHEN 2 THEN {json} ELSE '' END");
        if self.backend == DbBackend::Sqlite { chosen } else { format!("({chosen}) COLLATE \"C\"") }
    }
}

/// An expression that reads the members only of the rows for which it is evaluated.
fn whole(expression: &str) -> String {
    let members = "(SELECT c.members FROM changes c WHERE c.sequence = w.sequence)";
    expression.replace("w.members", members)
}
