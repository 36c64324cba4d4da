//! Rows of cells under a row of names, for CSV and workbooks.

use std::sync::Arc;

use application::table::{Cell, Column, Columns};
use application::{ImportRow, RowContent};
use domain::{Collection, Pointer, Violation};

use super::{MOST_COLUMNS, malformed_file, require_rows, too_much};
use crate::problem::Result;

/// Limit of cells, including empty ones before others: a cell takes far more memory than in the
/// file.
pub const MOST_CELLS: usize = 2_000_000;

pub fn most_columns(collection: Collection) -> usize {
    MOST_COLUMNS + Column::leading(collection).len()
}

pub fn require_columns(most: usize, count: usize) -> Result<()> {
    if count <= most {
        return Ok(());
    }
    Err(too_much(format!("A file may have at most {most} columns, found {count}.")))
}

pub struct SheetReader {
    columns: Arc<Columns>,
    lengths: Vec<usize>,
    pub rows: Vec<ImportRow>,
    cells: usize,
    most_bytes: usize,
    /// Bytes left for further rows as items. Each item repeats the member names.
    left: usize,
}

impl SheetReader {
    /// Trailing columns may have empty names. `most_bytes` limits all rows together, as items.
    pub fn new(collection: Collection, names: &[String], most_bytes: usize) -> Result<Self> {
        let used = names.iter().rposition(|name| !name.is_empty()).map_or(0, |last| last + 1);
        let names = &names[..used];
        if names.is_empty() {
            let detail = "The first row has no column names. Put the column names there.";
            return Err(malformed_file(detail));
        }
        require_columns(most_columns(collection), names.len())?;
        if let Some(place) = names.iter().position(String::is_empty) {
            let detail = format!(
                "Column {} has no name in the first row. Name it, or remove it.",
                place + 1
            );
            return Err(malformed_file(detail));
        }
        let columns = Columns::named(collection, names.iter().map(String::as_str));
        let columns = columns.map_err(|name| {
            malformed_file(format!(
                "The column `{name}` is given more than once in the first row. Remove one."
            ))
        })?;
        Ok(Self {
            columns: Arc::new(columns),
            lengths: names.iter().map(String::len).collect(),
            rows: Vec::new(),
            cells: 0,
            most_bytes,
            left: most_bytes,
        })
    }

    pub fn add(&mut self, (number, line): (u64, u64), mut cells: Vec<Cell<'static>>) -> Result<()> {
        let used = cells.iter().rposition(|cell| *cell != Cell::Empty).map_or(0, |last| last + 1);
        if used == 0 {
            return Ok(());
        }
        require_rows(self.rows.len() + 1)?;
        self.cells += used;
        if self.cells > MOST_CELLS {
            let detail = format!("A file may have at most {MOST_CELLS} cells. Split the file.");
            return Err(too_much(detail));
        }
        self.take_bytes(&cells[..used])?;
        let named = self.columns.all().len();
        let content = if used > named {
            let detail = format!(
                "The row has {used} cells, but the first row names {named} columns. Put cells that contain a comma in quotation marks."
            );
            Err(Violation::new(Pointer::root(), "too_many_cells", detail))
        } else {
            cells.truncate(used);
            cells.shrink_to_fit();
            Ok(RowContent::of_cells(&self.columns, cells))
        };
        self.rows.push(ImportRow { number, line: Some(line), content });
        Ok(())
    }

    fn take_bytes(&mut self, cells: &[Cell<'_>]) -> Result<()> {
        let sizes = cells.iter().enumerate().filter_map(|(place, cell)| {
            let written = cell.as_written()?;
            Some(written.len() + self.lengths.get(place).copied().unwrap_or_default())
        });
        self.left = self.left.checked_sub(sizes.sum()).ok_or_else(|| {
            too_much(format!(
                "The rows with their column names are larger than {} bytes as items. Shorten the names, or split the file.",
                self.most_bytes
            ))
        })?;
        Ok(())
    }
}
