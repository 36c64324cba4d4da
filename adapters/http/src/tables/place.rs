//! The position of a row's error in the file, as people see it.

use std::sync::Arc;

use application::table::Columns;
use application::{ImportRow, RowMembers};
use domain::{Collection, Violation};
use rust_xlsxwriter::utility::column_number_to_name;

pub struct SheetCells {
    collection: Collection,
    columns: Arc<Columns>,
}

impl SheetCells {
    pub fn of(collection: Collection, rows: &[ImportRow]) -> Option<Self> {
        rows.iter().find_map(|row| match &row.content.as_ref().ok()?.members {
            RowMembers::Cells { columns, .. } => {
                Some(Self { collection, columns: Arc::clone(columns) })
            }
            RowMembers::Whole(_) => None,
        })
    }
}

/// Names the cell of an error, such as `C4`.
pub fn cell_of(
    cells: Option<&SheetCells>,
    line: Option<u64>,
    violation: &Violation,
) -> Option<String> {
    let (SheetCells { collection, columns }, line) = (cells?, line?);
    let place = columns.of_error(*collection, &violation.field)?;
    Some(format!("{}{line}", column_number_to_name(place.try_into().ok()?)))
}
