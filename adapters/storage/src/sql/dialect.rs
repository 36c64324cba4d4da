//! The words that the two engines spell differently, so that longer texts are shared.

use sea_orm::{DbBackend, Statement, Value};

/// Columns are those of the row that the name or the doc says.
#[derive(Debug)]
pub(crate) struct Dialect {
    pub backend: DbBackend,
    /// Its name for people.
    pub name: &'static str,
    pub uuid: &'static str,
    /// The order of texts by code point, after an expression.
    pub by_code_point: &'static str,
    /// The bytes of the members of the change `c`.
    pub bytes_of_members: &'static str,
    /// `n.id` as a string that reads back as a UUID.
    pub id_text: &'static str,
    /// Joins by an index: kind of join, table, its row, and condition. Even a planner without
    /// statistics looks into the index for each row, and keeps the order of rows.
    pub joined_by_index: fn(&str, &str, &str, &str) -> String,
    pub readable_id: &'static str,
    /// A string as the value of an id; `NULL`, and no error, if it is no UUID.
    pub id_of_text: fn(&str) -> String,
    /// A column of microseconds since the epoch as a time for people.
    pub readable_time: fn(&str) -> String,
    /// The number of the row `e` of a JSON value, or `NULL`.
    pub number_of_value: &'static str,
    /// Its text, compared by code point.
    pub text_of_value: &'static str,
    /// `'true'` or `'false'` of a boolean.
    pub boolean_of_value: &'static str,
}

pub(crate) static SQLITE: Dialect = Dialect {
    backend: DbBackend::Sqlite,
    name: "SQLite",
    uuid: "BLOB",
    by_code_point: "",
    bytes_of_members: "octet_length(c.members)",
    id_text: "hex(n.id)",
    joined_by_index: |join, table, row, condition| format!("{join} {table} {row} ON {condition}"),
    readable_id: "lower(substr(hex(i.id), 1, 8) || '-' || substr(hex(i.id), 9, 4) || '-' || substr(hex(i.id), 13, 4) \
                  || '-' || substr(hex(i.id), 17, 4) || '-' || substr(hex(i.id), 21))",
    id_of_text: |string| format!("unhex({string}, '-')"),
    readable_time: |column| {
        format!("strftime('%Y-%m-%dT%H:%M:%fZ', {column} / 1000000.0, 'unixepoch')")
    },
    number_of_value: "CASE WHEN e.type IN ('integer', 'real') THEN e.value END",
    text_of_value: "CASE WHEN e.type = 'text' THEN e.value END",
    boolean_of_value: "e.type",
};

pub(crate) static POSTGRES: Dialect = Dialect {
    backend: DbBackend::Postgres,
    name: "PostgreSQL",
    uuid: "uuid",
    by_code_point: " COLLATE \"C\"",
    bytes_of_members: "octet_length(c.members::text)",
    id_text: "n.id::text",
    joined_by_index: |join, table, row, condition| {
        format!(
            "{join} LATERAL (SELECT * FROM {table} {row} WHERE {condition} OFFSET 0) {row} ON TRUE"
        )
    },
    readable_id: "i.id::text",
    id_of_text: |string| {
        format!(
            "CASE WHEN {string} ~ '^[0-9a-f]{{8}}(-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}$' THEN ({string})::uuid END"
        )
    },
    readable_time: |column| format!("timestamptz 'epoch' + {column} * interval '1 microsecond'"),
    number_of_value: "CASE WHEN json_typeof(e.value) = 'number' THEN (e.value #>> '{}')::numeric END",
    text_of_value: "(CASE WHEN json_typeof(e.value) = 'string' THEN e.value #>> '{}' END) COLLATE \"C\"",
    boolean_of_value: "CASE WHEN json_typeof(e.value) = 'boolean' THEN e.value #>> '{}' END",
};

impl Dialect {
    pub fn joins(&self, joins: &[[&str; 4]]) -> String {
        let joins = joins.iter().map(|[join, table, row, condition]| {
            (self.joined_by_index)(join, table, row, condition)
        });
        joins.collect::<Vec<_>>().join(" ")
    }

    /// A column with ids as canonical text, compared by code point. SQLite has an empty `hex(NULL)`.
    pub fn text_of_id(&self, column: &str) -> String {
        let text = self.readable_id.replace("i.id", column);
        format!("(CASE WHEN {column} IS NOT NULL THEN {text} END{})", self.by_code_point)
    }

    pub fn of(backend: DbBackend) -> &'static Self {
        if backend == DbBackend::Sqlite { &SQLITE } else { &POSTGRES }
    }

    /// `text` with values for `$1`, `$2`, ….
    pub fn statement(&self, text: &str, values: impl IntoIterator<Item = Value>) -> Statement {
        Statement::from_sql_and_values(self.backend, text, values)
    }
}
