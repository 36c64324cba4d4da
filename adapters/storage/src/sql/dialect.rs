//! The few words the two engines spell differently, so that every longer text can be shared.

use sea_orm::{DbBackend, Statement, Value};

/// One engine's spellings. Where a word names a column, the column is that of the row called `n`,
/// or of the only table.
#[derive(Debug)]
pub(crate) struct Dialect {
    /// The engine.
    pub backend: DbBackend,
    /// Its name, for people.
    pub name: &'static str,
    /// The type of an identifier.
    pub uuid: &'static str,
    /// The number of bytes of the members of the change `c`.
    pub bytes_of_members: &'static str,
    /// `n.id` as a string that reads back as a UUID.
    pub id_text: &'static str,
    /// Joins a table that has an index for the condition: the kind of the join, the table, the name
    /// of its row, and the condition. The index is used for each row, however small the planner
    /// takes the table to be, and the order of the rows is kept.
    pub joined_by_index: fn(&str, &str, &str, &str) -> String,
    /// `i.id` as people write it.
    pub readable_id: &'static str,
    /// A column of microseconds since the epoch, as a time people can read.
    pub readable_time: fn(&str) -> String,
    /// The number that the row `e` of a JSON value holds, if it holds one.
    pub number_of_value: &'static str,
    /// The text it holds, compared by code point.
    pub text_of_value: &'static str,
    /// `'true'` or `'false'`, if it holds a boolean.
    pub boolean_of_value: &'static str,
}

pub(crate) static SQLITE: Dialect = Dialect {
    backend: DbBackend::Sqlite,
    name: "SQLite",
    uuid: "BLOB",
    bytes_of_members: "octet_length(c.members)",
    id_text: "hex(n.id)",
    joined_by_index: |join, table, row, condition| format!("{join} {table} {row} ON {condition}"),
    readable_id: "lower(substr(hex(i.id), 1, 8) || '-' || substr(hex(i.id), 9, 4) || '-' || substr(hex(i.id), 13, 4) \
                  || '-' || substr(hex(i.id), 17, 4) || '-' || substr(hex(i.id), 21))",
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
    bytes_of_members: "octet_length(c.members::text)",
    id_text: "n.id::text",
    joined_by_index: |join, table, row, condition| {
        format!(
            "{join} LATERAL (SELECT * FROM {table} {row} WHERE {condition} OFFSET 0) {row} ON TRUE"
        )
    },
    readable_id: "i.id::text",
    readable_time: |column| format!("timestamptz 'epoch' + {column} * interval '1 microsecond'"),
    number_of_value: "CASE WHEN json_typeof(e.value) = 'number' THEN (e.value #>> '{}')::numeric END",
    text_of_value: "(CASE WHEN json_typeof(e.value) = 'string' THEN e.value #>> '{}' END) COLLATE \"C\"",
    boolean_of_value: "CASE WHEN json_typeof(e.value) = 'boolean' THEN e.value #>> '{}' END",
};

impl Dialect {
    /// Joins tables [by an index](Self::joined_by_index), one after the other: the kind of each
    /// join, the table, the name of its row, and the condition.
    pub fn joins(&self, joins: &[[&str; 4]]) -> String {
        let joins = joins.iter().map(|[join, table, row, condition]| {
            (self.joined_by_index)(join, table, row, condition)
        });
        joins.collect::<Vec<_>>().join(" ")
    }

    /// The spellings of an engine.
    pub fn of(backend: DbBackend) -> &'static Self {
        if backend == DbBackend::Sqlite { &SQLITE } else { &POSTGRES }
    }

    /// `text` with `$1`, `$2`, … standing for `values`.
    pub fn statement(&self, text: &str, values: impl IntoIterator<Item = Value>) -> Statement {
        Statement::from_sql_and_values(self.backend, text, values)
    }
}
