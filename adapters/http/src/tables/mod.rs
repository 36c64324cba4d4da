//! Items as files: how rows are written and read in each format.

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
use domain::{Collection, Members};

use crate::problem::{Problem, kinds};

/// Most columns of a file apart from those that every export begins with.
pub const MOST_COLUMNS: usize = 1_000;

/// Most rows of an import.
pub const MOST_ROWS: usize = 100_000;

/// The first row of a file: what each column is, and its name.
pub struct HeaderRow {
    columns: Vec<Column>,
    pub names: Vec<String>,
}

impl HeaderRow {
    /// The columns that an export begins with, and these members.
    pub fn of_members(collection: Collection, leading: Vec<Column>, members: &[Arc<str>]) -> Self {
        let members = members.iter().map(|name| Column::member(collection, name));
        let columns: Vec<_> = leading.into_iter().chain(members).collect();
        let names = columns.iter().map(|column| column.name(collection)).collect();
        Self { columns, names }
    }

    /// The cells of an item.
    pub fn cells<'a>(&'a self, item: &'a ItemContent, members: &'a Members) -> Vec<Cell<'a>> {
        let cell = |column: &'a Column| match column {
            Column::Id => Cell::sent(item.id.to_string()),
            Column::Version => Cell::Number(item.version.to_string().into()),
            Column::Parent => {
                item.parent.map_or(Cell::Empty, |parent| Cell::sent(parent.to_string()))
            }
            Column::Member { name, kind } => Cell::of(members.get(name), *kind),
        };
        self.columns.iter().map(cell).collect()
    }
}

/// The members of a stored item, which were judged when they were written.
///
/// # Errors
/// When they are no JSON object: an export without the item would not be whole.
pub fn members_of(item: &ItemContent) -> io::Result<Members> {
    let members = Members::read(item.members.as_bytes()).ok().flatten();
    members.ok_or_else(|| {
        tracing::error!(id = %item.id, "the stored members are no JSON object");
        io::Error::from(io::ErrorKind::InvalidData)
    })
}

/// A file that is not of its format, or whose first row cannot be used.
pub fn malformed_file(detail: impl Into<String>) -> Problem {
    Problem::new(&kinds::MALFORMED_FILE, detail)
}

/// A file that holds too much.
fn too_much(detail: impl Into<String>) -> Problem {
    Problem::new(&kinds::BODY_TOO_LARGE, detail)
}

/// Refuses a file with more rows than are imported at once.
pub fn require_rows(count: usize) -> Result<(), Problem> {
    if count <= MOST_ROWS {
        return Ok(());
    }
    let detail = format!("at most {MOST_ROWS} rows are imported at once; send them in parts");
    Err(too_much(detail))
}
