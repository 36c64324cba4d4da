//! A member of the row `w` in the SQL of both engines.

use domain::Collection;
use domain::proposal::FieldKind;
use sea_orm::DbBackend;

use crate::sql::dialect::Dialect;
use crate::sql::indexed_columns::{self, LENGTH};
use crate::sql::sql_text::SqlText;

pub(crate) struct Member {
    name: String,
    /// The column with the beginning of its value, if it is a key.
    key: Option<&'static str>,
    kind: Option<FieldKind>,
    /// The members of the row, or `NULL` where it is not visible.
    members: String,
    dialect: &'static Dialect,
}

impl Member {
    pub fn of(text: &mut SqlText, name: &str, kind: Option<FieldKind>) -> Self {
        let name = text.member(name, kind.is_some());
        Self { name, key: None, kind, members: "w.members".to_owned(), dialect: text.dialect }
    }

    /// A member with a column of keys.
    pub fn indexed(
        text: &mut SqlText,
        collection: Collection,
        name: &str,
        kind: Option<FieldKind>,
    ) -> Self {
        let key = kind.and_then(|_| indexed_columns::column(collection, name));
        Self { key, ..Self::of(text, name, kind) }
    }

    /// A member that is absent unless a condition on the row holds.
    pub fn where_visible(
        text: &mut SqlText,
        name: &str,
        kind: Option<FieldKind>,
        is_visible: &str,
    ) -> Self {
        let members = format!("(CASE WHEN {is_visible} THEN w.members END)");
        Self { members, ..Self::of(text, name, kind) }
    }

    /// Never a list or a number.
    pub const fn is_text(&self) -> bool {
        matches!(self.kind, Some(FieldKind::String | FieldKind::Date))
    }

    /// One value, which equals another if their texts do.
    pub const fn is_scalar(&self) -> bool {
        matches!(self.kind, Some(FieldKind::String | FieldKind::Date | FieldKind::StringOrInteger))
    }

    /// The key's column, whose index can be used, if the texts are short; otherwise the value.
    pub fn as_text_comparable_to<'a>(&self, mut texts: impl Iterator<Item = &'a str>) -> String {
        match self.key {
            Some(column) if texts.all(indexed_columns::compares_to_keys) => format!("w.{column}"),
            _ => self.as_string(),
        }
    }

    /// The column of a key in the order of values: numbers have another order than their texts.
    pub fn column_of_text(&self) -> Option<&'static str> {
        self.key.filter(|_| self.is_text())
    }

    pub fn is_short(&self) -> bool {
        self.kind == Some(FieldKind::Date)
    }

    /// The whole text if the column has only its beginning, otherwise the empty text.
    pub fn cut_text(&self, column: &str) -> String {
        let text = whole(&self.as_string());
        format!("CASE WHEN length(w.{column}) >= {LENGTH} THEN {text} ELSE '' END")
    }

    /// Its value as JSON text, from the column unless the value is cut there.
    pub fn value_of(&self, column: &str) -> String {
        let key = match self.dialect.backend {
            DbBackend::Sqlite => format!("json_quote(w.{column})"),
            _ => format!("CAST(to_json(w.{column}) AS TEXT)"),
        };
        if self.is_short() {
            return key;
        }
        let json = whole(&self.as_json());
        format!("CASE WHEN length(w.{column}) >= {LENGTH} THEN {json} ELSE {key} END")
    }

    /// As a string, compared by code point; `NULL` if it has no value.
    pub fn as_string(&self) -> String {
        let Self { name, members, .. } = self;
        format!("(CAST({members} ->> {name} AS TEXT){})", self.dialect.by_code_point)
    }

    /// A string or a number as it was written, compared by code point.
    pub fn as_written(&self) -> String {
        match self.dialect.backend {
            // SQLite writes numbers in its own way.
            DbBackend::Sqlite => format!(
                "CASE {} WHEN 0 THEN {} ELSE {} END",
                self.type_rank(),
                self.as_json(),
                self.as_string()
            ),
            _ => self.as_string(),
        }
    }

    pub fn is_written(&self) -> String {
        format!("{} < 2", self.type_rank())
    }

    pub fn as_json(&self) -> String {
        format!("CAST({} -> {} AS TEXT)", self.members, self.name)
    }

    pub fn exists(&self) -> String {
        format!("({} ->> {}) IS NOT NULL", self.members, self.name)
    }

    /// True if an element of a list, or a single value that is no object, satisfies `holds`, a
    /// condition on the row `e`; never `NULL`. SQLite 3.51 rewrites a bare `EXISTS` as a join, and
    /// then `OFFSET` counts a skipped row once per matching element. A function call prevents that.
    pub fn any(&self, holds: &str) -> String {
        let Self { name, members, .. } = self;
        let exists = match self.dialect.backend {
            DbBackend::Sqlite => format!(
                "(json_type({members}, {name}) <> 'object' AND EXISTS (SELECT 1 FROM json_each({members}, {name}) e WHERE {holds}))"
            ),
            _ => format!(
                "EXISTS (SELECT 1 FROM json_array_elements(CASE json_typeof({members} -> {name}) WHEN 'array' THEN {members} -> {name} \
                 ELSE json_build_array({members} -> {name}) END) e (value) WHERE {holds})"
            ),
        };
        format!("COALESCE({exists}, FALSE)")
    }

    pub fn type_rank(&self) -> String {
        let Self { name, members, .. } = self;
        let kind = match self.dialect.backend {
            DbBackend::Sqlite => format!("json_type({members}, {name})"),
            _ => format!("json_typeof({members} -> {name})"),
        };
        format!(
            "CASE COALESCE({kind}, 'null') WHEN 'number' THEN 0 WHEN 'integer' THEN 0 WHEN 'real' THEN 0 \
             WHEN 'string' THEN 1 WHEN 'text' THEN 1 WHEN 'null' THEN 3 ELSE 2 END"
        )
    }

    pub fn number(&self) -> String {
        let (rank, Self { name, members, .. }) = (self.type_rank(), self);
        format!("CASE {rank} WHEN 0 THEN CAST({members} ->> {name} AS NUMERIC) ELSE 0 END")
    }

    /// The text, or the JSON of another type but numbers, or the empty text.
    pub fn text_or_json(&self) -> String {
        let (rank, text, json) = (self.type_rank(), self.as_string(), self.as_json());
        let by_code_point = self.dialect.by_code_point;
        format!("(CASE {rank} WHEN 1 THEN {text} WHEN 2 THEN {json} ELSE '' END){by_code_point}")
    }
}

/// Reads the members only of the rows for which it is evaluated.
fn whole(expression: &str) -> String {
    let members = "(SELECT c.members FROM changes c WHERE c.sequence = w.sequence)";
    expression.replace("w.members", members)
}
