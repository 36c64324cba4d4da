//! Items as files: rows in each format.

pub mod csv;
pub mod ndjson;
pub mod place;
pub mod sheet;
mod workbook_check;
pub mod xlsx;

use std::io;
use std::sync::Arc;

use application::ItemContent;
use application::table::{Cell, Column};
use domain::content::META;
use domain::{Collection, Content, Members};

use crate::problem::{Problem, Result, kinds};

/// Limit of columns in addition to the leading ones of every export.
pub const MOST_COLUMNS: usize = 1_000;

pub const MOST_ROWS: usize = 100_000;

pub struct HeaderRow {
    columns: Vec<Column>,
    pub names: Vec<String>,
    /// The history of the versions.
    history: Arc<str>,
}

impl HeaderRow {
    pub fn of_members(
        collection: Collection,
        history: Arc<str>,
        leading: Vec<Column>,
        members: &[Arc<str>],
    ) -> Self {
        let members = members.iter().map(|name| Column::member(collection, name));
        let columns: Vec<_> = leading.into_iter().chain(members).collect();
        let names = columns.iter().map(|column| column.name(collection)).collect();
        Self { columns, names, history }
    }

    pub fn cells<'a>(&'a self, item: &'a ItemContent, members: &'a Members) -> Vec<Cell<'a>> {
        let cell = |column: &'a Column| match column {
            Column::Id => Cell::sent(item.id.to_string()),
            Column::Version => Cell::sent(versioned(item, &self.history)),
            Column::Parent => {
                item.parent.map_or(Cell::Empty, |parent| Cell::sent(parent.to_string()))
            }
            Column::Member { name, kind } => Cell::of(members.get(name), *kind),
        };
        self.columns.iter().map(cell).collect()
    }
}

/// The version of an exported item. It is qualified, because a restored store assigns the same
/// numbers again.
fn versioned(item: &ItemContent, history: &str) -> String {
    format!("{}@{history}", item.version)
}

/// Fails if a stored item is no JSON object: an export without it would be incomplete.
pub fn members_of(item: &ItemContent) -> io::Result<Members> {
    let members = Members::read(item.members.as_bytes()).ok().flatten();
    let members = members.map(|members| match Content::encoded_in(&item.members) {
        Some(_) => members.with_first(META, None),
        None => members,
    });
    members.ok_or_else(|| {
        tracing::error!(id = %item.id, "the stored members are not a JSON object");
        io::Error::from(io::ErrorKind::InvalidData)
    })
}

pub fn malformed_file(detail: impl Into<String>) -> Problem {
    Problem::new(&kinds::MALFORMED_FILE, detail)
}

fn too_much(detail: impl Into<String>) -> Problem {
    Problem::new(&kinds::BODY_TOO_LARGE, detail)
}

pub fn require_rows(count: usize) -> Result<()> {
    if count <= MOST_ROWS {
        return Ok(());
    }
    let detail = format!("An import may have at most {MOST_ROWS} rows. Split the file.");
    Err(too_much(detail))
}
